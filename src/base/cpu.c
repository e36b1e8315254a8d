#include "base/cpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static unsigned detected;

static void detect(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        detected |= CPU_AVX2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        detected |= CPU_AVX512;
        if (__builtin_cpu_supports("avx512vnni"))
            detected |= CPU_AVX512_VNNI;
        if (__builtin_cpu_supports("avx512vpopcntdq"))
            detected |= CPU_AVX512_VPOPCNT;
        if (__builtin_cpu_supports("avx512bf16"))
            detected |= CPU_AVX512_BF16;
    }
#endif
    const char *ceiling = getenv("IBID_CPU");
    if (ceiling && strcmp(ceiling, "portable") == 0)
        detected = 0;
    else if (ceiling && strcmp(ceiling, "avx2") == 0)
        detected &= CPU_AVX2;
    else if (ceiling && strcmp(ceiling, "avx512") == 0)
        detected &= ~(unsigned)CPU_AVX512_BF16;
}

unsigned cpu_features(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, detect);
    return detected;
}
