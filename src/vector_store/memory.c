/* The exact member: everything in memory, every search a scan of all rows. It is the oracle that the others
 * are tested against, and good enough for a few thousand rows. Nothing is kept on disk.
 *
 * A version is an ascending array of rows; following makes a new one that shares what did not change, so that
 * selections keep the state they were made from. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "vector_store/bm25.h"
#include "vector_store/filter_match.h"
#include "vector_store/members.h"
#include "vector_store/row_parts.h"
#include "vector_store/similarity.h"
#include "vector_store/top.h"
#include "vector_store/value_counts.h"

enum { FOLLOW_BATCH = 1024, FINDING_LIMIT = 100 };

/* One allocation with everything it points to. */
struct memory_row {
    atomic_uint references;
    int64_t row_id, seq;
    enum document_state state;
    int64_t *workspaces;
    size_t workspace_count;
    float *vector; /* NULL: none */
    struct attribute *attributes;
    size_t attribute_count;
    struct row_terms terms;
};

struct version {
    atomic_uint references;
    struct memory_row **rows; /* ascending in row_id */
    size_t count;
};

struct memory_collection {
    struct memory_collection *next;
    int64_t id;
    uint32_t dimension;
    char *fingerprint;
    int64_t watermark;
    struct version *version;
};

struct memory_store {
    struct vector_store base;
    const struct row_source *source;
    pthread_mutex_t lock; /* the list and what its items point to */
    struct memory_collection *collections;
};

struct memory_selection {
    struct selection base;
    struct memory_store *store;
    int64_t collection_id;
    struct version *version;
    bool *readable; /* by the scope */
    bool *selected; /* and passing the filter */
};

/* ---- rows and versions ---- */

struct packer {
    char *position;
};

static void *pack(struct packer *packer, const void *data, size_t size)
{
    void *copy = packer->position;
    if (size)
        memcpy(copy, data, size);
    packer->position += (size + 15) & ~(size_t)15;
    return copy;
}

static size_t packed_size(size_t size)
{
    return (size + 15) & ~(size_t)15;
}

static size_t row_size(const struct row *row, const struct row_terms *terms,
                       const struct attribute *attributes, size_t attribute_count, uint32_t dimension)
{
    size_t size = packed_size(sizeof(struct memory_row)) +
                  packed_size(row->workspace_count * sizeof(int64_t)) +
                  packed_size(attribute_count * sizeof *attributes) +
                  packed_size(terms->count * sizeof *terms->terms) + packed_size(dimension * sizeof(float));
    for (size_t i = 0; i < attribute_count; i++)
        if (attributes[i].value.type == VALUE_STRING)
            size += packed_size(attributes[i].value.string.size);
    for (size_t i = 0; i < terms->count; i++)
        size += packed_size(terms->terms[i].text.size);
    return size;
}

static struct memory_row *row_new(const struct row *row, uint32_t dimension, struct analyzer *analyzer)
{
    AUTO(arena_release) struct arena arena = ARENA_INIT;
    const struct row_terms terms = row_terms(analyzer, row, &arena);
    struct attribute *attributes;
    const size_t attribute_count = row_attributes(row, &arena, &attributes);
    const size_t vector_size = row->vector ? dimension * sizeof(float) : 0;

    struct memory_row *made = xmalloc(row_size(row, &terms, attributes, attribute_count, dimension));
    struct packer packer = {(char *)made + packed_size(sizeof *made)};
    *made = (struct memory_row){.row_id = row->row_id,
                                .seq = row->seq,
                                .state = row->state,
                                .terms = terms,
                                .workspace_count = row->workspace_count,
                                .attribute_count = attribute_count};
    atomic_init(&made->references, 1);
    made->workspaces = pack(&packer, row->workspaces, row->workspace_count * sizeof(int64_t));
    made->vector = vector_size ? pack(&packer, row->vector, vector_size) : NULL;
    made->attributes = pack(&packer, attributes, attribute_count * sizeof *attributes);
    for (size_t i = 0; i < attribute_count; i++) {
        struct value *value = &made->attributes[i].value;
        if (value->type == VALUE_STRING)
            value->string.data = pack(&packer, value->string.data, value->string.size);
    }
    made->terms.terms = pack(&packer, terms.terms, terms.count * sizeof *terms.terms);
    for (size_t i = 0; i < terms.count; i++) {
        struct str *text = &made->terms.terms[i].text;
        text->data = pack(&packer, text->data, text->size);
    }
    return made;
}

static void row_unref(struct memory_row *row)
{
    if (atomic_fetch_sub(&row->references, 1) == 1)
        free(row);
}

static struct version *version_new(size_t capacity)
{
    struct version *version = xcalloc(1, sizeof *version);
    atomic_init(&version->references, 1);
    version->rows = xcalloc(capacity, sizeof(struct memory_row *));
    return version;
}

static void version_unref(struct version *version)
{
    if (atomic_fetch_sub(&version->references, 1) != 1)
        return;
    for (size_t i = 0; i < version->count; i++)
        row_unref(version->rows[i]);
    free(version->rows);
    free(version);
}

/* Position of the first row with an id >= row_id. */
static size_t version_lower_bound(const struct version *version, int64_t row_id)
{
    size_t low = 0, high = version->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (version->rows[middle]->row_id < row_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool version_find(const struct version *version, int64_t row_id, size_t *ret)
{
    const size_t at = version_lower_bound(version, row_id);
    if (at == version->count || version->rows[at]->row_id != row_id)
        return false;
    *ret = at;
    return true;
}

/* ---- collections ---- */

static struct memory_store *memory_of(struct vector_store *store)
{
    return (struct memory_store *)store;
}

/* Under the lock. */
static struct memory_collection *find_collection(struct memory_store *self, int64_t id)
{
    for (struct memory_collection *each = self->collections; each; each = each->next)
        if (each->id == id)
            return each;
    return NULL;
}

static ibid_code no_collection(int64_t id, ibid_error *err)
{
    return fail(err, IBID_ENOTFOUND, "the vector store does not follow collection %lld", (long long)id);
}

/* What a call needs of a collection, with a reference to its version. */
struct view {
    struct version *version;
    uint32_t dimension;
    int64_t watermark;
};

static ibid_code view_open(struct memory_store *self, int64_t id, struct view *ret, ibid_error *err)
{
    pthread_mutex_lock(&self->lock);
    const struct memory_collection *collection = find_collection(self, id);
    if (collection) {
        *ret = (struct view){collection->version, collection->dimension, collection->watermark};
        atomic_fetch_add(&ret->version->references, 1);
    }
    pthread_mutex_unlock(&self->lock);
    return collection ? IBID_OK : no_collection(id, err);
}

/* Puts a version in place of the present one; false when the collection is gone. */
static bool publish(struct memory_store *self, int64_t id, struct version *take_version, int64_t watermark)
{
    struct version *old = take_version;
    pthread_mutex_lock(&self->lock);
    struct memory_collection *collection = find_collection(self, id);
    if (collection) {
        old = collection->version;
        collection->version = take_version;
        collection->watermark = watermark;
    }
    pthread_mutex_unlock(&self->lock);
    version_unref(old);
    return collection != NULL;
}

static ibid_code memory_open(const struct vector_store_context *context, const void *options,
                             struct vector_store **ret, ibid_error *err)
{
    struct memory_store *self = xcalloc(1, sizeof *self);
    self->base.ops = &vector_store_memory;
    self->source = context->rows;
    pthread_mutex_init(&self->lock, NULL);
    *ret = &self->base;
    return IBID_OK;
}

static void collection_free(struct memory_collection *collection)
{
    version_unref(collection->version);
    free(collection->fingerprint);
    free(collection);
}

static void memory_close(struct vector_store *store)
{
    struct memory_store *self = memory_of(store);
    while (self->collections) {
        struct memory_collection *next = self->collections->next;
        collection_free(self->collections);
        self->collections = next;
    }
    pthread_mutex_destroy(&self->lock);
    free(self);
}

static ibid_code memory_attach(struct vector_store *store, const struct vector_space *space, ibid_error *err)
{
    struct memory_store *self = memory_of(store);
    pthread_mutex_lock(&self->lock);
    struct memory_collection *collection = find_collection(self, space->collection_id);
    if (!collection) {
        collection = xcalloc(1, sizeof *collection);
        collection->id = space->collection_id;
        collection->version = version_new(0);
        collection->next = self->collections;
        self->collections = collection;
    } else if (collection->dimension != space->dimension ||
               strcmp(collection->fingerprint, space->fingerprint) != 0) {
        version_unref(collection->version);
        collection->version = version_new(0);
        collection->watermark = 0;
    }
    collection->dimension = space->dimension;
    free(collection->fingerprint);
    collection->fingerprint = xstrdup(space->fingerprint);
    pthread_mutex_unlock(&self->lock);
    return IBID_OK;
}

static ibid_code memory_drop(struct vector_store *store, int64_t collection_id, ibid_error *err)
{
    struct memory_store *self = memory_of(store);
    pthread_mutex_lock(&self->lock);
    struct memory_collection **link = &self->collections;
    while (*link && (*link)->id != collection_id)
        link = &(*link)->next;
    struct memory_collection *gone = *link;
    if (gone)
        *link = gone->next;
    pthread_mutex_unlock(&self->lock);
    if (gone)
        collection_free(gone);
    return IBID_OK;
}

/* ---- following ---- */

static int compare_changes(const void *a, const void *b)
{
    const struct row *first = a, *second = b;
    if (first->row_id != second->row_id)
        return first->row_id < second->row_id ? -1 : 1;
    return (first->seq > second->seq) - (first->seq < second->seq);
}

/* A new version with the changes merged in. Sorts `changes`. */
static struct version *version_apply(const struct version *old, struct row *changes, size_t count,
                                     uint32_t dimension, struct analyzer *analyzer)
{
    qsort(changes, count, sizeof *changes, compare_changes);
    struct version *made = version_new(old->count + count);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && changes[i + 1].row_id == changes[i].row_id)
            continue; /* a later change of the same row follows */
        for (; at < old->count && old->rows[at]->row_id < changes[i].row_id; at++)
            made->rows[made->count++] = old->rows[at];
        if (at < old->count && old->rows[at]->row_id == changes[i].row_id)
            at++;
        if (!changes[i].removed)
            made->rows[made->count++] = row_new(&changes[i], dimension, analyzer);
    }
    for (; at < old->count; at++)
        made->rows[made->count++] = old->rows[at];
    return made;
}

/* Rows that both versions hold get their second reference. Both are ascending. */
static void share_rows(const struct version *old, const struct version *made)
{
    size_t at = 0;
    for (size_t i = 0; i < made->count; i++) {
        while (at < old->count && old->rows[at]->row_id < made->rows[i]->row_id)
            at++;
        if (at < old->count && old->rows[at] == made->rows[i])
            atomic_fetch_add(&made->rows[i]->references, 1);
    }
}

/* Reads and applies one batch; *ret_more: there may be another. */
static ibid_code follow_batch(struct memory_store *self, int64_t collection_id, struct analyzer *analyzer,
                              bool *ret_more, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct view view;
    TRY(view_open(self, collection_id, &view, err));
    int64_t latest = 0;
    struct row *changes = NULL;
    size_t count = 0;
    ibid_code code = self->source->latest_seq(self->source, collection_id, &latest, err);
    if (code == IBID_OK)
        code = self->source->changes(self->source, collection_id, view.watermark, FOLLOW_BATCH, &arena,
                                     &changes, &count, err);
    if (code != IBID_OK) {
        version_unref(view.version);
        return code;
    }
    *ret_more = count >= FOLLOW_BATCH;
    int64_t watermark = *ret_more || latest < view.watermark ? view.watermark : latest;
    if (count && changes[count - 1].seq > watermark)
        watermark = changes[count - 1].seq;
    struct version *made = version_apply(view.version, changes, count, view.dimension, analyzer);
    share_rows(view.version, made);
    version_unref(view.version);
    if (!publish(self, collection_id, made, watermark))
        return no_collection(collection_id, err);
    return IBID_OK;
}

static ibid_code memory_follow(struct vector_store *store, int64_t collection_id, const _Atomic bool *cancel,
                               ibid_error *err)
{
    AUTO(analyzer_auto_free) struct analyzer *analyzer = analyzer_new();
    bool more = true;
    while (more) {
        if (cancel && atomic_load(cancel))
            return fail(err, IBID_ECANCELED, "following the changes was canceled");
        TRY(follow_batch(memory_of(store), collection_id, analyzer, &more, err));
    }
    return IBID_OK;
}

static ibid_code memory_compact(struct vector_store *store, int64_t collection_id, const _Atomic bool *cancel,
                                ibid_error *err)
{
    struct view view;
    TRY(view_open(memory_of(store), collection_id, &view, err)); /* nothing is on disk */
    version_unref(view.version);
    return IBID_OK;
}

/* ---- selecting ---- */

static struct memory_selection *selection_of(struct selection *selection)
{
    return (struct memory_selection *)selection;
}

static ibid_code evaluate(struct memory_selection *self, const struct filter *filter, struct arena *arena,
                          bool **ret, ibid_error *err);

static ibid_code evaluate_leaf(struct memory_selection *self, const struct filter *leaf, struct arena *arena,
                               bool *passes, ibid_error *err)
{
    const struct version *version = self->version;
    const struct filter_key *key = filter_key_find(leaf->key);
    if (key) {
        for (size_t i = 0; i < version->count; i++)
            passes[i] = filter_leaf_matches(leaf, key, version->rows[i]->attributes,
                                            version->rows[i]->attribute_count);
        return IBID_OK;
    }
    int64_t *ids;
    size_t count;
    const struct row_source *source = self->store->source;
    TRY(source->select(source, self->collection_id, leaf, arena, &ids, &count, err));
    for (size_t i = 0; i < count; i++) {
        size_t at;
        if (version_find(version, ids[i], &at))
            passes[at] = true;
    }
    return IBID_OK;
}

static ibid_code evaluate_children(struct memory_selection *self, const struct filter *filter,
                                   struct arena *arena, bool *passes, ibid_error *err)
{
    const size_t count = self->version->count;
    for (size_t child = 0; child < filter->child_count; child++) {
        bool *other;
        TRY(evaluate(self, filter->children[child], arena, &other, err));
        for (size_t i = 0; i < count; i++) {
            if (filter->op == FILTER_NOT)
                passes[i] = !other[i];
            else if (child == 0)
                passes[i] = other[i];
            else
                passes[i] = filter->op == FILTER_AND ? passes[i] && other[i] : passes[i] || other[i];
        }
    }
    return IBID_OK;
}

static ibid_code evaluate(struct memory_selection *self, const struct filter *filter, struct arena *arena,
                          bool **ret, ibid_error *err)
{
    bool *passes = ARENA_ARRAY(arena, bool, self->version->count);
    if (filter->op == FILTER_AND || filter->op == FILTER_OR || filter->op == FILTER_NOT)
        TRY(evaluate_children(self, filter, arena, passes, err));
    else
        TRY(evaluate_leaf(self, filter, arena, passes, err));
    *ret = passes;
    return IBID_OK;
}

static void memory_selection_free(struct selection *selection)
{
    struct memory_selection *self = selection_of(selection);
    version_unref(self->version);
    free(self->readable);
    free(self->selected);
    free(self);
}

static ibid_code memory_select(struct vector_store *store, int64_t collection_id, const struct scope *scope,
                               const struct filter *filter, struct selection **ret, ibid_error *err)
{
    struct view view;
    TRY(view_open(memory_of(store), collection_id, &view, err));
    const size_t count = view.version->count;
    struct memory_selection *self = xcalloc(1, sizeof *self);
    *self = (struct memory_selection){
        .base = {.ops = &vector_store_memory, .dimension = view.dimension},
        .store = memory_of(store),
        .collection_id = collection_id,
        .version = view.version,
        .readable = xcalloc(count, sizeof(bool)),
        .selected = xcalloc(count, sizeof(bool)),
    };
    AUTO_ARENA arena = ARENA_INIT;
    bool *passes = NULL;
    if (filter) {
        const ibid_code code = evaluate(self, filter, &arena, &passes, err);
        if (code != IBID_OK) {
            memory_selection_free(&self->base);
            return code;
        }
    }
    for (size_t i = 0; i < count; i++) {
        const struct memory_row *row = view.version->rows[i];
        self->readable[i] = scope_reads(scope, row->state, row->workspaces, row->workspace_count);
        self->selected[i] = self->readable[i] && (!passes || passes[i]);
        self->base.count += self->selected[i];
    }
    *ret = &self->base;
    return IBID_OK;
}

/* ---- searching ---- */

static ibid_code memory_nearest(struct selection *selection, const float *vector, size_t k,
                                struct candidate *out, size_t *ret_count, ibid_error *err)
{
    const struct memory_selection *self = selection_of(selection);
    struct top top;
    top_start(&top, k);
    for (size_t i = 0; i < self->version->count; i++) {
        const struct memory_row *row = self->version->rows[i];
        if (self->selected[i] && row->vector)
            top_offer(&top, row->row_id, similarity_f32(vector, row->vector, selection->dimension));
    }
    *ret_count = top_finish(&top);
    for (size_t i = 0; i < *ret_count; i++)
        out[i] = (struct candidate){top.items[i].row_id, top.items[i].score, NAN};
    top_release(&top);
    return IBID_OK;
}

static unsigned term_frequency(const struct memory_row *row, struct str term)
{
    size_t low = 0, high = row->terms.count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int order = str_compare(row->terms.terms[middle].text, term);
        if (order == 0)
            return row->terms.terms[middle].tf;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* A query with the statistics of what the scope reads. */
struct weighted_query {
    const struct term_query *query;
    float *weights; /* with idf; 0 for a repeated term */
    struct bm25_norm norm;
};

static bool is_repeated(const struct term_query *query, size_t term)
{
    for (size_t i = 0; i < term; i++)
        if (str_equal(query->terms[i], query->terms[term]))
            return true;
    return false;
}

static struct weighted_query weigh(const struct memory_selection *self, const struct term_query *query)
{
    uint64_t rows = 0, length = 0;
    for (size_t i = 0; i < self->version->count; i++)
        if (self->readable[i]) {
            rows++;
            length += self->version->rows[i]->terms.length;
        }
    struct weighted_query result = {query, xcalloc(query->count, sizeof(float)),
                                    bm25_norm(query->k1, query->b, length, rows)};
    for (size_t term = 0; term < query->count; term++) {
        if (query->idf)
            query->idf[term] = 0;
        if (is_repeated(query, term))
            continue;
        uint64_t df = 0;
        for (size_t i = 0; i < self->version->count; i++)
            df += self->readable[i] && term_frequency(self->version->rows[i], query->terms[term]) > 0;
        const float idf = bm25_idf(rows, df);
        if (query->idf)
            query->idf[term] = idf;
        result.weights[term] = idf * (query->weights ? query->weights[term] : 1);
    }
    return result;
}

static float score_row(const struct weighted_query *weighted, const struct memory_row *row, bool *ret_any)
{
    float score = 0;
    *ret_any = false;
    for (size_t i = 0; i < weighted->query->count; i++) {
        const unsigned tf = weighted->weights[i] > 0 ? term_frequency(row, weighted->query->terms[i]) : 0;
        if (tf) {
            score += weighted->weights[i] * bm25_saturation(weighted->norm, tf, row->terms.length);
            *ret_any = true;
        }
    }
    return score;
}

static ibid_code memory_match(struct selection *selection, const struct term_query *query, size_t k,
                              struct candidate *out, size_t *ret_count, ibid_error *err)
{
    const struct memory_selection *self = selection_of(selection);
    const struct weighted_query weighted = weigh(self, query);
    struct top top;
    top_start(&top, k);
    for (size_t i = 0; i < self->version->count; i++) {
        bool any;
        const struct memory_row *row = self->version->rows[i];
        const float score = self->selected[i] ? score_row(&weighted, row, &any) : 0;
        if (self->selected[i] && any)
            top_offer(&top, row->row_id, score);
    }
    *ret_count = top_finish(&top);
    for (size_t i = 0; i < *ret_count; i++)
        out[i] = (struct candidate){top.items[i].row_id, NAN, top.items[i].score};
    top_release(&top);
    free(weighted.weights);
    return IBID_OK;
}

static ibid_code memory_score(struct selection *selection, const float *vector,
                              const struct term_query *query, struct candidate *candidates, size_t count,
                              ibid_error *err)
{
    const struct memory_selection *self = selection_of(selection);
    struct weighted_query weighted = {0};
    if (query)
        weighted = weigh(self, query);
    for (size_t i = 0; i < count; i++) {
        size_t at;
        candidates[i].similarity = candidates[i].bm25 = NAN;
        if (!version_find(self->version, candidates[i].row_id, &at) || !self->selected[at])
            continue;
        const struct memory_row *row = self->version->rows[at];
        bool any;
        if (vector && row->vector)
            candidates[i].similarity = similarity_f32(vector, row->vector, selection->dimension);
        if (query)
            candidates[i].bm25 = score_row(&weighted, row, &any);
    }
    free(weighted.weights);
    return IBID_OK;
}

static ibid_code memory_list(struct selection *selection, int64_t after_row, size_t limit, int64_t *out,
                             size_t *ret_count, ibid_error *err)
{
    const struct memory_selection *self = selection_of(selection);
    size_t count = 0;
    size_t at =
        after_row == INT64_MAX ? self->version->count : version_lower_bound(self->version, after_row + 1);
    for (; at < self->version->count && count < limit; at++)
        if (self->selected[at])
            out[count++] = self->version->rows[at]->row_id;
    *ret_count = count;
    return IBID_OK;
}

/* Whether the row has the same value of the key before `at`. */
static bool is_repeated_value(const struct memory_row *row, size_t at)
{
    const struct attribute *attribute = &row->attributes[at];
    for (size_t i = 0; i < at; i++) {
        const struct attribute *other = &row->attributes[i];
        if (other->key == attribute->key &&
            (other->value.type == VALUE_STRING ? str_equal(other->value.string, attribute->value.string)
                                               : other->value.number == attribute->value.number))
            return true;
    }
    return false;
}

static ibid_code memory_count_values(struct selection *selection, uint32_t key, size_t limit,
                                     struct arena *arena, struct value_count **ret, size_t *ret_count,
                                     ibid_error *err)
{
    const struct memory_selection *self = selection_of(selection);
    struct value_counts counts = {.type = filter_keys[key].type};
    for (size_t i = 0; i < self->version->count; i++) {
        const struct memory_row *row = self->version->rows[i];
        for (size_t at = 0; self->selected[i] && at < row->attribute_count; at++)
            if (row->attributes[at].key == key && !is_repeated_value(row, at))
                value_counts_add(&counts, &row->attributes[at].value, 1);
    }
    const ibid_code code = value_counts_finish(&counts, limit, arena, ret, ret_count, err);
    value_counts_release(&counts);
    return code;
}

/* ---- looking after ---- */

static ibid_code memory_stats(struct vector_store *store, int64_t collection_id,
                              struct vector_store_stats *ret, ibid_error *err)
{
    struct view view;
    TRY(view_open(memory_of(store), collection_id, &view, err));
    struct vector_store_stats stats = {
        .watermark = view.watermark, .durable = view.watermark, .rows = view.version->count};
    for (size_t i = 0; i < view.version->count; i++) {
        const struct memory_row *row = view.version->rows[i];
        stats.vectors += row->vector != NULL;
        stats.bytes_in_memory += sizeof *row + (row->vector ? view.dimension * sizeof(float) : 0) +
                                 row->terms.count * sizeof *row->terms.terms;
    }
    version_unref(view.version);
    *ret = stats;
    return IBID_OK;
}

/* Findings up to a limit, beyond which one more would tell nothing new. */
struct findings {
    struct arena *arena;
    const char *place;
    struct vector_store_finding *items;
    size_t count;
};

static void report(struct findings *findings, const char *problem)
{
    if (findings->count < FINDING_LIMIT)
        findings->items[findings->count++] = (struct vector_store_finding){findings->place, problem, false};
}

static ibid_code compare_with_truth(struct memory_store *self, int64_t collection_id, const struct view *view,
                                    struct findings *findings, ibid_error *err)
{
    bool *known = arena_alloc_array(findings->arena, view->version->count, sizeof(bool));
    int64_t after = 0;
    size_t count = FOLLOW_BATCH;
    while (count >= FOLLOW_BATCH) {
        AUTO_ARENA arena = ARENA_INIT;
        struct row *rows;
        TRY(self->source->changes(self->source, collection_id, after, FOLLOW_BATCH, &arena, &rows, &count,
                                  err));
        for (size_t i = 0; i < count; i++) {
            size_t at;
            const bool found = version_find(view->version, rows[i].row_id, &at);
            after = rows[i].seq;
            if (found && (!rows[i].removed || rows[i].seq > view->watermark))
                known[at] = true;
            if (rows[i].seq > view->watermark || rows[i].removed)
                continue;
            if (!found)
                report(findings,
                       arena_printf(findings->arena, "row %lld is missing", (long long)rows[i].row_id));
            else if (view->version->rows[at]->seq != rows[i].seq)
                report(findings,
                       arena_printf(findings->arena, "row %lld is out of date", (long long)rows[i].row_id));
        }
    }
    for (size_t i = 0; i < view->version->count; i++)
        if (!known[i])
            report(findings, arena_printf(findings->arena, "row %lld was removed and is still there",
                                          (long long)view->version->rows[i]->row_id));
    return IBID_OK;
}

static ibid_code memory_verify(struct vector_store *store, int64_t collection_id, bool repair,
                               const struct watch *watch, struct arena *arena,
                               struct vector_store_finding **ret, size_t *ret_count, ibid_error *err)
{
    struct memory_store *self = memory_of(store);
    struct findings findings = {arena, arena_printf(arena, "collection %lld", (long long)collection_id),
                                ARENA_ARRAY(arena, struct vector_store_finding, FINDING_LIMIT), 0};
    struct view view;
    TRY(watch_step(watch, "index rows", 0, 0, err));
    TRY(view_open(self, collection_id, &view, err));
    ibid_code code = compare_with_truth(self, collection_id, &view, &findings, err);
    version_unref(view.version);
    if (code == IBID_OK && repair && findings.count) {
        publish(self, collection_id, version_new(0), 0);
        code = memory_follow(store, collection_id, NULL, err);
        for (size_t i = 0; i < findings.count && code == IBID_OK; i++)
            findings.items[i].repaired = true;
    }
    if (code != IBID_OK)
        return code;
    *ret = findings.items;
    *ret_count = findings.count;
    return IBID_OK;
}

static const struct option memory_options[] = {OPTION_END};

const struct vector_store_ops vector_store_memory = {
    .name = "memory",
    .help = "Exact, all in memory: for tests and for a few thousand chunks.",
    .capabilities =
        VECTOR_STORE_SCOPE_INSIDE | VECTOR_STORE_KEYWORD | VECTOR_STORE_EXACT_SCORES | VECTOR_STORE_FACETS,
    .options = memory_options,
    .options_size = 1,
    .open = memory_open,
    .close = memory_close,
    .attach = memory_attach,
    .follow = memory_follow,
    .compact = memory_compact,
    .drop = memory_drop,
    .select = memory_select,
    .selection_free = memory_selection_free,
    .nearest = memory_nearest,
    .match = memory_match,
    .score = memory_score,
    .list = memory_list,
    .count_values = memory_count_values,
    .stats = memory_stats,
    .verify = memory_verify,
};
