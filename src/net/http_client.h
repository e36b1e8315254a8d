/* Outgoing HTTP: one blocking call, through libcurl. Every request ibid makes goes through here.
 *
 * Only http and https; TLS certificates are checked; every address that is connected to, after every
 * redirect too, is checked against the policy at the moment of connecting, so that a name cannot
 * change its address between check and use. Sizes and times have ceilings. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "net/http.h"
#include "net/policy.h"

enum {
    HTTP_ERROR_BODY_LIMIT = 64 * 1024, /* of a body kept for a status other than 2xx when there is a sink */
    HTTP_HEADER_LIMIT = 256 * 1024,    /* all response headers of one reply */
};

struct http_client;

/* Thread-safe; keeps connections open between calls. `policy` is borrowed for the client's life. */
struct http_client *http_client_new(const struct net_policy *policy) __attribute__((returns_nonnull));
/* No call may be under way. NULL is fine. */
void http_client_free(struct http_client *take_client);

struct http_response {
    int status;
    struct http_headers headers; /* of the last reply, trailers included */
    struct str body;             /* decoded; empty when it went to the sink */
    const char *url;             /* where the reply came from, after redirects */
};

/* Receives the body of a 2xx reply as it comes. Anything but IBID_OK ends the request with that code. */
struct http_sink {
    /* Once, before the first write, also for an empty body. May be NULL. `response` has no body. */
    ibid_code (*begin)(const struct http_response *response, void *context, ibid_error *err);
    ibid_code (*write)(struct str bytes, void *context, ibid_error *err);
    void *context;
};

struct http_request {
    const char *method; /* NULL: GET, or POST when there is a body */
    const char *url;
    const char *unix_socket; /* path to connect to instead of the URL's host; no policy applies then */
    const struct http_header
        *headers; /* those but Accept*, Content-Type, Range, If-* and User-Agent go to the
                     first origin only: a redirect elsewhere never sees a credential */
    size_t header_count;
    struct str body;
    int body_fd;                /* > 0: the body is this file from its present position instead (borrowed) */
    size_t response_limit;      /* ceiling of the decoded body, sink or not; 0: 16 MiB, without a sink only */
    int64_t timeout;            /* whole call in microseconds; 0: none, then a stalled transfer still ends */
    int64_t stall_timeout;      /* no byte in either direction for so long; 0: 60 s */
    unsigned max_redirects;     /* 0: a redirect is an error (IBID_EUPSTREAM) */
    bool takes_redirects;       /* a redirect is a reply like any other, and is not followed */
    const _Atomic bool *cancel; /* NULL: none. Looked at ten times a second and between pieces */
    const struct http_sink *sink;
};

/* Sends and waits for the whole reply, whatever its status: see http_response_check(). The response
 * lives in `arena`. IBID_EINVAL: the URL or a header is wrong. IBID_EDENIED: the policy forbids the
 * address; the message says what to allow. IBID_ETOOBIG, IBID_ETIMEOUT, IBID_ECANCELED;
 * IBID_EUNAVAILABLE: no connection; IBID_EUPSTREAM: it broke or made no sense.
 * Messages hold the URL without its query, and no header. */
ibid_code http_client_send(struct http_client *client, const struct http_request *request,
                           struct arena *arena, struct http_response *ret, ibid_error *err) MUST_CHECK;

/* An error for every status but 2xx, with http_status_code()'s code, err->retry_after_s from
 * Retry-After, and the first line of a JSON ("error.message", "message", "error", "detail") or text body. */
ibid_code http_response_check(const struct http_response *response, const char *what,
                              ibid_error *err) MUST_CHECK;
