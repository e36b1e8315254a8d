#include "vector_store/embedded/kernels.h"

#include "base/cpu.h"

#if defined(__x86_64__)
enum { AVX512_NEEDED = CPU_AVX512 | CPU_AVX512_VNNI | CPU_AVX512_VPOPCNT };

const struct kernels *kernels_best(void)
{
    const unsigned features = cpu_features();
    if ((features & AVX512_NEEDED) == AVX512_NEEDED)
        return &kernels_avx512;
    return features & CPU_AVX2 ? &kernels_avx2 : &kernels_portable;
}

const struct kernels *const *kernels_available(void)
{
    static const struct kernels *const all[] = {&kernels_avx512, &kernels_avx2, &kernels_portable, NULL};
    const struct kernels *best = kernels_best();
    size_t first = 0;
    while (all[first] != best)
        first++;
    return all + first;
}
#else
const struct kernels *kernels_best(void)
{
    return &kernels_portable;
}

const struct kernels *const *kernels_available(void)
{
    static const struct kernels *const all[] = {&kernels_portable, NULL};
    return all;
}
#endif
