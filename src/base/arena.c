#include "base/arena.h"

#include <stdarg.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { ARENA_BLOCK_SIZE = 64 * 1024 };

struct arena_block {
    struct arena_block *older;
    size_t used, capacity;
    alignas(max_align_t) char bytes[];
};

void arena_release(struct arena *arena)
{
    struct arena_block *block = arena->newest;
    while (block) {
        struct arena_block *older = block->older;
        free(block);
        block = older;
    }
    *arena = (struct arena)ARENA_INIT;
}

static struct arena_block *block_new(size_t capacity)
{
    struct arena_block *block = xmalloc(sizeof *block + capacity);
    block->older = NULL;
    block->used = 0;
    block->capacity = capacity;
    return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    size_t rounded = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (rounded < size)
        BUG("arena allocation of %zu bytes", size);
    struct arena_block *block = arena->newest;
    if (!block || block->capacity - block->used < rounded) {
        /* A large piece gets a block of its own behind the newest, whose rest stays usable. */
        bool large = rounded > ARENA_BLOCK_SIZE / 4;
        struct arena_block *fresh = block_new(large ? rounded : ARENA_BLOCK_SIZE);
        if (large && block) {
            fresh->older = block->older;
            block->older = fresh;
        } else {
            fresh->older = block;
            arena->newest = fresh;
        }
        block = fresh;
    }
    void *pointer = block->bytes + block->used;
    block->used += rounded;
    arena->allocated += rounded;
    memset(pointer, 0, rounded);
    return pointer;
}

void *arena_alloc_array(struct arena *arena, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        BUG("arena array of %zu x %zu bytes", count, size);
    return arena_alloc(arena, total);
}

char *arena_memdup0(struct arena *arena, const void *data, size_t size)
{
    char *copy = arena_alloc(arena, size + 1);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *string)
{
    return arena_memdup0(arena, string, strlen(string));
}

struct str arena_str(struct arena *arena, struct str text)
{
    return (struct str){arena_memdup0(arena, text.data, text.size), text.size};
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (size < 0)
        BUG("arena_printf format");
    char *text = arena_alloc(arena, (size_t)size + 1);
    vsnprintf(text, (size_t)size + 1, format, again);
    va_end(again);
    return text;
}
