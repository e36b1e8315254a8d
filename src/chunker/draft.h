/* A chunk in the making: the pieces it is made of and what is embedded with them. */
#pragma once

#include "base/arena.h"
#include "chunker/outline.h"
#include "chunker/prefix.h"
#include "chunker/splitter.h"
#include "model/chunk.h"

struct draft {
    struct piece *own; /* in the order of the text */
    size_t count, capacity;
    uint32_t tokens;         /* of the own pieces, labels included */
    uint32_t overlap_start;  /* what it repeats from the chunk before begins there... */
    uint32_t overlap_tokens; /* ...and takes so many; 0: it repeats nothing */
    bool without_overlap;    /* it was given up to make room */
    struct str prefix;
    uint32_t prefix_tokens;
    struct str header; /* of the table whose rows go on here */
    uint32_t header_tokens;
};

/* Where text begins: the overlap, or the first own piece. `count` > 0. */
uint32_t draft_start(const struct draft *draft);

/* Whether something that was left out stands right before it. */
bool piece_follows_gap(const struct outline *outline, const struct piece *piece);

/* The heading of a cell that stands in a chunk without its row ("Price"); empty for other pieces. */
struct str piece_label(const struct outline *outline, struct str text, const struct piece *piece);

/* Everything but order and tokens. */
void draft_compose(const struct draft *draft, const struct extraction *extraction,
                   const struct outline *outline, struct arena *arena, struct chunk *ret);
