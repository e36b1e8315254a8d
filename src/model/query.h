/* A search as asked: what every door fills in and search/ carries out.
 *
 * A vector beats texts; neither of them lists what the filter passes. What the caller may read is never
 * part of a query: it is the scope (model/scope.h), an argument of its own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "model/filter.h"

/* mode, stable string */
#define SEARCH_MODE_MAP(X)                             \
    X(HYBRID, "hybrid")   /* by meaning and by word */ \
    X(VECTOR, "vector")   /* by meaning alone */       \
    X(KEYWORD, "keyword") /* by word alone */

enum search_mode {
#define X(name, string) SEARCH_##name,
    SEARCH_MODE_MAP(X)
#undef X
};

#define GROUP_BY_MAP(X)                                           \
    X(DOCUMENT, "document") /* the best chunk of each document */ \
    X(NONE, "none")         /* every chunk */

/* Of a search; a listing always has every chunk. */
enum group_by {
#define X(name, string) GROUP_BY_##name,
    GROUP_BY_MAP(X)
#undef X
};

/* band, stable string, calibrated confidence it begins above */
#define CONFIDENCE_MAP(X)                                                  \
    X(LOW, "low", 0.0)       /* questionable: shown as uncertain */        \
    X(MEDIUM, "medium", 0.6) /* probably relevant; 0.6 itself is medium */ \
    X(HIGH, "high", 0.85)    /* 0.85 itself is still medium */

enum confidence_band {
#define X(name, string, low) CONFIDENCE_##name,
    CONFIDENCE_MAP(X)
#undef X
};

/* final = sum of weight * part; every part lies in 0..1. */
struct ranking_weights {
    double relevance, recency, trust, overlap;
};
#define RANKING_WEIGHTS_DEFAULT \
    ((struct ranking_weights){.relevance = 0.6, .recency = 0.2, .trust = 0.1, .overlap = 0.1})

enum {
    QUERY_TEXTS_LIMIT = 16,          /* texts of one query */
    QUERY_TEXT_LIMIT = 32 * 1024,    /* bytes of one text */
    QUERY_TOP_K_LIMIT = 1000,        /* hits, those passed over by `offset` included */
    QUERY_NEIGHBOURS_LIMIT = 10,     /* chunks on each side of a hit */
    QUERY_FACETS_LIMIT = 16,         /* keys */
    QUERY_PASSAGE_LIMIT = 64 * 1024, /* bytes */
};

struct query {
    int64_t collection_id;

    const struct str *texts; /* several: each is searched for, and a chunk counts as its best match */
    size_t text_count;
    const float *vector; /* `dimension` floats of any length but 0 */
    size_t dimension;
    int64_t similar_to; /* a row of the collection (hit.row_id): what is like it; 0: none */
    enum search_mode mode;
    const struct filter *filter; /* NULL: everything the scope may read */

    size_t top_k;
    size_t offset;     /* hits to pass over first */
    int64_t after_row; /* listing: only rows above this one, in ascending order */
    enum group_by group_by;
    size_t source_diversity;     /* at most so many hits from one source; 0: no cap */
    double score_threshold;      /* drops hits whose calibrated confidence is below; 0: none */
    double similarity_threshold; /* drops hits whose raw similarity is below, or not known; 0: none */
    enum confidence_band min_confidence;
    struct ranking_weights weights;

    size_t neighbours;        /* chunks of the same document before and after each hit */
    size_t passage_bytes;     /* about how long a passage is; 0: the whole chunk */
    const struct str *facets; /* declared filter keys whose values are counted */
    size_t facet_count;
    bool explain; /* fill in hit.explanation */
};

#define QUERY_DEFAULT \
    ((struct query){  \
        .collection_id = 1, .top_k = 10, .weights = RANKING_WEIGHTS_DEFAULT, .passage_bytes = 480})

/* IBID_EINVAL or IBID_ETOOBIG for what no search could carry out: limits, thresholds outside 0..1, weights
 * below 0 or all 0, a vector that is zero or not finite, texts that are no UTF-8, unknown facets. */
ibid_code query_check(const struct query *query, ibid_error *err) MUST_CHECK;

const char *search_mode_string(enum search_mode mode);
bool search_mode_from_string(struct str string, enum search_mode *ret);
const char *group_by_string(enum group_by group_by);
bool group_by_from_string(struct str string, enum group_by *ret);
const char *confidence_band_string(enum confidence_band band);
bool confidence_band_from_string(struct str string, enum confidence_band *ret);
/* high above 0.85, medium from 0.6, low below. */
enum confidence_band confidence_band_of(double confidence);
