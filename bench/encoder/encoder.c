/* How fast the local encoder is on this machine, beside what the machine can do at most.
 * usage: bench_encoder MODEL_FOLDER [SECONDS]
 * Prints one JSON object a line: {"peak": ...} for each kind of arithmetic, then for each kernel, sequence
 * length and number of threads {"kernel", "tokens", "threads", "sequences_per_second", "undisturbed",
 * "gflops"}: by the clock, and by the threads' own CPU time, which is what the clock would say were nothing
 * else running; gflops follow the latter.
 * Sequences are packed into passes as the embedder packs them. The tokenizer is not part of it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "base/arena.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/thread.h"
#include "embedder/local/encoder.h"
#include "embedder/local/kernel.h"

enum { WARM_UP_US = 200000 };

/* ---- the machine's peak: independent multiply-adds in registers ---- */

#ifdef __x86_64__
#define PEAK(name, attributes, type, zero, step, operations)                                            \
    __attribute__((target(attributes))) static double name(int64_t span_us)                             \
    {                                                                                                   \
        type a = zero, b = zero, c = zero, d = zero, e = zero, f = zero, g = zero, h = zero, i = zero,  \
             j = zero, k = zero, l = zero;                                                              \
        double rounds = 0;                                                                              \
        const int64_t start = clock_thread_cpu_us();                                                    \
        int64_t now = start;                                                                            \
        for (; now - start < span_us; now = clock_thread_cpu_us(), rounds += 100000)                    \
            for (int round = 0; round < 100000; round++) {                                              \
                step(a) step(b) step(c) step(d) step(e) step(f) step(g) step(h) step(i) step(j) step(k) \
                    step(l) __asm__ volatile(""                                                         \
                                             : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e), "+v"(f),    \
                                               "+v"(g), "+v"(h), "+v"(i), "+v"(j), "+v"(k), "+v"(l));   \
            }                                                                                           \
        return rounds * 12 * operations / (double)(now - start) / 1e3;                                  \
    }
#define STEP_AVX2(x) x = _mm256_fmadd_ps(x, x, x);
#define STEP_AVX512(x) x = _mm512_fmadd_ps(x, x, x);
#define STEP_BF16(x) x = _mm512_dpbf16_ps(x, (__m512bh)x, (__m512bh)x);
PEAK(peak_avx2, "avx2,fma", __m256, _mm256_setzero_ps(), STEP_AVX2, 16)
PEAK(peak_avx512, "avx512f,avx512vl", __m512, _mm512_setzero_ps(), STEP_AVX512, 32)
PEAK(peak_avx512_bf16, "avx512f,avx512vl,avx512bf16", __m512, _mm512_setzero_ps(), STEP_BF16, 64)

static void print_peaks(int64_t span_us)
{
    const unsigned features = cpu_features();
    if (features & CPU_AVX2)
        printf("{\"peak\": \"avx2\", \"gflops_per_core\": %.1f}\n", peak_avx2(span_us));
    if (features & CPU_AVX512)
        printf("{\"peak\": \"avx512\", \"gflops_per_core\": %.1f}\n", peak_avx512(span_us));
    if (features & CPU_AVX512_BF16)
        printf("{\"peak\": \"avx512_bf16\", \"gflops_per_core\": %.1f}\n", peak_avx512_bf16(span_us));
}
#else
static void print_peaks(int64_t span_us)
{
}
#endif

/* ---- the encoder ---- */

struct worker {
    pthread_t thread;
    struct encoder *encoder;
    size_t dimension;
    size_t tokens;    /* of each sequence */
    size_t sequences; /* of each pass */
    int64_t span_us;
    double per_second; /* sequences */
    double per_cpu_second;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    const size_t total = worker->tokens * worker->sequences;
    int32_t *ids = xcalloc(total, sizeof *ids);
    size_t *lengths = xcalloc(worker->sequences, sizeof *lengths);
    float *out = xcalloc(worker->sequences * worker->dimension, sizeof *out);
    for (size_t i = 0; i < total; i++)
        ids[i] = (int32_t)(1000 + i * 7919 % 20000);
    for (size_t i = 0; i < worker->sequences; i++)
        lengths[i] = worker->tokens;
    int64_t start = clock_monotonic_us(), now = start;
    while (now - start < WARM_UP_US) {
        encoder_run(worker->encoder, ids, lengths, worker->sequences, out);
        now = clock_monotonic_us();
    }
    size_t passes = 0;
    const int64_t cpu_start = clock_thread_cpu_us();
    for (start = now; now - start < worker->span_us; passes++) {
        encoder_run(worker->encoder, ids, lengths, worker->sequences, out);
        now = clock_monotonic_us();
    }
    const double sequences = (double)(passes * worker->sequences);
    worker->per_second = sequences * 1e6 / (double)(now - start);
    worker->per_cpu_second = sequences * 1e6 / (double)(clock_thread_cpu_us() - cpu_start);
    free(out);
    free(lengths);
    free(ids);
    return NULL;
}

/* Multiply-adds count as two. */
static double operations_of(const struct model_config *config, size_t tokens)
{
    const double hidden = (double)config->hidden_size, wide = (double)config->intermediate_size;
    const double per_token = 2 * (4 * hidden * hidden + 2 * hidden * wide) + 4 * (double)tokens * hidden;
    return per_token * (double)tokens * (double)config->layers;
}

static void measure(struct encoder *encoder, const struct model_config *config, const char *kernel,
                    size_t tokens, size_t sequences, unsigned threads, int64_t span_us)
{
    struct worker workers[64];
    double per_second = 0, undisturbed = 0;
    for (unsigned i = 0; i < threads; i++) {
        workers[i] = (struct worker){.encoder = encoder,
                                     .dimension = config->hidden_size,
                                     .tokens = tokens,
                                     .sequences = sequences,
                                     .span_us = span_us};
        thread_start(&workers[i].thread, "bench", work, &workers[i]);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        per_second += workers[i].per_second;
        undisturbed += workers[i].per_cpu_second;
    }
    printf("{\"kernel\": \"%s\", \"tokens\": %zu, \"sequences_per_pass\": %zu, \"threads\": %u, "
           "\"sequences_per_second\": %.2f, \"undisturbed\": %.2f, \"gflops\": %.1f}\n",
           kernel, tokens, sequences, threads, per_second, undisturbed,
           undisturbed * operations_of(config, tokens) / 1e9);
    fflush(stdout);
}

static ibid_code run(const char *folder, int64_t span_us, ibid_error *err)
{
    static const size_t bulk[] = {32, 128, 256}, queries[] = {8, 32};
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_FREE char *path = path_join(folder, "model.safetensors");
    struct model_config config;
    struct safetensors *weights;
    TRY(model_config_read(folder, &arena, &config, err));
    TRY(safetensors_open(path, &weights, err));
    const unsigned cores = thread_core_count() < 64 ? thread_core_count() : 64;
    print_peaks(span_us);
    for (size_t i = 0; kernel_list[i]; i++) {
        struct encoder *encoder;
        const char *name = kernel_list[i]->name;
        if (!kernel_is_usable(kernel_list[i]) || encoder_new(&config, weights, kernel_list[i], &encoder, err))
            continue;
        for (size_t j = 0; j < COUNT_OF(bulk); j++)
            measure(encoder, &config, name, bulk[j], ENCODER_PASS_TOKENS / bulk[j], cores, span_us);
        for (size_t j = 0; j < COUNT_OF(queries); j++)
            measure(encoder, &config, name, queries[j], 1, 1, span_us);
        encoder_free(encoder);
    }
    safetensors_free(weights);
    return IBID_OK;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: bench_encoder MODEL_FOLDER [SECONDS]\n");
        return 2;
    }
    const double seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
    ibid_error err = {0};
    if (run(argv[1], (int64_t)(seconds * 1e6), &err) != IBID_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    return 0;
}
