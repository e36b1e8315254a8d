/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The document's title, where its properties have none worth the name. */
#pragma once

#include <string>

#include "extract/pdf/blocks.h"

namespace pdf
{

/* The embedded title as it stands, without what word processors put before it; empty when it is
 * a file name or a word for "none". */
std::string clean_title(const std::string &embedded);

/* The text of the largest heading among a page's blocks; empty when there is none. */
std::string find_title(const std::vector<block> &blocks);

} // namespace pdf
