/* A row_source for tests of vector stores: rows in memory, changed by the test, read by stores.
 *
 * Changes since the last truth_commit share one seq, as those of one write transaction do. Readers in other
 * threads see a change at once: beside a follower, commit after every single change. */
#pragma once

#include <pthread.h>

#include "base/arena.h"
#include "model/row.h"

/* A piece of metadata under a key that filter_keys[] does not have. */
struct truth_metadata {
    const char *key;
    struct value value;
};

struct truth {
    struct row_source source;
    int64_t collection_id;
    uint32_t dimension;
    pthread_mutex_t lock;
    struct truth_row *rows; /* ascending in row_id */
    size_t count, capacity;
    int64_t seq;    /* of the changes under way */
    int64_t latest; /* of the newest change */
};

struct truth *truth_new(int64_t collection_id, uint32_t dimension);
void truth_free(struct truth *truth);

/* Adds or replaces a row; everything is copied. `row->seq` and `removed` do not matter. */
void truth_put(struct truth *truth, const struct row *row, const struct truth_metadata *metadata,
               size_t count);
/* Marks a row as removed; false when it is not there. */
bool truth_remove(struct truth *truth, int64_t row_id);
void truth_commit(struct truth *truth);
/* Forgets removed rows up to `seq`, as the metadata store does once the stores have passed them. */
void truth_sweep(struct truth *truth, int64_t seq);

/* The row as it is now, or NULL; borrowed until it changes. */
const struct row *truth_find(struct truth *truth, int64_t row_id);
