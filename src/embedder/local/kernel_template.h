/* The kernels, written once in the compiler's vector extensions. A file that includes this defines
 *
 *   VECTOR_BYTES            16, 32 or 64
 *   TILE_ROWS, TILE_VECTORS the block of the product that is held in registers: rows by vectors
 *   KERNEL_SYMBOL, KERNEL_NAME, KERNEL_FEATURES
 *   ELEMENTS_ARE_BF16       0 or 1: bfloat16, multiplied in pairs by AVX512-BF16
 *
 * and gets `const struct kernel KERNEL_SYMBOL`. The product follows Goto and van de Geijn, "Anatomy of
 * High-Performance Matrix Multiplication", 2008: panels of W stay in cache while rows of x pass by,
 * a tile of sums stays in registers for the whole depth. */
#pragma once

#if VECTOR_BYTES > 16
#include <immintrin.h>
#endif
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/cpu.h"
#include "embedder/local/kernel.h"

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")

typedef float vector __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t int_vector __attribute__((vector_size(VECTOR_BYTES)));
typedef float loose_vector __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));

enum { LANES = VECTOR_BYTES / 4, PANEL = TILE_VECTORS * LANES };

INLINE vector load(const float *from)
{
    return *(const loose_vector *)from;
}

INLINE void store(float *to, vector value)
{
    *(loose_vector *)to = value;
}

INLINE vector load_part(const float *from, size_t count)
{
    vector value = {0};
    memcpy(&value, from, count * sizeof *from);
    return value;
}

INLINE vector spread(float value)
{
    return value - (vector){0};
}

/* ---- elements: what a product multiplies ---- */

#if ELEMENTS_ARE_BF16

typedef uint16_t element;
typedef __m512bh operand;
enum { STEP = 2 }; /* elements of a row that one instruction multiplies into each lane */

INLINE operand load_operand(const element *from)
{
    return (operand)_mm512_loadu_si512(from);
}

INLINE operand spread_operand(const element *from)
{
    int32_t pair;
    memcpy(&pair, from, sizeof pair);
    return (operand)_mm512_set1_epi32(pair);
}

INLINE vector multiply_add(vector sum, operand a, operand b)
{
    return (vector)_mm512_dpbf16_ps((__m512)sum, a, b);
}

INLINE void store_elements(element *to, vector value)
{
    _mm256_storeu_si256((__m256i_u *)to, (__m256i)_mm512_cvtneps_pbh((__m512)value));
}

#else

typedef float element;
typedef vector operand;
enum { STEP = 1 };

INLINE operand load_operand(const element *from)
{
    return load(from);
}

INLINE operand spread_operand(const element *from)
{
    return spread(*from);
}

INLINE vector multiply_add(vector sum, operand a, operand b)
{
    return sum + a * b;
}

INLINE void store_elements(element *to, vector value)
{
    store(to, value);
}

#endif

INLINE void store_elements_part(element *to, vector value, size_t count)
{
    element whole[LANES];
    store_elements(whole, value);
    memcpy(to, whole, count * sizeof *to);
}

/* ---- functions of a vector ---- */

INLINE vector vector_max(vector a, vector b)
{
#if VECTOR_BYTES == 64
    return (vector)_mm512_max_ps((__m512)a, (__m512)b);
#elif VECTOR_BYTES == 32
    return (vector)_mm256_max_ps((__m256)a, (__m256)b);
#else
    const int_vector greater = a > b;
    return (vector)((greater & (int_vector)a) | (~greater & (int_vector)b));
#endif
}

INLINE vector absolute(vector x)
{
    return (vector)((int_vector)x & 0x7FFFFFFF);
}

/* e^x to 2 units in the last place, for x <= 88; what is below -87 counts as -87.
 * Range reduction and polynomial as in Cephes' expf; the power of two is added to the exponent. */
INLINE vector exponential(vector x)
{
    const float round = 12582912.0f; /* 1.5 * 2^23: adding it leaves the nearest integer in the low bits */
    x = vector_max(x, spread(-87.0f));
    const vector shifted = x * 1.44269504088896341f + round;
    const vector power = shifted - round;
    const vector r = x - power * 0.693359375f + power * 2.12194440e-4f;
    vector p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    return (vector)((int_vector)p + ((int_vector)shifted << 23));
}

/* x/2 * (1 + erf(x / sqrt(2))); erf by Abramowitz and Stegun 7.1.28, within 3e-7. Beyond
 * |x| = 5 sqrt(2) the error function is 1 in f32, and its 16th power would overflow. */
INLINE vector gelu(vector x)
{
    const vector z = -vector_max(absolute(x) * -0.70710678118654752f, spread(-5.0f));
    vector p = z * 0.0000430638f + 0.0002765672f;
    p = p * z + 0.0001520143f;
    p = p * z + 0.0092705272f;
    p = p * z + 0.0422820123f;
    p = p * z + 0.0705230784f;
    p = p * z + 1.0f;
    p *= p;
    p *= p;
    p *= p;
    p *= p;
    return vector_max(x, spread(0.0f)) - 0.5f * absolute(x) / p;
}

INLINE float sum_of(vector value)
{
    float sum = 0;
    UNROLL
    for (int i = 0; i < LANES; i++)
        sum += value[i];
    return sum;
}

/* ---- matrix product ---- */

/* Vectors in the panel that starts at `column`. */
INLINE size_t panel_vectors(size_t outputs, size_t column)
{
    const size_t left = (outputs - column + LANES - 1) / LANES;
    return left < TILE_VECTORS ? left : TILE_VECTORS;
}

static size_t round_up(size_t value, size_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

/* A packed matrix is panels of PANEL outputs (the last one narrower), each [inputs/STEP][outputs][STEP],
 * with zeros for outputs that do not exist. */
static size_t packed_size(size_t inputs, size_t outputs)
{
    return inputs * round_up(outputs, LANES) * sizeof(element);
}

static void pack(const float *weights, size_t inputs, size_t outputs, void *packed)
{
    element *to = packed;
    for (size_t column = 0; column < outputs; column += PANEL) {
        const size_t vectors = panel_vectors(outputs, column);
        for (size_t i = 0; i < inputs; i += STEP)
            for (size_t v = 0; v < vectors; v++)
                for (size_t s = 0; s < STEP; s++) {
                    vector value = {0};
                    for (size_t lane = 0; lane < LANES; lane++) {
                        const size_t output = column + v * LANES + lane;
                        if (output < outputs)
                            value[lane] = weights[output * inputs + i + s];
                    }
                    element elements[LANES];
                    store_elements(elements, value);
                    for (size_t lane = 0; lane < LANES; lane++)
                        to[(i / STEP * vectors * LANES + v * LANES + lane) * STEP + s] = elements[lane];
                }
        to += vectors * LANES * inputs;
    }
}

/* out[rows][vectors * LANES] = a[rows][depth] * a panel b. `rows` and `vectors` are constants at every
 * call, so the sums live in registers. */
INLINE void multiply_tile(const size_t rows, const size_t vectors, const element *a, size_t a_stride,
                          const element *b, size_t depth, float *out, size_t out_stride)
{
    vector sums[TILE_ROWS][TILE_VECTORS];
    UNROLL
    for (size_t r = 0; r < rows; r++)
        UNROLL
    for (size_t v = 0; v < vectors; v++)
        sums[r][v] = spread(0.0f);
    for (size_t k = 0; k < depth; k += STEP) {
        operand panel[TILE_VECTORS];
        UNROLL
        for (size_t v = 0; v < vectors; v++)
            panel[v] = load_operand(b + v * LANES * STEP);
        UNROLL
        for (size_t r = 0; r < rows; r++) {
            const operand value = spread_operand(a + r * a_stride + k);
            UNROLL
            for (size_t v = 0; v < vectors; v++)
                sums[r][v] = multiply_add(sums[r][v], value, panel[v]);
        }
        b += vectors * LANES * STEP;
    }
    UNROLL
    for (size_t r = 0; r < rows; r++)
        UNROLL
    for (size_t v = 0; v < vectors; v++)
        store(out + r * out_stride + v * LANES, sums[r][v]);
}

#define TILE_CASE(row_count, vector_count)                                              \
    case (row_count)*4 + (vector_count):                                                \
        multiply_tile(row_count, vector_count, a, a_stride, b, depth, out, out_stride); \
        break;
#if TILE_VECTORS == 3
#define TILE_CASES(row_count) TILE_CASE(row_count, 1) TILE_CASE(row_count, 2) TILE_CASE(row_count, 3)
#elif TILE_VECTORS == 2
#define TILE_CASES(row_count) TILE_CASE(row_count, 1) TILE_CASE(row_count, 2)
#endif

static void multiply(size_t rows, size_t vectors, const element *a, size_t a_stride, const element *b,
                     size_t depth, float *out, size_t out_stride)
{
    switch (rows * 4 + vectors) {
        TILE_CASES(1)
        TILE_CASES(2)
        TILE_CASES(3)
        TILE_CASES(4)
#if TILE_ROWS > 4
        TILE_CASES(5)
        TILE_CASES(6)
#endif
#if TILE_ROWS > 6
        TILE_CASES(7)
        TILE_CASES(8)
#endif
    default:
        __builtin_unreachable();
    }
}

enum epilogue { STORE, STORE_GELU, ADD };

/* What is done with a tile of sums: adds the bias, then stores `columns` columns of each row. */
INLINE void finish_tile(const enum epilogue epilogue, const float *sums, size_t rows, size_t columns,
                        const float *bias, void *out, size_t out_stride)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < columns; c += LANES) {
            const size_t count = columns - c < LANES ? columns - c : LANES;
            const bool whole = count == LANES;
            vector value = load(sums + r * PANEL + c) + (whole ? load(bias + c) : load_part(bias + c, count));
            if (epilogue == STORE_GELU)
                value = gelu(value);
            if (epilogue == ADD) {
                float *to = (float *)out + r * out_stride + c;
                value += whole ? load(to) : load_part(to, count);
                if (whole)
                    store(to, value);
                else
                    memcpy(to, &value, count * sizeof *to);
                continue;
            }
            element *to = (element *)out + r * out_stride + c;
            if (whole)
                store_elements(to, value);
            else
                store_elements_part(to, value, count);
        }
    }
}

INLINE void apply(const enum epilogue epilogue, const struct linear *layer, const element *in,
                  size_t in_stride, size_t rows, void *out, size_t out_stride)
{
    const size_t out_size = epilogue == ADD ? sizeof(float) : sizeof(element);
    const element *panel = layer->packed;
    for (size_t column = 0; column < layer->outputs; column += PANEL) {
        const size_t vectors = panel_vectors(layer->outputs, column);
        const size_t left = layer->outputs - column;
        for (size_t row = 0; row < rows; row += TILE_ROWS) {
            float sums[TILE_ROWS * PANEL] __attribute__((aligned(64)));
            const size_t count = rows - row < TILE_ROWS ? rows - row : TILE_ROWS;
            multiply(count, vectors, in + row * in_stride, in_stride, panel, layer->inputs, sums, PANEL);
            finish_tile(epilogue, sums, count, left < PANEL ? left : PANEL, layer->bias + column,
                        (char *)out + (row * out_stride + column) * out_size, out_stride);
        }
        panel += vectors * LANES * layer->inputs;
    }
}

static void linear(const struct linear *layer, const void *in, size_t in_stride, size_t rows, void *out,
                   size_t out_stride)
{
    apply(STORE, layer, in, in_stride, rows, out, out_stride);
}

static void linear_gelu(const struct linear *layer, const void *in, size_t in_stride, size_t rows, void *out,
                        size_t out_stride)
{
    apply(STORE_GELU, layer, in, in_stride, rows, out, out_stride);
}

static void linear_add(const struct linear *layer, const void *in, size_t in_stride, size_t rows, float *sum,
                       size_t sum_stride)
{
    apply(ADD, layer, in, in_stride, rows, sum, sum_stride);
}

/* ---- layer normalisation ---- */

static void normalize_row(float *x, size_t width, const float *scale, const float *shift, float epsilon,
                          element *elements)
{
    const size_t whole = width / LANES * LANES, rest = width - whole;
    vector total = load_part(x + whole, rest);
    for (size_t i = 0; i < whole; i += LANES)
        total += load(x + i);
    const float mean = sum_of(total) / (float)width;
    vector squares = {0};
    for (size_t i = 0; i < whole; i += LANES) {
        const vector d = load(x + i) - mean;
        squares += d * d;
    }
    float square_sum = sum_of(squares);
    for (size_t i = whole; i < width; i++)
        square_sum += (x[i] - mean) * (x[i] - mean);
    const float factor = 1.0f / sqrtf(square_sum / (float)width + epsilon);
    for (size_t i = 0; i < whole; i += LANES) {
        const vector value = (load(x + i) - mean) * factor * load(scale + i) + load(shift + i);
        store(x + i, value);
        store_elements(elements + i, value);
    }
    if (rest > 0) {
        const vector value = (load_part(x + whole, rest) - mean) * factor * load_part(scale + whole, rest) +
                             load_part(shift + whole, rest);
        memcpy(x + whole, &value, rest * sizeof *x);
        store_elements_part(elements + whole, value, rest);
    }
}

static void normalize(float *x, size_t stride, size_t rows, size_t width, const float *scale,
                      const float *shift, float epsilon, void *elements, size_t elements_stride)
{
    for (size_t r = 0; r < rows; r++)
        normalize_row(x + r * stride, width, scale, shift, epsilon,
                      (element *)elements + r * elements_stride);
}

/* ---- attention ---- */

/* Packs rows of elements as pack() packs weights: row i becomes output i. */
static void pack_rows(const element *rows, size_t stride, size_t inputs, size_t outputs, element *to)
{
    for (size_t column = 0; column < outputs; column += PANEL) {
        const size_t width = panel_vectors(outputs, column) * LANES;
        const size_t count = outputs - column < width ? outputs - column : width;
        if (count < width)
            memset(to, 0, width * inputs * sizeof *to);
        for (size_t output = 0; output < count; output++) {
            const element *from = rows + (column + output) * stride;
            for (size_t i = 0; i < inputs; i += STEP)
                memcpy(to + i * width + output * STEP, from + i, STEP * sizeof *to);
        }
        to += width * inputs;
    }
}

/* Packs rows of elements so that row i becomes input i. Inputs up to the next multiple of STEP are 0. */
static void pack_columns(const element *rows, size_t stride, size_t inputs, size_t outputs, element *to)
{
    for (size_t column = 0; column < outputs; column += PANEL) {
        const size_t width = panel_vectors(outputs, column) * LANES;
        const size_t count = outputs - column < width ? outputs - column : width;
        if (count < width || inputs % STEP)
            memset(to, 0, width * round_up(inputs, STEP) * sizeof *to);
        for (size_t i = 0; i < inputs; i++) {
            const element *from = rows + i * stride + column;
            element *pair = to + i / STEP * STEP * width + i % STEP;
            for (size_t output = 0; output < count; output++)
                pair[output * STEP] = from[output];
        }
        to += width * round_up(inputs, STEP);
    }
}

/* Turns a row of scores into e^(score - highest), as elements; returns 1 / their sum.
 * `scores` has whole vectors; those beyond `count` count as nothing. */
INLINE float soften(float *scores, size_t count, element *weights)
{
    const size_t padded = round_up(count, LANES);
    for (size_t i = count; i < padded; i++)
        scores[i] = -1e30f;
    vector highest = load(scores);
    for (size_t i = LANES; i < padded; i += LANES)
        highest = vector_max(highest, load(scores + i));
    float top = highest[0];
    for (size_t lane = 1; lane < LANES; lane++)
        top = highest[lane] > top ? highest[lane] : top;
    vector total = {0};
    for (size_t i = 0; i < padded; i += LANES) {
        const vector value = exponential(load(scores + i) - top);
        total += value;
        store_elements(weights + i, value);
    }
    return 1.0f / sum_of(total);
}

struct attention_scratch {
    element *keys, *values;
    float *scores;    /* [TILE_ROWS][stride] */
    element *weights; /* the same; may be the same memory */
    size_t stride;
    size_t size; /* in bytes, of all */
};

static struct attention_scratch attention_layout(size_t tokens, size_t head_size, char *memory)
{
    struct attention_scratch layout = {.stride = round_up(tokens, LANES) + 16};
    const size_t keys_size = round_up(packed_size(head_size, tokens), 64);
    const size_t values_size = round_up(packed_size(round_up(tokens, STEP), head_size), 64);
    const size_t scores_size = round_up(TILE_ROWS * layout.stride * sizeof(float), 64);
    layout.size = keys_size + values_size + 2 * scores_size;
    if (memory) {
        layout.keys = (element *)memory;
        layout.values = (element *)(memory + keys_size);
        layout.scores = (float *)(memory + keys_size + values_size);
        layout.weights = (element *)(memory + keys_size + values_size + scores_size);
    }
    return layout;
}

static size_t attend_scratch(size_t tokens, size_t head_size)
{
    return attention_layout(tokens, head_size, NULL).size;
}

/* The rows of one head's output from its packed keys and values. */
static void attend_rows(const struct attention_scratch *scratch, const element *queries, size_t stride,
                        size_t rows, size_t tokens, size_t head_size, element *out, size_t out_stride)
{
    const element *panel = scratch->keys;
    for (size_t column = 0; column < tokens; column += PANEL) {
        const size_t vectors = panel_vectors(tokens, column);
        multiply(rows, vectors, queries, stride, panel, head_size, scratch->scores + column, scratch->stride);
        panel += vectors * LANES * head_size;
    }
    float factors[TILE_ROWS];
    for (size_t r = 0; r < rows; r++)
        factors[r] =
            soften(scratch->scores + r * scratch->stride, tokens, scratch->weights + r * scratch->stride);
    const size_t depth = round_up(tokens, STEP);
    panel = scratch->values;
    for (size_t column = 0; column < head_size; column += PANEL) {
        float sums[TILE_ROWS * PANEL] __attribute__((aligned(64)));
        const size_t vectors = panel_vectors(head_size, column);
        multiply(rows, vectors, scratch->weights, scratch->stride, panel, depth, sums, PANEL);
        for (size_t r = 0; r < rows; r++)
            for (size_t v = 0; v < vectors; v++) {
                const size_t c = column + v * LANES, left = head_size - c;
                const vector value = load(sums + r * PANEL + v * LANES) * factors[r];
                element *to = out + r * out_stride + c;
                if (left >= LANES)
                    store_elements(to, value);
                else
                    store_elements_part(to, value, left);
            }
        panel += vectors * LANES * depth;
    }
}

static void attend(const void *qkv, size_t qkv_stride, size_t tokens, size_t heads, size_t head_size,
                   void *out, size_t out_stride, void *memory)
{
    const struct attention_scratch scratch = attention_layout(tokens, head_size, memory);
    const size_t width = heads * head_size;
    for (size_t head = 0; head < heads; head++) {
        const element *queries = (const element *)qkv + head * head_size;
        pack_rows(queries + width, qkv_stride, head_size, tokens, scratch.keys);
        pack_columns(queries + 2 * width, qkv_stride, tokens, head_size, scratch.values);
        for (size_t row = 0; row < tokens; row += TILE_ROWS)
            attend_rows(&scratch, queries + row * qkv_stride, qkv_stride,
                        tokens - row < TILE_ROWS ? tokens - row : TILE_ROWS, tokens, head_size,
                        (element *)out + row * out_stride + head * head_size, out_stride);
    }
}

const struct kernel KERNEL_SYMBOL = {
    .name = KERNEL_NAME,
    .precision = ELEMENTS_ARE_BF16 ? KERNEL_BF16 : KERNEL_F32,
    .features = KERNEL_FEATURES,
    .element_size = sizeof(element),
    .input_multiple = STEP,
    .tile_rows = TILE_ROWS,
    .packed_size = packed_size,
    .pack = pack,
    .linear = linear,
    .linear_gelu = linear_gelu,
    .linear_add = linear_add,
    .normalize = normalize,
    .attend = attend,
    .attend_scratch = attend_scratch,
};
