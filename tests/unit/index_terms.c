#include "tests/test.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "model/terms.h"

/* The terms of a text as "surface:start-end(position) ~stem +part". */
static const char *terms_of(struct arena *arena, const char *text, const char *language)
{
    AUTO(analyzer_auto_free) struct analyzer *analyzer = analyzer_new();
    struct term *terms;
    size_t count;
    analyzer_terms(analyzer, str_from(text), str_from(language), arena, &terms, &count);
    AUTO_BUFFER out = BUFFER(1 << 20);
    for (size_t i = 0; i < count; i++) {
        static const char *const marks[] = {"", "~", "+"};
        buffer_printf(&out, "%s%s%.*s", i ? " " : "", marks[terms[i].kind], STR_ARG(terms[i].text));
        assert_true(terms[i].start < terms[i].end && terms[i].end <= strlen(text));
        assert_true(terms[i].text.size > 0 && terms[i].text.size <= TERM_LIMIT);
        assert_true(i == 0 || terms[i].position - terms[i - 1].position <= 1);
        assert_true(i == 0 ||
                    (terms[i].position == terms[i - 1].position) == (terms[i].kind != TERM_SURFACE));
        assert_true(utf8_is_valid(terms[i].text));
    }
    return arena_strdup(arena, out.data ? out.data : "");
}

static void words_are_folded_stemmed_and_split(void **state)
{
    static const struct {
        const char *language, *text, *expected;
    } rows[] = {
        {"en", "", ""},
        {"en", " \t\n.,;-", ""},
        {"en", "Running runs run", "running ~run runs ~run run"},
        {"", "The boiling point", "the boiling ~boil point"},
        {"de", "Häuser des Hauses", "hauser ~haus des hauses ~haus"},
        {"de", "Die Straße, STRASSE", "die strasse ~strass strasse ~strass"},
        {"fr", "l’école d'été", "l'ecole ~l'ecol +ecole ~ecol d'ete ~d'et +ete"},
        {"es", "canción canciones", "cancion canciones ~cancion"},
        {"", "в домах й ёлка", "в домах ~дом й елка ~елк"},
        {"ar", "كِتَاب", "كتاب"},
        {"en", "naïve Ångström ﬁne", "naive ~naiv angstrom fine"},
        {"en", "don't company's", "don't +don company's ~compani +company ~compani"},
        {"en", "parseHTTPRequest", "parsehttprequest +parse ~pars +http +request"},
        {"en", "snake_case_name __ _x_", "snake_case_name ~snake_case_nam +snake +case +name _x_"},
        {"en", "foo.bar.baz std::vector", "foo.bar.baz +foo +bar +baz std vector"},
        {"en", "PDFs IDs XMLs", "pdfs ids ~id xmls"},
        {"en", "3.14 1,234 v1.2 utf8 ISO-8859-1", "3.14 1,234 v1.2 +v1 utf8 iso 8859 1"},
        {"en", "e-mail user@example.com", "e mail user example.com +example ~exampl +com"},
        {"ja", "東京都", "東京 京都"},
        {"ja", "水", "水"},
        {"ja", "ﾃﾞｰﾀ データ", "デー ータ デー ータ"},
        {"zh", "我爱北京abc天安门", "我爱 爱北 北京 abc 天安 安门"},
        {"ko", "서울에서 물", "서울 울에 에서 물"},
        {"th", "สวัสดีครับ", "สวัสดี ครับ"},
        {"hi", "हिन्दी", "हिन्दी ~हिन्द"},
        {"el", "Οδός ΟΔΟΣ", "οδοσ ~οδ οδοσ ~οδ"},
        {"en", "ｘ２ ℌello", "x2 hello"},
        {"en",
         "so\xC2\xAD"
         "ft",
         "soft"},
        {"en", "😀 smile", "smile"},
    };
    AUTO_ARENA arena = ARENA_INIT;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *got = terms_of(&arena, rows[i].text, rows[i].language);
        if (strcmp(got, rows[i].expected) != 0)
            print_error("'%s' gives '%s', not '%s'\n", rows[i].text, got, rows[i].expected);
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(terms_of(&arena, rows[i].text, rows[i].language), rows[i].expected);
}

static void decomposed_text_gives_the_same_terms(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    assert_string_equal(terms_of(&arena,
                                 "a\xCC\x8A"
                                 "ngstro\xCC\x88m",
                                 "en"),
                        terms_of(&arena, "ångström", "en"));
    /* Hangul syllables from their letters */
    assert_string_equal(
        terms_of(&arena, "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB\xE1\x84\x80\xE1\x85\xB3\xE1\x86\xAF", "ko"),
        terms_of(&arena, "한글", "ko"));
}

/* The ASCII rules are those of ICU: a dash beyond ASCII sends the same bytes through the other path. */
static void ascii_rules_are_those_of_icu(void **state)
{
    static const char alphabet[] = "aZb09_..,:;''-/\"(x";
    uint64_t random = 42;
    AUTO(analyzer_auto_free) struct analyzer *analyzer = analyzer_new();
    for (unsigned round = 0; round < 20000; round++) {
        AUTO_ARENA arena = ARENA_INIT;
        char text[32];
        size_t size = 0;
        for (unsigned i = 0; i < 12; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            text[size++] = alphabet[(random >> 33) % (sizeof alphabet - 1)];
        }
        struct term *fast, *slow;
        size_t fast_count, slow_count;
        analyzer_terms(analyzer, (struct str){text, size}, STR("en"), &arena, &fast, &fast_count);
        memcpy(text + size, "\xE2\x80\x94", 3); /* — */
        analyzer_terms(analyzer, (struct str){text, size + 3}, STR("en"), &arena, &slow, &slow_count);
        bool same = fast_count == slow_count;
        for (size_t i = 0; same && i < fast_count; i++)
            same = str_equal(fast[i].text, slow[i].text) && fast[i].start == slow[i].start &&
                   fast[i].end == slow[i].end && fast[i].position == slow[i].position;
        for (size_t i = 0; !same && i < fast_count; i++)
            print_error("fast: %.*s %u-%u\n", STR_ARG(fast[i].text), fast[i].start, fast[i].end);
        for (size_t i = 0; !same && i < slow_count; i++)
            print_error("ICU:  %.*s %u-%u\n", STR_ARG(slow[i].text), slow[i].start, slow[i].end);
        if (!same)
            fail_msg("'%.*s' is broken differently", (int)size, text);
    }
}

static void hostile_text_ends(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO(analyzer_auto_free) struct analyzer *analyzer = analyzer_new();
    enum { SIZE = 300000 };
    char *text = xmalloc(SIZE);
    static const char *const patterns[] = {
        "a", "aB",           "a.", "\xCC\x80",         "\xE6\xB0\xB4", "\xEF\xB7\xBA",
        "_", "\xE0\xB8\x81", "'",  "\xF0\x9F\x98\x80", "\xEF\xB8\x80", "\xE1\x84\x80"};
    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        const size_t size = strlen(patterns[i]);
        for (size_t at = 0; at + size <= SIZE; at += size)
            memcpy(text + at, patterns[i], size);
        struct term *terms;
        size_t count;
        analyzer_terms(analyzer, (struct str){text, SIZE / size * size}, STR("en"), &arena, &terms, &count);
        for (size_t j = 0; j < count; j++)
            assert_true(terms[j].text.size > 0 && terms[j].text.size <= TERM_LIMIT);
    }
    free(text);
}

static void random_unicode_is_taken_apart(void **state)
{
    AUTO(analyzer_auto_free) struct analyzer *analyzer = analyzer_new();
    uint64_t random = 7;
    static const uint32_t blocks[] = {0x20,   0xC0,   0x300,  0x370,  0x400,   0x590,  0x600,
                                      0x900,  0xE00,  0x1100, 0x1E00, 0x2000,  0x3000, 0x30A0,
                                      0x4E00, 0xAC00, 0xFE00, 0xFF60, 0x1F600, 0xE0100};
    for (unsigned round = 0; round < 3000; round++) {
        AUTO_ARENA arena = ARENA_INIT;
        char text[256];
        size_t size = 0;
        for (unsigned i = 0; i < 40; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            size += utf8_encode(blocks[(random >> 40) % COUNT_OF(blocks)] + (uint32_t)((random >> 33) % 96),
                                text + size);
        }
        struct term *terms;
        size_t count;
        analyzer_terms(analyzer, (struct str){text, size}, STR(""), &arena, &terms, &count);
        for (size_t i = 0; i < count; i++) {
            assert_true(terms[i].text.size > 0 && terms[i].text.size <= TERM_LIMIT);
            assert_true(utf8_is_valid(terms[i].text));
            assert_true(terms[i].end <= size && terms[i].start < terms[i].end);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_folded_stemmed_and_split),
        cmocka_unit_test(decomposed_text_gives_the_same_terms),
        cmocka_unit_test(ascii_rules_are_those_of_icu),
        cmocka_unit_test(hostile_text_ends),
        cmocka_unit_test(random_unicode_is_taken_apart),
    };
    return cmocka_run_group_tests_name("index_terms", tests, NULL, NULL);
}
