/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines written from right to left: the library gives their words, and the letters in them, in
 * the order in which they stand on the page. */
#pragma once

#include <string_view>

#include "extract/pdf/blocks.h"

namespace pdf
{

bool has_right_to_left(std::string_view text);

/* The pieces of one visual line, from left to right, in the order in which they are read: the
 * Unicode bidirectional algorithm backwards (ICU's "inverse like direct"). Arabic presentation
 * forms, which are glyphs and not letters, become letters. */
std::vector<piece> to_logical_order(std::vector<piece> line);

} // namespace pdf
