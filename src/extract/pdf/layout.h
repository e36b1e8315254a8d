/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the words of pages to blocks in reading order: the layout as a whole.
 *
 * Two passes: learn every page, settle, then lay out every page. What is kept between the passes
 * does not grow with the text, only with the number of pages (edge rows) and different words. */
#pragma once

#include "extract/pdf/blocks.h"
#include "extract/pdf/hyphens.h"
#include "extract/pdf/running_titles.h"
#include "extract/pdf/style.h"

namespace pdf
{

/* What the whole document teaches about each page. */
class document_profile
{
  public:
    /* Takes a page whose words are repaired; fills their `upright`. */
    void learn(page &page);
    void settle();

    document_style style;
    running_titles titles;
    word_counts counts;

  private:
    void count_words(const std::vector<line> &lines, const std::vector<word> &words);
};

struct page_content {
    uint32_t number = 0;
    float width = 0, height = 0;
    std::string label;
    bool needs_ocr = false;
    std::vector<block> body;   /* in reading order */
    std::vector<block> before; /* page headers */
    std::vector<block> after;  /* footnotes, then page footers */
    bool wants_ranks = false;  /* with the words' ranks in the content stream the order would be surer */
};

/* Lays out one page; its words are repaired and learned. */
page_content lay_out(page &page, const document_profile &profile);

} // namespace pdf
