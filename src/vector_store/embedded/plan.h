/* Which segments to merge: pure arithmetic on their sizes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan_part {
    uint32_t rows, living;
    bool in_file;
};

struct plan {
    size_t first, count; /* parts to be made one */
};

/* Segments of about one size are merged MERGE_FAN_IN at a time, so that n rows are written log n times;
 * adjacent ones only, up to SEGMENT_ROWS living rows, and memory and files apart. A segment of which a
 * quarter is dead is written anew. False when nothing needs to be done. */
enum { MERGE_FAN_IN = 8 };
bool plan_merge(const struct plan_part *parts, size_t count, struct plan *ret);
