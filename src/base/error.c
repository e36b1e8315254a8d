#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

struct code_row {
    const char *string;
    int http_status;
    int retryable;
    const char *text;
};

static const struct code_row code_rows[] = {
#define X(name, string, http, retry, text) [IBID_##name] = {string, http, retry, text},
    IBID_CODE_MAP(X)
#undef X
};

static const struct code_row *code_row(ibid_code code)
{
    size_t count = sizeof code_rows / sizeof code_rows[0];
    return &code_rows[(size_t)code < count ? (size_t)code : (size_t)IBID_EBUG];
}

const char *ibid_code_string(ibid_code code)
{
    return code_row(code)->string;
}

ibid_code error_code_of(const char *string, ibid_code otherwise)
{
    for (size_t i = 0; string && i < sizeof code_rows / sizeof code_rows[0]; i++)
        if (code_rows[i].string && strcmp(code_rows[i].string, string) == 0)
            return (ibid_code)i;
    return otherwise;
}

int ibid_code_http_status(ibid_code code)
{
    return code_row(code)->http_status;
}

int ibid_code_is_retryable(ibid_code code)
{
    return code_row(code)->retryable;
}

static void set_message(ibid_error *err, ibid_code code, const char *format, va_list args)
{
    *err = (ibid_error){.code = code};
    vsnprintf(err->message, sizeof err->message, format, args);
    error_sanitize(err);
}

ibid_code fail(ibid_error *err, ibid_code code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        set_message(err, code, format, args);
        va_end(args);
    }
    return code;
}

static ibid_code code_from_errno(int os_errno)
{
    switch (os_errno) {
    case ENOENT:
    case ENOTDIR:
        return IBID_ENOTFOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return IBID_EDENIED;
    case EEXIST:
        return IBID_ECONFLICT;
    case ENOSPC:
    case EDQUOT:
        return IBID_ENOSPACE;
    case EFBIG:
    case ENAMETOOLONG:
        return IBID_ETOOBIG;
    case ETIMEDOUT:
        return IBID_ETIMEOUT;
    case ECONNREFUSED:
    case EHOSTUNREACH:
    case ENETUNREACH:
        return IBID_EUNAVAILABLE;
    default:
        return IBID_EIO;
    }
}

ibid_code fail_errno(ibid_error *err, int os_errno, const char *format, ...)
{
    ibid_code code = code_from_errno(os_errno);
    if (err) {
        va_list args;
        va_start(args, format);
        set_message(err, code, format, args);
        va_end(args);
        err->os_errno = os_errno;
        char reason[128];
        size_t used = strlen(err->message);
        snprintf(err->message + used, sizeof err->message - used, ": %s",
                 strerror_r(os_errno, reason, sizeof reason));
        error_sanitize(err);
    }
    return code;
}

void error_context(ibid_error *err, const char *format, ...)
{
    if (!err)
        return;
    char message[sizeof err->message];
    memcpy(message, err->message, sizeof message);
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    size_t used = strlen(err->message);
    snprintf(err->message + used, sizeof err->message - used, ": %s", message);
    error_sanitize(err);
}

ibid_code error_recode(ibid_code code, ibid_code from, ibid_code to, ibid_error *err)
{
    if (code != from)
        return code;
    if (err)
        err->code = to;
    return to;
}

void error_sanitize(ibid_error *err)
{
    size_t size = strnlen(err->message, sizeof err->message - 1);
    for (size_t at = 0; at < size;) {
        unsigned char byte = (unsigned char)err->message[at];
        size_t length = utf8_sequence_length(err->message + at, size - at);
        if (length == 0) {
            err->message[at] = '?';
            length = 1;
        } else if (byte < 0x20 || byte == 0x7f) {
            err->message[at] = ' ';
        }
        at += length;
    }
    err->message[size] = '\0';
}

void bug(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "ibid: BUG at %s:%d: ", file, line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}
