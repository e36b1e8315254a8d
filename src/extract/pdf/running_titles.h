/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running titles: headers and footers that repeat from page to page, page numbers with them. */
#pragma once

#include "extract/pdf/lines.h"

namespace pdf
{

enum class edge { none, top, bottom };

class running_titles
{
  public:
    /* Remembers the outermost rows of a page; pages come in order. */
    void learn(uint32_t page, float height, const std::vector<line> &lines, const std::vector<word> &words);
    /* Once, after the last page: compares them. */
    void settle(float body_size);
    /* Whether a line of that page is part of a running title, and of which. */
    edge edge_of(uint32_t page, const box &place) const;

  private:
    struct row {
        uint64_t text = 0;         /* hash of what stays from page to page; 0: a number alone */
        uint64_t exact = 0;        /* hash of all of it */
        long offset = 0;           /* its number less that of the page */
        bool counts_pages = false; /* it has a number that could do so */
        uint32_t page = 0;
        float y0 = 0, y1 = 0;
        float outside = 0, inside = 0; /* free space towards the page's edge and its middle */
        float size = 0;
        edge side = edge::none;
        bool running = false;
    };
    std::vector<row> rows; /* by page */
    uint32_t pages = 0;

    void add_row(const std::vector<uint32_t> &members, edge side, uint32_t page,
                 const std::vector<line> &lines, const std::vector<word> &words);
    bool repeats(size_t index, float body_size) const;
    bool stands_apart(size_t index) const;
};

} // namespace pdf
