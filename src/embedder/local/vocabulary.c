#include "embedder/local/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { FREE = -1, ROOM = 256 };

struct builder {
    const struct vocabulary_entry *entries; /* sorted */
    struct vocabulary_unit *units;
    size_t capacity;
    size_t used;       /* one more than the highest unit taken */
    size_t first_free; /* no unit below is worth trying */
};

static void grow(struct builder *builder, size_t needed)
{
    if (needed + ROOM <= builder->capacity)
        return;
    const size_t capacity = (needed + ROOM) * 2;
    builder->units = xrealloc(builder->units, capacity, sizeof *builder->units);
    for (size_t i = builder->capacity; i < capacity; i++)
        builder->units[i] = (struct vocabulary_unit){0, FREE, -1};
    builder->capacity = capacity;
}

/* The distinct bytes at `depth` of the entries from `low` to `high`, in order. */
static size_t child_bytes(const struct builder *builder, size_t low, size_t high, size_t depth,
                          unsigned char bytes[256])
{
    size_t count = 0;
    for (size_t i = low; i < high; i++) {
        const unsigned char byte = (unsigned char)builder->entries[i].token.data[depth];
        if (count == 0 || bytes[count - 1] != byte)
            bytes[count++] = byte;
    }
    return count;
}

/* A base under which the unit of each child is free. */
static size_t find_base(struct builder *builder, const unsigned char *bytes, size_t count)
{
    size_t position = builder->first_free > bytes[0] ? builder->first_free : (size_t)bytes[0] + 1;
    size_t taken = 0;
    const size_t start = position;
    for (;; position++) {
        grow(builder, position + ROOM);
        if (builder->units[position].check != FREE) {
            taken++;
            continue;
        }
        const size_t base = position - bytes[0];
        size_t i = 1;
        while (i < count && builder->units[base + bytes[i]].check == FREE)
            i++;
        if (i < count)
            continue;
        /* Where nearly everything is taken, do not look again: this keeps building linear. */
        if (taken * 20 >= (position - start + 1) * 19)
            builder->first_free = position;
        return base;
    }
}

/* Places the children of `state`: the entries from `low` to `high` share their first `depth` bytes. */
static void place(struct builder *builder, int32_t state, size_t low, size_t high, size_t depth)
{
    if (builder->entries[low].token.size == depth)
        builder->units[state].id = builder->entries[low++].id;
    if (low == high)
        return;
    unsigned char bytes[256] = {0};
    const size_t count = child_bytes(builder, low, high, depth, bytes);
    const size_t base = find_base(builder, bytes, count);
    builder->units[state].base = (int32_t)base;
    for (size_t i = 0; i < count; i++)
        builder->units[base + bytes[i]].check = state;
    if (base + bytes[count - 1] + 1 > builder->used)
        builder->used = base + bytes[count - 1] + 1;
    for (size_t i = 0; i < count; i++) {
        size_t end = low;
        while (end < high && (unsigned char)builder->entries[end].token.data[depth] == bytes[i])
            end++;
        place(builder, (int32_t)(base + bytes[i]), low, end, depth + 1);
        low = end;
    }
}

static int compare_entries(const void *a, const void *b)
{
    return str_compare(((const struct vocabulary_entry *)a)->token,
                       ((const struct vocabulary_entry *)b)->token);
}

ibid_code vocabulary_build(struct vocabulary_entry *entries, size_t count, struct vocabulary *ret,
                           ibid_error *err)
{
    if (count == 0)
        return fail(err, IBID_EFORMAT, "the vocabulary is empty");
    if (count > VOCABULARY_TOKENS_MAX)
        return fail(err, IBID_ETOOBIG, "the vocabulary has %zu tokens, more than %d", count,
                    VOCABULARY_TOKENS_MAX);
    qsort(entries, count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < count; i++) {
        if (entries[i].token.size == 0)
            return fail(err, IBID_EFORMAT, "the vocabulary holds an empty token");
        if (entries[i].token.size > VOCABULARY_TOKEN_BYTES_MAX)
            return fail(err, IBID_ETOOBIG, "the vocabulary holds a token of %zu bytes, more than %d",
                        entries[i].token.size, VOCABULARY_TOKEN_BYTES_MAX);
        if (i > 0 && str_equal(entries[i - 1].token, entries[i].token))
            return fail(err, IBID_EFORMAT, "the vocabulary holds '%.*s' twice", STR_ARG(entries[i].token));
    }
    struct builder builder = {.entries = entries, .used = 1, .first_free = 1};
    grow(&builder, ROOM);
    builder.units[VOCABULARY_ROOT].check = VOCABULARY_ROOT;
    place(&builder, VOCABULARY_ROOT, 0, count, 0);
    /* The root is its own parent by no byte: base + b == 0 never holds, since every base is >= 1. */
    builder.units[VOCABULARY_ROOT].check = FREE;
    const size_t unit_count = builder.used + ROOM;
    ret->units = xrealloc(builder.units, unit_count, sizeof *builder.units);
    ret->unit_count = unit_count;
    return IBID_OK;
}

void vocabulary_release(struct vocabulary *vocabulary)
{
    free(vocabulary->units);
    *vocabulary = (struct vocabulary){0};
}

int32_t vocabulary_walk(const struct vocabulary *vocabulary, int32_t state, struct str text)
{
    for (size_t i = 0; i < text.size && state != VOCABULARY_NOWHERE; i++)
        state = vocabulary_step(vocabulary, state, (unsigned char)text.data[i]);
    return state;
}

int32_t vocabulary_find(const struct vocabulary *vocabulary, struct str token)
{
    const int32_t state = vocabulary_walk(vocabulary, VOCABULARY_ROOT, token);
    return state == VOCABULARY_NOWHERE ? -1 : vocabulary->units[state].id;
}
