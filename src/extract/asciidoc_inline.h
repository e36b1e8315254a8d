/* The markup inside AsciiDoc's paragraphs. */
#pragma once

#include "base/buffer.h"

/* Appends `text` as a reader sees it: marks of emphasis taken away, links and references by their
 * text. */
void asciidoc_append_inline(struct buffer *out, struct str text);

/* The description in the brackets of an image ("Alt text, 200, 100" or "alt=..."). */
struct str asciidoc_alternative(struct str attributes);
