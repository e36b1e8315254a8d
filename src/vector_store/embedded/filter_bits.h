/* A filter evaluated on a whole segment at once. */
#pragma once

#include "base/arena.h"
#include "model/filter.h"
#include "model/row.h"
#include "vector_store/embedded/segment.h"

/* What the metadata store says of the comparisons on undeclared keys, asked once for all segments. */
struct outside_leaf {
    const struct filter *leaf;
    const int64_t *row_ids; /* ascending */
    size_t count;
};

struct outside_leaves {
    struct outside_leaf *items;
    size_t count, capacity;
};

/* Collects and answers them; items live in `arena`. */
ibid_code outside_leaves_ask(const struct row_source *source, int64_t collection_id,
                             const struct filter *filter, struct arena *arena, struct outside_leaves *leaves,
                             ibid_error *err) MUST_CHECK;

/* Sets `bits` (segment->words) to the rows that pass. */
ibid_code filter_bits(struct segment *segment, const struct filter *filter,
                      const struct outside_leaves *leaves, struct arena *arena, uint64_t *bits,
                      ibid_error *err) MUST_CHECK;
