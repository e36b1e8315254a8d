/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order of the content stream: the library gives it as plain text only, so its words are
 * found again among those that have places. */
#pragma once

#include <string_view>

#include "extract/pdf/word.h"

namespace pdf
{

/* Gives each word its rank in `stream_text`, the page's text in stream order. Words that are not
 * found in it (it may part them elsewhere) keep UNKNOWN_RANK. O(n log n). */
void rank_words(std::vector<word> &words, std::string_view stream_text);

/* For pages where words stand on each other (`overlapping`, see find_overlapping_words): takes the
 * lines in which they do apart, in stream order, and puts words back that the library took for
 * copies of others there. */
void restore_overlapping_lines(std::vector<word> &words, const std::vector<uint32_t> &overlapping,
                               std::string_view stream_text);

} // namespace pdf
