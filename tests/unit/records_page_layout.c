#include "records/page_layout.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "records/revision.h"
#include "tests/store.h"

static struct page_layout round_trip(const struct page_layout *layout, struct arena *arena, size_t *ret_size)
{
    AUTO_BUFFER blob = BUFFER(1 << 20);
    page_layout_append(&blob, layout);
    *ret_size = blob.size;
    struct page_layout back;
    assert_ok(
        page_layout_read(buffer_str(&blob), layout->page.number, layout->page.start, arena, &back, err));
    return back;
}

/* A page of ordinary text: lines of words, all in the text's order. */
static size_t fill_page(struct word_box *words, size_t limit, uint32_t start, uint32_t page)
{
    size_t count = 0;
    for (int line = 0; line < 50; line++) {
        float x = 56.7F;
        for (int i = 0; i < 12 && count < limit; i++) {
            const uint16_t size = (uint16_t)(2 + (line * 7 + i * 5) % 9);
            const float width = (float)size * 5.1F, y = 60 + (float)line * 13.8F;
            words[count++] = (struct word_box){start, size, page, x, y, x + width, y + 11.2F};
            x += width + 2.9F;
            start += size + 1U;
        }
    }
    return count;
}

static void words_come_back_within_a_twip(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct word_box words[600];
    const size_t count = fill_page(words, COUNT_OF(words), 12345, 7);
    const struct page_layout layout = {
        .page = {.number = 7, .start = 12345, .width = 595.3F, .height = 841.9F, .label = STR("vii")},
        .words = words,
        .word_count = count,
    };
    size_t size;
    const struct page_layout back = round_trip(&layout, &arena, &size);
    assert_int_equal(back.page.number, 7);
    assert_int_equal(back.page.start, 12345);
    assert_true(fabsf(back.page.width - 595.3F) < 0.03F && fabsf(back.page.height - 841.9F) < 0.03F);
    assert_true(str_is(back.page.label, "vii"));
    assert_false(back.page.needs_ocr);
    assert_int_equal(back.word_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(back.words[i].start, words[i].start);
        assert_int_equal(back.words[i].size, words[i].size);
        assert_int_equal(back.words[i].page, 7);
        assert_true(fabsf(back.words[i].x0 - words[i].x0) < 0.03F &&
                    fabsf(back.words[i].y0 - words[i].y0) < 0.03F);
        assert_true(fabsf(back.words[i].x1 - words[i].x1) < 0.03F &&
                    fabsf(back.words[i].y1 - words[i].y1) < 0.03F);
    }
    assert_true(size < 10 * count); /* where a struct word_box takes 28 bytes */
}

static void odd_numbers_are_kept_in_bounds(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    const struct word_box words[] = {
        {5, 1, 1, NAN, -INFINITY, INFINITY, 1e30F},
        {4, UINT16_MAX, 1, 10, 10, 5, 5},
        {UINT32_MAX, 0, 1, -3, -4, -1, -2},
    };
    const struct page_layout layout = {.page = {.number = 1, .start = 5, .width = NAN, .needs_ocr = true},
                                       .words = words,
                                       .word_count = COUNT_OF(words)};
    size_t size;
    const struct page_layout back = round_trip(&layout, &arena, &size);
    assert_true(back.page.needs_ocr && back.page.width == 0);
    assert_int_equal(back.word_count, 3);
    assert_true(back.words[0].x0 == 0 && back.words[0].x1 == 0 && back.words[0].y1 == 100000);
    assert_int_equal(back.words[1].start, 4);
    assert_int_equal(back.words[1].size, UINT16_MAX);
    assert_true(back.words[1].x1 == 5 && back.words[1].y1 == 5);
    assert_true(back.words[2].start == UINT32_MAX && back.words[2].y0 == -4);
}

/* Every cut and every changed byte gives an error or a page, never anything else. */
static void damage_is_an_error(void **state)
{
    struct word_box words[20];
    const struct page_layout layout = {
        .page = {.number = 1, .label = STR("1")}, .words = words, .word_count = fill_page(words, 20, 0, 1)};
    AUTO_BUFFER blob = BUFFER(1 << 16);
    page_layout_append(&blob, &layout);
    for (size_t cut = 0; cut < blob.size; cut++) {
        AUTO_ARENA arena = ARENA_INIT;
        struct page_layout back;
        AUTO_FREE char *part = xmemdup0(blob.data, cut);
        assert_int_equal(page_layout_read((struct str){part, cut}, 1, 0, &arena, &back, NULL), IBID_ECORRUPT);
    }
    for (size_t at = 0; at < blob.size * 8; at++) {
        AUTO_ARENA arena = ARENA_INIT;
        struct page_layout back;
        blob.data[at / 8] ^= (char)(1 << at % 8);
        const ibid_code code = page_layout_read(buffer_str(&blob), 1, 0, &arena, &back, NULL);
        assert_true(code == IBID_OK || code == IBID_ECORRUPT);
        blob.data[at / 8] ^= (char)(1 << at % 8);
    }
}

/* "alpha beta" on one line and "gamma" below on page 1, "delta" on page 2. */
static const struct word_box place_words[] = {
    {0, 5, 1, 10, 10, 40, 20},
    {6, 4, 1, 43, 10, 60, 20},
    {11, 5, 1, 10, 24, 40, 34},
    {17, 5, 2, 10, 10, 40, 20},
};
static const struct page place_pages[] = {{.number = 1, .start = 0, .width = 100, .height = 200},
                                          {.number = 2, .start = 17, .width = 100, .height = 200}};

static void a_range_has_a_box_for_each_line(void **state)
{
    struct test_store *store = *state;
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_WRITE);
    const int64_t id = test_document(transaction, UPLOAD_SOURCE_ID, "places.pdf");
    struct test_content content;
    struct publication_result result;
    test_content(&content, id, "alpha beta\ngamma\ndelta");
    content.extraction.pages = place_pages;
    content.extraction.page_count = COUNT_OF(place_pages);
    content.extraction.words = place_words;
    content.extraction.word_count = COUNT_OF(place_words);
    assert_ok(document_publish(transaction, &content.publication, &result, err));
    const struct {
        uint32_t start, end;
        size_t limit, boxes;
        float x1;
        uint32_t last_page;
    } rows[] = {
        {0, 10, 9, 1, 60, 1}, /* two words of one line */
        {0, 3, 9, 1, 40, 1},  /* part of a word */
        {0, 16, 9, 2, 40, 1}, {7, 22, 9, 3, 40, 2}, {17, 22, 9, 1, 40, 2},
        {7, 22, 2, 2, 40, 1}, {22, 30, 9, 0, 0, 0}, {5, 6, 9, 0, 0, 0}, /* the space between */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct text_box *boxes;
        size_t count;
        assert_ok(revision_boxes(transaction, result.revision_id, rows[i].start, rows[i].end, rows[i].limit,
                                 &store->arena, &boxes, &count, err));
        assert_int_equal(count, rows[i].boxes);
        if (count) {
            assert_int_equal(boxes[count - 1].page, rows[i].last_page);
            assert_true(boxes[count - 1].x1 == rows[i].x1 && boxes[0].page_width == 100);
        }
    }
    struct page_layout page;
    assert_ok(revision_page(transaction, result.revision_id, 2, &store->arena, &page, err));
    assert_int_equal(page.word_count, 1);
    assert_int_equal(page.page.start, 17);
    assert_int_equal(revision_page(transaction, result.revision_id, 3, &store->arena, &page, NULL),
                     IBID_ENOTFOUND);
    struct revision revision;
    assert_ok(revision_load(transaction, result.revision_id, &store->arena, &revision, err));
    assert_int_equal(revision.page_count, 2);
    assert_int_equal(revision.text_size, 22);
    assert_true(str_is(revision.extractor, "text/1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_come_back_within_a_twip),
        cmocka_unit_test(odd_numbers_are_kept_in_bounds),
        cmocka_unit_test(damage_is_an_error),
        cmocka_unit_test_setup_teardown(a_range_has_a_box_for_each_line, test_store_set_up,
                                        test_store_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
