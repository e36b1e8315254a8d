/* What HTTP's both ends share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

struct http_header {
    struct str name, value;
};

struct http_headers {
    const struct http_header *items;
    size_t count;
};

/* The value of the first header of that name (any case); empty when there is none. */
struct str http_headers_get(const struct http_headers *headers, const char *name);

/* RFC 9110: a token (header names, methods). */
bool http_is_token(struct str text);
/* Whether `text` may be a header's value: no control characters but TAB. */
bool http_is_field_value(struct str text);

/* "Not Found" for 404; "" for a status without a registered name. */
const char *http_status_text(int status);

/* Seconds that a Retry-After header asks to wait (number or HTTP date), rounded up, at most a day;
 * 0 without one. Also reads retry-after-ms, which some services send. */
unsigned http_retry_after(const struct http_headers *headers, int64_t now_us);

/* The code that stands for a status from another server: 401 and 403 IBID_EDENIED, 404 and 410
 * IBID_ENOTFOUND, 408 IBID_ETIMEOUT, 413 IBID_ETOOBIG, 429 IBID_EBUSY, 503 and 529 IBID_EUNAVAILABLE,
 * 504 IBID_ETIMEOUT, other 5xx, 425 and 3xx IBID_EUPSTREAM, other 4xx IBID_EINVAL; IBID_OK for 1xx and 2xx.
 */
ibid_code http_status_code(int status);
