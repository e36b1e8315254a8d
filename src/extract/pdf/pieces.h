/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words become pieces of a block's text, with what parts them. */
#pragma once

#include "extract/pdf/blocks.h"

namespace pdf
{

/* The words in this order (visual, from left to right; several lines in a row are fine) as pieces
 * in logical order. */
std::vector<piece> pieces_of(const std::vector<uint32_t> &indices, const std::vector<word> &words);

/* What belongs between the end of one line and the start of the next within a block. */
gap gap_between_lines(std::string_view end, std::string_view start);

/* Appends a line's pieces; `between` parts them from what is there. */
void append_pieces(std::vector<piece> &pieces, std::vector<piece> more, gap between);

} // namespace pdf
