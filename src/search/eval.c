#include "search/eval.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "model/language.h"
#include "search/eval_collection.h"
#include "search/languages.h"
#include "search/scoring.h"
#include "vector_store/vector_store.h"

enum { COLLECTION = 1, WORKSPACE = 1, DEPTH = 100, WINDOW = 10 };

static const int64_t workspaces[] = {WORKSPACE};
static const struct scope everything = {.workspaces = workspaces, .workspace_count = 1};

/* The collection as a vector store reads it: row i + 1 is document i. */
struct eval_rows {
    struct row_source source;
    const struct eval_collection *collection;
    const char **languages;
    struct attribute *attributes; /* the language of each */
    float *vectors;               /* NULL: none */
    size_t dimension;
};

/* ---- row source ---- */

static const struct eval_rows *rows_of(const struct row_source *self)
{
    return (const struct eval_rows *)self;
}

static ibid_code rows_latest_seq(const struct row_source *self, int64_t collection_id, int64_t *ret,
                                 ibid_error *err)
{
    *ret = (int64_t)rows_of(self)->collection->document_count;
    return IBID_OK;
}

static ibid_code rows_changes(const struct row_source *self, int64_t collection_id, int64_t after_seq,
                              size_t limit, struct arena *arena, struct row **ret, size_t *ret_count,
                              ibid_error *err)
{
    const struct eval_rows *rows = rows_of(self);
    size_t first = (size_t)after_seq, left = rows->collection->document_count - first;
    size_t count = left < limit ? left : limit;
    *ret = ARENA_ARRAY(arena, struct row, count);
    *ret_count = count;
    for (size_t i = 0; i < count; i++) {
        size_t document = first + i;
        (*ret)[i] = (struct row){
            .row_id = (int64_t)document + 1,
            .seq = (int64_t)document + 1,
            .document_id = (int64_t)document + 1,
            .chunk_id = (int64_t)document + 1,
            .workspaces = workspaces,
            .workspace_count = 1,
            .vector = rows->vectors ? &rows->vectors[document * rows->dimension] : NULL,
            .text = rows->collection->documents[document].text,
            .language = str_from(rows->languages[document]),
            .attributes = &rows->attributes[document],
            .attribute_count = rows->languages[document][0] != '\0',
        };
    }
    return IBID_OK;
}

static ibid_code rows_vectors(const struct row_source *self, int64_t collection_id, const int64_t *row_ids,
                              size_t count, float *out, ibid_error *err)
{
    const struct eval_rows *rows = rows_of(self);
    for (size_t i = 0; i < count; i++)
        memcpy(&out[i * rows->dimension], &rows->vectors[(size_t)(row_ids[i] - 1) * rows->dimension],
               rows->dimension * sizeof *out);
    return IBID_OK;
}

static ibid_code rows_select(const struct row_source *self, int64_t collection_id,
                             const struct filter *filter, struct arena *arena, int64_t **ret_ids,
                             size_t *ret_count, ibid_error *err)
{
    *ret_ids = NULL;
    *ret_count = 0;
    return IBID_OK;
}

static void rows_start(struct eval_rows *rows, const struct eval_collection *collection, struct arena *arena)
{
    *rows = (struct eval_rows){
        .source = {rows_latest_seq, rows_changes, rows_vectors, rows_select},
        .collection = collection,
        .languages = ARENA_ARRAY(arena, const char *, collection->document_count),
        .attributes = ARENA_ARRAY(arena, struct attribute, collection->document_count),
    };
    const uint32_t key = (uint32_t)(filter_key_find(STR("language")) - filter_keys);
    for (size_t i = 0; i < collection->document_count; i++) {
        rows->languages[i] = language_detect(collection->documents[i].text);
        rows->attributes[i] =
            (struct attribute){key, {.type = VALUE_STRING, .string = str_from(rows->languages[i])}};
    }
}

/* ---- work shared out among threads ---- */

struct work {
    const struct eval_options *options;
    const char *stage;
    size_t total, batch;
    /* Does items first..end; `slot` numbers the thread. */
    ibid_code (*run)(void *context, unsigned slot, size_t first, size_t end, ibid_error *err);
    void *context;
    unsigned threads;

    pthread_mutex_t lock;
    size_t next, done;
    ibid_code code; /* of the first that failed */
    ibid_error error;
};

struct worker {
    struct work *work;
    unsigned slot;
};

/* The next batch; false when there is none or the work is to stop. */
static bool work_take(struct work *work, size_t *ret_first, size_t *ret_end)
{
    pthread_mutex_lock(&work->lock);
    if (work->code == IBID_OK && work->options->cancel && atomic_load(work->options->cancel))
        work->code = fail(&work->error, IBID_ECANCELED, "the evaluation was canceled");
    bool more = work->code == IBID_OK && work->next < work->total;
    *ret_first = work->next;
    if (more)
        work->next = *ret_end =
            work->next + work->batch < work->total ? work->next + work->batch : work->total;
    pthread_mutex_unlock(&work->lock);
    return more;
}

static void work_finish(struct work *work, size_t count, ibid_code code, const ibid_error *error)
{
    pthread_mutex_lock(&work->lock);
    work->done += count;
    if (code != IBID_OK && work->code == IBID_OK) {
        work->code = code;
        work->error = *error;
    }
    if (code == IBID_OK && work->options->progress)
        work->options->progress(work->stage, work->done, work->total, work->options->progress_context);
    pthread_mutex_unlock(&work->lock);
}

static void *worker_run(void *argument)
{
    struct worker *worker = argument;
    size_t first, end;
    while (work_take(worker->work, &first, &end)) {
        ibid_error error = {0};
        ibid_code code = worker->work->run(worker->work->context, worker->slot, first, end, &error);
        work_finish(worker->work, end - first, code, &error);
    }
    return NULL;
}

static ibid_code work_run(struct work *work, ibid_error *err)
{
    pthread_t *threads = xcalloc(work->threads, sizeof *threads);
    struct worker *workers = xcalloc(work->threads, sizeof *workers);
    pthread_mutex_init(&work->lock, NULL);
    for (unsigned i = 0; i < work->threads; i++) {
        workers[i] = (struct worker){work, i};
        thread_start(&threads[i], "ibid-eval", worker_run, &workers[i]);
    }
    for (unsigned i = 0; i < work->threads; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&work->lock);
    free(threads);
    free(workers);
    if (work->code != IBID_OK && err)
        *err = work->error;
    return work->code;
}

/* ---- embedding ---- */

struct embedding {
    struct embedder *embedder;
    enum embed_purpose purpose;
    const struct str *texts;
    float *vectors;
};

static ibid_code embed_some(void *context, unsigned slot, size_t first, size_t end, ibid_error *err)
{
    const struct embedding *embedding = context;
    return embedder_embed(embedding->embedder, embedding->purpose, &embedding->texts[first], end - first,
                          &embedding->vectors[first * embedding->embedder->info.dimension], err);
}

static ibid_code embed_all(const struct eval_options *options, enum embed_purpose purpose,
                           const struct str *texts, size_t count, struct arena *arena, float **ret,
                           ibid_error *err)
{
    struct embedder *embedder = options->embedder;
    *ret = arena_alloc_array(arena, count, embedder->info.dimension * sizeof(float));
    struct embedding embedding = {embedder, purpose, texts, *ret};
    unsigned threads = embedder->info.concurrency ? embedder->info.concurrency : 1;
    struct work work = {.options = options,
                        .stage = "embedding",
                        .total = count,
                        .batch = embedder->info.batch_size ? embedder->info.batch_size : 1,
                        .run = embed_some,
                        .context = &embedding,
                        .threads =
                            options->threads && options->threads < threads ? options->threads : threads};
    return work_run(&work, err);
}

/* ---- metrics ---- */

static int judged_score(const struct judged_query *query, size_t document)
{
    for (size_t i = 0; i < query->judgement_count; i++)
        if (query->judgements[i].document == document)
            return query->judgements[i].score;
    return 0;
}

static int compare_scores_down(const void *a, const void *b)
{
    return *(const int *)b - *(const int *)a;
}

static double discount(size_t place)
{
    return 1 / log2((double)place + 2);
}

/* Sum of gains of the best possible order, and how many documents are relevant. */
static double ideal_gain(const struct judged_query *query, size_t *ret_relevant)
{
    int *scores = xcalloc(query->judgement_count + 1, sizeof *scores);
    size_t relevant = 0;
    double gain = 0;
    for (size_t i = 0; i < query->judgement_count; i++)
        if (query->judgements[i].score > 0)
            scores[relevant++] = query->judgements[i].score;
    qsort(scores, relevant, sizeof *scores, compare_scores_down);
    for (size_t i = 0; i < relevant && i < WINDOW; i++)
        gain += scores[i] * discount(i);
    free(scores);
    *ret_relevant = relevant;
    return gain;
}

/* `ranking`: documents, best first, at most DEPTH. */
static struct eval_scores measure(const struct judged_query *query, const size_t *ranking, size_t count)
{
    struct eval_scores scores = {0};
    size_t relevant, found = 0;
    double ideal = ideal_gain(query, &relevant), gain = 0;
    for (size_t i = 0; i < count && i < DEPTH; i++) {
        int score = judged_score(query, ranking[i]);
        if (i < WINDOW)
            gain += score * discount(i);
        if (score > 0 && i < WINDOW && scores.mrr10 == 0)
            scores.mrr10 = 1 / (double)(i + 1);
        found += score > 0;
    }
    scores.ndcg10 = gain / ideal;
    scores.recall100 = (double)found / (double)relevant;
    return scores;
}

/* ---- searching ---- */

struct searching {
    const struct eval_options *options;
    const struct eval_collection *collection;
    const struct eval_rows *rows;
    const float *query_vectors; /* NULL: none */
    struct selection *selection;
    struct language_list languages;
    struct analyzer **analyzers;                   /* one a thread */
    struct eval_scores *keyword, *vector, *hybrid; /* one a query */
};

static size_t ranking_of(const struct retrieval *retrieval, size_t *ranking)
{
    size_t count = retrieval->count < DEPTH ? retrieval->count : DEPTH;
    for (size_t i = 0; i < count; i++)
        ranking[i] = (size_t)(retrieval->rows[i].row_id - 1);
    return count;
}

/* One side alone. */
static ibid_code search_side(const struct searching *self, struct retrieval_query query, struct arena *arena,
                             size_t ranking[DEPTH], size_t *ret_count, ibid_error *err)
{
    struct retrieval retrieval;
    TRY(retrieval_run(self->selection, &query, 1, DEPTH, self->options->settings->k1,
                      self->options->settings->b, arena, &retrieval, err));
    *ret_count = ranking_of(&retrieval, ranking);
    return IBID_OK;
}

/* Both, as served: without dates, trust leaves the order alone. */
static ibid_code search_both(const struct searching *self, struct retrieval_query query,
                             struct analyzer *analyzer, struct arena *arena, size_t ranking[DEPTH],
                             size_t *ret_count, ibid_error *err)
{
    struct retrieval retrieval;
    TRY(retrieval_run(self->selection, &query, 1, DEPTH, self->options->settings->k1,
                      self->options->settings->b, arena, &retrieval, err));
    const struct scorer scorer = {.retrieval = &retrieval,
                                  .queries = &query,
                                  .analyzer = analyzer,
                                  .embedder = self->options->embedder,
                                  .weights = self->options->settings->weights,
                                  .half_life_us = self->options->settings->recency_half_life_us};
    struct scored_row *scored = ARENA_ARRAY(arena, struct scored_row, retrieval.count);
    for (size_t i = 0; i < retrieval.count; i++) {
        size_t document = (size_t)(retrieval.rows[i].row_id - 1);
        const struct scorer_text text = {.text = self->collection->documents[document].text,
                                         .language = str_from(self->rows->languages[document])};
        scorer_score(&scorer, &retrieval.rows[i], &text, arena, &scored[i]);
    }
    scorer_finish(&scorer, scored, retrieval.count);
    *ret_count = retrieval.count < DEPTH ? retrieval.count : DEPTH;
    for (size_t i = 0; i < *ret_count; i++)
        ranking[i] = (size_t)(scored[i].found->row_id - 1);
    return IBID_OK;
}

static ibid_code search_query(struct searching *self, struct analyzer *analyzer, size_t place,
                              ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    const struct judged_query *judged = &self->collection->queries[place];
    size_t ranking[DEPTH], count, relevant;
    struct query_terms terms;
    ideal_gain(judged, &relevant);
    if (relevant == 0)
        return IBID_OK;
    query_terms_make(analyzer, judged->text, self->languages.languages, self->languages.count, &arena,
                     &terms);
    const struct retrieval_query by_word = {.terms = &terms, .by_word = true, .language_factor = 1};
    TRY(search_side(self, by_word, &arena, ranking, &count, err));
    self->keyword[place] = measure(judged, ranking, count);
    if (!self->query_vectors)
        return IBID_OK;

    struct retrieval_query query = by_word;
    query.vector = &self->query_vectors[place * self->options->embedder->info.dimension];
    query.language_factor = language_factor(self->options->embedder, str_from(language_detect(judged->text)));
    TRY(search_side(self, (struct retrieval_query){.vector = query.vector, .language_factor = 1}, &arena,
                    ranking, &count, err));
    self->vector[place] = measure(judged, ranking, count);
    TRY(search_both(self, query, analyzer, &arena, ranking, &count, err));
    self->hybrid[place] = measure(judged, ranking, count);
    return IBID_OK;
}

static ibid_code search_some(void *context, unsigned slot, size_t first, size_t end, ibid_error *err)
{
    struct searching *self = context;
    for (size_t i = first; i < end; i++)
        TRY(search_query(self, self->analyzers[slot], i, err));
    return IBID_OK;
}

static ibid_code search_all(struct searching *self, ibid_error *err)
{
    unsigned threads = self->options->threads ? self->options->threads : thread_core_count();
    struct work work = {.options = self->options,
                        .stage = "searching",
                        .total = self->collection->query_count,
                        .batch = 1,
                        .run = search_some,
                        .context = self,
                        .threads = threads};
    self->analyzers = xcalloc(threads, sizeof(struct analyzer *));
    for (unsigned i = 0; i < threads; i++)
        self->analyzers[i] = analyzer_new();
    ibid_code code = work_run(&work, err);
    for (unsigned i = 0; i < threads; i++)
        analyzer_free(self->analyzers[i]);
    free(self->analyzers);
    return code;
}

/* ---- the whole ---- */

static struct eval_scores mean(const struct eval_collection *collection, const struct eval_scores *scores,
                               size_t *ret_measured)
{
    struct eval_scores sum = {0};
    size_t measured = 0, relevant;
    for (size_t i = 0; i < collection->query_count; i++) {
        ideal_gain(&collection->queries[i], &relevant);
        if (relevant == 0)
            continue;
        measured++;
        sum.ndcg10 += scores[i].ndcg10;
        sum.recall100 += scores[i].recall100;
        sum.mrr10 += scores[i].mrr10;
    }
    double n = measured ? (double)measured : 1;
    *ret_measured = measured;
    return (struct eval_scores){sum.ndcg10 / n, sum.recall100 / n, sum.mrr10 / n};
}

static ibid_code search_index(struct vector_store *store, struct searching *searching, ibid_error *err)
{
    const struct vector_space space = {COLLECTION, (uint32_t)searching->rows->dimension, "eval"};
    TRY(vector_store_attach(store, &space, err));
    TRY(vector_store_follow(store, COLLECTION, searching->options->cancel, err));
    TRY(language_list_read(store, COLLECTION, &everything, &searching->languages, err));
    TRY(vector_store_select(store, COLLECTION, &everything, NULL, &searching->selection, err));
    ibid_code code = search_all(searching, err);
    selection_free(searching->selection);
    return code;
}

static ibid_code embed_collection(const struct eval_options *options,
                                  const struct eval_collection *collection, struct arena *arena,
                                  struct eval_rows *rows, float **ret_query_vectors, ibid_error *err)
{
    struct str *texts = ARENA_ARRAY(arena, struct str, collection->document_count);
    for (size_t i = 0; i < collection->document_count; i++)
        texts[i] = collection->documents[i].text;
    TRY(embed_all(options, EMBED_PASSAGE, texts, collection->document_count, arena, &rows->vectors, err));
    rows->dimension = options->embedder->info.dimension;
    texts = ARENA_ARRAY(arena, struct str, collection->query_count);
    for (size_t i = 0; i < collection->query_count; i++)
        texts[i] = collection->queries[i].text;
    return embed_all(options, EMBED_QUERY, texts, collection->query_count, arena, ret_query_vectors, err);
}

ibid_code eval_run(const char *folder, const struct eval_options *options, struct eval_report *ret,
                   ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct eval_collection collection;
    struct eval_rows rows;
    float *query_vectors = NULL;
    TRY(eval_collection_read(folder, &arena, &collection, err));
    rows_start(&rows, &collection, &arena);
    int64_t start = clock_monotonic_us();
    if (options->embedder)
        TRY(embed_collection(options, &collection, &arena, &rows, &query_vectors, err));
    int64_t embedded = clock_monotonic_us();

    struct searching searching = {
        .options = options,
        .collection = &collection,
        .rows = &rows,
        .query_vectors = query_vectors,
        .keyword = ARENA_ARRAY(&arena, struct eval_scores, collection.query_count),
        .vector = ARENA_ARRAY(&arena, struct eval_scores, collection.query_count),
        .hybrid = ARENA_ARRAY(&arena, struct eval_scores, collection.query_count),
    };
    const struct vector_store_context context = {.rows = &rows.source};
    struct vector_store *store;
    TRY(vector_store_open(vector_store_find("memory"), &context, NULL, &store, err));
    ibid_code code = search_index(store, &searching, err);
    vector_store_close(store);
    if (code != IBID_OK)
        return code;

    *ret = (struct eval_report){.documents = collection.document_count, .has_vector = query_vectors != NULL};
    ret->keyword = mean(&collection, searching.keyword, &ret->queries);
    ret->vector = mean(&collection, searching.vector, &ret->queries);
    ret->hybrid = mean(&collection, searching.hybrid, &ret->queries);
    ret->skipped_queries = collection.query_count - ret->queries;
    ret->embed_seconds = (double)(embedded - start) / 1e6;
    ret->search_seconds = (double)(clock_monotonic_us() - embedded) / 1e6;
    return IBID_OK;
}
