/* For AVX2 with FMA: sixteen registers hold a tile of 6 by 2 vectors. */
#define VECTOR_BYTES 32
#define TILE_ROWS 6
#define TILE_VECTORS 2
#define ELEMENTS_ARE_BF16 0
#define KERNEL_SYMBOL kernel_avx2
#define KERNEL_NAME "avx2"
#define KERNEL_FEATURES CPU_AVX2
#include "embedder/local/kernel_template.h"
