/* The head of an incoming request, read strictly (RFC 9112). What two programs could read differently
 * is refused: that is what request smuggling lives on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "net/http.h"

enum {
    HTTP_HEAD_LIMIT = 16 * 1024, /* bytes, empty line included */
    HTTP_TARGET_LIMIT = 8 * 1024,
    HTTP_HEADER_COUNT_LIMIT = 100,
};

struct http_head {
    struct str method;
    struct str path;  /* as sent, still escaped; begins with '/' */
    struct str query; /* after '?', still escaped; may be empty */
    struct str host;  /* of the Host header, without port and brackets, lower case; empty in HTTP/1.0 */
    struct http_headers headers;
    int64_t content_length; /* -1: none announced */
    bool chunked;
    bool http_1_0;
    size_t size; /* bytes of the head in the input */
};

enum http_head_state { HEAD_COMPLETE, HEAD_INCOMPLETE, HEAD_REFUSED };

/* Reads the head at the front of `bytes`, all that has arrived so far. HEAD_INCOMPLETE: more must come,
 * nothing wrong yet. HEAD_REFUSED: *ret_status is the HTTP status to answer, `err` says why; the
 * connection cannot be used any more. The result lives in `arena`, `bytes` may go.
 *
 * Refused: line ends but CRLF, control characters, NUL, folded lines, header names that are no tokens
 * (with a space before the colon, say), any request target but one that begins with '/', a missing, doubled
 * or malformed Host, a doubled or malformed Content-Length, any Transfer-Encoding but one that is
 * exactly `chunked`, and that together with Content-Length or in HTTP/1.0; Authorization, Content-Type, Range
 * and Expect given more than once. */
enum http_head_state http_head_parse(struct str bytes, struct arena *arena, struct http_head *ret,
                                     int *ret_status, ibid_error *err);
