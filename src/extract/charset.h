/* Text in any charset to UTF-8. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/str.h"

struct decoded_text {
    struct str text;       /* well-formed, without NUL; borrowed from the input or from `storage` */
    struct buffer storage; /* release it */
    char charset[64];      /* what it was read as: "UTF-8", "windows-1252", "Shift_JIS"... */
    size_t replaced;       /* how many sequences had no meaning in it (U+FFFD stands there) */
};

/* Decodes `bytes`. Byte order mark > UTF-8 that is not plain ASCII > `declared` (may be empty; Latin-1
 * means windows-1252 as on the web) > UTF-8 > wide characters without mark > what uchardet thinks,
 * with ICU's detector deciding between Western charsets. */
void charset_decode(struct str bytes, struct str declared, struct decoded_text *ret);
void charset_release(struct decoded_text *decoded);

/* Whether a converter for that name exists. */
bool charset_is_known(struct str name);
