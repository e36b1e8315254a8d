/* A fixed random rotation, which spreads what a vector says evenly over its coordinates, so that their signs
 * say as much as possible (Gao & Long, "RaBitQ", 2024). Random signs and fast Walsh-Hadamard transforms take
 * the place of a random orthogonal matrix; where the length is no power of two, the transform covers the
 * front and the back in turn, and a step that mixes both halves ties them together. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Part of every file: other signs would be another rotation. */
#define ROTATION_SEED UINT64_C(0x69626964726f7461)

struct rotation;

/* For vectors of `dimension`, which come out with rotation_padded(dimension) coordinates and the same length.
 */
struct rotation *rotation_new(uint32_t dimension) __attribute__((returns_nonnull));
void rotation_free(struct rotation *rotation);

/* `dimension` rounded up to a multiple of 64. */
uint32_t rotation_padded(uint32_t dimension);

/* Thread-safe; `out` may not overlap `vector`. */
void rotation_apply(const struct rotation *rotation, const float *vector, float *out);
