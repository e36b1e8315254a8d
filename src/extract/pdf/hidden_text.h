/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a PDF could hold text that its pages do not show.
 *
 * The library tells nothing of how text is painted, and drawing every page to see it would double
 * the work. So the file's own bytes are searched for text painted invisibly or in white; only where
 * there is some are pages drawn and looked at. */
#pragma once

#include <string_view>

namespace pdf
{

/* Whether some content stream shows text in render mode 3 or 7 (invisible) or filled with white.
 * Streams without a filter and those with Flate alone are looked into; images, fonts and damaged
 * ones are passed over. Linear in what the streams hold, of which a bounded part is read. */
bool may_hide_text(std::string_view file);

/* The same for one decoded content stream. */
bool content_hides_text(std::string_view content);

} // namespace pdf
