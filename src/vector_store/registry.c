#include "vector_store/members.h"
#include "vector_store/vector_store.h"

const struct vector_store_ops *const vector_store_registry[] = {
    &vector_store_embedded,
    &vector_store_memory,
    NULL,
};
