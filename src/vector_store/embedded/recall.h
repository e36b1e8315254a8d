/* Recall is measured, not assumed: when a segment is written, some of its own vectors are searched for in it,
 * by codes and by bytes. */
#pragma once

#include <stdint.h>

#include "vector_store/embedded/image.h"

/* How many of the best candidates by code hold 99.5 % of the 10 best by bytes, for a sample of the rows as
 * queries. `offsets`, `scales` and `codes` as the segment will keep them. */
uint32_t recall_candidates(const struct image_rows *rows, uint32_t padded, const float *centroid,
                           const float *offsets, const float *scales, const uint64_t *codes);
