/* What stands before a chunk's embedded text: "Title › Chapter 1 › Scope". */
#pragma once

#include "base/arena.h"
#include "chunker/outline.h"
#include "model/token_counter.h"

struct prefix {
    struct str text; /* data NULL: not made yet */
    uint32_t tokens;
};

struct prefixes {
    const struct outline *outline;
    const struct token_counter *counter;
    struct arena *arena;
    struct str title;
    uint32_t limit;          /* tokens of one prefix */
    struct prefix *sections; /* one for each section */
};

/* `limit` 0: all prefixes are empty. Everything lives in `arena`. */
void prefixes_init(struct prefixes *prefixes, const struct outline *outline, struct str title, uint32_t limit,
                   const struct token_counter *counter, struct arena *arena);

/* The title and all headings down to that of `section`. What is too long loses its front, for the
 * nearest heading says most; a single heading that is too long loses its end. */
const struct prefix *prefix_of(struct prefixes *prefixes, uint32_t section);

/* The front of `text` that takes at most `limit` tokens, cut between words where one can.
 * Sets *ret_tokens to what it takes. */
struct str cut_to_tokens(struct str text, uint32_t limit, const struct token_counter *counter,
                         uint32_t *ret_tokens);
