#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/memory.h"
#include "embedder/local/kernel.h"

extern const struct kernel kernel_portable;
#ifdef __x86_64__
extern const struct kernel kernel_avx2, kernel_avx512, kernel_avx512_bf16;
#endif

const struct kernel *const kernel_list[] = {
    &kernel_portable,
#ifdef __x86_64__
    &kernel_avx2,
    &kernel_avx512,
    &kernel_avx512_bf16,
#endif
    NULL,
};

bool kernel_is_usable(const struct kernel *kernel)
{
    return (kernel->features & ~cpu_features()) == 0;
}

const struct kernel *kernel_find(const char *name)
{
    for (size_t i = 0; kernel_list[i]; i++)
        if (strcmp(kernel_list[i]->name, name) == 0)
            return kernel_list[i];
    return NULL;
}

enum { PROBE_WIDTH = 384 }; /* of the small models that this is about */

double kernel_measure(const struct kernel *kernel, size_t rows, double seconds)
{
    const size_t packed_size = kernel->packed_size(PROBE_WIDTH, PROBE_WIDTH);
    float *weights = xcalloc(PROBE_WIDTH * PROBE_WIDTH, sizeof *weights);
    float *bias = xcalloc(PROBE_WIDTH, sizeof *bias);
    void *packed = xaligned_alloc(64, packed_size);
    void *in = xcalloc(rows * PROBE_WIDTH, sizeof(float)); /* zeros: products of them take as long */
    void *out = xcalloc(rows * PROBE_WIDTH, sizeof(float));
    kernel->pack(weights, PROBE_WIDTH, PROBE_WIDTH, packed);
    const struct linear layer = {packed, bias, PROBE_WIDTH, PROBE_WIDTH};
    const double operations = 2.0 * (double)rows * PROBE_WIDTH * PROBE_WIDTH;
    double best = 0;
    const int64_t end = clock_thread_cpu_us() + (int64_t)(seconds * 1e6);
    for (int64_t start = clock_thread_cpu_us(), now = start; now < end; start = now) {
        for (int i = 0; i < 2; i++)
            kernel->linear(&layer, in, PROBE_WIDTH, rows, out, PROBE_WIDTH);
        now = clock_thread_cpu_us();
        if (now > start && 2 * operations / (double)(now - start) / 1e3 > best)
            best = 2 * operations / (double)(now - start) / 1e3;
    }
    free(out);
    free(in);
    free(packed);
    free(bias);
    free(weights);
    return best;
}
