#include "vector_store/embedded/add_up.h"
#include "vector_store/embedded/kernels.h"

#include <immintrin.h>

enum { AHEAD = 8 }; /* blocks that are fetched before they are needed */

static inline __m512i count_plane(__m512i code, const uint64_t *plane)
{
    return _mm512_popcnt_epi64(_mm512_and_si512(code, _mm512_set1_epi64((long long)*plane)));
}

static inline __m512i dot_block(const uint64_t *block, size_t words, const uint64_t *planes)
{
    __m512i ones = _mm512_setzero_si512(), twos = ones, fours = ones, eights = ones;
    for (size_t word = 0; word < words; word++) {
        const __m512i code = _mm512_loadu_si512(block + word * 8);
        const uint64_t *plane = planes + word * QUERY_PLANES;
        ones = _mm512_add_epi64(ones, count_plane(code, plane));
        twos = _mm512_add_epi64(twos, count_plane(code, plane + 1));
        fours = _mm512_add_epi64(fours, count_plane(code, plane + 2));
        eights = _mm512_add_epi64(eights, count_plane(code, plane + 3));
    }
    const __m512i low = _mm512_add_epi64(ones, _mm512_slli_epi64(twos, 1));
    const __m512i high = _mm512_sub_epi64(_mm512_slli_epi64(fours, 2), _mm512_slli_epi64(eights, 3));
    return _mm512_add_epi64(low, high);
}

/* Inlined for each usual number of words, so that the compiler unrolls and keeps the planes in registers. */
static inline __attribute__((always_inline)) void dot_blocks(const uint64_t *codes, size_t words,
                                                             const uint64_t *planes, const uint32_t *blocks,
                                                             size_t count, int32_t *out)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t *block = codes + blocks[i] * words * 8;
        const uint64_t *coming = codes + blocks[i + AHEAD < count ? i + AHEAD : count - 1] * words * 8;
        for (size_t word = 0; word < words; word++)
            _mm_prefetch(coming + word * 8, _MM_HINT_T0);
        _mm256_storeu_si256((__m256i *)(out + i * 8), _mm512_cvtepi64_epi32(dot_block(block, words, planes)));
    }
}

static void dot_codes(const uint64_t *codes, size_t words, const uint64_t *planes, const uint32_t *blocks,
                      size_t count, int32_t *out)
{
    switch (words) {
    case 6:
        dot_blocks(codes, 6, planes, blocks, count, out);
        break;
    case 12:
        dot_blocks(codes, 12, planes, blocks, count, out);
        break;
    case 16:
        dot_blocks(codes, 16, planes, blocks, count, out);
        break;
    default:
        dot_blocks(codes, words, planes, blocks, count, out);
    }
}

static void estimate(const int32_t *dots, const float *offsets, const float *scales, const uint32_t *blocks,
                     size_t count, const struct estimate_terms *terms, float *out)
{
    const __m256 base = _mm256_set1_ps(terms->base), slope = _mm256_set1_ps(terms->slope);
    const __m256 correction = _mm256_set1_ps(terms->correction);
    for (size_t i = 0; i < count; i++) {
        const size_t at = blocks[i] * (size_t)8;
        const __m256 dot = _mm256_cvtepi32_ps(_mm256_loadu_si256((const __m256i *)(dots + i * 8)));
        const __m256 along = _mm256_sub_ps(_mm256_mul_ps(slope, dot), correction);
        const __m256 front = _mm256_add_ps(base, _mm256_loadu_ps(offsets + at));
        _mm256_storeu_ps(out + i * 8,
                         _mm256_add_ps(front, _mm256_mul_ps(_mm256_loadu_ps(scales + at), along)));
    }
}

static int32_t dot_bytes(const int8_t *row, const int16_t *query, size_t dimension)
{
    __m512i sums[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    for (size_t i = 0; i < dimension; i += 64)
        for (size_t half = 0; half < 2; half++) {
            const size_t at = i + half * 32;
            const __m512i wide = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(row + at)));
            sums[half] = _mm512_dpwssd_epi32(sums[half], wide, _mm512_loadu_si512(query + at));
        }
    return _mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1]));
}

static void at_least(const float *values, size_t count, float limit, uint64_t *out)
{
    const __m512 bound = _mm512_set1_ps(limit);
    for (size_t word = 0; word < count / 64; word++) {
        uint64_t bits = 0;
        for (size_t i = 0; i < 4; i++) {
            const __m512 sixteen = _mm512_loadu_ps(values + word * 64 + i * 16);
            bits |= (uint64_t)_mm512_cmp_ps_mask(sixteen, bound, _CMP_GE_OQ) << (i * 16);
        }
        out[word] = bits;
    }
}

const struct kernels kernels_avx512 = {"avx512", dot_codes, estimate, dot_bytes, add_up, at_least};
