/* What a route takes, as one option table: the query string, the JSON body, the command line's flags, the
 * manual and the API's description are all read from it or made by it, so they cannot disagree. */
#pragma once

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "base/option.h"
#include "base/str.h"

/* Fills `values` (defaults first) from "a=1&b=2"; a list's name may come again. IBID_EINVAL names what is
 * unknown or wrong. `table` NULL: none are known. */
ibid_code parameters_from_query(const struct option *table, void *values, struct str query,
                                struct arena *arena, ibid_error *err) MUST_CHECK;

/* The same from the members of a JSON object, less those named in `others` (NULL-ended, may be NULL), which
 * the route reads itself. Null stands for "not given", which OPTION_REQUIRED does not allow. Durations are
 * texts ("30s") or seconds, sizes texts or bytes, lists arrays of texts or one text. */
ibid_code parameters_from_json(const struct option *table, void *values, const json_t *object,
                               const char *const others[], struct arena *arena, ibid_error *err) MUST_CHECK;

/* The other way: sets the members whose values are not the default. */
void parameters_to_json(const struct option *table, const void *values, json_t *object);
/* A list as an array of strings, the caller's. */
json_t *parameter_list_to_json(const struct option_list *list);
void parameters_to_query(const struct option *table, const void *values, struct buffer *out);

/* A JSON schema of the table's rows: an object of properties. `in_body`: in a JSON body, where null stands for
 * "not given" and sizes and durations may be numbers. Owned by the caller. */
json_t *parameters_schema(const struct option *table, bool in_body);
