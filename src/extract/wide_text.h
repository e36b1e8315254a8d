/* UTF-16 and UTF-32 that no byte order mark announces. */
#pragma once

#include "base/str.h"

/* The name of the charset, or NULL: most texts have many characters below U+0100, whose high bytes
 * are zero, always at the same places. Looks at the first 4096 bytes. */
const char *wide_text_guess(struct str bytes);
