/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Repairs single words: artefacts of fonts and of drawing that are no part of the text. */
#pragma once

#include "extract/pdf/word.h"

namespace pdf
{

/* Puts the text in order: Latin ligature glyphs become letters, soft hyphens, control and
 * direction characters go, symbol-font bullets become bullets. A soft hyphen at the end is noted. */
void repair_text(word &word);

/* Repairs every word, drops those that have nothing left, and drops copies that were drawn (nearly)
 * over their original to make it look bold. Keeps the order. O(n log n). */
void repair_words(std::vector<word> &words);

/* Where words stand on top of other words, by index, sorted: there only the content stream can tell
 * what belongs together. */
std::vector<uint32_t> find_overlapping_words(const std::vector<word> &words);

/* Takes the mark of being hidden from single short words: their place may merely be told wrongly,
 * and nothing can be hidden in them. */
void unmark_short_hidden_words(std::vector<word> &words);

/* Turns every word upright with the page's main direction of writing: fills `upright`.
 * Words in other directions are turned by their own. Returns the main direction in quarter turns. */
unsigned turn_upright(page &page);

} // namespace pdf
