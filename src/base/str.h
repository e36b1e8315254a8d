/* A borrowed run of bytes: text that someone else owns, not NUL-terminated. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct str {
    const char *data;
    size_t size;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})
#define STR_EMPTY ((struct str){"", 0})
/* printf("%.*s", STR_ARG(text)) */
#define STR_ARG(text) (int)(text).size, (text).data

static inline struct str str_from(const char *string)
{
    return string ? (struct str){string, strlen(string)} : STR_EMPTY;
}

static inline bool str_equal(struct str a, struct str b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool str_is(struct str text, const char *string)
{
    return str_equal(text, str_from(string));
}

/* The bytes from `start` to `end`; both are clamped to the text. */
static inline struct str str_slice(struct str text, size_t start, size_t end)
{
    if (end > text.size)
        end = text.size;
    if (start > end)
        start = end;
    return (struct str){text.data + start, end - start};
}

bool str_starts_with(struct str text, const char *prefix);
bool str_ends_with(struct str text, const char *suffix);
/* ASCII letters compare without case. */
bool str_equal_nocase(struct str a, struct str b);
bool str_ends_with_nocase(struct str text, const char *suffix);
/* Where `byte` first occurs, or text.size. */
size_t str_find(struct str text, char byte);
/* Without white space (ASCII) at both ends. */
struct str str_trim(struct str text);
/* Cuts off and returns what stands before the first `separator`; `rest` becomes what follows
 * (empty at the end). False once nothing is left. */
bool str_split(struct str *rest, char separator, struct str *ret_part);
/* Orders by bytes, shorter first: for qsort and search. */
int str_compare(struct str a, struct str b);
/* A whole decimal number with optional sign; false when there is anything else or it overflows. */
bool str_to_int64(struct str text, long long *ret);
bool str_to_double(struct str text, double *ret);
/* Shell-style pattern over a path: `*` and `?` stop at '/', `**` crosses it, [a-z] sets.
 * A pattern without '/' is tried on the last part of the path alone. */
bool str_matches_glob(struct str path, struct str pattern);
