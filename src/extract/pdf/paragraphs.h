/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of one column become paragraphs, headings, list items, captions and code. */
#pragma once

#include "extract/pdf/blocks.h"
#include "extract/pdf/lines.h"
#include "extract/pdf/style.h"

namespace pdf
{

/* `region`: the lines of one column, from top to bottom. */
std::vector<block> build_paragraphs(const std::vector<uint32_t> &region, const std::vector<line> &lines,
                                    const std::vector<word> &words, const document_style &style);

/* Runs of list items become lists; a number that stands alone is no list. */
std::vector<block> gather_lists(std::vector<block> blocks);

/* Whether a paragraph that ended a column (or page) goes on in the first one of the next. */
bool goes_on(const block &last, const block &next);

/* "Figure 3:", "Tabelle 2." at the start. */
bool starts_like_caption(std::string_view text);

} // namespace pdf
