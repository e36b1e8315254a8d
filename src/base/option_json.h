/* Options as a JSON object {name: value}: how they are kept in the records. */
#pragma once

#include "base/option.h"

/* Fills a settings struct from a JSON object (empty text: none) over what is there: strings, numbers,
 * booleans, lists of strings; null leaves the value. IBID_EINVAL names what is unknown or wrong. */
ibid_code options_from_json(const struct option *table, void *values, struct str json, struct arena *arena,
                            ibid_error *err) MUST_CHECK;

/* Every option as text a user could write, lists as arrays; without secrets and texts that are not set. Gives
 * the same values back over the defaults. Lives in `arena`. */
struct str options_to_json(const struct option *table, const void *values, struct arena *arena);
