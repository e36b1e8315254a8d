/* Cuts a piece of a document into smaller ones at the next lower level of structure:
 * block > stanza of code or cell of a row > line > sentence > word > part of a word. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/segment.h"
#include "chunker/outline.h"

enum piece_level {
    PIECE_BLOCK,
    PIECE_STANZA, /* code between blank lines */
    PIECE_CELL,   /* of a table row */
    PIECE_LINE,
    PIECE_SENTENCE,
    PIECE_WORD, /* with the punctuation around it; in scripts without spaces a few words */
    PIECE_PART, /* of a word, between user-perceived characters where one can */
};

struct piece {
    uint32_t start, end; /* without blanks around; never empty */
    uint32_t leaf;       /* that it is (a part of) */
    uint32_t tokens;     /* 0: not counted yet */
    uint16_t column;     /* of the cell it is (a part of), from 0 */
    uint8_t level;       /* enum piece_level */
    bool first;          /* of its leaf */
    bool cut;            /* what was left of a sentence whose first words are pieces of their own */
    bool unlabelled;     /* it is embedded without the heading of its column */
};

struct splitter {
    struct str text;
    const struct outline *outline;
    const char *language;
    struct segmenter *segmenters[SEGMENT_SENTENCE + 1]; /* opened when first needed */
};

void splitter_release(struct splitter *splitter);

/* So many pieces come from one call: what is left of a longer piece is the last of them. */
enum { SPLIT_LIMIT = 512 };

/* Cuts `piece` into 2..SPLIT_LIMIT smaller ones that cover all its text in order; 0 when it is a
 * single code point. A word is cut so that no part is over `part_size` bytes (at least 4), or in
 * two halves when it is not. */
size_t splitter_split(struct splitter *splitter, const struct piece *piece, uint32_t part_size,
                      struct piece out[SPLIT_LIMIT]);
