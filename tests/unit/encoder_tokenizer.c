#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "embedder/local/tokenizer.h"
#include "embedder/local/vocabulary.h"
#include "tests/encoder_golden.h"

enum { WINDOW = 256 };

static struct tokenizer *open_small(void)
{
    AUTO_FREE char *path = golden_path("tokenizer.json");
    struct tokenizer *tokenizer;
    assert_ok(tokenizer_open(path, &tokenizer, err));
    return tokenizer;
}

/* Every text of a golden file gives the ids of the reference. */
static void check_golden(const struct tokenizer *tokenizer, const char *name)
{
    struct golden golden;
    golden_open(name, &golden);
    assert_true(golden.count > 60);
    for (size_t i = 0; i < golden.count; i++) {
        int32_t ids[WINDOW];
        const size_t count = tokenizer_encode(tokenizer, golden.texts[i], ids, WINDOW);
        if (count != golden.id_counts[i] || memcmp(ids, golden.ids[i], count * sizeof *ids) != 0)
            fail_msg("%s, line %zu: %zu ids, or other ones, instead of %zu for '%.*s'", name, i + 1, count,
                     golden.id_counts[i], STR_ARG(golden.texts[i]));
        if (count < WINDOW)
            assert_int_equal(tokenizer_count(tokenizer, golden.texts[i]) + tokenizer_special_count(tokenizer),
                             count);
    }
    golden_close(&golden);
}

static void test_gives_the_ids_of_the_reference(void **state)
{
    struct tokenizer *tokenizer = open_small();
    check_golden(tokenizer, "tokenizer.jsonl");
    tokenizer_free(tokenizer);
}

static void test_gives_the_ids_of_the_reference_for_minilm(void **state)
{
    AUTO_FREE char *folder = model_folder();
    if (!folder)
        SKIP_TEST("no model all-MiniLM-L6-v2 here (IBID_TEST_MODEL names its folder)");
    AUTO_FREE char *path = path_join(folder, "tokenizer.json");
    struct tokenizer *tokenizer;
    assert_ok(tokenizer_open(path, &tokenizer, err));
    assert_int_equal(tokenizer_id_end(tokenizer), 30522);
    check_golden(tokenizer, "minilm.jsonl");
    tokenizer_free(tokenizer);
}

static struct tokenizer *open_golden(const char *name)
{
    AUTO_FREE char *path = golden_path(name);
    struct tokenizer *tokenizer;
    assert_ok(tokenizer_open(path, &tokenizer, err));
    return tokenizer;
}

static void test_gives_the_ids_of_the_reference_for_unigram(void **state)
{
    struct tokenizer *tokenizer = open_golden("unigram.json");
    assert_int_equal(tokenizer_special_count(tokenizer), 2);
    check_golden(tokenizer, "unigram.jsonl");
    tokenizer_free(tokenizer);
    tokenizer = open_golden("unigram_bytes.json");
    assert_int_equal(tokenizer_special_count(tokenizer), 1);
    check_golden(tokenizer, "unigram_bytes.jsonl");
    tokenizer_free(tokenizer);
}

/* The ids of a text much longer than any lattice are those of its parts: words are cut where blanks are,
 * and what has no blanks where no piece crosses. */
static void test_unigram_endures_huge_words(void **state)
{
    struct tokenizer *tokenizer = open_golden("unigram.json");
    static const char *const units[] = {"the ", "the", "\xe6\xbc\xa2", "x\xe6\xbc\xa2",
                                        "aa",   "   ", "\xcc\x81",     "<mask>"};
    enum { COUNT = 60000, PART = 600 };
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        AUTO_BUFFER text = BUFFER(16 << 20);
        size_t part_tokens = 0, double_tokens = 0;
        for (size_t j = 1; j <= COUNT; j++) {
            buffer_append_string(&text, units[i]);
            if (j == PART)
                part_tokens = tokenizer_count(tokenizer, buffer_str(&text));
            if (j == 2 * PART)
                double_tokens = tokenizer_count(tokenizer, buffer_str(&text));
        }
        const size_t more = double_tokens - part_tokens,
                     expected = part_tokens + (COUNT - PART) / PART * more,
                     count = tokenizer_count(tokenizer, buffer_str(&text));
        /* Where every place is crossed, a stretch of 64 KiB is cut: some pieces differ there. */
        const size_t slack = COUNT * strlen(units[i]) / (64 * 1024) * 2;
        if (count + slack < expected || count > expected + slack)
            fail_msg("'%s': %zu tokens instead of %zu", units[i], count, expected);
    }
    tokenizer_free(tokenizer);
}

static void check_same(const struct tokenizer *tokenizer, struct str a, struct str b)
{
    int32_t a_ids[WINDOW], b_ids[WINDOW];
    const size_t count = tokenizer_encode(tokenizer, a, a_ids, WINDOW);
    assert_int_equal(tokenizer_encode(tokenizer, b, b_ids, WINDOW), count);
    assert_memory_equal(a_ids, b_ids, count * sizeof *a_ids);
}

static void test_cuts_unigram_at_the_window(void **state)
{
    struct tokenizer *tokenizer = open_golden("unigram.json");
    const struct str text = STR("the ferry<mask> \xe6\xbc\xa2\xe5\xad\x97 leaves  the island");
    int32_t whole[64], cut[64];
    const size_t count = tokenizer_encode(tokenizer, text, whole, 64);
    assert_true(count > 8 && count < 64);
    assert_int_equal(tokenizer_count(tokenizer, text), count - 2);
    for (size_t window = 2; window < count; window++) {
        cut[window] = -7;
        assert_int_equal(tokenizer_encode(tokenizer, text, cut, window), window);
        assert_memory_equal(cut, whole, (window - 1) * sizeof *cut);
        assert_int_equal(cut[window - 1], whole[count - 1]);
        assert_int_equal(cut[window], -7);
    }
    check_same(tokenizer, STR("the\xff\xed\xa0\x80"),
               STR("the\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"));
    tokenizer_free(tokenizer);
}

static void test_cuts_at_the_window(void **state)
{
    struct tokenizer *tokenizer = open_small();
    const struct str text = STR("the cafe inside the index is permission checks");
    int32_t whole[64], cut[64];
    const size_t count = tokenizer_encode(tokenizer, text, whole, 64);
    assert_true(count > 10);
    assert_int_equal(tokenizer_count(tokenizer, text), count - 2);
    for (size_t window = 2; window < count; window++) {
        cut[window] = -7;
        assert_int_equal(tokenizer_encode(tokenizer, text, cut, window), window);
        assert_memory_equal(cut, whole, (window - 1) * sizeof *cut);
        assert_int_equal(cut[window - 1], whole[count - 1]);
        assert_int_equal(cut[window], -7);
    }
    tokenizer_free(tokenizer);
}

static void test_drops_what_is_no_text(void **state)
{
    struct tokenizer *tokenizer = open_small();
    check_same(tokenizer, (struct str){"hel\0lo wor\xff\xfeld \xc3", 15}, STR("hello world"));
    check_same(tokenizer, STR("\xed\xa0\x80hello\xf8\x88"), STR("hello"));
    tokenizer_free(tokenizer);
}

/* Much of one thing: linear time, no overflow, the same as the reference's rule. */
static void test_endures_huge_words(void **state)
{
    struct tokenizer *tokenizer = open_small();
    static const char *const units[] = {"x", "\xcc\x81", "\xf0\x9d\x85\xa5", "\xf0\x9d\x85\xa5\xe3\x80\xae",
                                        "[", "[SEP]"};
    static const size_t expected[] = {1, 0, 1, 1, 1 << 18, 1 << 18};
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        AUTO_BUFFER text = BUFFER(16 << 20);
        for (size_t j = 0; j < 1 << 18; j++)
            buffer_append_string(&text, units[i]);
        assert_int_equal(tokenizer_count(tokenizer, buffer_str(&text)), expected[i]);
    }
    tokenizer_free(tokenizer);
}

static ibid_code parse(const char *json, char message[480])
{
    struct tokenizer *tokenizer = NULL;
    ibid_error err = {0};
    const ibid_code code = tokenizer_parse(str_from(json), &tokenizer, &err);
    if (code == IBID_OK)
        tokenizer_free(tokenizer);
    else
        assert_int_equal(err.code, code);
    memcpy(message, err.message, sizeof err.message);
    return code;
}

#define RULES "\"normalizer\":{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}"
#define MODEL(vocab) "\"model\":{\"type\":\"WordPiece\",\"vocab\":" vocab "}"

/* A tokenizer.json, and what comes of it. */
struct file_case {
    const char *json;
    ibid_code code;
    const char *says;
};

static void check_files(const struct file_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char message[480];
        const ibid_code code = parse(cases[i].json, message);
        if (code != cases[i].code || !strstr(message, cases[i].says))
            fail_msg("%s: %s (%s)", cases[i].json, ibid_code_string(code), message);
    }
}

static void test_refuses_damaged_files(void **state)
{
    static const struct file_case cases[] = {
        {"{" RULES "," MODEL("{\"[UNK]\":0,\"a\":1}") "}", IBID_OK, ""},
        {"", IBID_EFORMAT, "JSON"},
        {"[]", IBID_EUNSUPPORTED, "model"},
        {"{\"model\":{\"type\":\"BPE\"}}", IBID_EUNSUPPORTED, "BPE"},
        {"{\"model\":{\"type\":7}}", IBID_EFORMAT, "type"},
        {"{" RULES "," MODEL("{}") "}", IBID_EFORMAT, "empty"},
        {"{" RULES "," MODEL("[]") "}", IBID_EFORMAT, "vocabulary"},
        {"{" RULES "," MODEL("{\"a\":0}") "}", IBID_EFORMAT, "[UNK]"},
        {"{" RULES "," MODEL("{\"[UNK]\":-1}") "}", IBID_EFORMAT, "id"},
        {"{" RULES "," MODEL("{\"[UNK]\":4294967296}") "}", IBID_EFORMAT, "id"},
        {"{" RULES "," MODEL("{\"[UNK]\":\"0\"}") "}", IBID_EFORMAT, "id"},
        {"{" RULES "," MODEL("{\"[UNK]\":0,\"[UNK]\":1}") "}", IBID_EFORMAT, "duplicate"},
        {"{" MODEL("{\"[UNK]\":0}") "}", IBID_EUNSUPPORTED, "normalizer"},
        {"{\"normalizer\":{\"type\":\"NFC\"}," MODEL("{\"[UNK]\":0}") "}", IBID_EUNSUPPORTED, "NFC"},
        {"{" RULES
         ",\"added_tokens\":[{\"id\":0,\"content\":\"x\",\"single_word\":true}]," MODEL("{\"[UNK]\":0}") "}",
         IBID_EUNSUPPORTED, "single_word"},
        {"{" RULES ",\"added_tokens\":[{\"content\":\"x\"}]," MODEL("{\"[UNK]\":0}") "}", IBID_EFORMAT, "id"},
        {"{" RULES ",\"post_processor\":{\"type\":\"TemplateProcessing\"}," MODEL("{\"[UNK]\":0}") "}",
         IBID_EFORMAT, "template"},
        {"{" RULES ",\"post_processor\":{\"type\":\"BertProcessing\"}," MODEL("{\"[UNK]\":0}") "}",
         IBID_EFORMAT, "id"},
        {"{" RULES
         ",\"model\":{\"type\":\"WordPiece\",\"max_input_chars_per_word\":0,\"vocab\":{\"[UNK]\":0}}}",
         IBID_EFORMAT, "max_input_chars_per_word"},
    };
    check_files(cases, COUNT_OF(cases));
}

#define SPACES "\"pre_tokenizer\":{\"type\":\"Metaspace\"}"
#define UNIGRAM(members) "\"model\":{\"type\":\"Unigram\"," members "}"
#define PIECES "\"unk_id\":0,\"vocab\":[[\"<unk>\",0],[\"a\",-1.5]]"
#define CHARSMAP(base64) "\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"" base64 "\"},"

static void test_refuses_damaged_unigram_files(void **state)
{
    static const struct file_case cases[] = {
        {"{" SPACES "," UNIGRAM(PIECES) "}", IBID_OK, ""},
        {"{" UNIGRAM(PIECES) "}", IBID_EUNSUPPORTED, "pre-tokenizer"},
        {"{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[]}," UNIGRAM(PIECES) "}",
         IBID_EUNSUPPORTED, "pre-tokenizers"},
        {"{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"ab\"}," UNIGRAM(PIECES) "}",
         IBID_EFORMAT, "'ab'"},
        {"{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"prepend_scheme\":\"maybe\"}," UNIGRAM(PIECES) "}",
         IBID_EUNSUPPORTED, "maybe"},
        {"{" SPACES "," UNIGRAM("\"unk_id\":0,\"vocab\":[]") "}", IBID_EFORMAT, "0 pieces"},
        {"{" SPACES "," UNIGRAM("\"unk_id\":0,\"vocab\":[[\"a\"]]") "}", IBID_EFORMAT, "piece 0"},
        {"{" SPACES "," UNIGRAM("\"unk_id\":0,\"vocab\":[[\"a\",\"b\"]]") "}", IBID_EFORMAT, "piece 0"},
        {"{" SPACES "," UNIGRAM("\"unk_id\":0,\"vocab\":[[\"a\",0],[\"a\",1]]") "}", IBID_EFORMAT, "twice"},
        {"{" SPACES "," UNIGRAM("\"unk_id\":2,\"vocab\":[[\"a\",0],[\"b\",1]]") "}", IBID_EFORMAT, "unk_id"},
        {"{" SPACES "," UNIGRAM("\"vocab\":[[\"a\",0],[\"b\",1]]") "}", IBID_EUNSUPPORTED, "unk_id"},
        {"{" SPACES "," UNIGRAM("\"byte_fallback\":true," PIECES) "}", IBID_EUNSUPPORTED, "<0x00>"},
        {"{\"normalizer\":{\"type\":\"NFKC\"}," SPACES "," UNIGRAM(PIECES) "}", IBID_EUNSUPPORTED, "NFKC"},
        {"{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"b\"}," SPACES
         "," UNIGRAM(PIECES) "}",
         IBID_EUNSUPPORTED, "replaces"},
        {"{" CHARSMAP("#") SPACES "," UNIGRAM(PIECES) "}", IBID_EFORMAT, "base64"},
        {"{" CHARSMAP("AAA") SPACES "," UNIGRAM(PIECES) "}", IBID_EFORMAT, "trie"},
        {"{" CHARSMAP("AwAAAAAAAAA=") SPACES "," UNIGRAM(PIECES) "}", IBID_EFORMAT, "trie"},
        {"{" CHARSMAP("BAAAAA==") SPACES "," UNIGRAM(PIECES) "}", IBID_EFORMAT, "trie"},
        {"{" CHARSMAP("BAAAAAAAAAD/") SPACES "," UNIGRAM(PIECES) "}", IBID_EFORMAT, "UTF-8"},
        {"{" CHARSMAP("AAAAAA==") SPACES "," UNIGRAM(PIECES) "}", IBID_EFORMAT, "trie"},
        {"{" CHARSMAP("BAAAAP////8=") SPACES "," UNIGRAM(PIECES) "}", IBID_OK, ""},
    };
    check_files(cases, COUNT_OF(cases));
}

/* Any prefix of a good file is an error, never a crash. */
static void check_truncated(const char *name)
{
    AUTO_FREE char *path = golden_path(name);
    AUTO_BUFFER json = BUFFER(1 << 20);
    assert_ok(file_read(path, &json, err));
    const struct str whole = str_trim(buffer_str(&json));
    for (size_t size = 0; size < whole.size; size += 37) {
        struct tokenizer *tokenizer;
        assert_int_equal(tokenizer_parse(str_slice(whole, 0, size), &tokenizer, NULL), IBID_EFORMAT);
    }
}

static void test_refuses_truncated_files(void **state)
{
    struct tokenizer *tokenizer;
    check_truncated("tokenizer.json");
    check_truncated("unigram.json");
    assert_int_equal(tokenizer_open("/nowhere/tokenizer.json", &tokenizer, NULL), IBID_ENOTFOUND);
}

static void test_vocabulary_finds_all_and_nothing_else(void **state)
{
    enum { COUNT = 20000 };
    struct vocabulary_entry *entries = xcalloc(COUNT, sizeof *entries);
    char(*texts)[24] = xcalloc(COUNT, sizeof *texts);
    uint64_t random = 88172645463325252u;
    for (int32_t i = 0; i < COUNT; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        snprintf(texts[i], sizeof texts[i], "%x%c%llu", (unsigned)i, i & 1 ? '\xff' : '\x01',
                 (unsigned long long)(random % 1000));
        entries[i] = (struct vocabulary_entry){str_from(texts[i]), i};
    }
    struct vocabulary vocabulary;
    assert_ok(vocabulary_build(entries, COUNT, &vocabulary, err));
    for (int32_t i = 0; i < COUNT; i++) {
        const struct str text = str_from(texts[i]);
        assert_int_equal(vocabulary_find(&vocabulary, text), i);
        texts[i][text.size - 1] ^= 0x40;
        assert_int_equal(vocabulary_find(&vocabulary, text), -1);
    }
    assert_int_equal(vocabulary_find(&vocabulary, STR("")), -1);
    vocabulary_release(&vocabulary);

    struct vocabulary_entry twice[] = {{STR("a"), 0}, {STR("b"), 1}, {STR("a"), 2}};
    assert_int_equal(vocabulary_build(twice, 3, &vocabulary, NULL), IBID_EFORMAT);
    free(texts);
    free(entries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gives_the_ids_of_the_reference),
        cmocka_unit_test(test_gives_the_ids_of_the_reference_for_minilm),
        cmocka_unit_test(test_gives_the_ids_of_the_reference_for_unigram),
        cmocka_unit_test(test_unigram_endures_huge_words),
        cmocka_unit_test(test_cuts_unigram_at_the_window),
        cmocka_unit_test(test_cuts_at_the_window),
        cmocka_unit_test(test_drops_what_is_no_text),
        cmocka_unit_test(test_endures_huge_words),
        cmocka_unit_test(test_refuses_damaged_files),
        cmocka_unit_test(test_refuses_damaged_unigram_files),
        cmocka_unit_test(test_refuses_truncated_files),
        cmocka_unit_test(test_vocabulary_finds_all_and_nothing_else),
    };
    return cmocka_run_group_tests_name("encoder_tokenizer", tests, NULL, NULL);
}
