#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

bool str_starts_with(struct str text, const char *prefix)
{
    size_t size = strlen(prefix);
    return text.size >= size && memcmp(text.data, prefix, size) == 0;
}

bool str_ends_with(struct str text, const char *suffix)
{
    size_t size = strlen(suffix);
    return text.size >= size && memcmp(text.data + text.size - size, suffix, size) == 0;
}

static char lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte + 32) : byte;
}

bool str_equal_nocase(struct str a, struct str b)
{
    if (a.size != b.size)
        return false;
    for (size_t i = 0; i < a.size; i++)
        if (lower(a.data[i]) != lower(b.data[i]))
            return false;
    return true;
}

bool str_ends_with_nocase(struct str text, const char *suffix)
{
    struct str tail = str_from(suffix);
    return text.size >= tail.size && str_equal_nocase(str_slice(text, text.size - tail.size, text.size), tail);
}

size_t str_find(struct str text, char byte)
{
    const char *at = text.size ? memchr(text.data, byte, text.size) : NULL;
    return at ? (size_t)(at - text.data) : text.size;
}

struct str str_trim(struct str text)
{
    while (text.size && isspace((unsigned char)text.data[0]))
        text.data++, text.size--;
    while (text.size && isspace((unsigned char)text.data[text.size - 1]))
        text.size--;
    return text;
}

bool str_split(struct str *rest, char separator, struct str *ret_part)
{
    if (!rest->data)
        return false;
    size_t at = str_find(*rest, separator);
    *ret_part = str_slice(*rest, 0, at);
    *rest = at < rest->size ? str_slice(*rest, at + 1, rest->size) : (struct str){NULL, 0};
    return true;
}

int str_compare(struct str a, struct str b)
{
    size_t shared = a.size < b.size ? a.size : b.size;
    int order = shared ? memcmp(a.data, b.data, shared) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

bool str_to_int64(struct str text, long long *ret)
{
    char digits[24];
    if (text.size == 0 || text.size >= sizeof digits || isspace((unsigned char)text.data[0]))
        return false;
    memcpy(digits, text.data, text.size);
    digits[text.size] = '\0';
    char *end;
    errno = 0;
    long long value = strtoll(digits, &end, 10);
    if (errno || end != digits + text.size)
        return false;
    *ret = value;
    return true;
}

bool str_to_double(struct str text, double *ret)
{
    char digits[64];
    if (text.size == 0 || text.size >= sizeof digits || isspace((unsigned char)text.data[0]))
        return false;
    memcpy(digits, text.data, text.size);
    digits[text.size] = '\0';
    char *end;
    double value = strtod(digits, &end);
    if (end != digits + text.size || !isfinite(value))
        return false;
    *ret = value;
    return true;
}

/* One [set]; `pattern` stands behind '['. Returns the pattern's next position, NULL if unclosed. */
static const char *match_set(const char *pattern, const char *end, char byte, bool *ret_matched)
{
    bool negated = pattern < end && (*pattern == '!' || *pattern == '^');
    bool matched = false;
    if (negated)
        pattern++;
    for (bool first = true; pattern < end && (first || *pattern != ']'); first = false) {
        unsigned char low = (unsigned char)*pattern++, high = low;
        if (pattern + 1 < end && pattern[0] == '-' && pattern[1] != ']') {
            high = (unsigned char)pattern[1];
            pattern += 2;
        }
        if ((unsigned char)byte >= low && (unsigned char)byte <= high)
            matched = true;
    }
    if (pattern == end)
        return NULL;
    *ret_matched = matched != negated && byte != '/';
    return pattern + 1;
}

/* The classic two-position backtracking, once for `*` and once for `**`: linear in practice,
 * O(path * pattern) at worst. */
static bool glob(struct str path, struct str pattern)
{
    const char *s = path.data, *s_end = s + path.size;
    const char *p = pattern.data, *p_end = p + pattern.size;
    const char *star_p = NULL, *star_s = NULL, *deep_p = NULL, *deep_s = NULL;
    for (;;) {
        if (p + 1 < p_end && p[0] == '*' && p[1] == '*') {
            p += 2;
            if (p < p_end && *p == '/')
                p++; /* a / ** / b also matches a/b */
            deep_p = p, deep_s = s, star_p = NULL;
            continue;
        }
        if (p < p_end && *p == '*') {
            star_p = ++p, star_s = s;
            continue;
        }
        if (s == s_end && p == p_end)
            return true;
        if (s < s_end && p < p_end) {
            bool matched = false;
            const char *next = p + 1;
            if (*p == '?') {
                matched = *s != '/';
            } else if (*p == '[') {
                const char *after = match_set(p + 1, p_end, *s, &matched);
                if (after)
                    next = after;
                else
                    matched = *s == '[';
            } else {
                matched = *s == *p;
            }
            if (matched) {
                s++, p = next;
                continue;
            }
        }
        if (star_p && star_s < s_end && *star_s != '/')
            s = ++star_s, p = star_p;
        else if (deep_p && deep_s < s_end)
            s = ++deep_s, p = deep_p, star_p = NULL;
        else
            return false;
    }
}

bool str_matches_glob(struct str path, struct str pattern)
{
    if (str_find(pattern, '/') == pattern.size) {
        size_t start = path.size;
        while (start > 0 && path.data[start - 1] != '/')
            start--;
        path = str_slice(path, start, path.size);
    }
    return glob(path, pattern);
}
