/* Cosine of two vectors of length 1, computed the same way by every member. */
#pragma once

#include <stddef.h>

/* Eight sums side by side, then added in one order: fast enough for the last few candidates of a search, and
 * the same bits wherever it is compiled. */
static inline float similarity_f32(const float *a, const float *b, size_t dimension)
{
    float sums[8] = {0};
    size_t i = 0;
    for (; i + 8 <= dimension; i += 8)
        for (size_t lane = 0; lane < 8; lane++)
            sums[lane] += a[i + lane] * b[i + lane];
    for (; i < dimension; i++)
        sums[0] += a[i] * b[i];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}
