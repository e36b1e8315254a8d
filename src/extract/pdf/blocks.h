/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the layout of a page results in: blocks of text whose every word knows its place. */
#pragma once

#include "extract/pdf/word.h"

extern "C" {
#include "model/extraction.h"
}

namespace pdf
{

/* What parts a piece from the one before it in the block: `line` is where a line was full, `newline`
 * where it was ended on purpose. */
enum class gap : uint8_t { none, space, line, newline, cell };

struct piece {
    std::string text;
    box place;
    gap before = gap::none;
};

struct block {
    block_kind kind = BLOCK_PARAGRAPH;
    uint8_t level = 0;
    uint16_t flags = 0;
    std::vector<piece> pieces;
    std::vector<block> children; /* of lists and tables, which have no pieces */

    /* For telling what it is and whether it goes on in the next column. */
    box place; /* upright */
    float size = 0;
    bool bold = false;
    bool fixed_pitch = false;
    bool has_leaders = false; /* dots led from its words to a number: it is from a table of contents */
    uint16_t lines = 0;
    bool indented = false;  /* its first line */
    bool last_full = false; /* its last line reaches the right margin of its column */
};

std::string block_text(const block &block);

} // namespace pdf
