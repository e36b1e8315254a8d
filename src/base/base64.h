/* Base64 (RFC 4648). */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "base/str.h"

/* Appends the bytes that `text` stands for: either alphabet, with or without padding. False when it is no
 * base64 (some bytes may have been appended then); crossing the buffer's ceiling shows there. */
bool base64_decode(struct str text, struct buffer *out);
