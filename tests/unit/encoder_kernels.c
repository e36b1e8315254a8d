/* Every kernel that runs here against the same arithmetic written plainly in double precision. */
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "embedder/local/kernel.h"
#include "embedder/local/kernel_probe.h"
#include "tests/tiny_model.h"

static uint64_t random_state = 1234567891011;

static float *random_floats(size_t count, double spread)
{
    float *values = xcalloc(count + 1, sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(spread * tiny_random(&random_state));
    return values;
}

static float from_bf16(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static uint16_t to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static float get(const struct kernel *kernel, const void *elements, size_t i)
{
    return kernel->element_size == 4 ? ((const float *)elements)[i]
                                     : from_bf16(((const uint16_t *)elements)[i]);
}

/* Elements that stand for `values`; what rounding lost is lost in `values`, too. */
static void *elements_of(const struct kernel *kernel, float *values, size_t count)
{
    char *elements = xcalloc(count + 1, kernel->element_size);
    for (size_t i = 0; i < count; i++) {
        const uint16_t rounded = to_bf16(values[i]);
        if (kernel->element_size == 4)
            memcpy(elements + i * 4, &values[i], 4);
        else
            memcpy(elements + i * 2, &rounded, 2);
        values[i] = get(kernel, elements, i);
    }
    return elements;
}

static void assert_near(const struct kernel *kernel, double found, double expected, double scale)
{
    const double tolerance = (kernel->precision == KERNEL_BF16 ? 0.02 : 2e-5) * scale;
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("kernel %s: %g instead of %g", kernel->name, found, expected);
}

struct product {
    const struct kernel *kernel;
    size_t inputs, outputs, rows;
    float *weights, *bias, *x, *sum;
    void *packed, *in;
    struct linear layer;
};

static void product_init(struct product *product, const struct kernel *kernel, size_t inputs, size_t outputs,
                         size_t rows)
{
    *product = (struct product){.kernel = kernel, .inputs = inputs, .outputs = outputs, .rows = rows};
    product->weights = random_floats(inputs * outputs, 0.5);
    product->bias = random_floats(outputs, 1);
    product->x = random_floats(inputs * rows, 1);
    product->sum = random_floats(outputs * rows, 1);
    product->packed = xaligned_alloc(64, (kernel->packed_size(inputs, outputs) + 63) / 64 * 64);
    kernel->pack(product->weights, inputs, outputs, product->packed);
    product->in = elements_of(kernel, product->x, inputs * rows);
    product->layer = (struct linear){product->packed, product->bias, inputs, outputs};
}

static void product_release(struct product *product)
{
    free(product->in);
    free(product->packed);
    free(product->sum);
    free(product->x);
    free(product->bias);
    free(product->weights);
}

static double expected_at(const struct product *product, size_t row, size_t output)
{
    double sum = product->bias[output];
    for (size_t i = 0; i < product->inputs; i++)
        sum += (double)product->x[row * product->inputs + i] * product->weights[output * product->inputs + i];
    return sum;
}

static double gelu_of(double x)
{
    return 0.5 * x * (1 + erf(x / sqrt(2)));
}

static void check_product(const struct kernel *kernel, size_t inputs, size_t outputs, size_t rows)
{
    struct product product;
    product_init(&product, kernel, inputs, outputs, rows);
    const double scale = 1 + sqrt((double)inputs);
    const size_t count = rows * outputs;
    void *plain = xcalloc(count, kernel->element_size), *curved = xcalloc(count, kernel->element_size);
    float *sum = xcalloc(count, sizeof *sum);
    memcpy(sum, product.sum, count * sizeof *sum);
    kernel->linear(&product.layer, product.in, inputs, rows, plain, outputs);
    kernel->linear_gelu(&product.layer, product.in, inputs, rows, curved, outputs);
    kernel->linear_add(&product.layer, product.in, inputs, rows, sum, outputs);
    for (size_t row = 0; row < rows; row++)
        for (size_t output = 0; output < outputs; output++) {
            const double expected = expected_at(&product, row, output);
            const size_t i = row * outputs + output;
            assert_near(kernel, get(kernel, plain, i), expected, scale);
            assert_near(kernel, get(kernel, curved, i), gelu_of(expected), scale);
            assert_near(kernel, sum[i], expected + product.sum[i], scale);
        }
    free(sum);
    free(curved);
    free(plain);
    product_release(&product);
}

/* Calls `check` for every kernel this processor has. */
static void for_each_kernel(void (*check)(const struct kernel *kernel))
{
    for (size_t i = 0; kernel_list[i]; i++)
        if (kernel_is_usable(kernel_list[i]))
            check(kernel_list[i]);
        else
            print_message("# SKIPPED: this processor has no %s\n", kernel_list[i]->name);
}

static void check_products(const struct kernel *kernel)
{
    static const size_t widths[] = {1, 7, 16, 31, 48, 50, 97};
    for (size_t i = 0; i < COUNT_OF(widths); i++)
        for (size_t rows = 1; rows <= 19; rows += 3)
            check_product(kernel, 2 * widths[COUNT_OF(widths) - 1 - i], widths[i], rows);
    check_product(kernel, 384, 100, 33);
}

static void test_products(void **state)
{
    for_each_kernel(check_products);
}

static void check_gelu_range(const struct kernel *kernel)
{
    /* A weight of zero leaves the bias, over all that an activation may be. */
    enum { COUNT = 4001 };
    const float weights[2 * COUNT] = {0};
    float bias[COUNT];
    for (int i = 0; i < COUNT; i++)
        bias[i] = (float)((i - 2000) * 0.01);
    bias[0] = -1000;
    bias[COUNT - 1] = 1e30f;
    void *packed = xaligned_alloc(64, (kernel->packed_size(2, COUNT) + 63) / 64 * 64);
    kernel->pack(weights, 2, COUNT, packed);
    const struct linear layer = {packed, bias, 2, COUNT};
    const float zeros[2] = {0};
    void *out = xcalloc(COUNT, kernel->element_size);
    kernel->linear_gelu(&layer, zeros, 2, 1, out, COUNT);
    for (int i = 0; i < COUNT; i++) {
        const double expected = gelu_of(bias[i]), relative = kernel->precision == KERNEL_BF16 ? 0.005 : 1e-6;
        if (!(fabs(get(kernel, out, (size_t)i) - expected) <= 1e-6 + relative * fabs(expected)))
            fail_msg("kernel %s: gelu(%g) gives %g", kernel->name, bias[i], get(kernel, out, (size_t)i));
    }
    free(out);
    free(packed);
}

static void test_gelu_over_its_range(void **state)
{
    for_each_kernel(check_gelu_range);
}

static void check_normalize(const struct kernel *kernel)
{
    static const size_t widths[] = {2, 15, 16, 40, 48, 100, 384};
    for (size_t w = 0; w < COUNT_OF(widths); w++) {
        enum { ROWS = 3 };
        const size_t width = widths[w];
        float *x = random_floats(ROWS * width, 3), *scale = random_floats(width, 2),
              *shift = random_floats(width, 1);
        float *before = xcalloc(ROWS * width, sizeof *before);
        void *elements = xcalloc(ROWS * width, kernel->element_size);
        memcpy(before, x, ROWS * width * sizeof *x);
        kernel->normalize(x, width, ROWS, width, scale, shift, 1e-5f, elements, width);
        for (size_t row = 0; row < ROWS; row++) {
            double mean = 0, square = 0;
            for (size_t i = 0; i < width; i++)
                mean += before[row * width + i] / (double)width;
            for (size_t i = 0; i < width; i++)
                square += pow(before[row * width + i] - mean, 2) / (double)width;
            for (size_t i = 0; i < width; i++) {
                const size_t at = row * width + i;
                const double expected = (before[at] - mean) / sqrt(square + 1e-5) * scale[i] + shift[i];
                assert_true(fabs(x[at] - expected) < 1e-4);
                assert_near(kernel, get(kernel, elements, at), expected, 5);
            }
        }
        free(elements);
        free(before);
        free(shift);
        free(scale);
        free(x);
    }
}

static void test_normalize(void **state)
{
    for_each_kernel(check_normalize);
}

static void check_attention(const struct kernel *kernel, size_t tokens, size_t heads, size_t head_size)
{
    const size_t width = heads * head_size, stride = 3 * width + 2;
    float *qkv = random_floats(tokens * stride, 2);
    void *elements = elements_of(kernel, qkv, tokens * stride);
    void *out = xcalloc(tokens * width, kernel->element_size);
    void *scratch = xaligned_alloc(64, (kernel->attend_scratch(tokens, head_size) + 63) / 64 * 64);
    kernel->attend(elements, stride, tokens, heads, head_size, out, width, scratch);
    double *weights = xcalloc(tokens, sizeof *weights);
    for (size_t head = 0; head < heads; head++)
        for (size_t row = 0; row < tokens; row++) {
            const float *query = qkv + row * stride + head * head_size;
            double total = 0;
            for (size_t other = 0; other < tokens; other++) {
                const float *key = qkv + other * stride + width + head * head_size;
                double score = 0;
                for (size_t i = 0; i < head_size; i++)
                    score += (double)query[i] * key[i];
                total += weights[other] = exp(score);
            }
            for (size_t i = 0; i < head_size; i++) {
                double expected = 0;
                for (size_t other = 0; other < tokens; other++)
                    expected +=
                        weights[other] / total * qkv[other * stride + 2 * width + head * head_size + i];
                assert_near(kernel, get(kernel, out, row * width + head * head_size + i), expected, 4);
            }
        }
    free(weights);
    free(scratch);
    free(out);
    free(elements);
    free(qkv);
}

static void check_attentions(const struct kernel *kernel)
{
    static const size_t tokens[] = {1, 2, 3, 8, 15, 17, 47, 48, 49, 130};
    for (size_t i = 0; i < COUNT_OF(tokens); i++) {
        check_attention(kernel, tokens[i], 2, 32);
        check_attention(kernel, tokens[i], 3, 10);
    }
    check_attention(kernel, 33, 1, 64);
}

static void test_attention(void **state)
{
    for_each_kernel(check_attentions);
}

static void test_probe_chooses_by_precision_and_keeps_what_it_measured(void **state)
{
    char *folder = temporary_folder();
    const struct kernel *any = kernel_probe(LOCAL_PRECISION_AUTO, true, folder);
    assert_true(kernel_is_usable(any));
    assert_int_equal(kernel_probe(LOCAL_PRECISION_F32, true, folder)->precision, KERNEL_F32);
    assert_int_equal(kernel_probe(LOCAL_PRECISION_AUTO, false, folder)->precision, KERNEL_F32);
    AUTO_FREE char *path = path_join(folder, "kernel-speed.json");
    assert_true(file_exists(path));
    assert_ptr_equal(kernel_probe(LOCAL_PRECISION_AUTO, true, folder), any);
    /* Nonsense in the file is measured anew. */
    assert_ok(file_write_atomically(path, "{\"gflops\":[]", 12, 0644, err));
    assert_true(kernel_is_usable(kernel_probe(LOCAL_PRECISION_AUTO, true, folder)));
    assert_true(kernel_is_usable(kernel_probe(LOCAL_PRECISION_AUTO, true, "/proc/nowhere")));
    assert_ok(folder_remove(folder, err));
    free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_gelu_over_its_range),
        cmocka_unit_test(test_normalize),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_probe_chooses_by_precision_and_keeps_what_it_measured),
    };
    return cmocka_run_group_tests_name("encoder_kernels", tests, NULL, NULL);
}
