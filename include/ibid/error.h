/* How every function of ibid reports failure.
 *
 * A function that can fail returns an ibid_code and takes an `ibid_error *` as
 * its last argument, which it fills before it returns anything but IBID_OK.
 * The argument may be NULL where the caller needs only the code. Nothing is
 * kept per thread and nothing is logged on the way: whoever answers the user
 * (a door, the job runner) reports the error once. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* name, stable string outside, HTTP status, worth retrying, meaning */
#define IBID_CODE_MAP(X)                                                           \
    X(OK, "ok", 200, 0, "no error")                                                \
    X(EINVAL, "invalid_request", 400, 0, "the request is not valid")               \
    X(EAUTH, "unauthenticated", 401, 0, "who is asking is not known")              \
    X(EDENIED, "permission_denied", 403, 0, "not allowed")                         \
    X(ENOTFOUND, "not_found", 404, 0, "not found")                                 \
    X(ECONFLICT, "conflict", 409, 0, "conflicts with what is stored or under way") \
    X(ETOOBIG, "limit_exceeded", 413, 0, "over a limit")                           \
    X(EFORMAT, "unreadable_input", 422, 0, "the input cannot be read")             \
    X(EBUSY, "busy", 429, 1, "busy: try again later")                              \
    X(ECANCELED, "canceled", 499, 0, "canceled")                                   \
    X(EUNSUPPORTED, "unsupported", 501, 0, "this part cannot do that")             \
    X(EUPSTREAM, "upstream_failed", 502, 1, "the other side failed")               \
    X(EUNAVAILABLE, "unavailable", 503, 1, "not available at the moment")          \
    X(ETIMEOUT, "timeout", 504, 1, "took too long")                                \
    X(EIO, "io_error", 500, 1, "the disk or the system failed")                    \
    X(ENOSPACE, "no_space", 507, 1, "no space left")                               \
    X(ECORRUPT, "corrupt", 500, 0, "stored data is damaged")                       \
    X(EBUG, "internal", 500, 0, "internal error")

typedef enum ibid_code {
#define X(name, string, http, retry, text) IBID_##name,
    IBID_CODE_MAP(X)
#undef X
} ibid_code;

typedef struct ibid_error {
    ibid_code code;
    int os_errno;           /* errno of the failed system call, else 0 */
    unsigned retry_after_s; /* what the other side asked for, else 0 */
    char message[480];      /* one line, UTF-8, without secrets */
} ibid_error;

#pragma GCC visibility push(default)

/* The stable lower-case string of a code ("not_found"); never NULL. */
const char *ibid_code_string(ibid_code code);

/* The HTTP status that stands for a code. */
int ibid_code_http_status(ibid_code code);

/* Whether the same call may succeed later without being changed. */
int ibid_code_is_retryable(ibid_code code);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
