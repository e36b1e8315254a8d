/* Searching: from a query and a scope to hits.
 *
 *   query vector (cached) and words -> candidates of both sides under one selection -> relevance (fusion.h)
 *   -> read and checked again in a transaction -> final order (ranking.h) -> thresholds, groups -> passages
 *
 * Nothing outside the scope is scored, counted, cached or explained; an empty scope answers as "no hits". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/thread.h"
#include "embedder/embedder.h"
#include "metadata_store/metadata_store.h"
#include "model/hit.h"
#include "model/query.h"
#include "model/scope.h"
#include "search/settings.h"
#include "vector_store/vector_store.h"

/* What a searcher works with; everything is borrowed and outlives it. */
struct search_context {
    struct metadata_store *metadata_store;
    struct vector_store *vector_store;
    const struct row_source *rows; /* for query.similar_to */
    struct slots *slots;           /* compute permits; NULL: none are needed */
    const struct search_settings *settings;
};

/* Searches with caches of its own: vectors of queries, languages, analyzers. Thread-safe; one for each
 * instance. */
struct searcher;

struct searcher *searcher_new(const struct search_context *context) __attribute__((returns_nonnull));
void searcher_free(struct searcher *take_searcher); /* NULL is fine */

/* Why a search was less than what was asked for. */
#define DEGRADED_MAP(X)                                                                     \
    X(NO, "", "")                                                                           \
    X(NO_EMBEDDER, "no_embedder", "there is no embedding model: searched by keyword only")  \
    X(NOT_EMBEDDED, "not_embedded",                                                         \
      "this collection was indexed without this embedding model: searched by keyword only") \
    X(EMBEDDER_FAILED, "embedder_failed", "the embedding model failed: searched by keyword only")

enum degraded {
#define X(name, string, text) DEGRADED_##name,
    DEGRADED_MAP(X)
#undef X
};
const char *degraded_string(enum degraded degraded); /* "" when it was not */
const char *degraded_text(enum degraded degraded);   /* one sentence */

struct facet_count {
    struct str value; /* numbers in decimal */
    uint64_t rows;    /* chunks that have it */
};

struct facet {
    struct str key;
    const struct facet_count *counts; /* most frequent first, at most SEARCH_FACET_VALUES */
    size_t count;
};

enum { SEARCH_FACET_VALUES = 50 };

/* Microseconds. */
struct search_timing {
    int64_t embed, select, retrieve, read, rank, total;
};

struct search_result {
    struct hit *hits; /* best first; a listing: by row_id */
    size_t hit_count;
    bool listing;       /* neither text nor vector: what the filter passes, score 1 */
    int64_t next_row;   /* a listing that goes on: query.after_row of the next page; else 0 */
    uint64_t row_count; /* chunks that scope and filter pass */
    enum degraded degraded;
    struct str degraded_reason; /* what the embedder said when it failed; else empty */
    const struct facet
        *facets; /* one for each key of the query; counted over all that scope and filter pass */
    size_t facet_count;
    struct search_timing timing;
};

/* Searches as `scope` allows. `embedder` turns texts into vectors; NULL when there is none. Results live in
 * `arena`. IBID_EINVAL for a query that no search could carry
 * out (query_check), IBID_ENOTFOUND for an unknown collection or a row in `similar_to` that the scope may not
 * read, IBID_EUNAVAILABLE for a search by meaning alone without an embedder. A hybrid search whose
 * embedder is missing or fails goes on by keyword and says so in `degraded`. */
ibid_code search_run(struct searcher *searcher, struct embedder *embedder, const struct scope *scope,
                     const struct query *query, struct arena *arena, struct search_result *ret,
                     ibid_error *err) MUST_CHECK;
