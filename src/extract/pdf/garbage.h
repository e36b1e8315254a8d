/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text that is none: fonts without a usable mapping to Unicode show letters and yield noise. */
#pragma once

#include "extract/pdf/word.h"

namespace pdf
{

/* Whether a page's words, as the library gave them, cannot be the text that is shown: more than one
 * character in twenty is no character, or all are moved by the same distance (glyph numbers taken
 * for characters: "3HQ" for "Pen"). Short pages get the benefit of the doubt. */
bool is_garbage(const std::vector<word> &words);

} // namespace pdf
