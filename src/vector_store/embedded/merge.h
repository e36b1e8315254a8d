/* Makes one segment of several, leaving out their dead rows. Nothing is read from the truth: byte vectors are
 * copied as they are, so that merging any number of times loses nothing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "vector_store/embedded/image.h"

struct merge_source {
    struct segment *segment;
    const uint64_t *dead; /* bits of rows to leave out; NULL: none */
};

/* The sources follow each other in seq and hold at most SEGMENT_ROWS living rows, each row once. *ret is NULL
 * when no row lives. IBID_ECORRUPT when a source is damaged, which it then says of itself. */
ibid_code merge_segments(const struct merge_source *sources, size_t count, const struct image_target *target,
                         struct segment **ret, ibid_error *err) MUST_CHECK;
