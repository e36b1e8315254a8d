/* An arena owns everything that one unit of work (a request, a job step, a batch) makes.
 * Nothing in it is freed alone; all of it goes with arena_release. Not thread-safe. */
#pragma once

#include <stddef.h>

#include "base/memory.h"
#include "base/str.h"

struct arena_block;

struct arena {
    struct arena_block *newest;
    size_t allocated; /* bytes handed out so far */
};

#define ARENA_INIT {0}

/* Frees everything; the arena can be used again. */
void arena_release(struct arena *arena);
#define AUTO_ARENA __attribute__((cleanup(arena_release))) struct arena

/* `size` zeroed bytes, aligned for any type. Stops the process when memory runs out. */
void *arena_alloc(struct arena *arena, size_t size) __attribute__((returns_nonnull));
void *arena_alloc_array(struct arena *arena, size_t count, size_t size) __attribute__((returns_nonnull));
#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_alloc_array((arena), (count), sizeof(type)))

/* NUL-terminated copies. */
char *arena_strdup(struct arena *arena, const char *string) __attribute__((returns_nonnull));
char *arena_memdup0(struct arena *arena, const void *data, size_t size) __attribute__((returns_nonnull));
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A slice whose bytes live in the arena (and are followed by a NUL). */
struct str arena_str(struct arena *arena, struct str text);
