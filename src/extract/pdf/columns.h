/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading order: parts a page into regions, each read from top to bottom, in the order of reading.
 *
 * A recursive cut in the manner of the XY-cut (Nagy and Seth, 1984), but along gutters: a gutter is
 * a vertical gap that holds over a run of lines, so that headings and figures across the page do
 * not hide it. On both sides of a gutter are either columns of running text, read one after the
 * other, or the cells of a table, read row by row. Where the shapes do not tell, the order of the
 * content stream does. */
#pragma once

#include "extract/pdf/lines.h"

namespace pdf
{

enum class region_kind { column, table };

struct region {
    region_kind kind = region_kind::column;
    std::vector<uint32_t> lines; /* indices; of a column: top to bottom, left to right */
};

struct reading_order {
    std::vector<region> regions;
    /* Some gutter could be either, and the lines have no rank: ask again with ranks. */
    bool wants_ranks = false;
};

/* `right_to_left`: columns and cells begin on the right. O(n log n) but for hostile pages, where
 * the depth of recursion is bounded. */
reading_order find_reading_order(const std::vector<line> &lines, const std::vector<word> &words,
                                 bool right_to_left);

} // namespace pdf
