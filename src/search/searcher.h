/* What searches share: caches, analyzers, permits. Internal to search/. */
#pragma once

#include <pthread.h>

#include "search/languages.h"
#include "search/query_vectors.h"
#include "search/search.h"

enum { SEARCHER_ANALYZERS = 32, SEARCHER_LANGUAGE_LISTS = 64 };

/* The languages of a collection under a scope, as last read. */
struct known_languages {
    int64_t collection_id;
    uint64_t scope;
    int64_t watermark; /* of the index at that time */
    int64_t read_at_us, cost_us;
    struct language_list list;
};

struct searcher {
    struct search_context context;
    struct query_vectors *vectors;
    pthread_mutex_t lock; /* the rest */
    struct analyzer *analyzers[SEARCHER_ANALYZERS];
    size_t analyzer_count;
    struct known_languages languages[SEARCHER_LANGUAGE_LISTS];
    size_t language_count, language_next;
};

struct analyzer *searcher_take_analyzer(struct searcher *searcher);
void searcher_return_analyzer(struct searcher *searcher, struct analyzer *take_analyzer);

/* Around work that takes a core. */
void searcher_begin_computing(struct searcher *searcher);
void searcher_end_computing(struct searcher *searcher);

/* language_list_read, cached while the index stays as it is. While it changes all the time, it is read again
 * often enough to follow and seldom enough to cost a fiftieth of the time at most. */
ibid_code searcher_languages(struct searcher *searcher, int64_t collection_id, const struct scope *scope,
                             struct language_list *ret, ibid_error *err) MUST_CHECK;
