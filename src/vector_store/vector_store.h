/* The vector store seam: where vectors, terms and filter attributes live for searching.
 *
 * A store is a consumer of struct row_source: what it holds can be rebuilt from there. Permission
 * comes before the first score: a search runs over a `selection` that was built from the caller's
 * scope and filter, and nothing outside the selection is scored, counted, cached or explained.
 *
 * To add a vector store:
 *   1. src/vector_store/<name>.c (or a folder <name>/) with one `const struct vector_store_ops`
 *   2. its line in src/vector_store/members.h and a row in src/vector_store/registry.c
 *   3. a line in src/vector_store/meson.build
 *   4. a row of fixtures in tests/contract/vector_store.c, which then tests it against `memory`,
 *      the exact member that serves as oracle */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/option.h"
#include "base/watch.h"
#include "model/filter.h"
#include "model/row.h"
#include "model/scope.h"
#include "model/vector.h"

enum vector_store_capability {
    VECTOR_STORE_SCOPE_INSIDE = 1 << 0, /* enforces the scope: else attach refuses shared collections */
    VECTOR_STORE_KEYWORD = 1 << 1,      /* has a keyword side with scores */
    VECTOR_STORE_EXACT_SCORES = 1 << 2, /* can score given rows on both sides */
    VECTOR_STORE_FACETS = 1 << 3,       /* can count the values of a key */
};

/* How to open: borrowed for the call, but `rows`, which must outlive the store. */
struct vector_store_context {
    const char *folder; /* the store's own, made when missing; NULL for remote engines */
    const struct row_source *rows;
};

/* One collection as the store has to know it. */
struct vector_space {
    int64_t collection_id;
    uint32_t dimension;      /* 64..4096; 0: no embedder, keyword only */
    const char *fingerprint; /* embedder and analysis: a store built with another one is rebuilt */
    bool shared;             /* not everyone who may search it may read all of it */
};

/* A row found or scored. A side that was not asked for is NAN. */
struct candidate {
    int64_t row_id;
    float similarity; /* cosine, -1..1 */
    float bm25;       /* >= 0; 0 when no term matches */
};

/* What a keyword query is made of. Repeated terms count once. */
struct term_query {
    const struct str *terms; /* folded, as model/terms.h gives them */
    const float *weights;    /* one for each term; NULL: all 1 */
    size_t count;
    float k1, b; /* BM25: Robertson & Zaragoza 2009; usually 0.9 and 0.4 */
    float *idf;  /* NULL, or room for one value a term: match says there how rare each is (0 for a repeated
                    term; NAN where an engine keeps it to itself) */
};

enum {
    VECTOR_STORE_K_LIMIT = 10000,
    TERM_QUERY_LIMIT = 1024,
};

/* A value of a declared filter key and the rows that have it. */
struct value_count {
    struct value value;
    uint64_t rows;
};

struct vector_store_stats {
    int64_t watermark; /* seq that has been applied: searchable */
    int64_t durable;   /* seq up to which it would survive a crash: the metadata store keeps the removed rows
                          above it, so that their removal can be read again */
    uint64_t rows, vectors, tombstones, segments, bytes_on_disk, bytes_in_memory;
    bool rebuilding;
};

/* One finding of verify. */
struct vector_store_finding {
    const char *place;   /* "collection 1, segment 000004" */
    const char *problem; /* one line */
    bool repaired;
};

struct vector_store;
struct selection;

struct vector_store_ops {
    const char *name; /* "embedded" */
    const char *help;
    unsigned capabilities;
    const struct option *options;
    size_t options_size;

    ibid_code (*open)(const struct vector_store_context *context, const void *options,
                      struct vector_store **ret, ibid_error *err);
    /* All selections are freed and no call is under way. Writes what would be lost time at the next open. */
    void (*close)(struct vector_store *take_store);

    /* Makes the store follow a collection from now on (idempotent). A space with another dimension or
     * fingerprint than the one held is dropped and built anew. IBID_EUNSUPPORTED for a shared collection
     * without VECTOR_STORE_SCOPE_INSIDE. */
    ibid_code (*attach)(struct vector_store *store, const struct vector_space *space, ibid_error *err);

    /* Applies all committed changes of the collection up to now; on return they are searchable.
     * Called by one thread at a time per collection; searches go on meanwhile.
     * Stops early with IBID_ECANCELED when *cancel becomes true; what was applied stays. */
    ibid_code (*follow)(struct vector_store *store, int64_t collection_id, const _Atomic bool *cancel,
                        ibid_error *err);

    /* Makes what was applied durable (stats: durable == watermark) and rewrites whatever still holds bytes of
     * a removed row: on return a row removed before is nowhere on the store's disk. For receipts of deletion
     * and for idle times; searches go on meanwhile. Called as follow is, never beside it for one collection.
     */
    ibid_code (*compact)(struct vector_store *store, int64_t collection_id, const _Atomic bool *cancel,
                         ibid_error *err);

    /* Deletes everything held for the collection, from disk too. Selections made before may be used on: they
     * give what they held, or IBID_ENOTFOUND. */
    ibid_code (*drop)(struct vector_store *store, int64_t collection_id, ibid_error *err);

    /* The rows that `scope` may read and `filter` (NULL: all) passes, in one snapshot of the store.
     * Expired documents are never among them; sensitive ones only where the scope says so. */
    ibid_code (*select)(struct vector_store *store, int64_t collection_id, const struct scope *scope,
                        const struct filter *filter, struct selection **ret, ibid_error *err);
    void (*selection_free)(struct selection *take_selection);

    /* The `k` rows nearest to `vector` (length 1), best first, ties by row_id; into out[k]. */
    ibid_code (*nearest)(struct selection *selection, const float *vector, size_t k, struct candidate *out,
                         size_t *ret_count, ibid_error *err);
    /* The `k` rows that score best by BM25 (only those with any term), best first, ties by row_id.
     * What BM25 counts (rows, their length, how many hold a term) is counted over all rows the scope may
     * read, whatever the filter: no score tells of what the caller may not see. See bm25.h. */
    ibid_code (*match)(struct selection *selection, const struct term_query *query, size_t k,
                       struct candidate *out, size_t *ret_count, ibid_error *err);
    /* Fills in both sides for rows of the selection: `candidates` gives the row_ids. `vector` or `query` may
     * be NULL. A row outside the selection gets NAN on both sides. */
    ibid_code (*score)(struct selection *selection, const float *vector, const struct term_query *query,
                       struct candidate *candidates, size_t count, ibid_error *err);
    /* Row ids above `after_row` in ascending order: listing by filter alone. */
    ibid_code (*list)(struct selection *selection, int64_t after_row, size_t limit, int64_t *out,
                      size_t *ret_count, ibid_error *err);
    /* The `limit` most frequent values of filter_keys[key] over the selection, ties in the order of the
     * values. A row with several values counts under each. IBID_ETOOBIG when there are far too many different
     * ones. */
    ibid_code (*count_values)(struct selection *selection, uint32_t key, size_t limit, struct arena *arena,
                              struct value_count **ret, size_t *ret_count, ibid_error *err);

    ibid_code (*stats)(struct vector_store *store, int64_t collection_id, struct vector_store_stats *ret,
                       ibid_error *err);
    /* Checks everything held for a collection against the truth. With `repair`, mends what it can.
     * Findings live in `arena`; none means clean. IBID_ECANCELED when the watch (may be NULL) says so. */
    ibid_code (*verify)(struct vector_store *store, int64_t collection_id, bool repair,
                        const struct watch *watch, struct arena *arena, struct vector_store_finding **ret,
                        size_t *ret_count, ibid_error *err);
};

/* First member of every store's own struct. */
struct vector_store {
    const struct vector_store_ops *ops;
};

/* First member of every selection's own struct. */
struct selection {
    const struct vector_store_ops *ops;
    uint64_t count; /* rows in it */
    uint32_t dimension;
};

/* NULL-ended; the first is the default. */
extern const struct vector_store_ops *const vector_store_registry[];
const struct vector_store_ops *vector_store_find(const char *name);

/* Wrappers that check arguments once and answer IBID_EUNSUPPORTED for what a member cannot do.
 * See struct vector_store_ops for what each does. An empty scope gives an empty selection without
 * asking the member. k is 1..VECTOR_STORE_K_LIMIT, a query has at most TERM_QUERY_LIMIT terms. */
ibid_code vector_store_open(const struct vector_store_ops *ops, const struct vector_store_context *context,
                            const void *options, struct vector_store **ret, ibid_error *err) MUST_CHECK;
void vector_store_close(struct vector_store *take_store);
ibid_code vector_store_attach(struct vector_store *store, const struct vector_space *space,
                              ibid_error *err) MUST_CHECK;
ibid_code vector_store_follow(struct vector_store *store, int64_t collection_id, const _Atomic bool *cancel,
                              ibid_error *err) MUST_CHECK;
ibid_code vector_store_compact(struct vector_store *store, int64_t collection_id, const _Atomic bool *cancel,
                               ibid_error *err) MUST_CHECK;
ibid_code vector_store_drop(struct vector_store *store, int64_t collection_id, ibid_error *err) MUST_CHECK;
ibid_code vector_store_select(struct vector_store *store, int64_t collection_id, const struct scope *scope,
                              const struct filter *filter, struct selection **ret,
                              ibid_error *err) MUST_CHECK;
void selection_free(struct selection *take_selection);
ibid_code selection_nearest(struct selection *selection, const float *vector, size_t k, struct candidate *out,
                            size_t *ret_count, ibid_error *err) MUST_CHECK;
ibid_code selection_match(struct selection *selection, const struct term_query *query, size_t k,
                          struct candidate *out, size_t *ret_count, ibid_error *err) MUST_CHECK;
ibid_code selection_score(struct selection *selection, const float *vector, const struct term_query *query,
                          struct candidate *candidates, size_t count, ibid_error *err) MUST_CHECK;
ibid_code selection_list(struct selection *selection, int64_t after_row, size_t limit, int64_t *out,
                         size_t *ret_count, ibid_error *err) MUST_CHECK;
ibid_code selection_count_values(struct selection *selection, uint32_t key, size_t limit, struct arena *arena,
                                 struct value_count **ret, size_t *ret_count, ibid_error *err) MUST_CHECK;
ibid_code vector_store_stats(struct vector_store *store, int64_t collection_id,
                             struct vector_store_stats *ret, ibid_error *err) MUST_CHECK;
ibid_code vector_store_verify(struct vector_store *store, int64_t collection_id, bool repair,
                              const struct watch *watch, struct arena *arena,
                              struct vector_store_finding **ret, size_t *ret_count,
                              ibid_error *err) MUST_CHECK;
