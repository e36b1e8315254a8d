#include "vector_store/embedded/add_up.h"
#include "vector_store/embedded/kernels.h"

/* Bits set in each byte, for several words side by side: no instruction for it is needed. */
static inline uint64_t count_bytes(uint64_t bits)
{
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    return (bits + (bits >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
}

/* Sums of neighbouring bytes, as four numbers of 16 bits. */
static inline uint64_t pair_bytes(uint64_t bytes)
{
    const uint64_t low = UINT64_C(0x00FF00FF00FF00FF);
    return (bytes & low) + (bytes >> 8 & low);
}

static inline int32_t sum_quarters(uint64_t quarters)
{
    return (int32_t)((quarters & 0xFFFF) + (quarters >> 16 & 0xFFFF) + (quarters >> 32 & 0xFFFF) +
                     (quarters >> 48));
}

static void dot_codes(const uint64_t *codes, size_t words, const uint64_t *planes, const uint32_t *blocks,
                      size_t count, int32_t *out)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t *block = codes + blocks[i] * words * 8;
        uint64_t added[8] = {0}, taken[8] = {0}; /* at most 64 words of 112: 16 bits hold it */
        for (size_t word = 0; word < words; word++) {
            const uint64_t *plane = planes + word * QUERY_PLANES;
            for (size_t row = 0; row < 8; row++) {
                const uint64_t code = block[word * 8 + row];
                const uint64_t bytes = count_bytes(code & plane[0]) + 2 * count_bytes(code & plane[1]) +
                                       4 * count_bytes(code & plane[2]);
                added[row] += pair_bytes(bytes);
                taken[row] += pair_bytes(count_bytes(code & plane[3]));
            }
        }
        for (size_t row = 0; row < 8; row++)
            out[i * 8 + row] = sum_quarters(added[row]) - 8 * sum_quarters(taken[row]);
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
