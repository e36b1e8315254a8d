#include "vector_store/vector_store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

const struct vector_store_ops *vector_store_find(const char *name)
{
    for (size_t i = 0; vector_store_registry[i]; i++)
        if (strcmp(vector_store_registry[i]->name, name) == 0)
            return vector_store_registry[i];
    return NULL;
}

/* ---- the selection of an empty scope: a member of its own, which no store is asked for ---- */

static void empty_free(struct selection *selection)
{
    free(selection);
}

static ibid_code empty_nearest(struct selection *selection, const float *vector, size_t k,
                               struct candidate *out, size_t *ret_count, ibid_error *err)
{
    *ret_count = 0;
    return IBID_OK;
}

static ibid_code empty_match(struct selection *selection, const struct term_query *query, size_t k,
                             struct candidate *out, size_t *ret_count, ibid_error *err)
{
    *ret_count = 0;
    return IBID_OK;
}

static ibid_code empty_score(struct selection *selection, const float *vector, const struct term_query *query,
                             struct candidate *candidates, size_t count, ibid_error *err)
{
    for (size_t i = 0; i < count; i++)
        candidates[i].similarity = candidates[i].bm25 = NAN;
    return IBID_OK;
}

static ibid_code empty_list(struct selection *selection, int64_t after_row, size_t limit, int64_t *out,
                            size_t *ret_count, ibid_error *err)
{
    *ret_count = 0;
    return IBID_OK;
}

static ibid_code empty_count_values(struct selection *selection, uint32_t key, size_t limit,
                                    struct arena *arena, struct value_count **ret, size_t *ret_count,
                                    ibid_error *err)
{
    *ret = NULL;
    *ret_count = 0;
    return IBID_OK;
}

static const struct vector_store_ops empty_ops = {
    .name = "empty",
    .help = "What an empty scope reads.",
    .capabilities =
        VECTOR_STORE_SCOPE_INSIDE | VECTOR_STORE_KEYWORD | VECTOR_STORE_EXACT_SCORES | VECTOR_STORE_FACETS,
    .selection_free = empty_free,
    .nearest = empty_nearest,
    .match = empty_match,
    .score = empty_score,
    .list = empty_list,
    .count_values = empty_count_values,
};

static struct selection *empty_selection(void)
{
    struct selection *selection = xcalloc(1, sizeof *selection);
    selection->ops = &empty_ops;
    return selection;
}

/* ---- stores ---- */

ibid_code vector_store_open(const struct vector_store_ops *ops, const struct vector_store_context *context,
                            const void *options, struct vector_store **ret, ibid_error *err)
{
    struct vector_store *store;
    TRY(ops->open(context, options, &store, err));
    ASSERT(store->ops == ops);
    *ret = store;
    return IBID_OK;
}

void vector_store_close(struct vector_store *store)
{
    if (store)
        store->ops->close(store);
}

ibid_code vector_store_attach(struct vector_store *store, const struct vector_space *space, ibid_error *err)
{
    if (space->dimension != 0 &&
        (space->dimension < VECTOR_DIMENSION_MIN || space->dimension > VECTOR_DIMENSION_MAX))
        return fail(err, IBID_EUNSUPPORTED, "vectors of %u dimensions: a vector store takes %d to %d",
                    space->dimension, VECTOR_DIMENSION_MIN, VECTOR_DIMENSION_MAX);
    if (space->shared && !(store->ops->capabilities & VECTOR_STORE_SCOPE_INSIDE))
        return fail(
            err, IBID_EUNSUPPORTED,
            "vector store '%s' cannot keep a search to what its caller may read: collection %lld, which "
            "several share, needs another one",
            store->ops->name, (long long)space->collection_id);
    return store->ops->attach(store, space, err);
}

ibid_code vector_store_follow(struct vector_store *store, int64_t collection_id, const _Atomic bool *cancel,
                              ibid_error *err)
{
    return store->ops->follow(store, collection_id, cancel, err);
}

ibid_code vector_store_compact(struct vector_store *store, int64_t collection_id, const _Atomic bool *cancel,
                               ibid_error *err)
{
    return store->ops->compact(store, collection_id, cancel, err);
}

ibid_code vector_store_drop(struct vector_store *store, int64_t collection_id, ibid_error *err)
{
    return store->ops->drop(store, collection_id, err);
}

ibid_code vector_store_stats(struct vector_store *store, int64_t collection_id,
                             struct vector_store_stats *ret, ibid_error *err)
{
    return store->ops->stats(store, collection_id, ret, err);
}

ibid_code vector_store_verify(struct vector_store *store, int64_t collection_id, bool repair,
                              const struct watch *watch, struct arena *arena,
                              struct vector_store_finding **ret, size_t *ret_count, ibid_error *err)
{
    return store->ops->verify(store, collection_id, repair, watch, arena, ret, ret_count, err);
}

/* ---- selections ---- */

ibid_code vector_store_select(struct vector_store *store, int64_t collection_id, const struct scope *scope,
                              const struct filter *filter, struct selection **ret, ibid_error *err)
{
    if (scope_is_empty(scope)) {
        *ret = empty_selection();
        return IBID_OK;
    }
    struct selection *selection;
    TRY(store->ops->select(store, collection_id, scope, filter, &selection, err));
    ASSERT(selection->ops == store->ops);
    *ret = selection;
    return IBID_OK;
}

void selection_free(struct selection *selection)
{
    if (selection)
        selection->ops->selection_free(selection);
}

static ibid_code check_k(size_t k, ibid_error *err)
{
    if (k == 0)
        return fail(err, IBID_EINVAL, "the number of results is at least 1");
    if (k > VECTOR_STORE_K_LIMIT)
        return fail(err, IBID_ETOOBIG, "%zu results: at most %d can be asked for", k, VECTOR_STORE_K_LIMIT);
    return IBID_OK;
}

static ibid_code check_vector(const struct selection *selection, const float *vector, ibid_error *err)
{
    if (selection->ops == &empty_ops)
        return IBID_OK;
    if (selection->dimension == 0)
        return fail(err, IBID_EUNSUPPORTED, "this collection has no vectors: search it by keyword");
    double sum = 0;
    for (uint32_t i = 0; i < selection->dimension; i++)
        sum += (double)vector[i] * vector[i];
    if (!(fabs(sum - 1) < 0.01))
        return fail(err, IBID_EINVAL, "the query vector does not have length 1");
    return IBID_OK;
}

static ibid_code check_query(const struct selection *selection, const struct term_query *query,
                             ibid_error *err)
{
    if (!(selection->ops->capabilities & VECTOR_STORE_KEYWORD))
        return fail(err, IBID_EUNSUPPORTED, "vector store '%s' cannot search by keyword",
                    selection->ops->name);
    if (query->count > TERM_QUERY_LIMIT)
        return fail(err, IBID_ETOOBIG, "a query has at most %d terms, this one %zu", TERM_QUERY_LIMIT,
                    query->count);
    if (!(query->k1 >= 0 && query->k1 <= 100) || !(query->b >= 0 && query->b <= 1))
        return fail(err, IBID_EINVAL, "BM25 takes k1 from 0 to 100 and b from 0 to 1, not %g and %g",
                    (double)query->k1, (double)query->b);
    for (size_t i = 0; query->weights && i < query->count; i++)
        if (!(query->weights[i] >= 0 && query->weights[i] <= 1e6f))
            return fail(err, IBID_EINVAL, "the weight of a term is from 0 to 1000000");
    return IBID_OK;
}

ibid_code selection_nearest(struct selection *selection, const float *vector, size_t k, struct candidate *out,
                            size_t *ret_count, ibid_error *err)
{
    TRY(check_k(k, err));
    TRY(check_vector(selection, vector, err));
    return selection->ops->nearest(selection, vector, k, out, ret_count, err);
}

ibid_code selection_match(struct selection *selection, const struct term_query *query, size_t k,
                          struct candidate *out, size_t *ret_count, ibid_error *err)
{
    TRY(check_k(k, err));
    TRY(check_query(selection, query, err));
    for (size_t i = 0; query->idf && i < query->count; i++)
        query->idf[i] = NAN;
    return selection->ops->match(selection, query, k, out, ret_count, err);
}

ibid_code selection_score(struct selection *selection, const float *vector, const struct term_query *query,
                          struct candidate *candidates, size_t count, ibid_error *err)
{
    if (!(selection->ops->capabilities & VECTOR_STORE_EXACT_SCORES))
        return fail(err, IBID_EUNSUPPORTED, "vector store '%s' cannot score given rows",
                    selection->ops->name);
    if (vector)
        TRY(check_vector(selection, vector, err));
    if (query)
        TRY(check_query(selection, query, err));
    return selection->ops->score(selection, vector, query, candidates, count, err);
}

ibid_code selection_list(struct selection *selection, int64_t after_row, size_t limit, int64_t *out,
                         size_t *ret_count, ibid_error *err)
{
    return selection->ops->list(selection, after_row, limit, out, ret_count, err);
}

ibid_code selection_count_values(struct selection *selection, uint32_t key, size_t limit, struct arena *arena,
                                 struct value_count **ret, size_t *ret_count, ibid_error *err)
{
    if (!(selection->ops->capabilities & VECTOR_STORE_FACETS))
        return fail(err, IBID_EUNSUPPORTED, "vector store '%s' cannot count values", selection->ops->name);
    return selection->ops->count_values(selection, key, limit, arena, ret, ret_count, err);
}
