/* What every chunker must do, whatever the document. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "chunker/chunker.h"
#include "chunker/outline.h"
#include "tests/support/document.h"

/* ---- counters of three natures ---- */

static size_t counted_bytes; /* how much text the counters have looked at */

/* As WordPiece: words fall into pieces of four letters, ideographs stand alone, and what is too long
 * is one unknown token. */
static size_t count_pieces(const struct token_counter *self, struct str text)
{
    size_t tokens = 0, word = 0;
    counted_bytes += text.size;
    for (size_t at = 0; at < text.size;) {
        const uint32_t code_point = utf8_next(text, &at);
        const bool space = code_point <= ' ', wide = code_point >= 0x2E80;
        if (space || wide) {
            tokens += word > 100 ? 1 : (word + 3) / 4;
            tokens += wide;
            word = 0;
        } else {
            word++;
        }
    }
    return tokens + (word > 100 ? 1 : (word + 3) / 4);
}

static size_t count_bytes(const struct token_counter *self, struct str text)
{
    counted_bytes += text.size;
    return text.size;
}

/* More together than apart: every third byte, rounded down. */
static size_t count_thirds(const struct token_counter *self, struct str text)
{
    counted_bytes += text.size;
    return text.size / 3;
}

static const struct token_counter counters[] = {
    {.count = count_pieces, .special_tokens = 2, .max_tokens = 256},
    {.count = count_bytes},
    {.count = count_thirds, .special_tokens = 1, .max_tokens = 512},
};

static const struct chunking chunkings[] = {
    {.size = 512, .overlap_percent = 10, .heading_tokens = 64, .language = "en"},
    {.size = 64, .overlap_percent = 0, .heading_tokens = 32, .language = ""},
    {.size = 16, .overlap_percent = 50, .heading_tokens = 0, .language = "ja"},
    {.size = 40, .overlap_percent = 20, .heading_tokens = 8, .language = "de"},
};

/* ---- the invariants ---- */

static bool is_excluded(const struct extraction *extraction, uint32_t index)
{
    for (uint32_t i = index; i != BLOCK_NO_PARENT; i = extraction->blocks[i].parent) {
        const struct block *block = &extraction->blocks[i];
        if (block->flags & (BLOCK_HIDDEN | BLOCK_BOILERPLATE) || block->kind == BLOCK_PAGE_HEADER ||
            block->kind == BLOCK_PAGE_FOOTER || block->kind == BLOCK_COMMENT)
            return true;
    }
    return false;
}

/* Each searchable byte that is no blank lies in the own range of exactly one chunk. */
static void check_coverage(const struct extraction *extraction, const struct chunk *chunks, size_t count)
{
    const struct str text = extraction->text;
    char *seen = xcalloc(text.size + 1, 1);
    for (size_t i = 0; i < extraction->block_count; i++)
        if (is_excluded(extraction, (uint32_t)i))
            memset(seen + extraction->blocks[i].start, 'x',
                   extraction->blocks[i].end - extraction->blocks[i].start);
    for (size_t i = 0; i < count; i++)
        for (uint32_t at = chunks[i].own_start; at < chunks[i].end; at++)
            if (seen[at] != 'x')
                seen[at]++;
    for (size_t at = 0; at < text.size;) {
        size_t next = at;
        utf8_next(text, &next);
        uint32_t start = (uint32_t)at, end = (uint32_t)next;
        range_trim(text, BLOCK_PARAGRAPH, &start, &end);
        if (start < end && seen[at] != 1 && seen[at] != 'x')
            fail_msg("byte %zu of %zu is in %d chunks", at, text.size, seen[at]);
        at = next;
    }
    free(seen);
}

static void check_chunk(const struct extraction *extraction, const struct chunk *chunk,
                        const struct chunking *chunking, const struct token_counter *counter)
{
    const struct str text = extraction->text;
    const size_t size =
        counter->max_tokens && chunking->size > counter->max_tokens ? counter->max_tokens : chunking->size;
    assert_true(chunk->start <= chunk->own_start && chunk->own_start < chunk->end && chunk->end <= text.size);
    if (chunking->overlap_percent == 0)
        assert_int_equal(chunk->start, chunk->own_start);
    assert_int_equal(utf8_floor(text, chunk->start), chunk->start);
    assert_int_equal(utf8_floor(text, chunk->own_start), chunk->own_start);
    assert_int_equal(utf8_floor(text, chunk->end), chunk->end);
    assert_true(chunk->text.size > 0 && utf8_is_valid(chunk->text) && utf8_is_valid(chunk->embed_text));
    assert_true(chunk->text.size <= chunk->end - chunk->start + 2);
    assert_int_equal(chunk->tokens, counter->count(counter, chunk->embed_text));
    if (chunk->tokens + counter->special_tokens > size)
        fail_msg("chunk %u has %u + %zu tokens of %zu", chunk->order, chunk->tokens, counter->special_tokens,
                 size);
    assert_true(chunk->text.size <= size * 32);
    if (memmem(chunk->text.data, chunk->text.size, "SECRET", 6))
        fail_msg("left out text is in chunk %u, %u..%u..%u: %.*s", chunk->order, chunk->start,
                 chunk->own_start, chunk->end, STR_ARG(chunk->text));
    assert_null(memmem(chunk->embed_text.data, chunk->embed_text.size, "SECRET", 6));
    assert_true(chunk->structure.size > 0);
    assert_int_equal(chunk->page_first, extraction_page_at(extraction, chunk->start));
    assert_int_equal(chunk->page_last, extraction_page_at(extraction, chunk->end - 1));
}

static void check(const struct chunker_ops *ops, const struct extraction *extraction,
                  const struct chunking *chunking, const struct token_counter *counter)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct chunk *chunks, *again;
    size_t count, again_count;
    const struct str title = STR("A title of some words, so that it takes room");
    assert_ok(chunker_split(ops, extraction, title, chunking, counter, &arena, &chunks, &count, err));
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(chunks[i].order, i);
        if (i > 0)
            assert_true(chunks[i].own_start >= chunks[i - 1].end);
        check_chunk(extraction, &chunks[i], chunking, counter);
    }
    check_coverage(extraction, chunks, count);
    assert_ok(chunker_split(ops, extraction, title, chunking, counter, &arena, &again, &again_count, err));
    assert_int_equal(count, again_count);
    for (size_t i = 0; i < count; i++) {
        assert_true(str_equal(chunks[i].text, again[i].text));
        assert_true(str_equal(chunks[i].embed_text, again[i].embed_text));
    }
}

static void check_all(const struct document *document)
{
    const struct extraction extraction = document_extraction(document);
    for (size_t i = 0; chunker_registry[i]; i++)
        for (size_t j = 0; j < COUNT_OF(chunkings); j++)
            for (size_t k = 0; k < COUNT_OF(counters); k++)
                check(chunker_registry[i], &extraction, &chunkings[j], &counters[k]);
}

/* ---- documents ---- */

static uint64_t random_state;
static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(random_state >> 33) % limit;
}

static void append_random_text(struct buffer *out, uint32_t words)
{
    static const char *const vocabulary[] = {"water",
                                             "pressure",
                                             "the",
                                             "a",
                                             "of",
                                             "boiling",
                                             "Dr.",
                                             "e.g.",
                                             "3.14",
                                             "naïve",
                                             "größer",
                                             "данные",
                                             "ภาษาไทยไม่มีช่องว่าง",
                                             "漢字とかな。",
                                             "这是一个句子。",
                                             "한국어 문장.",
                                             "👩‍👩‍👧‍👦",
                                             "e\u0301\u0302\u0303",
                                             "(see",
                                             "below)",
                                             "x",
                                             "internationalisation",
                                             "—",
                                             "العربية",
                                             "pneumonoultramicroscopicsilicovolcanoconiosis"};
    for (uint32_t i = 0; i < words; i++) {
        buffer_append_string(out, vocabulary[random_below(COUNT_OF(vocabulary))]);
        if (random_below(9) == 0)
            buffer_append_string(out, random_below(2) ? ". " : "? ");
        else if (random_below(30) == 0)
            buffer_append_string(out, "\n");
        else
            buffer_append_string(out, random_below(20) ? " " : "  ");
    }
}

static void append_random_block(struct document *document);

static void append_random_table(struct document *document)
{
    const uint32_t columns = 1 + random_below(5), rows = 1 + random_below(12), headers = random_below(3);
    document_open(document, BLOCK_TABLE, 0, 0);
    for (uint32_t row = 0; row < rows; row++) {
        document_open(document, BLOCK_TABLE_ROW, 0, row < headers ? BLOCK_HEADER : 0);
        for (uint32_t column = 0; column < columns; column++) {
            append_random_text(&document->text, random_below(random_below(20) ? 6 : 300));
            buffer_append_string(&document->text, column + 1 < columns ? "\t" : "");
        }
        document_close(document);
    }
    document_close(document);
}

static void append_random_list(struct document *document)
{
    document_open(document, BLOCK_LIST, 0, 0);
    for (uint32_t i = 0, items = 1 + random_below(8); i < items; i++) {
        document_open(document, BLOCK_LIST_ITEM, 1, 0);
        append_random_text(&document->text, random_below(40));
        if (document->depth < 5 && random_below(6) == 0)
            append_random_list(document);
        document_close(document);
    }
    document_close(document);
}

static void append_random_code(struct document *document)
{
    document_open(document, BLOCK_CODE, 0, 0);
    for (uint32_t i = 0, lines = 1 + random_below(40); i < lines; i++) {
        buffer_append_repeated(&document->text, ' ', random_below(9));
        append_random_text(&document->text, random_below(8));
        buffer_append_string(&document->text, random_below(4) ? "\n" : "\n\n");
    }
    document_close(document);
}

static void append_random_block(struct document *document)
{
    static const enum block_kind left_out[] = {BLOCK_PAGE_HEADER, BLOCK_PAGE_FOOTER, BLOCK_COMMENT};
    switch (random_below(12)) {
    case 0:
    case 1:
        document_open(document, BLOCK_HEADING, 1 + random_below(4), 0);
        append_random_text(&document->text, 1 + random_below(random_below(9) ? 8 : 90));
        document_close(document);
        break;
    case 2:
        append_random_table(document);
        break;
    case 3:
        append_random_list(document);
        break;
    case 4:
        append_random_code(document);
        break;
    case 5:
        document_block(document, left_out[random_below(3)], 0, 0, "SECRET running head");
        break;
    case 6:
        document_block(document, BLOCK_PARAGRAPH, 0, random_below(2) ? BLOCK_HIDDEN : BLOCK_BOILERPLATE,
                       "SECRET SECRET");
        break;
    case 7:
        if (document->depth < 4) {
            document_open(document, random_below(2) ? BLOCK_SECTION : BLOCK_QUOTE, 0,
                          random_below(8) ? 0 : BLOCK_HIDDEN);
            const bool hidden = document->blocks[document->count - 1].flags;
            append_random_text(&document->text, hidden ? 0 : random_below(5));
            for (uint32_t i = random_below(5); !hidden && i > 0; i--)
                append_random_block(document);
            document_close(document);
        }
        break;
    case 8:
        if (document->depth == 0)
            document_page(document);
        break;
    default:
        document_open(document, BLOCK_PARAGRAPH, 0, 0);
        append_random_text(&document->text, random_below(random_below(12) ? 60 : 900));
        document_close(document);
    }
}

static void test_random_documents(void **state)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        random_state = seed * 977;
        struct document document = DOCUMENT_INIT;
        document_block(&document, BLOCK_PARAGRAPH, 0, 0, "One visible sentence.");
        for (uint32_t i = random_below(30); i > 0; i--)
            append_random_block(&document);
        check_all(&document);
        document_release(&document);
    }
}

static void check_one_block(enum block_kind kind, struct buffer *take_text)
{
    struct document document = DOCUMENT_INIT;
    document_open(&document, kind, 1, 0);
    buffer_append_str(&document.text, buffer_str(take_text));
    document_close(&document);
    check_all(&document);
    buffer_release(take_text);
    document_release(&document);
}

static void test_a_word_without_end(void **state)
{
    struct buffer text = BUFFER(EXTRACTION_TEXT_LIMIT);
    buffer_append_repeated(&text, 'A', 100000);
    check_one_block(BLOCK_PARAGRAPH, &text);
    buffer_append_string(&text, "a");
    for (int i = 0; i < 20000; i++) /* one user-perceived character of 40 KB */
        buffer_append_string(&text, "\u0301");
    check_one_block(BLOCK_PARAGRAPH, &text);
    for (int i = 0; i < 3000; i++)
        buffer_append_string(&text, "👩‍👩‍👧‍👦");
    check_one_block(BLOCK_HEADING, &text);
}

static void test_scripts_without_spaces(void **state)
{
    struct buffer text = BUFFER(EXTRACTION_TEXT_LIMIT);
    for (int i = 0; i < 500; i++)
        buffer_append_string(&text, "これは日本語の文章です。段落が長いと文で切ります。");
    check_one_block(BLOCK_PARAGRAPH, &text);
    for (int i = 0; i < 1500; i++) /* no sentence ends */
        buffer_append_string(&text, "汉字没有空格");
    check_one_block(BLOCK_LIST_ITEM, &text);
    for (int i = 0; i < 500; i++)
        buffer_append_string(&text, "ภาษาไทยไม่มีช่องว่างระหว่างคำ");
    check_one_block(BLOCK_CODE, &text);
}

static void test_blanks_without_end(void **state)
{
    struct buffer text = BUFFER(EXTRACTION_TEXT_LIMIT);
    buffer_append_string(&text, "first");
    buffer_append_repeated(&text, ' ', 60000);
    buffer_append_string(&text, "second");
    buffer_append_repeated(&text, '\n', 60000);
    buffer_append_string(&text, "third");
    check_one_block(BLOCK_PARAGRAPH, &text);
    buffer_append_repeated(&text, '\n', 60000);
    buffer_append_string(&text, "    indented");
    check_one_block(BLOCK_CODE, &text);
}

static void test_a_giant_row(void **state)
{
    struct document document = DOCUMENT_INIT;
    document_open(&document, BLOCK_TABLE, 0, 0);
    document_block(&document, BLOCK_TABLE_ROW, 0, BLOCK_HEADER, "Name\tDescription\tPrice");
    document_open(&document, BLOCK_TABLE_ROW, 0, 0);
    for (int i = 0; i < 3000; i++)
        buffer_append_string(&document.text, "cell text goes on. \t");
    document_close(&document);
    document_open(&document, BLOCK_TABLE_ROW, 0, BLOCK_HEADER);
    buffer_append_repeated(&document.text, 'H', 20000);
    document_close(&document);
    document_close(&document);
    check_all(&document);
    document_release(&document);
}

static void test_headings_alone(void **state)
{
    struct document document = DOCUMENT_INIT;
    for (unsigned i = 0; i < 300; i++)
        document_block(&document, BLOCK_HEADING, 1 + i % 9, 0, "A heading and nothing below it");
    check_all(&document);
    document_release(&document);
}

static void test_text_outside_blocks(void **state)
{
    struct document document = DOCUMENT_INIT;
    buffer_append_string(&document.text, "Before any block. ");
    document_block(&document, BLOCK_PARAGRAPH, 0, 0, "In a block.");
    buffer_append_string(&document.text, "After it.");
    check_all(&document);
    document_release(&document);
}

static void test_nothing_visible(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct chunk *chunks;
    size_t count;
    ibid_error err;
    struct document document = DOCUMENT_INIT;
    document_block(&document, BLOCK_PARAGRAPH, 0, BLOCK_HIDDEN, "SECRET");
    document_block(&document, BLOCK_PARAGRAPH, 0, 0, " \n\t\u00a0\u200b");
    const struct extraction hidden = document_extraction(&document), empty = {.text = STR_EMPTY};
    for (size_t i = 0; chunker_registry[i]; i++) {
        assert_int_equal(chunker_split(chunker_registry[i], &hidden, STR("title"), &chunkings[0],
                                       &counters[0], &arena, &chunks, &count, &err),
                         IBID_EFORMAT);
        assert_int_equal(chunker_split(chunker_registry[i], &empty, STR_EMPTY, &chunkings[0], &counters[0],
                                       &arena, &chunks, &count, &err),
                         IBID_EFORMAT);
    }
    document_release(&document);
}

static void test_refuses_sizes_without_room(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct chunk *chunks;
    size_t count;
    struct document document = DOCUMENT_INIT;
    document_block(&document, BLOCK_PARAGRAPH, 0, 0, "text");
    const struct extraction extraction = document_extraction(&document);
    static const struct token_counter greedy = {.count = count_bytes, .special_tokens = 30};
    static const struct {
        struct chunking chunking;
        const struct token_counter *counter;
    } wrong[] = {
        {{.size = 15, .language = ""}, &counters[0]},
        {{.size = 8193, .language = ""}, &counters[0]},
        {{.size = 100, .overlap_percent = 51, .language = ""}, &counters[0]},
        {{.size = 32, .language = ""}, &greedy},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        ibid_error err = {0};
        assert_int_equal(chunker_split(chunker_registry[0], &extraction, STR_EMPTY, &wrong[i].chunking,
                                       wrong[i].counter, &arena, &chunks, &count, &err),
                         IBID_EINVAL);
        assert_true(strlen(err.message) > 0);
    }
    document_release(&document);
}

/* Work rises with the text, not faster: counted in the bytes that the counter is shown. */
static void test_counts_text_a_few_times_only(void **state)
{
    static const char *const units[] = {
        "One sentence of some words. ", "word ", "x", "漢字。", "漢字", "a\tb\t", "    line of code;\n\n"};
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        struct document document = DOCUMENT_INIT;
        document_open(&document, BLOCK_PARAGRAPH, 0, 0);
        while (document.text.size < 300000)
            buffer_append_string(&document.text, units[i]);
        document_close(&document);
        const struct extraction extraction = document_extraction(&document);
        for (size_t j = 0; chunker_registry[j]; j++) {
            AUTO_ARENA arena = ARENA_INIT;
            struct chunk *chunks;
            size_t count;
            counted_bytes = 0;
            assert_ok(chunker_split(chunker_registry[j], &extraction, STR("title"), &chunkings[0],
                                    &counters[0], &arena, &chunks, &count, err));
            if (counted_bytes > 12 * document.text.size)
                fail_msg("%s counted %zu bytes of %zu of '%s'", chunker_registry[j]->name, counted_bytes,
                         document.text.size, units[i]);
        }
        document_release(&document);
    }
}

static void test_fingerprints_name_what_matters(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct chunking chunking = chunkings[0];
    const char *one = chunker_fingerprint(chunker_registry[0], &chunking, "wordpiece", &arena);
    assert_string_equal(one, "structural/1 size=512 overlap=10 heading=64 counter=wordpiece");
    chunking.language = "fr"; /* of the document, not of the chunking */
    assert_string_equal(one, chunker_fingerprint(chunker_registry[0], &chunking, "wordpiece", &arena));
    chunking.overlap_percent = 0;
    assert_string_not_equal(one, chunker_fingerprint(chunker_registry[0], &chunking, "wordpiece", &arena));
    for (size_t i = 0; chunker_registry[i]; i++) {
        assert_ptr_equal(chunker_find(chunker_registry[i]->name), chunker_registry[i]);
        assert_true(strlen(chunker_registry[i]->help) > 10);
    }
    assert_null(chunker_find("no such chunker"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_documents),
        cmocka_unit_test(test_a_word_without_end),
        cmocka_unit_test(test_scripts_without_spaces),
        cmocka_unit_test(test_blanks_without_end),
        cmocka_unit_test(test_a_giant_row),
        cmocka_unit_test(test_headings_alone),
        cmocka_unit_test(test_text_outside_blocks),
        cmocka_unit_test(test_nothing_visible),
        cmocka_unit_test(test_refuses_sizes_without_room),
        cmocka_unit_test(test_counts_text_a_few_times_only),
        cmocka_unit_test(test_fingerprints_name_what_matters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
