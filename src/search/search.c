#include "search/search.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "model/language.h"
#include "records/chunk_record.h"
#include "records/collection.h"
#include "search/facets.h"
#include "search/hits.h"
#include "search/picking.h"
#include "search/scope_filter.h"
#include "search/searcher.h"

static const struct {
    const char *string, *text;
} degradations[] = {
#define X(name, string, text) [DEGRADED_##name] = {string, text},
    DEGRADED_MAP(X)
#undef X
};

const char *degraded_string(enum degraded degraded)
{
    ASSERT((size_t)degraded < COUNT_OF(degradations));
    return degradations[degraded].string;
}

const char *degraded_text(enum degraded degraded)
{
    ASSERT((size_t)degraded < COUNT_OF(degradations));
    return degradations[degraded].text;
}

/* A search under way. */
struct search {
    struct searcher *searcher;
    struct embedder *embedder; /* that made the collection's vectors; NULL: none */
    const struct scope *scope;
    const struct query *query;
    struct arena *arena;
    struct search_result *result;
    struct collection collection;

    struct str *texts; /* those that are not blank */
    size_t text_count;
    struct retrieval_query *queries; /* what is searched for */
    size_t query_count;
    struct analyzer *analyzer;
    struct selection *selection;
    struct transaction *transaction;
};

/* ---- what is asked ---- */

static bool is_listing(const struct search *search)
{
    return search->text_count == 0 && !search->query->vector && search->query->similar_to == 0;
}

static bool wants_vectors(const struct search *search)
{
    return search->query->mode != SEARCH_KEYWORD;
}

static ibid_code load_collection(struct search *search, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(search->searcher->context.metadata_store, TRANSACTION_READ, &transaction, err));
    return collection_load_serving(transaction, search->query->collection_id, search->arena,
                                   &search->collection, err);
}

/* An embedder is of use only where it made the vectors. */
static void choose_embedder(struct search *search, struct embedder *embedder)
{
    if (!embedder)
        search->result->degraded = DEGRADED_NO_EMBEDDER;
    else if (!str_is(search->collection.embedder_fingerprint, embedder->info.fingerprint))
        search->result->degraded = DEGRADED_NOT_EMBEDDED;
    else
        search->embedder = embedder;
}

static void keep_texts(struct search *search)
{
    const struct query *query = search->query;
    search->texts = ARENA_ARRAY(search->arena, struct str, query->text_count);
    for (size_t i = 0; i < query->text_count; i++)
        if (str_trim(query->texts[i]).size)
            search->texts[search->text_count++] = str_trim(query->texts[i]);
}

/* ---- query vectors ---- */

static ibid_code check_dimension(const struct search *search, size_t dimension, ibid_error *err)
{
    if (search->collection.dimension == 0)
        return fail(err, IBID_EUNAVAILABLE, "this collection has no vectors: search it by keyword");
    if (dimension != search->collection.dimension)
        return fail(err, IBID_EINVAL, "the query's vector has %zu numbers, those of this collection have %u",
                    dimension, search->collection.dimension);
    return IBID_OK;
}

static void set_vector(struct search *search, const float *vector, size_t dimension)
{
    double square = 0;
    float *unit = ARENA_ARRAY(search->arena, float, dimension);
    for (size_t i = 0; i < dimension; i++)
        square += (double)vector[i] * (double)vector[i];
    for (size_t i = 0; i < dimension; i++)
        unit[i] = (float)(vector[i] / sqrt(square));
    search->queries = ARENA_NEW(search->arena, struct retrieval_query);
    search->queries->vector = unit;
    search->queries->language_factor = 1;
    search->query_count = 1;
}

static ibid_code take_given_vector(struct search *search, ibid_error *err)
{
    TRY(check_dimension(search, search->query->dimension, err));
    set_vector(search, search->query->vector, search->query->dimension);
    return IBID_OK;
}

/* The vector of a row that the scope may read. */
static ibid_code take_row_vector(struct search *search, ibid_error *err)
{
    const struct search_context *context = &search->searcher->context;
    const int64_t row_id = search->query->similar_to;
    AUTO_TRANSACTION *transaction = NULL;
    struct row_record *record;
    size_t count;
    TRY(transaction_begin(context->metadata_store, TRANSACTION_READ, &transaction, err));
    TRY(row_record_read(transaction, search->scope, &row_id, 1, search->arena, &record, &count, err));
    if (count == 0 || record->collection_id != search->collection.id)
        return fail(err, IBID_ENOTFOUND, "there is no chunk %lld to be similar to", (long long)row_id);
    TRY(check_dimension(search, search->collection.dimension, err));
    float *vector = ARENA_ARRAY(search->arena, float, search->collection.dimension);
    TRY(context->rows->vectors(context->rows, search->collection.id, &row_id, 1, vector, err));
    double sum = 0;
    for (size_t i = 0; i < search->collection.dimension; i++)
        sum += fabs((double)vector[i]);
    if (sum == 0)
        return fail(err, IBID_EUNAVAILABLE, "chunk %lld has no vector yet", (long long)row_id);
    set_vector(search, vector, search->collection.dimension);
    return IBID_OK;
}

static ibid_code embed_text(struct search *search, struct str text, float *out, ibid_error *err)
{
    struct searcher *searcher = search->searcher;
    struct embedder *embedder = search->embedder;
    const int64_t now = clock_monotonic_us();
    const struct sha256 key = query_vectors_key(embedder, text);
    if (query_vectors_get(searcher->vectors, &key, now, out, embedder->info.dimension))
        return IBID_OK;
    const bool computes_here = strcmp(embedder->info.precision, "remote") != 0;
    if (computes_here)
        searcher_begin_computing(searcher);
    const ibid_code code = embedder_embed(embedder, EMBED_QUERY, &text, 1, out, err);
    if (computes_here)
        searcher_end_computing(searcher);
    if (code == IBID_OK)
        query_vectors_put(searcher->vectors, &key, now, out, embedder->info.dimension);
    return code;
}

static ibid_code embed_texts(struct search *search, ibid_error *err)
{
    for (size_t i = 0; i < search->query_count; i++) {
        float *vector = ARENA_ARRAY(search->arena, float, search->embedder->info.dimension);
        TRY(embed_text(search, search->texts[i], vector, err));
        search->queries[i].vector = vector;
        search->queries[i].language_factor =
            language_factor(search->embedder, str_from(language_detect(search->texts[i])));
    }
    return IBID_OK;
}

static ibid_code take_texts(struct search *search, ibid_error *err)
{
    search->query_count = search->text_count;
    search->queries = ARENA_ARRAY(search->arena, struct retrieval_query, search->query_count);
    for (size_t i = 0; i < search->query_count; i++)
        search->queries[i].language_factor = 1;
    if (!wants_vectors(search))
        return IBID_OK;
    const bool may_degrade = search->query->mode == SEARCH_HYBRID;
    if (search->embedder) {
        const ibid_code code = embed_texts(search, err);
        if (code == IBID_OK || !may_degrade)
            return code;
        search->result->degraded = DEGRADED_EMBEDDER_FAILED;
        search->result->degraded_reason = str_from(arena_strdup(search->arena, err ? err->message : ""));
        for (size_t i = 0; i < search->query_count; i++)
            search->queries[i].vector = NULL;
    }
    if (!may_degrade)
        return fail(err, IBID_EUNAVAILABLE, "cannot search by meaning: %s",
                    search->result->degraded == DEGRADED_NO_EMBEDDER
                        ? "there is no embedding model"
                        : "this collection was indexed without this embedding model");
    return IBID_OK;
}

static ibid_code take_query(struct search *search, ibid_error *err)
{
    if (search->query->vector)
        return take_given_vector(search, err);
    if (search->query->similar_to)
        return take_row_vector(search, err);
    return take_texts(search, err);
}

/* ---- words ---- */

/* A given vector comes without words: it beats texts. */
static ibid_code take_words(struct search *search, ibid_error *err)
{
    struct language_list languages;
    if (search->query->vector || search->query->similar_to)
        return IBID_OK;
    TRY(searcher_languages(search->searcher, search->collection.id, search->scope, &languages, err));
    for (size_t i = 0; i < search->query_count; i++) {
        struct retrieval_query *query = &search->queries[i];
        query->terms = ARENA_NEW(search->arena, struct query_terms);
        query_terms_make(search->analyzer, search->texts[i], languages.languages, languages.count,
                         search->arena, query->terms);
        query->by_word = search->query->mode != SEARCH_VECTOR;
    }
    return IBID_OK;
}

/* ---- candidates, read and ranked ---- */

static struct scorer_text text_of(const struct row_record *record)
{
    const struct document *document = record->document;
    return (struct scorer_text){.text = record->chunk.embed_text,
                                .language = document->language,
                                .date_us =
                                    document->modified_at ? document->modified_at : document->created_at,
                                .added_at_us = document->added_at,
                                .updates = document->updates};
}

/* Everything read and scored so far. */
struct window {
    struct row_record *records;
    struct scored_row *scored; /* position: in `records` */
    size_t count;
    size_t next; /* of the candidates */
};

static int compare_found_ids(const void *a, const void *b)
{
    const struct found_row *first = *(struct found_row *const *)a, *second = *(struct found_row *const *)b;
    return (first->row_id > second->row_id) - (first->row_id < second->row_id);
}

/* Reads the next `limit` candidates; those that may not be read any more are gone. */
static ibid_code window_extend(struct search *search, const struct scorer *scorer, struct window *window,
                               size_t limit, ibid_error *err)
{
    const struct retrieval *retrieval = scorer->retrieval;
    const size_t left = retrieval->count - window->next, asked = left < limit ? left : limit;
    struct found_row **found = ARENA_ARRAY(search->arena, struct found_row *, asked);
    int64_t *ids = ARENA_ARRAY(search->arena, int64_t, asked);
    for (size_t i = 0; i < asked; i++)
        found[i] = &retrieval->rows[window->next + i];
    qsort(found, asked, sizeof *found, compare_found_ids);
    for (size_t i = 0; i < asked; i++)
        ids[i] = found[i]->row_id;
    struct row_record *records;
    size_t count;
    TRY(row_record_read(search->transaction, search->scope, ids, asked, search->arena, &records, &count,
                        err));
    for (size_t i = 0, at = 0; i < count; i++) {
        while (found[at]->row_id != records[i].row_id)
            at++;
        const struct scorer_text text = text_of(&records[i]);
        scorer_score(scorer, found[at], &text, search->arena, &window->scored[window->count]);
        window->scored[window->count].position = window->count;
        window->records[window->count++] = records[i];
    }
    window->next += asked;
    return IBID_OK;
}

/* Rows that are ranked at least: beyond them nothing but relevance decides who may come in. */
enum { WINDOW_MIN = 30, WINDOW_FACTOR = 3 };

static size_t wanted_hits(const struct search *search)
{
    return search->query->top_k + search->query->offset;
}

/* Ranks candidates, best promise first, until there are enough to choose from. */
static ibid_code rank(struct search *search, const struct retrieval *retrieval, struct window *window,
                      struct picks *picks, ibid_error *err)
{
    const struct scorer scorer = {
        .retrieval = retrieval,
        .queries = search->queries,
        .analyzer = search->analyzer,
        .embedder = search->embedder,
        .weights = search->query->weights,
        .now_us = clock_now_us(),
        .half_life_us = search->searcher->context.settings->recency_half_life_us,
    };
    const size_t wanted = wanted_hits(search);
    const size_t step = wanted * WINDOW_FACTOR > WINDOW_MIN ? wanted * WINDOW_FACTOR : WINDOW_MIN;
    *window = (struct window){.records = ARENA_ARRAY(search->arena, struct row_record, retrieval->count),
                              .scored = ARENA_ARRAY(search->arena, struct scored_row, retrieval->count)};
    size_t read, passing;
    bool all_dropped; /* thresholds let none of the last step through: they will not let others */
    do {
        read = window->count;
        passing = picks->passing;
        TRY(window_extend(search, &scorer, window, step, err));
        picks_make(search->query, &scorer, window->records, window->scored, window->count, search->arena,
                   picks);
        all_dropped = window->count > read && picks->passing == passing;
    } while (picks->count < wanted && window->next < retrieval->count && !all_dropped);
    return IBID_OK;
}

static struct hit_maker maker_of(const struct search *search)
{
    return (struct hit_maker){.transaction = search->transaction,
                              .query = search->query,
                              .analyzer = search->analyzer,
                              .queries = search->queries,
                              .arena = search->arena};
}

static ibid_code make_hits(struct search *search, const struct window *window, const struct picks *picks,
                           ibid_error *err)
{
    const struct hit_maker maker = maker_of(search);
    const size_t offset = search->query->offset;
    search->result->hits = ARENA_ARRAY(search->arena, struct hit, search->query->top_k);
    for (size_t i = offset; i < picks->count && i - offset < search->query->top_k; i++) {
        const struct scored_row *scored = picks->rows[i];
        TRY(hit_make(&maker, &window->records[scored->position], scored,
                     &search->result->hits[search->result->hit_count], err));
        search->result->hit_count++;
    }
    return IBID_OK;
}

/* Candidates from each side at first, and how many times more when too few of them could be read. */
enum { CANDIDATES_MIN = FUSION_POOL, CANDIDATES_PER_HIT = 4, CANDIDATES_GROWTH = 4 };

static ibid_code find_hits(struct search *search, ibid_error *err)
{
    const struct search_settings *settings = search->searcher->context.settings;
    const size_t wanted = wanted_hits(search);
    struct search_timing *timing = &search->result->timing;
    struct window window;
    struct picks picks = {0};
    size_t k = wanted * CANDIDATES_PER_HIT > CANDIDATES_MIN ? wanted * CANDIDATES_PER_HIT : CANDIDATES_MIN;
    for (;;) {
        struct retrieval retrieval;
        int64_t start = clock_monotonic_us();
        TRY(retrieval_run(search->selection, search->queries, search->query_count, k, settings->k1,
                          settings->b, search->arena, &retrieval, err));
        timing->retrieve += clock_monotonic_us() - start;
        start = clock_monotonic_us();
        if (!search->transaction)
            TRY(transaction_begin(search->searcher->context.metadata_store, TRANSACTION_READ,
                                  &search->transaction, err));
        picks = (struct picks){0};
        TRY(rank(search, &retrieval, &window, &picks, err));
        timing->rank += clock_monotonic_us() - start;
        /* Thresholds that drop rows are meant to; rows that groups or the reader's rights drop are made up
         * for. */
        const bool enough = picks.count >= wanted || picks.passing < window.count;
        if (enough || retrieval.exhausted || k == VECTOR_STORE_K_LIMIT)
            break;
        k = k * CANDIDATES_GROWTH < VECTOR_STORE_K_LIMIT ? k * CANDIDATES_GROWTH : VECTOR_STORE_K_LIMIT;
    }
    return make_hits(search, &window, &picks, err);
}

/* ---- listing ---- */

/* Reads one page of row ids and makes hits of what may be read. */
static ibid_code list_page(struct search *search, const struct hit_maker *maker, size_t *passed_over,
                           bool *ret_more, ibid_error *err)
{
    enum { PAGE = 256 };
    struct search_result *result = search->result;
    int64_t ids[PAGE];
    struct row_record *records;
    size_t count, read, used = 0;
    TRY(selection_list(search->selection, result->next_row, PAGE, ids, &count, err));
    TRY(row_record_read(search->transaction, search->scope, ids, count, search->arena, &records, &read, err));
    for (; used < read && result->hit_count < search->query->top_k; used++) {
        result->next_row = records[used].row_id;
        if (*passed_over < search->query->offset) {
            (*passed_over)++;
            continue;
        }
        TRY(hit_make(maker, &records[used], NULL, &result->hits[result->hit_count], err));
        result->hit_count++;
    }
    if (used == read && count)
        result->next_row = ids[count - 1];
    *ret_more = used < read || count == PAGE;
    return IBID_OK;
}

/* Every chunk that passes, whatever the grouping: that is what listings are for. */
static ibid_code list_rows(struct search *search, ibid_error *err)
{
    struct search_result *result = search->result;
    size_t passed_over = 0;
    bool more = true;
    TRY(transaction_begin(search->searcher->context.metadata_store, TRANSACTION_READ, &search->transaction,
                          err));
    const struct hit_maker maker = maker_of(search);
    result->next_row = search->query->after_row;
    result->hits = ARENA_ARRAY(search->arena, struct hit, search->query->top_k);
    while (more && result->hit_count < search->query->top_k)
        TRY(list_page(search, &maker, &passed_over, &more, err));
    if (!more)
        result->next_row = 0;
    return IBID_OK;
}

/* ---- the whole ---- */

static ibid_code search_index(struct search *search, ibid_error *err)
{
    struct search_result *result = search->result;
    const int64_t start = clock_monotonic_us();
    TRY(vector_store_select(search->searcher->context.vector_store, search->collection.id, search->scope,
                            filter_within_scope(search->query->filter, search->scope, search->arena),
                            &search->selection, err));
    if (!is_listing(search))
        TRY(take_words(search, err));
    result->timing.select = clock_monotonic_us() - start;
    result->row_count = search->selection->count;
    result->listing = is_listing(search);
    TRY(facets_count(search->selection, search->scope, search->query, search->arena, &result->facets,
                     &result->facet_count, err));
    if (search->selection->count == 0)
        return IBID_OK;
    return is_listing(search) ? list_rows(search, err) : find_hits(search, err);
}

static ibid_code search_carry_out(struct search *search, struct embedder *embedder, ibid_error *err)
{
    TRY(query_check(search->query, err));
    TRY(load_collection(search, err));
    keep_texts(search);
    if (!is_listing(search)) {
        const int64_t start = clock_monotonic_us();
        if (wants_vectors(search))
            choose_embedder(search, embedder);
        TRY(take_query(search, err));
        search->result->timing.embed = clock_monotonic_us() - start;
    }
    search->analyzer = searcher_take_analyzer(search->searcher);
    searcher_begin_computing(search->searcher);
    const ibid_code code = search_index(search, err);
    searcher_end_computing(search->searcher);
    return code;
}

ibid_code search_run(struct searcher *searcher, struct embedder *embedder, const struct scope *scope,
                     const struct query *query, struct arena *arena, struct search_result *ret,
                     ibid_error *err)
{
    struct search_result result = {0};
    struct search search = {
        .searcher = searcher, .scope = scope, .query = query, .arena = arena, .result = &result};
    const int64_t start = clock_monotonic_us();
    const ibid_code code = search_carry_out(&search, embedder, err);
    selection_free(search.selection);
    transaction_rollback(search.transaction);
    if (search.analyzer)
        searcher_return_analyzer(searcher, search.analyzer);
    if (code != IBID_OK)
        return code;
    result.timing.total = clock_monotonic_us() - start;
    *ret = result;
    return IBID_OK;
}
