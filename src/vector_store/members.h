/* The members of the vector store seam; everyone else finds them through vector_store_registry. */
#pragma once

#include "vector_store/vector_store.h"

extern const struct vector_store_ops vector_store_embedded, vector_store_memory;
