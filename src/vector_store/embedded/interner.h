/* Distinct byte strings, numbered in the order they came in. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

struct interner {
    struct arena arena;
    struct str *texts; /* by number */
    uint64_t *hashes;
    uint32_t count;
    size_t capacity, hash_capacity;
    uint32_t *slots; /* number + 1; 0: free */
    size_t slot_count;
};

void interner_release(struct interner *interner);
/* The number of a text, which is copied when it is new. */
uint32_t interner_add(struct interner *interner, struct str text);
/* The numbers in the order of their texts (str_compare); free() the result. */
uint32_t *interner_sorted(const struct interner *interner);
