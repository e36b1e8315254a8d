/* The inner loops of vector and keyword search. They exist for several processors; which one runs is chosen
 * by base/cpu.h. All give the same bits, which tests compare. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { QUERY_PLANES = 4 }; /* bits of a query's coordinates in the coded scan */

/* What turns the dot products of one query with one segment's codes into similarities (codes.h). */
struct estimate_terms {
    float base, slope, correction;
};

struct kernels {
    const char *name; /* "portable", "avx2", "avx512" */

    /* For each of `count` blocks of codes (block b begins at codes + b * words * 8): into out[8 * i + r] the
     * dot product of row r's bits with the query, whose coordinates are -8..7 in two's complement, cut into
     * planes: planes[4 * w + p] holds bit p of the 64 coordinates that word w stands for. */
    void (*dot_codes)(const uint64_t *codes, size_t words, const uint64_t *planes, const uint32_t *blocks,
                      size_t count, int32_t *out);

    /* For each row of those blocks: out[8 * i + r] = base + offset + scale * (slope * dot - correction). */
    void (*estimate)(const int32_t *dots, const float *offsets, const float *scales, const uint32_t *blocks,
                     size_t count, const struct estimate_terms *terms, float *out);

    /* Dot product of `dimension` (a multiple of 64) bytes with a query of -2047..2047. */
    int32_t (*dot_bytes)(const int8_t *row, const int16_t *query, size_t dimension);

    /* For `count` postings: scores[row] += weight * tf / (tf + base + slope * lengths[row])
     * (vector_store/bm25.h). */
    void (*add_up)(const uint16_t *rows, const uint8_t *tfs, size_t count, const uint16_t *lengths,
                   float weight, float base, float slope, float *scores);

    /* Bit i of out[i / 64]: whether values[i] >= limit, for `count` values (a multiple of 64). */
    void (*at_least)(const float *values, size_t count, float limit, uint64_t *out);
};

/* The fastest that this machine and IBID_CPU allow. */
const struct kernels *kernels_best(void);
/* All that this machine can run, NULL-ended, for tests. */
const struct kernels *const *kernels_available(void);

/* The members. */
extern const struct kernels kernels_portable, kernels_avx2, kernels_avx512;
