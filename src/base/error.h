/* Errors inside ibid: see <ibid/error.h> for the rule that all functions follow. */
#pragma once

#include "ibid/error.h"

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(format_index, first_arg) __attribute__((format(printf, format_index, first_arg)))

/* Fills `err` (unless NULL) and returns `code`, so that a failing function reads
 *     return fail(err, IBID_EFORMAT, "page %u has no size", page);
 * os_errno is set to 0; use fail_errno where errno tells the reason. */
ibid_code fail(ibid_error *err, ibid_code code, const char *format, ...) PRINTF_LIKE(3, 4);

/* As fail(), with `os_errno` and its text appended: "cannot open x: Permission denied".
 * The code follows from os_errno (ENOENT: ENOTFOUND, EACCES: EDENIED, ENOSPC: ENOSPACE, ...). */
ibid_code fail_errno(ibid_error *err, int os_errno, const char *format, ...) PRINTF_LIKE(3, 4);

/* Puts context before the message of an error on its way up:
 * error_context(err, "while indexing '%s'", name) gives "while indexing 'x': <message>". */
void error_context(ibid_error *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* Turns a failure of kind `from` into one of kind `to`, in `err`, too; other codes stay. For a caller
 * who knows better what a failure means: IBID_EINVAL of a parser is IBID_EFORMAT of a model's file. */
ibid_code error_recode(ibid_code code, ibid_code from, ibid_code to, ibid_error *err);

/* The code of a stable string, as another process said it; `otherwise` for one that is not known, or NULL. */
ibid_code error_code_of(const char *string, ibid_code otherwise);

/* Replaces what cannot stand in a one-line message (control characters, invalid UTF-8). */
void error_sanitize(ibid_error *err);

/* Returns from the calling function when `call` fails. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        ibid_code try_code_ = (call);                                                              \
        if (try_code_ != IBID_OK)                                                                  \
            return try_code_;                                                                      \
    } while (0)

/* A broken invariant: prints where and stops the process. */
void bug(const char *file, int line, const char *format, ...) PRINTF_LIKE(3, 4) __attribute__((noreturn));
#define BUG(...) bug(__FILE__, __LINE__, __VA_ARGS__)
#define ASSERT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            BUG("assertion failed: %s", #condition);                                               \
    } while (0)
