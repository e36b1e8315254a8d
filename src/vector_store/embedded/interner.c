#include "vector_store/embedded/interner.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "vector_store/embedded/format.h"

void interner_release(struct interner *interner)
{
    arena_release(&interner->arena);
    free(interner->texts);
    free(interner->hashes);
    free(interner->slots);
    *interner = (struct interner){0};
}

static void place(struct interner *interner, uint32_t number)
{
    size_t slot = interner->hashes[number] & (interner->slot_count - 1);
    while (interner->slots[slot])
        slot = (slot + 1) & (interner->slot_count - 1);
    interner->slots[slot] = number + 1;
}

static void grow_slots(struct interner *interner)
{
    interner->slot_count = interner->slot_count ? interner->slot_count * 2 : 64;
    free(interner->slots);
    interner->slots = xcalloc(interner->slot_count, sizeof *interner->slots);
    for (uint32_t i = 0; i < interner->count; i++)
        place(interner, i);
}

uint32_t interner_add(struct interner *interner, struct str text)
{
    const uint64_t hash = checksum64(text.data, text.size, 0);
    if ((interner->count + 1) * 2 > interner->slot_count)
        grow_slots(interner);
    for (size_t slot = hash & (interner->slot_count - 1); interner->slots[slot];
         slot = (slot + 1) & (interner->slot_count - 1)) {
        const uint32_t number = interner->slots[slot] - 1;
        if (interner->hashes[number] == hash && str_equal(interner->texts[number], text))
            return number;
    }
    GROW(interner->texts, interner->count, interner->capacity);
    GROW(interner->hashes, interner->count, interner->hash_capacity);
    interner->texts[interner->count] = arena_str(&interner->arena, text);
    interner->hashes[interner->count] = hash;
    place(interner, interner->count);
    return interner->count++;
}

struct sort_item {
    uint64_t prefix;
    struct str text;
    uint32_t number;
};

static int compare_items(const void *a, const void *b)
{
    const struct sort_item *first = a, *second = b;
    if (first->prefix != second->prefix)
        return first->prefix < second->prefix ? -1 : 1;
    return str_compare(first->text, second->text);
}

uint32_t *interner_sorted(const struct interner *interner)
{
    struct sort_item *items = xmalloc(interner->count * sizeof *items);
    for (uint32_t i = 0; i < interner->count; i++)
        items[i] = (struct sort_item){term_prefix(interner->texts[i]), interner->texts[i], i};
    qsort(items, interner->count, sizeof *items, compare_items);
    uint32_t *order = xmalloc(interner->count * sizeof *order);
    for (uint32_t i = 0; i < interner->count; i++)
        order[i] = items[i].number;
    free(items);
    return order;
}
