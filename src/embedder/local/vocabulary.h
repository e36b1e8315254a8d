/* A set of byte strings with a number each, walked byte by byte: a double-array trie
 * (Aoe, "An Efficient Digital Search Algorithm by Using a Double-Array Structure", 1989).
 * Immutable once built, so any number of threads may walk it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

enum { VOCABULARY_TOKENS_MAX = 2000000, VOCABULARY_TOKEN_BYTES_MAX = 1024 };

struct vocabulary_entry {
    struct str token;
    int32_t id; /* >= 0 */
};

/* From `state`, byte b leads to base + b when that unit's `check` is `state`. */
struct vocabulary_unit {
    int32_t base;
    int32_t check;
    int32_t id; /* of the token that ends here, -1 when none does */
};

struct vocabulary {
    struct vocabulary_unit *units; /* followed by 256 unused ones, so that base + b needs no check */
    size_t unit_count;
};

enum { VOCABULARY_ROOT = 0, VOCABULARY_NOWHERE = -1 };

/* Builds the trie; sorts `entries`. IBID_EFORMAT: an empty or repeated token; IBID_ETOOBIG: more
 * or longer tokens than the limits above. */
ibid_code vocabulary_build(struct vocabulary_entry *entries, size_t count, struct vocabulary *ret,
                           ibid_error *err) MUST_CHECK;
void vocabulary_release(struct vocabulary *vocabulary);

/* The state that `byte` leads to, or VOCABULARY_NOWHERE. */
static inline int32_t vocabulary_step(const struct vocabulary *vocabulary, int32_t state, unsigned char byte)
{
    const int32_t next = vocabulary->units[state].base + byte;
    return vocabulary->units[next].check == state ? next : VOCABULARY_NOWHERE;
}

/* The state that `text` leads to from `state`, or VOCABULARY_NOWHERE. */
int32_t vocabulary_walk(const struct vocabulary *vocabulary, int32_t state, struct str text);

/* The id of a whole token, or -1. */
int32_t vocabulary_find(const struct vocabulary *vocabulary, struct str token);
