#include "tests/fuzz/fuzz.h"

#include "model/filter.h"

/* Whatever is read gives the same canonical bytes when it is read again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct str text = {(const char *)data, size};
    const struct filter *first, *second;
    ibid_error error;
    if (filter_from_text(text, &arena, &first, &error) != IBID_OK) {
        ASSERT(error.message[0]);
        return 0;
    }
    ASSERT(filter_from_text(text, &arena, &second, NULL) == IBID_OK);
    AUTO_BUFFER a = BUFFER(SIZE_MAX), b = BUFFER(SIZE_MAX);
    filter_append_canonical(first, &a);
    filter_append_canonical(second, &b);
    ASSERT(str_equal(buffer_str(&a), buffer_str(&b)));
    return 0;
}
