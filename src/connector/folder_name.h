/* Names of files as keys. A file's name may be any bytes; a key is text. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/str.h"

/* Appends a name as key text: each byte that is not well-formed UTF-8 becomes \xNN, a backslash \\, so that
 * every key leads back to exactly one name. */
void folder_name_append_key(struct buffer *out, struct str name);
/* The bytes of a key; false when folder_name_append_key cannot have made it. */
bool folder_name_from_key(struct str key, struct arena *arena, struct str *ret);
/* Appends "file://" and the absolute path, percent-encoded (RFC 3986, RFC 8089). */
void folder_name_append_url(struct buffer *out, struct str path);

/* How a file is told from the name alone. */
enum folder_kind {
    FOLDER_BINARY,   /* nothing to read in it: pictures, programs, archives... */
    FOLDER_DOCUMENT, /* bytes, but with text in them: PDF, office files... */
    FOLDER_UNKNOWN,  /* text unless its first bytes say otherwise */
};
enum folder_kind folder_name_kind(struct str name);
/* Whether the beginning of a file has bytes that text has not: NUL, unless marked as UTF-16 or UTF-32. */
bool folder_bytes_are_binary(const char *data, size_t size);
