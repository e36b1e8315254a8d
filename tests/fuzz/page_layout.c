#include "tests/fuzz/fuzz.h"

#include "records/page_layout.h"

/* Whatever is read is the same when it is written and read again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_BUFFER blob = BUFFER(SIZE_MAX);
    struct page_layout first, second;
    ibid_error error;
    if (page_layout_read((struct str){(const char *)data, size}, 3, 1000, &arena, &first, &error) !=
        IBID_OK) {
        ASSERT(error.code == IBID_ECORRUPT && error.message[0]);
        return 0;
    }
    page_layout_append(&blob, &first);
    ASSERT(page_layout_read(buffer_str(&blob), 3, 1000, &arena, &second, NULL) == IBID_OK);
    ASSERT(str_equal(first.page.label, second.page.label) && first.word_count == second.word_count);
    for (size_t i = 0; i < first.word_count; i++) {
        const struct word_box *a = &first.words[i], *b = &second.words[i];
        ASSERT(a->start == b->start && a->size == b->size && a->x0 == b->x0 && a->y0 == b->y0 &&
               a->x1 == b->x1);
    }
    return 0;
}
