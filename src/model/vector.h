/* How long the vectors of embeddings may be: one ceiling for who makes, keeps and searches them. */
#pragma once

enum {
    VECTOR_DIMENSION_MIN = 64,
    VECTOR_DIMENSION_MAX = 4096,
};
