#include "vector_store/embedded/recall.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "vector_store/embedded/codes.h"
#include "vector_store/top.h"

enum { SAMPLES = 24, NEIGHBOURS = 10 };

struct sample {
    const struct image_rows *rows;
    uint32_t padded;
    uint32_t query; /* the row that is searched for */
    float *estimates;
};

static void estimate_rows(struct sample *sample, const float *rotated, const float *centroid,
                          const float *offsets, const float *scales, const uint64_t *codes)
{
    const struct kernels *kernels = kernels_best();
    const uint32_t blocks = (sample->rows->count + CODE_BLOCK_ROWS - 1) / CODE_BLOCK_ROWS;
    struct code_query query;
    code_query_start(&query, sample->padded);
    code_query_aim(&query, rotated, centroid, sample->padded);
    for (uint32_t block = 0; block < blocks; block++) {
        int32_t dots[CODE_BLOCK_ROWS];
        kernels->dot_codes(codes, sample->padded / 64, query.planes, &block, 1, dots);
        kernels->estimate(dots, offsets, scales, &block, 1, &query.terms,
                          sample->estimates + block * CODE_BLOCK_ROWS);
    }
    code_query_release(&query);
}

/* The rows nearest to the query by bytes, itself left out. */
static size_t nearest_rows(const struct sample *sample, const float *rotated, uint32_t out[NEIGHBOURS])
{
    const struct kernels *kernels = kernels_best();
    struct byte_query query;
    struct top top;
    byte_query_start(&query, rotated, sample->padded);
    top_start(&top, NEIGHBOURS);
    for (uint32_t row = 0; row < sample->rows->count; row++) {
        const int8_t *vector = sample->rows->vectors[row];
        if (vector && row != sample->query)
            top_offer(&top, row,
                      (float)kernels->dot_bytes(vector, query.coordinates, sample->padded) *
                          sample->rows->scales[row]);
    }
    const size_t count = top_finish(&top);
    for (size_t i = 0; i < count; i++)
        out[i] = (uint32_t)top.items[i].row_id;
    top_release(&top);
    byte_query_release(&query);
    return count;
}

/* How many rows come before `row` by estimate. */
static uint32_t rank_of(const struct sample *sample, uint32_t row)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < sample->rows->count; i++)
        rank +=
            sample->estimates[i] > sample->estimates[row] && i != sample->query && sample->rows->vectors[i];
    return rank;
}

static int compare_ranks(const void *a, const void *b)
{
    const uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    return (first > second) - (first < second);
}

uint32_t recall_candidates(const struct image_rows *rows, uint32_t padded, const float *centroid,
                           const float *offsets, const float *scales, const uint64_t *codes)
{
    struct sample sample = {.rows = rows, .padded = padded};
    uint32_t ranks[SAMPLES * NEIGHBOURS];
    size_t count = 0;
    float *rotated = xmalloc(padded * sizeof *rotated);
    sample.estimates = xmalloc((rows->count + CODE_BLOCK_ROWS) * sizeof *sample.estimates);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        uint32_t found[NEIGHBOURS];
        sample.query = (uint32_t)((uint64_t)i * rows->count / SAMPLES);
        if (!rows->vectors[sample.query])
            continue;
        bytes_decode(rows->vectors[sample.query], rows->scales[sample.query], padded, rotated);
        estimate_rows(&sample, rotated, centroid, offsets, scales, codes);
        const size_t neighbours = nearest_rows(&sample, rotated, found);
        for (size_t j = 0; j < neighbours; j++)
            ranks[count++] = rank_of(&sample, found[j]);
    }
    free(rotated);
    free(sample.estimates);
    qsort(ranks, count, sizeof *ranks, compare_ranks);
    return count ? ranks[(size_t)((double)(count - 1) * 0.995)] + 1 : 0;
}
