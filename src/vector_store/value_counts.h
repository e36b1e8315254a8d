/* Counts how often each value of a key occurs, and gives the most frequent: what members make facets with. */
#pragma once

#include "vector_store/embedded/interner.h"
#include "vector_store/vector_store.h"

enum { VALUE_COUNTS_LIMIT = 1000000 }; /* different values */

struct value_counts {
    struct interner values; /* text, or the bytes of the number */
    enum value_type type;
    uint64_t *rows; /* by number of the value */
    size_t capacity;
};

void value_counts_release(struct value_counts *counts);
/* `value` is of the type that the counts have. */
void value_counts_add(struct value_counts *counts, const struct value *value, uint64_t rows);
/* At most `limit` values in `arena`, most frequent first, ties in the order of the values. IBID_ETOOBIG when
 * there are more than VALUE_COUNTS_LIMIT. */
ibid_code value_counts_finish(const struct value_counts *counts, size_t limit, struct arena *arena,
                              struct value_count **ret, size_t *ret_count, ibid_error *err) MUST_CHECK;
