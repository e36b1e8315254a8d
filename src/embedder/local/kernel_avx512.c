/* For AVX-512: of thirty-two registers a tile of 8 by 3 vectors takes twenty-four. */
#define VECTOR_BYTES 64
#define TILE_ROWS 8
#define TILE_VECTORS 3
#define ELEMENTS_ARE_BF16 0
#define KERNEL_SYMBOL kernel_avx512
#define KERNEL_NAME "avx512"
#define KERNEL_FEATURES (CPU_AVX2 | CPU_AVX512)
#include "embedder/local/kernel_template.h"
