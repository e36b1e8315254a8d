#include "search/searcher.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"

enum { LANGUAGES_TIME_SHARE = 50 };

struct searcher *searcher_new(const struct search_context *context)
{
    struct searcher *searcher = xcalloc(1, sizeof *searcher);
    searcher->context = *context;
    searcher->vectors = query_vectors_new((size_t)context->settings->query_cache_entries,
                                          context->settings->query_cache_time_us);
    pthread_mutex_init(&searcher->lock, NULL);
    return searcher;
}

void searcher_free(struct searcher *searcher)
{
    if (!searcher)
        return;
    for (size_t i = 0; i < searcher->analyzer_count; i++)
        analyzer_free(searcher->analyzers[i]);
    query_vectors_free(searcher->vectors);
    pthread_mutex_destroy(&searcher->lock);
    free(searcher);
}

struct analyzer *searcher_take_analyzer(struct searcher *searcher)
{
    struct analyzer *analyzer = NULL;
    pthread_mutex_lock(&searcher->lock);
    if (searcher->analyzer_count)
        analyzer = searcher->analyzers[--searcher->analyzer_count];
    pthread_mutex_unlock(&searcher->lock);
    return analyzer ? analyzer : analyzer_new();
}

void searcher_return_analyzer(struct searcher *searcher, struct analyzer *analyzer)
{
    pthread_mutex_lock(&searcher->lock);
    if (searcher->analyzer_count < SEARCHER_ANALYZERS) {
        searcher->analyzers[searcher->analyzer_count++] = analyzer;
        analyzer = NULL;
    }
    pthread_mutex_unlock(&searcher->lock);
    analyzer_free(analyzer);
}

void searcher_begin_computing(struct searcher *searcher)
{
    if (searcher->context.slots)
        slots_acquire(searcher->context.slots, true);
}

void searcher_end_computing(struct searcher *searcher)
{
    if (searcher->context.slots)
        slots_release(searcher->context.slots);
}

/* Under the lock. */
static struct known_languages *find_languages(struct searcher *searcher, int64_t collection_id,
                                              uint64_t scope)
{
    for (size_t i = 0; i < searcher->language_count; i++)
        if (searcher->languages[i].collection_id == collection_id && searcher->languages[i].scope == scope)
            return &searcher->languages[i];
    return NULL;
}

/* The oldest goes when there is no more room. Under the lock. */
static struct known_languages *place_languages(struct searcher *searcher, int64_t collection_id,
                                               uint64_t scope)
{
    struct known_languages *known = find_languages(searcher, collection_id, scope);
    if (known)
        return known;
    if (searcher->language_count < SEARCHER_LANGUAGE_LISTS)
        return &searcher->languages[searcher->language_count++];
    return &searcher->languages[searcher->language_next++ % SEARCHER_LANGUAGE_LISTS];
}

ibid_code searcher_languages(struct searcher *searcher, int64_t collection_id, const struct scope *scope,
                             struct language_list *ret, ibid_error *err)
{
    struct vector_store *store = searcher->context.vector_store;
    struct known_languages now = {.collection_id = collection_id,
                                  .scope = scope_fingerprint(scope),
                                  .read_at_us = clock_monotonic_us()};
    struct vector_store_stats stats;
    TRY(vector_store_stats(store, collection_id, &stats, err));
    now.watermark = stats.watermark;

    pthread_mutex_lock(&searcher->lock);
    const struct known_languages *known = find_languages(searcher, collection_id, now.scope);
    const bool usable = known && (known->watermark == now.watermark ||
                                  now.read_at_us - known->read_at_us < LANGUAGES_TIME_SHARE * known->cost_us);
    if (usable)
        *ret = known->list;
    pthread_mutex_unlock(&searcher->lock);
    if (usable)
        return IBID_OK;

    TRY(language_list_read(store, collection_id, scope, &now.list, err));
    now.cost_us = clock_monotonic_us() - now.read_at_us;
    pthread_mutex_lock(&searcher->lock);
    *place_languages(searcher, collection_id, now.scope) = now;
    pthread_mutex_unlock(&searcher->lock);
    *ret = now.list;
    return IBID_OK;
}
