/* Rows: what the metadata store offers for indexing, and how a vector store reads it.
 *
 * A row is one chunk in one collection. The metadata store is the only truth; every vector store
 * follows it: it reads the changes above its watermark in rising `seq`, applies them idempotently,
 * and can be dropped and rebuilt at any time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "model/filter.h"

enum document_state { DOCUMENT_ACTIVE, DOCUMENT_ARCHIVED, DOCUMENT_EXPIRED, DOCUMENT_SENSITIVE };
const char *document_state_string(enum document_state state); /* "active", ... */
bool document_state_from_string(struct str string, enum document_state *ret);

/* A value of a declared filter key (model/filter.h); a key may occur several times. */
struct attribute {
    uint32_t key;        /* position in filter_keys[] */
    struct value value;
};

struct row {
    int64_t row_id;      /* never reused */
    int64_t seq;         /* of the last change of this row: commit_seq of the metadata store */
    bool removed;        /* gone: only row_id, seq and `text` (as last indexed) are set */
    int64_t document_id;
    int64_t chunk_id;
    enum document_state state;
    const int64_t *workspaces; /* ids, ascending: who may read it */
    size_t workspace_count;
    const float *vector; /* collection's dimension, length 1; NULL: not embedded (yet) */
    struct str text;     /* to be found by keyword: headings and text */
    struct str language; /* ISO 639-1, or empty */
    const struct attribute *attributes;
    size_t attribute_count;
};

/* How a vector store reads the truth. All calls are thread-safe and see one committed state each.
 * Results live in the arena passed in. */
struct row_source {
    /* The newest commit_seq that touched the collection. */
    ibid_code (*latest_seq)(const struct row_source *self, int64_t collection_id, int64_t *ret, ibid_error *err);

    /* At most `limit` rows with seq > after_seq in rising seq; fewer means that these were all.
     * With after_seq 0, removed rows may be left out. Rows that share a seq are never parted: a few more
     * than `limit` may come. */
    ibid_code (*changes)(const struct row_source *self, int64_t collection_id, int64_t after_seq, size_t limit,
                         struct arena *arena, struct row **ret, size_t *ret_count, ibid_error *err);

    /* The vectors of `count` rows into `out` (count x dimension); a row without one gives zeros. */
    ibid_code (*vectors)(const struct row_source *self, int64_t collection_id, const int64_t *row_ids,
                         size_t count, float *out, ibid_error *err);

    /* Ids, ascending, of the living rows that pass `filter`, a leaf on a key the index does not keep. */
    ibid_code (*select)(const struct row_source *self, int64_t collection_id, const struct filter *filter,
                        struct arena *arena, int64_t **ret_ids, size_t *ret_count, ibid_error *err);
};
