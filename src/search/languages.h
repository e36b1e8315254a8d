/* Which languages a query has to be stemmed for: those of the texts it is searched in. */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "model/scope.h"
#include "search/query_terms.h"
#include "vector_store/vector_store.h"

struct language_list {
    struct query_language languages[QUERY_LANGUAGE_LIMIT]; /* most frequent first; codes are static */
    size_t count;                                          /* at least 1 */
};

/* Below this a language is left out: a wrong guess about a few texts must not blur all searches. */
#define LANGUAGE_SHARE 0.02

/* The languages of the rows that the scope may read, as far as analyzer_terms stems them differently from
 * what a word's script suggests, and more than LANGUAGE_SHARE of the rows are in them. One count in the index
 * for each language there is. */
ibid_code language_list_read(struct vector_store *store, int64_t collection_id, const struct scope *scope,
                             struct language_list *ret, ibid_error *err) MUST_CHECK;
