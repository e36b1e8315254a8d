/* For any processor: 16-byte vectors are SSE2 on x86-64 and NEON on arm64. */
#define VECTOR_BYTES 16
#define TILE_ROWS 4
#define TILE_VECTORS 2
#define ELEMENTS_ARE_BF16 0
#define KERNEL_SYMBOL kernel_portable
#define KERNEL_NAME "portable"
#define KERNEL_FEATURES 0
#include "embedder/local/kernel_template.h"
