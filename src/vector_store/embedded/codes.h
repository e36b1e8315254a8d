/* How vectors are stored for searching, and how a query is compared with them.
 *
 * Bytes: a rotated vector divided by its largest coordinate's 127th part. A dot product with them is within
 * about 0.001 of the true one; it ranks the candidates whose exact vectors are then fetched.
 *
 * Codes: one bit a coordinate, its sign after the segment's centroid was subtracted, with two floats a row
 * (RaBitQ; Gao & Long, 2024). With x the rotated vector, c the centroid, r = x - c and q the rotated query:
 *
 *     q.x = q.c + r.c + r.(q - c),      r.(q - c) ~ |r|^2 / sum|r_i| * signs(r).(q - c)
 *
 * where q - c is rounded to 4 bits a coordinate. `offset` keeps r.c, `scale` keeps |r|^2 / sum|r_i|. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "vector_store/embedded/kernels.h"

/* Rounds a rotated vector to bytes; returns their scale (> 0). */
float bytes_encode(const float *rotated, uint32_t padded, int8_t *out);

/* Gives the coordinates back: out[i] = bytes[i] * scale. */
void bytes_decode(const int8_t *bytes, float scale, uint32_t padded, float *out);

/* A query for dot_bytes: similarity = dot * row's scale * query's scale. */
struct byte_query {
    float scale;
    int16_t *coordinates; /* padded */
};
void byte_query_start(struct byte_query *query, const float *rotated, uint32_t padded);
void byte_query_release(struct byte_query *query);

/* The code of a centred vector: its signs in `words` (padded / 64 of them, `stride` apart). */
struct code_factors {
    float offset, scale;
};
struct code_factors code_encode(const float *rotated, const float *centroid, uint32_t padded, uint64_t *words,
                                size_t stride);

/* A query for the codes of one segment. The error of an estimate has a standard deviation of `error` times
 * what code_error gives for the row. */
struct code_query {
    struct estimate_terms terms;
    float error;
    uint64_t *planes; /* padded / 64 * QUERY_PLANES, for dot_codes */
    float *centred;   /* room for the centred query */
};
void code_query_start(struct code_query *query, uint32_t padded);
void code_query_release(struct code_query *query);
void code_query_aim(struct code_query *query, const float *rotated, const float *centroid, uint32_t padded);

/* How uncertain a row's estimate is, from its factors: |r| * sqrt((1 - t^2) / t^2 / (padded - 1)) with
 * t = sum|r_i| / (sqrt(padded) * |r|). */
float code_error(struct code_factors factors, float centroid_square, uint32_t padded);
