#include "tests/support/truth.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "vector_store/filter_match.h"

struct truth_row {
    struct row row;
    struct arena arena;         /* what the row points to */
    struct attribute *metadata; /* `key` is a position in names */
    const char **names;
    size_t metadata_count;
};

static struct truth *truth_of(const struct row_source *source)
{
    return (struct truth *)source;
}

static size_t lower_bound(const struct truth *truth, int64_t row_id)
{
    size_t low = 0, high = truth->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (truth->rows[middle].row.row_id < row_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct truth_row *find_row(struct truth *truth, int64_t row_id)
{
    const size_t at = lower_bound(truth, row_id);
    return at < truth->count && truth->rows[at].row.row_id == row_id ? &truth->rows[at] : NULL;
}

static void *copy(struct arena *arena, const void *data, size_t size)
{
    return size ? memcpy(arena_alloc(arena, size), data, size) : NULL;
}

static struct value copy_value(struct arena *arena, struct value value)
{
    if (value.type == VALUE_STRING)
        value.string = arena_str(arena, value.string);
    return value;
}

static struct row copy_row(struct arena *arena, const struct row *row, uint32_t dimension)
{
    struct row made = *row;
    made.workspaces = copy(arena, row->workspaces, row->workspace_count * sizeof *row->workspaces);
    made.vector = row->vector ? copy(arena, row->vector, dimension * sizeof(float)) : NULL;
    made.text = arena_str(arena, row->text);
    made.language = arena_str(arena, row->language);
    struct attribute *attributes = copy(arena, row->attributes, row->attribute_count * sizeof *attributes);
    for (size_t i = 0; i < row->attribute_count; i++)
        attributes[i].value = copy_value(arena, attributes[i].value);
    made.attributes = attributes;
    return made;
}

void truth_put(struct truth *truth, const struct row *row, const struct truth_metadata *metadata,
               size_t count)
{
    struct truth_row made = {.metadata_count = count};
    made.row = copy_row(&made.arena, row, truth->dimension);
    made.row.removed = false;
    made.metadata = ARENA_ARRAY(&made.arena, struct attribute, count);
    made.names = ARENA_ARRAY(&made.arena, const char *, count);
    for (size_t i = 0; i < count; i++) {
        made.names[i] = arena_strdup(&made.arena, metadata[i].key);
        made.metadata[i] = (struct attribute){0, copy_value(&made.arena, metadata[i].value)};
    }
    pthread_mutex_lock(&truth->lock);
    made.row.seq = truth->latest = truth->seq;
    struct truth_row *present = find_row(truth, row->row_id);
    if (present) {
        arena_release(&present->arena);
        *present = made;
    } else {
        const size_t at = lower_bound(truth, row->row_id);
        GROW(truth->rows, truth->count, truth->capacity);
        memmove(truth->rows + at + 1, truth->rows + at, (truth->count - at) * sizeof *truth->rows);
        truth->rows[at] = made;
        truth->count++;
    }
    pthread_mutex_unlock(&truth->lock);
}

bool truth_remove(struct truth *truth, int64_t row_id)
{
    pthread_mutex_lock(&truth->lock);
    struct truth_row *present = find_row(truth, row_id);
    const bool found = present && !present->row.removed;
    if (found) {
        present->row.removed = true;
        present->row.seq = truth->latest = truth->seq;
    }
    pthread_mutex_unlock(&truth->lock);
    return found;
}

void truth_commit(struct truth *truth)
{
    pthread_mutex_lock(&truth->lock);
    truth->seq++;
    pthread_mutex_unlock(&truth->lock);
}

void truth_sweep(struct truth *truth, int64_t seq)
{
    pthread_mutex_lock(&truth->lock);
    size_t kept = 0;
    for (size_t i = 0; i < truth->count; i++) {
        if (truth->rows[i].row.removed && truth->rows[i].row.seq <= seq)
            arena_release(&truth->rows[i].arena);
        else
            truth->rows[kept++] = truth->rows[i];
    }
    truth->count = kept;
    pthread_mutex_unlock(&truth->lock);
}

const struct row *truth_find(struct truth *truth, int64_t row_id)
{
    const struct truth_row *row = find_row(truth, row_id);
    return row && !row->row.removed ? &row->row : NULL;
}

/* ---- the row source ---- */

static ibid_code latest_seq(const struct row_source *self, int64_t collection_id, int64_t *ret,
                            ibid_error *err)
{
    struct truth *truth = truth_of(self);
    pthread_mutex_lock(&truth->lock);
    *ret = truth->latest;
    pthread_mutex_unlock(&truth->lock);
    return IBID_OK;
}

static int compare_seq(const void *a, const void *b)
{
    const struct row *first = a, *second = b;
    if (first->seq != second->seq)
        return first->seq < second->seq ? -1 : 1;
    return first->row_id < second->row_id ? -1 : 1;
}

static ibid_code changes(const struct row_source *self, int64_t collection_id, int64_t after_seq,
                         size_t limit, struct arena *arena, struct row **ret, size_t *ret_count,
                         ibid_error *err)
{
    struct truth *truth = truth_of(self);
    if (collection_id != truth->collection_id)
        return fail(err, IBID_EBUG, "the store asks for collection %lld", (long long)collection_id);
    pthread_mutex_lock(&truth->lock);
    struct row *rows = ARENA_ARRAY(arena, struct row, truth->count);
    size_t count = 0;
    for (size_t i = 0; i < truth->count; i++) {
        const struct row *row = &truth->rows[i].row;
        if (row->seq > after_seq && !(after_seq == 0 && row->removed))
            rows[count++] = *row;
    }
    qsort(rows, count, sizeof *rows, compare_seq);
    if (count > limit) {
        size_t cut = limit;
        while (cut < count && rows[cut].seq == rows[limit - 1].seq)
            cut++;
        count = cut;
    }
    for (size_t i = 0; i < count; i++) {
        if (rows[i].removed)
            rows[i] = (struct row){
                .row_id = rows[i].row_id, .seq = rows[i].seq, .removed = true, .text = rows[i].text};
        rows[i] = copy_row(arena, &rows[i], truth->dimension);
    }
    pthread_mutex_unlock(&truth->lock);
    *ret = rows;
    *ret_count = count;
    return IBID_OK;
}

static ibid_code vectors(const struct row_source *self, int64_t collection_id, const int64_t *row_ids,
                         size_t count, float *out, ibid_error *err)
{
    struct truth *truth = truth_of(self);
    const size_t size = truth->dimension * sizeof *out;
    pthread_mutex_lock(&truth->lock);
    for (size_t i = 0; i < count; i++) {
        const struct truth_row *row = find_row(truth, row_ids[i]);
        if (row && row->row.vector && !row->row.removed)
            memcpy(out + i * truth->dimension, row->row.vector, size);
        else
            memset(out + i * truth->dimension, 0, size);
    }
    pthread_mutex_unlock(&truth->lock);
    return IBID_OK;
}

static bool metadata_passes(const struct truth_row *row, const struct filter *leaf)
{
    static const struct filter_key text_key = {.name = "", .type = VALUE_STRING};
    for (size_t i = 0; i < row->metadata_count; i++)
        if (str_is(leaf->key, row->names[i]) &&
            filter_value_matches(leaf, &text_key, &row->metadata[i].value))
            return true;
    return false;
}

static ibid_code select_rows(const struct row_source *self, int64_t collection_id,
                             const struct filter *filter, struct arena *arena, int64_t **ret_ids,
                             size_t *ret_count, ibid_error *err)
{
    struct truth *truth = truth_of(self);
    if (filter->child_count || filter_key_find(filter->key))
        return fail(err, IBID_EBUG, "only comparisons on undeclared keys are for the metadata store");
    pthread_mutex_lock(&truth->lock);
    int64_t *ids = ARENA_ARRAY(arena, int64_t, truth->count);
    size_t count = 0;
    for (size_t i = 0; i < truth->count; i++)
        if (!truth->rows[i].row.removed && metadata_passes(&truth->rows[i], filter))
            ids[count++] = truth->rows[i].row.row_id;
    pthread_mutex_unlock(&truth->lock);
    *ret_ids = ids;
    *ret_count = count;
    return IBID_OK;
}

struct truth *truth_new(int64_t collection_id, uint32_t dimension)
{
    struct truth *truth = xcalloc(1, sizeof *truth);
    *truth = (struct truth){
        .source = {.latest_seq = latest_seq, .changes = changes, .vectors = vectors, .select = select_rows},
        .collection_id = collection_id,
        .dimension = dimension,
        .seq = 1,
    };
    pthread_mutex_init(&truth->lock, NULL);
    return truth;
}

void truth_free(struct truth *truth)
{
    for (size_t i = 0; i < truth->count; i++)
        arena_release(&truth->rows[i].arena);
    free(truth->rows);
    pthread_mutex_destroy(&truth->lock);
    free(truth);
}
