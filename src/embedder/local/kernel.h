/* The arithmetic of an encoder, in one version for each kind of processor. A kernel is chosen when a
 * model is loaded; weights are packed for it once, activations pass between its functions in its own
 * element type. All matrices are row-major; strides count elements (or floats), not bytes.
 *
 * To add one: kernel_<name>.c that defines the macros of kernel_template.h, a row in kernel_list.c,
 * a line in meson.build. tests/unit/encoder_kernels.c then compares it with the portable one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum kernel_precision { KERNEL_F32, KERNEL_BF16 };

/* y = x * W + b, with W packed for the kernel. */
struct linear {
    const void *packed;
    const float *bias; /* outputs values */
    size_t inputs, outputs;
};

struct kernel {
    const char *name;
    enum kernel_precision precision;
    unsigned features;     /* of base/cpu.h that it needs */
    size_t element_size;   /* 4: float, 2: bfloat16 */
    size_t input_multiple; /* `inputs` of every linear is a multiple of this: 1, or 2 for pairs */
    size_t tile_rows;      /* rows come cheapest in multiples of this */

    /* Bytes that a packed matrix takes, and the packing of `weights` [outputs][inputs]. */
    size_t (*packed_size)(size_t inputs, size_t outputs);
    void (*pack)(const float *weights, size_t inputs, size_t outputs, void *packed);

    /* out = in * W + b, for `rows` rows. */
    void (*linear)(const struct linear *layer, const void *in, size_t in_stride, size_t rows, void *out,
                   size_t out_stride);
    /* out = gelu(in * W + b), with the erf form of Hendrycks and Gimpel, "GELUs", 2016. */
    void (*linear_gelu)(const struct linear *layer, const void *in, size_t in_stride, size_t rows, void *out,
                        size_t out_stride);
    /* sum += in * W + b, in f32. */
    void (*linear_add)(const struct linear *layer, const void *in, size_t in_stride, size_t rows, float *sum,
                       size_t sum_stride);
    /* Layer normalisation of `rows` rows in place (Ba et al., 2016), and the same as elements.
     * `elements` may be `x` itself when elements are floats. */
    void (*normalize)(float *x, size_t stride, size_t rows, size_t width, const float *scale,
                      const float *shift, float epsilon, void *elements, size_t elements_stride);
    /* Scaled dot-product attention (Vaswani et al., 2017) within one sequence. A row of `qkv` holds the
     * queries, keys and values of all heads; the queries are scaled already. `scratch` has
     * attend_scratch() bytes and cache line alignment. */
    void (*attend)(const void *qkv, size_t qkv_stride, size_t tokens, size_t heads, size_t head_size,
                   void *out, size_t out_stride, void *scratch);
    size_t (*attend_scratch)(size_t tokens, size_t head_size);
};

/* All kernels built into the program, slowest kind first, NULL-ended. */
extern const struct kernel *const kernel_list[];

/* Whether this processor (less what IBID_CPU takes away) can run it. */
bool kernel_is_usable(const struct kernel *kernel);

/* NULL when there is none of that name. */
const struct kernel *kernel_find(const char *name);

/* Billions of operations per second of the matrix product on this thread, for `rows` rows. */
double kernel_measure(const struct kernel *kernel, size_t rows, double seconds);
