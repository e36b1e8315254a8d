/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables: lines that stand in rows and columns become rows of cells. */
#pragma once

#include "extract/pdf/blocks.h"
#include "extract/pdf/lines.h"

namespace pdf
{

/* Parts a region of rows where a gap between them is much wider than usual: each part is a table of
 * its own, or no table. From top to bottom. */
std::vector<std::vector<uint32_t>> split_table_region(const std::vector<uint32_t> &region,
                                                      const std::vector<line> &lines);

/* The lines, in any order, become a table block with a row for each line of cells. A cell without
 * text is an empty piece. Lines of one cell are taken together where the distances between rows
 * tell. No rows when the lines are no table: a single row, or a single column. */
block build_table(const std::vector<uint32_t> &region, const std::vector<line> &lines,
                  const std::vector<word> &words, bool right_to_left);

} // namespace pdf
