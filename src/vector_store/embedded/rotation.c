#include "vector_store/embedded/rotation.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { ROUNDS = 4 };

struct rotation {
    uint32_t dimension, padded;
    uint32_t span; /* largest power of two <= padded */
    float signs[]; /* ROUNDS x padded, with the transform's scale in them */
};

uint32_t rotation_padded(uint32_t dimension)
{
    return (dimension + 63) / 64 * 64;
}

/* SplitMix64 (Steele, Lea & Flood, 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t value = *state += UINT64_C(0x9E3779B97F4A7C15);
    value = (value ^ value >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ value >> 27) * UINT64_C(0x94D049BB133111EB);
    return value ^ value >> 31;
}

/* Where the transform of a round begins: at the front, or so that it ends at the end. */
static uint32_t span_start(const struct rotation *rotation, unsigned round)
{
    return round % 2 ? rotation->padded - rotation->span : 0;
}

struct rotation *rotation_new(uint32_t dimension)
{
    const uint32_t padded = rotation_padded(dimension);
    struct rotation *rotation = xmalloc(sizeof *rotation + ROUNDS * padded * sizeof(float));
    *rotation = (struct rotation){dimension, padded, 64};
    while (rotation->span * 2 <= padded)
        rotation->span *= 2;
    const float scale = 1 / sqrtf((float)rotation->span);
    uint64_t state = ROTATION_SEED;
    for (unsigned round = 0; round < ROUNDS; round++) {
        const uint32_t start = span_start(rotation, round);
        for (uint32_t i = 0; i < padded; i++) {
            const bool inside = i >= start && i < start + rotation->span;
            const float sign = next_random(&state) >> 63 ? -1.0f : 1.0f;
            rotation->signs[round * padded + i] = inside ? sign * scale : sign;
        }
    }
    return rotation;
}

void rotation_free(struct rotation *rotation)
{
    free(rotation);
}

static void hadamard(float *values, uint32_t count)
{
    for (uint32_t half = 1; half < count; half *= 2)
        for (uint32_t start = 0; start < count; start += 2 * half)
            for (uint32_t i = start; i < start + half; i++) {
                const float a = values[i], b = values[i + half];
                values[i] = a + b;
                values[i + half] = a - b;
            }
}

static void mix_halves(float *values, uint32_t count)
{
    const float scale = sqrtf(0.5f);
    for (uint32_t i = 0; i < count / 2; i++) {
        const float a = values[i], b = values[i + count / 2];
        values[i] = (a + b) * scale;
        values[i + count / 2] = (a - b) * scale;
    }
}

void rotation_apply(const struct rotation *rotation, const float *vector, float *out)
{
    const uint32_t padded = rotation->padded;
    memcpy(out, vector, rotation->dimension * sizeof *out);
    memset(out + rotation->dimension, 0, (padded - rotation->dimension) * sizeof *out);
    for (unsigned round = 0; round < ROUNDS; round++) {
        const float *signs = rotation->signs + round * padded;
        for (uint32_t i = 0; i < padded; i++)
            out[i] *= signs[i];
        hadamard(out + span_start(rotation, round), rotation->span);
        if (rotation->span != padded)
            mix_halves(out, padded);
    }
}
