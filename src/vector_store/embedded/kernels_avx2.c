#include "vector_store/embedded/add_up.h"
#include "vector_store/embedded/kernels.h"

#include <immintrin.h>

/* Bits set in each byte, by two table look-ups (Mula, Kurz & Lemire, "Faster Population Counts Using AVX2
 * Instructions", 2018). */
static inline __m256i count_bytes(__m256i bits)
{
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2,
                                           2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i low = _mm256_set1_epi8(0x0F);
    return _mm256_add_epi8(_mm256_shuffle_epi8(table, _mm256_and_si256(bits, low)),
                           _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(bits, 4), low)));
}

static inline __m256i plane_of(const uint64_t *plane)
{
    return _mm256_set1_epi64x((long long)*plane);
}

/* Four rows of one block: sums of the planes in bytes, which hold 31 words at most before they are spread. */
static inline __m256i dot_four_rows(const uint64_t *block, size_t words, const uint64_t *planes)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i total = zero;
    for (size_t word = 0; word < words;) {
        __m256i sums[QUERY_PLANES] = {zero, zero, zero, zero};
        const size_t end = words - word > 31 ? word + 31 : words;
        for (; word < end; word++) {
            const __m256i code = _mm256_loadu_si256((const __m256i *)(block + word * 8));
            const uint64_t *plane = planes + word * QUERY_PLANES;
            for (int p = 0; p < QUERY_PLANES; p++)
                sums[p] = _mm256_add_epi8(sums[p], count_bytes(_mm256_and_si256(code, plane_of(plane + p))));
        }
        const __m256i ones = _mm256_sad_epu8(sums[0], zero), twos = _mm256_sad_epu8(sums[1], zero);
        const __m256i fours = _mm256_sad_epu8(sums[2], zero), eights = _mm256_sad_epu8(sums[3], zero);
        total = _mm256_add_epi64(total, _mm256_add_epi64(ones, _mm256_slli_epi64(twos, 1)));
        total = _mm256_add_epi64(total, _mm256_slli_epi64(fours, 2));
        total = _mm256_sub_epi64(total, _mm256_slli_epi64(eights, 3));
    }
    return total;
}

static inline __m128i low_halves(__m256i quads)
{
    const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    return _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(quads, order));
}

static void dot_codes(const uint64_t *codes, size_t words, const uint64_t *planes, const uint32_t *blocks,
                      size_t count, int32_t *out)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t *block = codes + blocks[i] * words * 8;
        _mm_storeu_si128((__m128i *)(out + i * 8), low_halves(dot_four_rows(block, words, planes)));
        _mm_storeu_si128((__m128i *)(out + i * 8 + 4), low_halves(dot_four_rows(block + 4, words, planes)));
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
    __m256i sums[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (size_t i = 0; i < dimension; i += 32)
        for (size_t half = 0; half < 2; half++) {
            const size_t at = i + half * 16;
            const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(row + at)));
            const __m256i other = _mm256_loadu_si256((const __m256i *)(query + at));
            sums[half] = _mm256_add_epi32(sums[half], _mm256_madd_epi16(wide, other));
        }
    const __m256i sum = _mm256_add_epi32(sums[0], sums[1]);
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xB1));
    return _mm_cvtsi128_si32(four);
}

static void at_least(const float *values, size_t count, float limit, uint64_t *out)
{
    const __m256 bound = _mm256_set1_ps(limit);
    for (size_t word = 0; word < count / 64; word++) {
        uint64_t bits = 0;
        for (size_t i = 0; i < 8; i++) {
            const __m256 eight = _mm256_loadu_ps(values + word * 64 + i * 8);
            bits |= (uint64_t)(unsigned)_mm256_movemask_ps(_mm256_cmp_ps(eight, bound, _CMP_GE_OQ))
                    << (i * 8);
        }
        out[word] = bits;
    }
}

const struct kernels kernels_avx2 = {"avx2", dot_codes, estimate, dot_bytes, add_up, at_least};
