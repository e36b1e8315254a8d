#include "search/retrieval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

double retrieval_relevance(const struct retrieval *retrieval, const struct found_row *row,
                           double language_factor, double *ret_dense_weight)
{
    const struct fusion_side *dense = &retrieval->dense[row->query],
                             *keyword = &retrieval->keyword[row->query];
    double weight =
        isnan(row->similarity)
            ? 0
            : fusion_dense_weight(dense, keyword, retrieval->agreement[row->query], language_factor);
    *ret_dense_weight = weight;
    return weight * row->dense + (1 - weight) * row->keyword;
}

static int compare_row_ids(const void *a, const void *b)
{
    const struct candidate *first = a, *second = b;
    return (first->row_id > second->row_id) - (first->row_id < second->row_id);
}

/* Sorts by row_id and keeps each row once, with what either side said. */
static size_t unite(struct candidate *candidates, size_t count)
{
    size_t kept = 0;
    qsort(candidates, count, sizeof *candidates, compare_row_ids);
    for (size_t i = 0; i < count; i++) {
        struct candidate *last = kept ? &candidates[kept - 1] : NULL;
        if (!last || last->row_id != candidates[i].row_id) {
            candidates[kept++] = candidates[i];
            continue;
        }
        if (isnan(last->similarity))
            last->similarity = candidates[i].similarity;
        if (isnan(last->bm25))
            last->bm25 = candidates[i].bm25;
    }
    return kept;
}

/* What one query found: the union of both sides. */
struct harvest {
    struct candidate *candidates;
    size_t count;
    struct fusion_side dense, keyword;
    bool exhausted;
};

static ibid_code search_nearest(struct selection *selection, const float *vector, size_t k,
                                struct harvest *harvest, ibid_error *err)
{
    float best[FUSION_POOL];
    size_t count;
    TRY(selection_nearest(selection, vector, k, harvest->candidates, &count, err));
    for (size_t i = 0; i < count && i < FUSION_POOL; i++)
        best[i] = harvest->candidates[i].similarity;
    harvest->dense = fusion_dense_side(best, count);
    harvest->exhausted &= count < k;
    harvest->count = count;
    return IBID_OK;
}

static ibid_code search_words(struct selection *selection, const struct term_query *query, size_t k,
                              struct harvest *harvest, ibid_error *err)
{
    float best[FUSION_POOL];
    size_t count;
    struct candidate *out = harvest->candidates + harvest->count;
    TRY(selection_match(selection, query, k, out, &count, err));
    for (size_t i = 0; i < count && i < FUSION_POOL; i++)
        best[i] = out[i].bm25;
    harvest->keyword = fusion_keyword_side(best, count, selection->count);
    harvest->exhausted &= count < k;
    harvest->count += count;
    return IBID_OK;
}

/* Brings the candidates that lack a side's score to the front; returns how many there are. */
static size_t lacking_first(struct candidate *candidates, size_t count, bool dense)
{
    size_t lacking = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isnan(dense ? candidates[i].similarity : candidates[i].bm25))
            continue;
        const struct candidate moved = candidates[i];
        candidates[i] = candidates[lacking];
        candidates[lacking++] = moved;
    }
    return lacking;
}

/* Scores on one side what only the other side found. */
static ibid_code score_lacking(struct selection *selection, const float *vector,
                               const struct term_query *words, struct harvest *harvest, ibid_error *err)
{
    AUTO_FREE struct candidate *scored = NULL;
    const size_t count = lacking_first(harvest->candidates, harvest->count, vector != NULL);
    if (count == 0)
        return IBID_OK;
    scored = xcalloc(count, sizeof *scored);
    memcpy(scored, harvest->candidates, count * sizeof *scored);
    TRY(selection_score(selection, vector, words, scored, count, err));
    for (size_t i = 0; i < count; i++) {
        if (vector)
            harvest->candidates[i].similarity = scored[i].similarity;
        else
            harvest->candidates[i].bm25 = scored[i].bm25;
    }
    return IBID_OK;
}

static ibid_code search_one(struct selection *selection, const struct retrieval_query *query, size_t k,
                            double k1, double b, struct arena *arena, struct harvest *ret, ibid_error *err)
{
    const bool by_word = query->by_word && query->terms->count > 0;
    struct term_query words = {0};
    *ret = (struct harvest){.candidates = ARENA_ARRAY(arena, struct candidate, 2 * k), .exhausted = true};
    if (query->vector)
        TRY(search_nearest(selection, query->vector, k, ret, err));
    if (by_word) {
        words = query_terms_query(query->terms, k1, b);
        TRY(search_words(selection, &words, k, ret, err));
        words.idf = NULL;
    }
    ret->count = unite(ret->candidates, ret->count);
    if (!query->vector || !by_word || !(selection->ops->capabilities & VECTOR_STORE_EXACT_SCORES))
        return IBID_OK;
    TRY(score_lacking(selection, query->vector, NULL, ret, err));
    return score_lacking(selection, NULL, &words, ret, err);
}

/* What the dense side makes of the row that words like best; 1 when it cannot tell. */
static double agreement_of(const struct harvest *harvest)
{
    const struct candidate *best = NULL;
    for (size_t i = 0; i < harvest->count; i++)
        if (!isnan(harvest->candidates[i].bm25) && (!best || harvest->candidates[i].bm25 > best->bm25))
            best = &harvest->candidates[i];
    return best && !isnan(best->similarity) ? fusion_normalise(&harvest->dense, best->similarity) : 1;
}

static int compare_found(const void *a, const void *b)
{
    const struct found_row *first = a, *second = b;
    if (first->promise != second->promise)
        return first->promise < second->promise ? 1 : -1;
    return (first->row_id > second->row_id) - (first->row_id < second->row_id);
}

static int compare_found_row_ids(const void *a, const void *b)
{
    const struct found_row *first = a, *second = b;
    if (first->row_id != second->row_id)
        return first->row_id < second->row_id ? -1 : 1;
    return compare_found(a, b);
}

static void add_harvest(struct retrieval *retrieval, const struct harvest *harvest, size_t query,
                        double language_factor)
{
    for (size_t i = 0; i < harvest->count; i++) {
        const struct candidate *candidate = &harvest->candidates[i];
        struct found_row *row = &retrieval->rows[retrieval->count++];
        double weight;
        *row = (struct found_row){.row_id = candidate->row_id,
                                  .query = query,
                                  .similarity = candidate->similarity,
                                  .bm25 = candidate->bm25,
                                  .dense = fusion_normalise(&harvest->dense, candidate->similarity),
                                  .keyword = fusion_normalise(&harvest->keyword, candidate->bm25)};
        double known = retrieval_relevance(retrieval, row, language_factor, &weight);
        double foreign = retrieval_relevance(retrieval, row, FUSION_FOREIGN_LANGUAGE, &weight);
        row->promise = known > foreign ? known : foreign;
    }
}

/* A row that several queries found counts as its best match. */
static void merge_queries(struct retrieval *retrieval)
{
    size_t kept = 0;
    qsort(retrieval->rows, retrieval->count, sizeof *retrieval->rows, compare_found_row_ids);
    for (size_t i = 0; i < retrieval->count; i++)
        if (kept == 0 || retrieval->rows[kept - 1].row_id != retrieval->rows[i].row_id)
            retrieval->rows[kept++] = retrieval->rows[i];
    retrieval->count = kept;
}

ibid_code retrieval_run(struct selection *selection, struct retrieval_query *queries, size_t query_count,
                        size_t k, double k1, double b, struct arena *arena, struct retrieval *ret,
                        ibid_error *err)
{
    struct harvest *harvests = ARENA_ARRAY(arena, struct harvest, query_count);
    size_t total = 0;
    *ret = (struct retrieval){.dense = ARENA_ARRAY(arena, struct fusion_side, query_count),
                              .keyword = ARENA_ARRAY(arena, struct fusion_side, query_count),
                              .agreement = ARENA_ARRAY(arena, double, query_count),
                              .exhausted = true};
    for (size_t i = 0; i < query_count; i++) {
        TRY(search_one(selection, &queries[i], k, k1, b, arena, &harvests[i], err));
        ret->dense[i] = harvests[i].dense;
        ret->keyword[i] = harvests[i].keyword;
        ret->agreement[i] = agreement_of(&harvests[i]);
        ret->exhausted &= harvests[i].exhausted;
        total += harvests[i].count;
    }
    ret->rows = ARENA_ARRAY(arena, struct found_row, total);
    for (size_t i = 0; i < query_count; i++)
        add_harvest(ret, &harvests[i], i, queries[i].language_factor);
    if (query_count > 1)
        merge_queries(ret);
    qsort(ret->rows, ret->count, sizeof *ret->rows, compare_found);
    return IBID_OK;
}
