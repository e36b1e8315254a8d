/* Vectors of queries, kept for a while: people page, refine and repeat. Least recently used go first.
 * Thread-safe. Keys are hashes, so that no query's text stays in memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "embedder/embedder.h"

struct query_vectors;

/* At most `capacity` vectors, each for `keep_us`. Times are those of clock_monotonic_us. */
struct query_vectors *query_vectors_new(size_t capacity, int64_t keep_us) __attribute__((returns_nonnull));
void query_vectors_free(struct query_vectors *take_vectors);

/* The key of a text under an embedder. */
struct sha256 query_vectors_key(const struct embedder *embedder, struct str text);

/* Copies the vector to `out` and counts it as used; false when it is not there or too old. */
bool query_vectors_get(struct query_vectors *vectors, const struct sha256 *key, int64_t now_us, float *out,
                       size_t dimension);
void query_vectors_put(struct query_vectors *vectors, const struct sha256 *key, int64_t now_us,
                       const float *vector, size_t dimension);
size_t query_vectors_count(struct query_vectors *vectors);
