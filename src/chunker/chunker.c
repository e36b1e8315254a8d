#include "chunker/chunker.h"

#include <string.h>

enum { SIZE_LOW = 16, SIZE_HIGH = 8192, OVERLAP_HIGH = 50, ROOM_LOW = 8 };

const struct chunker_ops *chunker_find(const char *name)
{
    for (size_t i = 0; chunker_registry[i]; i++)
        if (strcmp(chunker_registry[i]->name, name) == 0)
            return chunker_registry[i];
    return NULL;
}

ibid_code chunker_split(const struct chunker_ops *ops, const struct extraction *extraction, struct str title,
                        const struct chunking *chunking, const struct token_counter *counter,
                        struct arena *arena, struct chunk **ret_chunks, size_t *ret_count, ibid_error *err)
{
    if (chunking->size < SIZE_LOW || chunking->size > SIZE_HIGH)
        return fail(err, IBID_EINVAL, "a chunk's size is %d to %d tokens, not %u", SIZE_LOW, SIZE_HIGH,
                    chunking->size);
    if (chunking->overlap_percent > OVERLAP_HIGH)
        return fail(err, IBID_EINVAL, "chunks overlap by 0 to %d percent, not %u", OVERLAP_HIGH,
                    chunking->overlap_percent);
    struct chunking capped = *chunking;
    if (counter->max_tokens && capped.size > counter->max_tokens)
        capped.size = (uint32_t)counter->max_tokens;
    if (capped.size < counter->special_tokens + ROOM_LOW)
        return fail(err, IBID_EINVAL,
                    "a chunk of %u tokens has no room for text: the model adds %zu of its own", capped.size,
                    counter->special_tokens);
    /* The prefix takes at most a quarter of the room. */
    const uint32_t quarter = (capped.size - (uint32_t)counter->special_tokens) / 4;
    if (capped.heading_tokens > quarter)
        capped.heading_tokens = quarter;
    return ops->split(extraction, title, &capped, counter, arena, ret_chunks, ret_count, err);
}

const char *chunker_fingerprint(const struct chunker_ops *ops, const struct chunking *chunking,
                                const char *counter_id, struct arena *arena)
{
    return arena_printf(arena, "%s/%u size=%u overlap=%u heading=%u counter=%s", ops->name, ops->version,
                        chunking->size, chunking->overlap_percent, chunking->heading_tokens, counter_id);
}
