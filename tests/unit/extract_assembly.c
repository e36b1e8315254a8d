#include "tests/test.h"

#include <signal.h>

#include "extract/assembly.h"
#include "extract/emitter_core.h"

/* A stream made by a real emitter, kept to be fed in any pieces. */
struct stream {
    struct emitter emitter;
    struct buffer bytes;
};

static void keep(void *context, struct str events)
{
    struct stream *stream = context;
    buffer_append_str(&stream->bytes, events);
}

static struct emitter *begin(struct stream *stream)
{
    *stream = (struct stream){.bytes = BUFFER(16 << 20)};
    emitter_begin(&stream->emitter, true, keep, NULL, stream);
    return &stream->emitter;
}

static const struct assembly_limits usual_limits = {.max_text = 1000, .max_pages = 100, .words = true};
static const struct request usual_request = {
    .max_memory = UINT64_C(1) << 30, .max_cpu_time = 60000000, .max_time = 120000000};

static void assemble(struct str bytes, size_t step, const struct assembly_limits *limits, struct arena *arena,
                     struct extraction *ret)
{
    struct assembly *assembly = assembly_new(limits);
    for (size_t at = 0; at < bytes.size; at += step) {
        struct str piece = str_slice(bytes, at, at + step);
        if (!assembly_feed(assembly, piece.data, piece.size))
            break;
    }
    struct child_report report = {.ending = ENDING_EXIT};
    assembly_finish(assembly, &report, &usual_request, arena, ret);
    assembly_free(assembly);
}

/* Ends the stream and assembles it. */
static struct extraction finish(struct stream *stream, struct arena *arena)
{
    struct extraction extraction;
    emitter_end(&stream->emitter);
    assemble(buffer_str(&stream->bytes), SIZE_MAX / 2, &usual_limits, arena, &extraction);
    buffer_release(&stream->bytes);
    return extraction;
}

static void assert_text(const struct extraction *extraction, const char *expected)
{
    assert_string_equal(extraction->text.data, expected);
}

static void blocks_are_parted_and_nested(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct stream stream;
    struct emitter *emitter = begin(&stream);
    emit_block(emitter, BLOCK_HEADING, 2, 0, STR("Title "));
    emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, STR(" \n "));
    emit_open(emitter, BLOCK_LIST, 0, 0);
    emit_open(emitter, BLOCK_LIST_ITEM, 1, 0);
    emit_text(emitter, STR("1. one"));
    emit_open(emitter, BLOCK_LIST, 0, 0);
    emit_block(emitter, BLOCK_LIST_ITEM, 2, 0, STR("• two"));
    emit_close(emitter);
    emit_close(emitter);
    emit_close(emitter);
    emit_text(emitter, STR("loose "));
    emit_text(emitter, STR("end"));
    struct extraction extraction = finish(&stream, &arena);
    assert_int_equal(extraction.status, EXTRACTION_OK);
    assert_text(&extraction, "Title\n\n1. one\n• two\n\nloose end");
    static const struct block expected[] = {
        {BLOCK_HEADING, 2, 0, BLOCK_NO_PARENT, 0, 5},
        {BLOCK_LIST, 0, 0, BLOCK_NO_PARENT, 7, 21},
        {BLOCK_LIST_ITEM, 1, 0, 1, 7, 21},
        {BLOCK_LIST, 0, 0, 2, 14, 21},
        {BLOCK_LIST_ITEM, 2, 0, 3, 14, 21},
        {BLOCK_PARAGRAPH, 0, 0, BLOCK_NO_PARENT, 23, 32},
    };
    assert_int_equal(extraction.block_count, COUNT_OF(expected));
    assert_memory_equal(extraction.blocks, expected, sizeof expected);
}

static void a_row_is_one_line_of_cells(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct stream stream;
    struct emitter *emitter = begin(&stream);
    emit_open(emitter, BLOCK_TABLE, 0, 0);
    emit_open(emitter, BLOCK_TABLE_ROW, 0, BLOCK_HEADER);
    emit_cell_end(emitter);
    emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, STR("a\tb"));
    emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, STR("c\nd"));
    emit_cell_end(emitter);
    emit_text(emitter, STR("e"));
    emit_cell_end(emitter);
    emit_close(emitter);
    emit_open(emitter, BLOCK_TABLE_ROW, 0, 0);
    emit_cell_end(emitter);
    emit_cell_end(emitter);
    emit_close(emitter);
    emit_block(emitter, BLOCK_TABLE_ROW, 0, 0, STR("f"));
    emit_close(emitter);
    struct extraction extraction = finish(&stream, &arena);
    assert_text(&extraction, "\ta b c d\te\nf");
    assert_int_equal(extraction.block_count, 3);
    assert_int_equal(extraction.blocks[1].flags, BLOCK_HEADER);
    assert_int_equal(extraction.blocks[1].start, 0);
}

static void words_and_pages_keep_their_places(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct stream stream;
    struct emitter *emitter = begin(&stream);
    emit_page(emitter, 1, 595, 842, STR("i"));
    emit_open(emitter, BLOCK_PARAGRAPH, 0, 0);
    emit_word(emitter, STR("first"), 10, 20, 30, 40);
    emit_text(emitter, STR(" "));
    emit_page(emitter, 2, 595, 842, STR("ii"));
    emit_word(emitter, STR("second"), 1, 2, 3, 4);
    emit_close(emitter);
    emit_page(emitter, 3, 595, 842, STR_EMPTY);
    emit_page_needs_ocr(emitter);
    emit_page(emitter, 5, -1, 842, STR_EMPTY);
    emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, STR("third"));
    struct extraction extraction = finish(&stream, &arena);
    assert_text(&extraction, "first second\n\nthird");
    assert_int_equal(extraction.page_count, 4);
    static const uint32_t starts[] = {0, 6, 14, 14};
    for (size_t i = 0; i < COUNT_OF(starts); i++)
        assert_int_equal(extraction.pages[i].start, starts[i]);
    assert_true(extraction.pages[2].needs_ocr && extraction.pages[3].width == 0);
    assert_string_equal(extraction.pages[1].label.data, "ii");
    assert_int_equal(extraction.word_count, 2);
    assert_true(extraction.words[1].start == 6 && extraction.words[1].size == 6 &&
                extraction.words[1].page == 2);
    assert_int_equal(extraction_page_at(&extraction, 13), 2);
}

static void text_is_repaired_on_the_way(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct stream stream;
    struct emitter *emitter = begin(&stream);
    emit_metadata(emitter, "title", (struct str){"a\0\xFF", 3});
    emit_metadata(emitter, "author", STR("  "));
    emit_block(emitter, BLOCK_CODE, 0, 0, (struct str){"\0  x\xC3\n  y\n", 11});
    emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, STR("\x01\x7F\r"));
    emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, STR("\x1B[1mz\a"));
    emit_warning(emitter, "odd", "first");
    emit_warning(emitter, "odd", "second");
    struct extraction extraction = finish(&stream, &arena);
    assert_text(&extraction, "  x\xEF\xBF\xBD\n  y\n\n[1mz");
    assert_int_equal(extraction.metadata_count, 1);
    assert_string_equal(extraction.metadata[0].value.data, "a\xEF\xBF\xBD");
    assert_int_equal(extraction.warning_count, 1);
    assert_int_equal(extraction.warnings[0].count, 2);
    assert_string_equal(extraction.warnings[0].message.data, "first");
}

static void any_cut_of_the_stream_gives_the_same(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct stream stream;
    struct emitter *emitter = begin(&stream);
    for (int i = 0; i < 40; i++) {
        emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, STR("några ord"));
        emit_metadata(emitter, "key", STR("value"));
    }
    emitter_end(&stream.emitter);
    for (size_t step = 1; step < 40; step++) {
        struct extraction extraction;
        assemble(buffer_str(&stream.bytes), step, &usual_limits, &arena, &extraction);
        assert_int_equal(extraction.status, EXTRACTION_OK);
        assert_int_equal(extraction.block_count, 40);
        assert_int_equal(extraction.text.size, 40 * 10 + 39 * 2);
    }
    buffer_release(&stream.bytes);
}

static void limits_end_the_stream(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct stream stream;
    struct emitter *emitter = begin(&stream);
    for (int i = 0; i < 101; i++)
        emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, STR("0123456789"));
    struct extraction extraction = finish(&stream, &arena);
    assert_int_equal(extraction.status, EXTRACTION_LIMIT);
    assert_string_equal(extraction.reason.data, "more than 1000 bytes of text (extract.max_text)");
    assert_int_equal(extraction.text.size, 0);

    emitter = begin(&stream);
    emit_page(emitter, 101, 1, 1, STR_EMPTY);
    extraction = finish(&stream, &arena);
    assert_int_equal(extraction.status, EXTRACTION_LIMIT);
    assert_string_equal(extraction.reason.data, "more than 100 pages (extract.max_pages)");
}

static void depth_is_bounded_and_text_survives(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct stream stream;
    struct emitter *emitter = begin(&stream);
    for (int i = 0; i < 1000; i++)
        emit_open(emitter, BLOCK_SECTION, 0, 0);
    emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, STR("deep"));
    for (int i = 0; i < 1000; i++)
        emit_close(emitter);
    emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, STR("flat"));
    struct extraction extraction = finish(&stream, &arena);
    assert_text(&extraction, "deep\n\nflat");
    assert_int_equal(extraction.blocks[extraction.block_count - 1].parent, BLOCK_NO_PARENT);
}

static void a_lie_is_found_out(void **state)
{
    static const struct {
        struct str bytes;
    } rows[] = {
        {{"\2", 1}},                                             /* nothing begun */
        {{"\0\10\0\0\0IBEX\2\0\0\0", 13}},                       /* another version */
        {{"\0\10\0\0\0IBEX\1\0\0\0\5\0\0\0\0", 18}},             /* a close without open */
        {{"\0\10\0\0\0IBEX\1\0\0\0\4\4\0\0\0\177\0\0\0", 22}},   /* an unknown kind of block */
        {{"\0\10\0\0\0IBEX\1\0\0\0\4\1\0\0\0\0", 19}},           /* an event cut short */
        {{"\0\10\0\0\0IBEX\1\0\0\0\6\377\377\377\377", 18}},     /* an event too large */
        {{"\0\10\0\0\0IBEX\1\0\0\0\77\0\0\0\0", 18}},            /* an unknown event */
        {{"\0\10\0\0\0IBEX\1\0\0\0\12\1\0\0\0\0", 19}},          /* failure with status OK */
        {{"\0\10\0\0\0IBEX\1\0\0\0\1\4\0\0\0\377\377\0\0", 22}}, /* a key longer than its event */
    };
    AUTO_ARENA arena = ARENA_INIT;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct extraction extraction;
        assemble(rows[i].bytes, 1, &usual_limits, &arena, &extraction);
        if (extraction.status != EXTRACTION_CRASHED)
            fail_msg("row %zu: %s", i, extraction_status_string(extraction.status));
    }
}

static void an_ending_is_named(void **state)
{
    static const struct {
        struct child_report report;
        enum extraction_status status;
        const char *reason;
    } rows[] = {
        {{ENDING_SIGNAL, SIGSEGV, 0, 0}, EXTRACTION_CRASHED, "the parser crashed (Segmentation fault)"},
        {{ENDING_SIGNAL, SIGSYS, 0, 0}, EXTRACTION_CRASHED, "the parser tried what the sandbox forbids"},
        {{ENDING_SIGNAL, SIGXCPU, 0, 0},
         EXTRACTION_LIMIT,
         "used more than 60.0 seconds of CPU time (extract.max_cpu_time)"},
        {{ENDING_TIMEOUT, SIGKILL, 0, 0},
         EXTRACTION_TIMEOUT,
         "took longer than 120.0 seconds (extract.max_time)"},
        {{ENDING_EXIT, CHILD_EXIT_MEMORY, 0, 0},
         EXTRACTION_LIMIT,
         "needs more than 1024 MiB of memory (extract.max_memory)"},
        {{ENDING_SIGNAL, SIGABRT, 0, 900 << 20},
         EXTRACTION_LIMIT,
         "needs more than 1024 MiB of memory (extract.max_memory)"},
        {{ENDING_EXIT, 1, 0, 0}, EXTRACTION_CRASHED, "the parser ended without a result"},
    };
    AUTO_ARENA arena = ARENA_INIT;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct assembly *assembly = assembly_new(&usual_limits);
        struct extraction extraction;
        assembly_finish(assembly, &rows[i].report, &usual_request, &arena, &extraction);
        assembly_free(assembly);
        assert_int_equal(extraction.status, rows[i].status);
        assert_string_equal(extraction.reason.data, rows[i].reason);
    }
}

static void nothing_is_no_text(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct stream stream;
    struct emitter *emitter = begin(&stream);
    emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, STR(" "));
    struct extraction extraction = finish(&stream, &arena);
    assert_int_equal(extraction.status, EXTRACTION_EMPTY);
    emitter = begin(&stream);
    emit_page(emitter, 1, 1, 1, STR_EMPTY);
    emit_page_needs_ocr(emitter);
    extraction = finish(&stream, &arena);
    assert_int_equal(extraction.status, EXTRACTION_NEEDS_OCR);
    assert_int_equal(extraction.page_count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_parted_and_nested),
        cmocka_unit_test(a_row_is_one_line_of_cells),
        cmocka_unit_test(words_and_pages_keep_their_places),
        cmocka_unit_test(text_is_repaired_on_the_way),
        cmocka_unit_test(any_cut_of_the_stream_gives_the_same),
        cmocka_unit_test(limits_end_the_stream),
        cmocka_unit_test(depth_is_bounded_and_text_survives),
        cmocka_unit_test(a_lie_is_found_out),
        cmocka_unit_test(an_ending_is_named),
        cmocka_unit_test(nothing_is_no_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
