#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "base/hash.h"
#include "vector_store/embedded/bitmap.h"
#include "vector_store/embedded/format.h"
#include "vector_store/embedded/manifest.h"
#include "vector_store/embedded/row_set.h"

/* What can be read is written as the same bytes. The input's checksum is made to fit. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_BUFFER bytes = BUFFER(1 << 24), again = BUFFER(1 << 24);
    struct manifest manifest;
    ibid_error error;
    buffer_append(&bytes, data, size);
    buffer_append_u64(&bytes, checksum64(data, size, 0));
    if (manifest_parse(buffer_str(&bytes), &arena, &manifest, &error) != IBID_OK) {
        ASSERT(error.code == IBID_ECORRUPT && error.message[0]);
        return 0;
    }
    manifest_append(&manifest, &again);
    ASSERT(str_equal(buffer_str(&bytes), buffer_str(&again)));
    for (uint32_t i = 0; i < manifest.count; i++) {
        const struct manifest_segment *segment = &manifest.segments[i];
        static uint64_t bits[SEGMENT_ROWS / 64];
        memset(bits, 0, sizeof bits);
        if (row_set_add(segment->dead.data, segment->dead.size, segment->rows, bits))
            ASSERT(bitmap_count(bits, SEGMENT_ROWS / 64) <= segment->rows);
    }
    return 0;
}
