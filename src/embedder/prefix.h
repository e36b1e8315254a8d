/* Prefixes of queries and passages as settings give them. */
#pragma once

#include "base/arena.h"

/* `prefix` with a space at its end unless it is empty or has one: settings lose white space at their ends.
 * "" for NULL. */
static inline const char *prefix_with_space(const char *prefix, struct arena *arena)
{
    const struct str text = str_from(prefix);
    const bool bare = text.size == 0 || text.data[text.size - 1] == ' ';
    return arena_printf(arena, "%s%s", text.data, bare ? "" : " ");
}
