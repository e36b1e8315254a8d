/* Adding up the postings of a term, in plain C that becomes vector instructions: the same text for all
 * kernels. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The lengths are fetched, then all shares are computed side by side, then added where they belong. */
static void add_up(const uint16_t *rows, const uint8_t *tfs, size_t count, const uint16_t *lengths,
                   float weight, float base, float slope, float *scores)
{
    enum { AT_ONCE = 128 };
    float norms[AT_ONCE], shares[AT_ONCE];
    for (size_t first = 0; first < count; first += AT_ONCE) {
        const size_t some = count - first < AT_ONCE ? count - first : AT_ONCE;
        for (size_t i = 0; i < some; i++)
            norms[i] = lengths[rows[first + i]];
        for (size_t i = 0; i < some; i++) {
            const float tf = tfs[first + i];
            shares[i] = weight * (tf / (tf + base + slope * norms[i]));
        }
        for (size_t i = 0; i < some; i++)
            scores[rows[first + i]] += shares[i];
    }
}
