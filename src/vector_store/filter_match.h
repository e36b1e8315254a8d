/* A filter on one row, straight from the semantics of model/filter.h: the oracle for every index. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/filter.h"
#include "model/row.h"

/* Whether one comparison on a declared key holds for a value of that key. For FILTER_ALL: whether the value
 * is among the operands. */
bool filter_value_matches(const struct filter *leaf, const struct filter_key *key, const struct value *value);

/* Whether `value` equals an operand. */
bool value_equal(const struct value *a, const struct value *b);

/* Whether the comparison holds for a row with these attributes. `leaf` is on the declared `key`. */
bool filter_leaf_matches(const struct filter *leaf, const struct filter_key *key,
                         const struct attribute *attributes, size_t count);
