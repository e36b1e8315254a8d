/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables: lines that stand in rows and columns become rows of cells. */
#pragma once

#include "extract/pdf/blocks.h"
#include "extract/pdf/lines.h"

namespace pdf
{

/* The table's lines, in any order, become table blocks with a row for each line of cells: more than
 * one where wide gaps part them. A cell without text is an empty piece. Lines of one cell are
 * taken together where the distances between rows tell. */
std::vector<block> build_tables(const std::vector<uint32_t> &region, const std::vector<line> &lines,
                                const std::vector<word> &words, bool right_to_left);

} // namespace pdf
