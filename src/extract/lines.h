/* Reading a text line by line. */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "base/str.h"

/* Cuts the next line off `rest`, without its end (LF, CR LF or CR). False once nothing is left. */
bool line_next(struct str *rest, struct str *ret_line);

/* The text with LF for every line's end: itself where that is so, else a copy in `storage`, which has
 * room for it. */
struct str line_normalize_ends(struct str text, struct buffer *storage);

/* Whether it has nothing but white space. */
bool line_is_blank(struct str line);
