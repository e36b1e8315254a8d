/* A struct extraction as text that a person can read and a diff can show. */
#pragma once

#include "base/buffer.h"
#include "model/extraction.h"

/* One line each: status, metadata, warnings, pages, then the blocks indented by depth with their
 * text, and for the first words of each page their places. Versions of engines are left out. */
void dump_extraction(const struct extraction *extraction, struct buffer *out);
