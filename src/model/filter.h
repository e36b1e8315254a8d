/* The filter language: one typed tree behind every door.
 *
 *   {"language": "de"}                                     short form: eq
 *   {"page": {"gte": 3, "lt": 10}}                         several operators: all hold
 *   {"and": [{...}, {"not": {...}}]}   {"or": [...]}
 *   operators: eq ne lt lte gt gte in nin contains any all
 *
 * What a missing key means: every operator is false on it, except `ne` and `nin`, which are true
 * (they are `not eq`, `not in`). On a key with several values (labels, workspace ids) eq, in and any hold when
 * one value does, `all` when each operand is among the values, `contains` as eq there and as substring on text. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"

enum filter_op {
    FILTER_AND, FILTER_OR, FILTER_NOT,
    FILTER_EQ, FILTER_LT, FILTER_LTE, FILTER_GT, FILTER_GTE,
    FILTER_IN, FILTER_CONTAINS, FILTER_ALL, /* ne, nin and any are made of these */
};

enum value_type { VALUE_STRING, VALUE_NUMBER, VALUE_BOOL };

struct value {
    enum value_type type;
    struct str string;
    double number; /* also times (microseconds) and booleans (0, 1) */
};

struct filter {
    enum filter_op op;
    struct str key;               /* leaves */
    const struct value *values;   /* leaves: one, or several for IN and ALL */
    size_t value_count;
    const struct filter *const *children; /* AND, OR: one or more; NOT: one */
    size_t child_count;
};

/* A key that the index keeps ready: answered by bitmaps (text) or columns (numbers). Every other key
 * names a piece of metadata and is answered by the metadata store. */
struct filter_key {
    const char *name;
    enum value_type type;
    bool is_time;   /* operands may be RFC 3339 */
    bool multiple;  /* may have several values */
    const char *help;
};
extern const struct filter_key filter_keys[]; /* ended by a NULL name */
const struct filter_key *filter_key_find(struct str name);

enum {
    FILTER_DEPTH_LIMIT = 16,    /* levels of and, or, not around a comparison */
    FILTER_NODE_LIMIT = 256,    /* comparisons, and, or, not */
    FILTER_VALUE_LIMIT = 10000, /* operands */
    FILTER_KEY_LIMIT = 256,     /* bytes of a key */
    FILTER_BYTES_LIMIT = 1024 * 1024, /* keys and text operands together */
};

/* Reads a filter; NULL, null or an empty object gives *ret = NULL: everything passes. IBID_EINVAL names
 * what is wrong (unknown operator, operand of a type that the key has not), IBID_ETOOBIG the limit that
 * was crossed. The tree lives in `arena` and keeps nothing of `json`.
 *
 * Keys that the index does not keep take operands of every type; their texts can be ordered (by bytes).
 * Declared text keys cannot: lt, lte, gt, gte on them are refused. Lists are not empty. */
ibid_code filter_from_json(const json_t *json, struct arena *arena, const struct filter **ret, ibid_error *err)
    MUST_CHECK;
/* The same from text: JSON, or comparisons such as "language=de and page>=3". Operators are
 * = != < <= > >= and ~ (contains). A value ends at " and ", or stands in double quotes, where \" and \\
 * mean themselves. On an undeclared key a bare number, true or false is one, and text otherwise. */
ibid_code filter_from_text(struct str text, struct arena *arena, const struct filter **ret, ibid_error *err)
    MUST_CHECK;

/* Bytes that are equal for equal filters, whatever the order of and, or, in, all: a cache key.
 * NULL appends nothing. */
void filter_append_canonical(const struct filter *filter, struct buffer *out);
