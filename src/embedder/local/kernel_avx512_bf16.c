/* For AVX512-BF16: as AVX-512, with products of bfloat16 pairs summed in f32. */
#define VECTOR_BYTES 64
#define TILE_ROWS 8
#define TILE_VECTORS 3
#define ELEMENTS_ARE_BF16 1
#define KERNEL_SYMBOL kernel_avx512_bf16
#define KERNEL_NAME "avx512_bf16"
#define KERNEL_FEATURES (CPU_AVX2 | CPU_AVX512 | CPU_AVX512_BF16)
#include "embedder/local/kernel_template.h"
