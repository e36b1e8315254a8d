/* Candidates: the nearest rows and the best matches under one selection, each scored on both sides. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "search/fusion.h"
#include "search/query_terms.h"
#include "vector_store/vector_store.h"

/* One thing to search for. */
struct retrieval_query {
    const float *vector;       /* length 1; NULL: not by meaning */
    struct query_terms *terms; /* NULL: no words are known; its idf is filled in */
    bool by_word;              /* search for the terms; else they only serve to mark them */
    double language_factor;    /* of the query's language: 1, or FUSION_FOREIGN_LANGUAGE */
};

struct found_row {
    int64_t row_id;
    size_t query;           /* the one it matches best */
    float similarity, bm25; /* NAN: not searched on that side, or without vector */
    double dense, keyword;  /* normalised */
    double promise;         /* the relevance it may have at most, whatever its language */
};

struct retrieval {
    struct found_row *rows; /* by falling promise, then rising row_id; each once */
    size_t count;
    struct fusion_side *dense, *keyword; /* one for each query */
    double *agreement;
    bool exhausted; /* a larger k would find no more */
};

/* `k` rows from each side for each query. Results live in `arena`. */
ibid_code retrieval_run(struct selection *selection, struct retrieval_query *queries, size_t query_count,
                        size_t k, double k1, double b, struct arena *arena, struct retrieval *ret,
                        ibid_error *err) MUST_CHECK;

/* The relevance of a row for a language factor, at most 1, and the weight of its dense side. A row that has
 * no vector yet is judged by its words alone. */
double retrieval_relevance(const struct retrieval *retrieval, const struct found_row *row,
                           double language_factor, double *ret_dense_weight);
