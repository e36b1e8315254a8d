#include "vector_store/embedded/codes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { BYTE_LIMIT = 127, QUERY_LIMIT = 2047, PLANE_LIMIT = 7 };

static float largest(const float *values, uint32_t count)
{
    float result = 0;
    for (uint32_t i = 0; i < count; i++) {
        const float size = fabsf(values[i]);
        result = size > result ? size : result;
    }
    return result;
}

float bytes_encode(const float *rotated, uint32_t padded, int8_t *out)
{
    const float most = largest(rotated, padded);
    const float scale = most > 0 ? most / BYTE_LIMIT : 1;
    for (uint32_t i = 0; i < padded; i++)
        out[i] = (int8_t)lrintf(rotated[i] / scale);
    return scale;
}

void bytes_decode(const int8_t *bytes, float scale, uint32_t padded, float *out)
{
    for (uint32_t i = 0; i < padded; i++)
        out[i] = (float)bytes[i] * scale;
}

void byte_query_start(struct byte_query *query, const float *rotated, uint32_t padded)
{
    const float most = largest(rotated, padded);
    query->scale = most > 0 ? most / QUERY_LIMIT : 1;
    query->coordinates = xaligned_alloc(64, padded * sizeof *query->coordinates);
    for (uint32_t i = 0; i < padded; i++)
        query->coordinates[i] = (int16_t)lrintf(rotated[i] / query->scale);
}

void byte_query_release(struct byte_query *query)
{
    free(query->coordinates);
    query->coordinates = NULL;
}

struct code_factors code_encode(const float *rotated, const float *centroid, uint32_t padded, uint64_t *words,
                                size_t stride)
{
    float square = 0, sum = 0, along = 0;
    for (uint32_t word = 0; word < padded / 64; word++) {
        uint64_t bits = 0;
        for (uint32_t i = 0; i < 64; i++) {
            const float center = centroid[word * 64 + i], rest = rotated[word * 64 + i] - center;
            bits |= (uint64_t)(rest >= 0) << i;
            square += rest * rest;
            sum += fabsf(rest);
            along += rest * center;
        }
        words[word * stride] = bits;
    }
    return (struct code_factors){along, sum > 0 ? square / sum : 0};
}

void code_query_start(struct code_query *query, uint32_t padded)
{
    *query = (struct code_query){
        .planes = xaligned_alloc(64, padded / 64 * QUERY_PLANES * sizeof *query->planes),
        .centred = xmalloc(padded * sizeof *query->centred),
    };
}

void code_query_release(struct code_query *query)
{
    free(query->planes);
    free(query->centred);
}

void code_query_aim(struct code_query *query, const float *rotated, const float *centroid, uint32_t padded)
{
    float base = 0, square = 0;
    for (uint32_t i = 0; i < padded; i++) {
        query->centred[i] = rotated[i] - centroid[i];
        base += rotated[i] * centroid[i];
        square += query->centred[i] * query->centred[i];
    }
    const float most = largest(query->centred, padded);
    const float step = most > 0 ? most / (PLANE_LIMIT + 0.5f) : 1;
    memset(query->planes, 0, padded / 64 * QUERY_PLANES * sizeof *query->planes);
    int32_t total = 0;
    for (uint32_t i = 0; i < padded; i++) {
        long level = lrintf(query->centred[i] / step);
        level = level > PLANE_LIMIT ? PLANE_LIMIT : level < -PLANE_LIMIT ? -PLANE_LIMIT : level;
        total += (int32_t)level;
        for (unsigned plane = 0; plane < QUERY_PLANES; plane++)
            query->planes[i / 64 * QUERY_PLANES + plane] |= (uint64_t)((unsigned long)level >> plane & 1)
                                                            << (i % 64);
    }
    /* signs.q = 2 * bits.q - sum of q */
    query->terms = (struct estimate_terms){base, 2 * step, step * (float)total};
    query->error = sqrtf(square);
}

float code_error(struct code_factors factors, float centroid_square, uint32_t padded)
{
    const float square = 1 - centroid_square - 2 * factors.offset; /* |r|^2, as |x| = 1 */
    if (!(square > 0) || !(factors.scale > 0))
        return 0;
    const float sum = square / factors.scale;
    const float rest = (float)padded * square / (sum * sum) - 1; /* (1 - t^2) / t^2 */
    return rest > 0 ? sqrtf(square * rest / (float)(padded - 1)) : 0;
}
