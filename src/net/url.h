/* http and https URLs: their parts, and text put into them. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/str.h"

struct url {
    bool https;
    struct str host;   /* lower case, without brackets; an IPv4 address in its usual form */
    unsigned port;     /* as given or by the scheme */
    /* Fit for messages and logs, the port only where it is not the scheme's: */
    const char *origin; /* "https://host:8443" */
    const char *place;  /* "https://host:8443/path": without query */
};

/* IBID_EINVAL for anything but an absolute http(s) URL, and for one that carries a user name:
 * credentials have settings of their own. */
ibid_code url_parse(const char *text, struct arena *arena, struct url *ret, ibid_error *err) MUST_CHECK;

bool url_same_origin(const struct url *a, const struct url *b);

/* Percent-encodes everything but unreserved characters (RFC 3986), '/' too. */
void url_append_escaped(struct buffer *out, struct str text);
/* Decodes %XX (and '+' as a space when `form`) into the arena; false for broken escapes and for NUL. */
bool url_unescape(struct str text, bool form, struct arena *arena, struct str *ret);

/* Letters, digits, '-', '_' and '.', at most 253 bytes: a name or an IPv4 address. */
bool url_is_host_name(struct str text);
