/* Sets of a segment's rows as they are stored: as an array, as runs, or as bits, whichever is smallest
 * (Lemire et al., "Roaring Bitmaps: Implementation of an Optimized Software Library", 2018; a segment is one
 * of their containers). Documents lie together, so most sets are a few runs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Appends the set of `count` ascending rows, each below `rows`. */
void row_set_append(struct buffer *out, const uint16_t *members, uint32_t count, uint32_t rows);

/* Adds a stored set to `bits`; false when it is no set of rows below `rows`. */
bool row_set_add(const void *data, size_t size, uint32_t rows, uint64_t *bits);
