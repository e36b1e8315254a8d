/* What the processor offers, for kernels that exist in several versions. */
#pragma once

enum cpu_feature {
    CPU_AVX2 = 1 << 0,        /* AVX2, FMA, F16C, BMI2 */
    CPU_AVX512 = 1 << 1,      /* F, BW, DQ, VL */
    CPU_AVX512_VNNI = 1 << 2,
    CPU_AVX512_VPOPCNT = 1 << 3,
    CPU_AVX512_BF16 = 1 << 4,
};

/* The features that processor and system let this process use, less those that the environment
 * variable IBID_CPU takes away: it names the highest level allowed ("portable", "avx2", "avx512",
 * "all"), so that each kernel can be tested on one machine. Computed once. */
unsigned cpu_features(void);
