#include "vector_store/embedded/add_up.h"
#include "vector_store/embedded/kernels.h"

static void dot_codes(const uint64_t *codes, size_t words, const uint64_t *planes, const uint32_t *blocks,
                      size_t count, int32_t *out)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t *block = codes + blocks[i] * words * 8;
        for (size_t row = 0; row < 8; row++) {
            int32_t sum = 0;
            for (size_t word = 0; word < words; word++) {
                const uint64_t code = block[word * 8 + row];
                const uint64_t *plane = planes + word * QUERY_PLANES;
                sum += __builtin_popcountll(code & plane[0]) + 2 * __builtin_popcountll(code & plane[1]) +
                       4 * __builtin_popcountll(code & plane[2]) - 8 * __builtin_popcountll(code & plane[3]);
            }
            out[i * 8 + row] = sum;
        }
    }
}

static void estimate(const int32_t *dots, const float *offsets, const float *scales, const uint32_t *blocks,
                     size_t count, const struct estimate_terms *terms, float *out)
{
    for (size_t i = 0; i < count; i++)
        for (size_t row = 0; row < 8; row++) {
            const size_t at = blocks[i] * (size_t)8 + row;
            const float along = terms->slope * (float)dots[i * 8 + row] - terms->correction;
            out[i * 8 + row] = terms->base + offsets[at] + scales[at] * along;
        }
}

static int32_t dot_bytes(const int8_t *row, const int16_t *query, size_t dimension)
{
    int32_t sum = 0;
    for (size_t i = 0; i < dimension; i++)
        sum += row[i] * query[i];
    return sum;
}

static void at_least(const float *values, size_t count, float limit, uint64_t *out)
{
    for (size_t word = 0; word < count / 64; word++) {
        uint64_t bits = 0;
        for (size_t i = 0; i < 64; i++)
            bits |= (uint64_t)(values[word * 64 + i] >= limit) << i;
        out[word] = bits;
    }
}

const struct kernels kernels_portable = {"portable", dot_codes, estimate, dot_bytes, add_up, at_least};
