/* The member `embedded`: its own index in files of its own, one folder a collection. */
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "vector_store/embedded/bitmap.h"
#include "vector_store/embedded/collection.h"
#include "vector_store/embedded/selection.h"
#include "vector_store/embedded/verify.h"
#include "vector_store/members.h"

struct embedded_store {
    struct vector_store base;
    char *folder;
    const struct row_source *source;
    struct embedded_options options;
    pthread_mutex_t lock; /* the list */
    struct collection *collections;
};

static struct embedded_store *store_of(struct vector_store *store)
{
    return (struct embedded_store *)store;
}

/* Under the lock. */
static struct collection **find_link(struct embedded_store *self, int64_t collection_id)
{
    struct collection **link = &self->collections;
    while (*link && (*link)->id != collection_id)
        link = &(*link)->next;
    return link;
}

/* A new reference. */
static ibid_code find_collection(struct embedded_store *self, int64_t collection_id, struct collection **ret,
                                 ibid_error *err)
{
    pthread_mutex_lock(&self->lock);
    struct collection *collection = *find_link(self, collection_id);
    if (collection)
        collection_ref(collection);
    pthread_mutex_unlock(&self->lock);
    if (!collection)
        return fail(err, IBID_ENOTFOUND, "the vector store does not follow collection %lld",
                    (long long)collection_id);
    *ret = collection;
    return IBID_OK;
}

static char *collection_folder(const struct embedded_store *self, int64_t collection_id)
{
    return xasprintf("%s/%lld", self->folder, (long long)collection_id);
}

/* Takes a collection off the list; NULL when it is not on it. */
static struct collection *detach(struct embedded_store *self, int64_t collection_id)
{
    pthread_mutex_lock(&self->lock);
    struct collection **link = find_link(self, collection_id);
    struct collection *collection = *link;
    if (collection)
        *link = collection->next;
    pthread_mutex_unlock(&self->lock);
    return collection;
}

static ibid_code embedded_open(const struct vector_store_context *context, const void *options,
                               struct vector_store **ret, ibid_error *err)
{
    if (!context->folder)
        return fail(err, IBID_EINVAL, "the embedded vector store needs a folder");
    TRY(folder_make(context->folder, err));
    struct embedded_store *self = xcalloc(1, sizeof *self);
    self->base.ops = &vector_store_embedded;
    self->folder = xstrdup(context->folder);
    self->source = context->rows;
    self->options = *(const struct embedded_options *)options;
    pthread_mutex_init(&self->lock, NULL);
    *ret = &self->base;
    return IBID_OK;
}

static void embedded_close(struct vector_store *store)
{
    struct embedded_store *self = store_of(store);
    while (self->collections) {
        struct collection *collection = self->collections;
        self->collections = collection->next;
        /* Saves the next open the reading; when it fails, the truth still has it all. */
        const ibid_code ignored = collection_seal(collection, NULL);
        (void)ignored;
        collection_unref(collection);
    }
    pthread_mutex_destroy(&self->lock);
    free(self->folder);
    free(self);
}

static ibid_code embedded_drop(struct vector_store *store, int64_t collection_id, ibid_error *err)
{
    struct embedded_store *self = store_of(store);
    struct collection *collection = detach(self, collection_id);
    if (collection)
        collection_retire(collection);
    collection_unref(collection);
    AUTO_FREE char *folder = collection_folder(self, collection_id);
    return folder_remove(folder, err);
}

static ibid_code embedded_attach(struct vector_store *store, const struct vector_space *space,
                                 ibid_error *err)
{
    struct embedded_store *self = store_of(store);
    struct collection *collection;
    if (find_collection(self, space->collection_id, &collection, NULL) == IBID_OK) {
        const bool same = collection_is_for(collection, space);
        collection_unref(collection);
        if (same)
            return IBID_OK;
        TRY(embedded_drop(store, space->collection_id, err));
    }
    AUTO_FREE char *folder = collection_folder(self, space->collection_id);
    TRY(collection_open(folder, space, self->source, &self->options, &collection, err));
    pthread_mutex_lock(&self->lock);
    collection->next = self->collections;
    self->collections = collection;
    pthread_mutex_unlock(&self->lock);
    return IBID_OK;
}

static ibid_code embedded_follow(struct vector_store *store, int64_t collection_id,
                                 const _Atomic bool *cancel, ibid_error *err)
{
    struct collection *collection;
    TRY(find_collection(store_of(store), collection_id, &collection, err));
    const ibid_code code = collection_follow(collection, cancel, err);
    collection_unref(collection);
    return code;
}

static ibid_code embedded_compact(struct vector_store *store, int64_t collection_id,
                                  const _Atomic bool *cancel, ibid_error *err)
{
    struct collection *collection;
    TRY(find_collection(store_of(store), collection_id, &collection, err));
    const ibid_code code = collection_compact(collection, cancel, err);
    collection_unref(collection);
    return code;
}

/* ---- searching: whatever comes upon damage is done again once it is mended ---- */

static ibid_code select_rows(struct vector_store *store, int64_t collection_id, const struct scope *scope,
                             const struct filter *filter, struct selection **ret, ibid_error *err)
{
    struct collection *collection;
    TRY(find_collection(store_of(store), collection_id, &collection, err));
    const ibid_code code = embedded_select(collection, scope, filter, ret, err);
    collection_unref(collection);
    return code;
}

enum { SEARCH_ATTEMPTS = 4 };

/* Runs `call` again while it comes upon damage that could be mended. */
#define WITH_RECOVERY(self, call, err)                                 \
    do {                                                               \
        for (unsigned attempt_ = 0;; attempt_++) {                     \
            const ibid_code code_ = (call);                            \
            if (code_ != IBID_ECORRUPT || attempt_ == SEARCH_ATTEMPTS) \
                return code_;                                          \
            TRY(embedded_selection_recover(self, err));                \
        }                                                              \
    } while (0)

static ibid_code nearest(struct selection *selection, const float *vector, size_t k, struct candidate *out,
                         size_t *ret_count, ibid_error *err)
{
    struct embedded_selection *self = embedded_selection(selection);
    WITH_RECOVERY(self, embedded_nearest(self, vector, k, out, ret_count, err), err);
}

static ibid_code match(struct selection *selection, const struct term_query *query, size_t k,
                       struct candidate *out, size_t *ret_count, ibid_error *err)
{
    struct embedded_selection *self = embedded_selection(selection);
    WITH_RECOVERY(self, embedded_match(self, query, k, out, ret_count, err), err);
}

static ibid_code score(struct selection *selection, const float *vector, const struct term_query *query,
                       struct candidate *candidates, size_t count, ibid_error *err)
{
    struct embedded_selection *self = embedded_selection(selection);
    WITH_RECOVERY(self, embedded_score(self, vector, query, candidates, count, err), err);
}

static ibid_code list(struct selection *selection, int64_t after_row, size_t limit, int64_t *out,
                      size_t *ret_count, ibid_error *err)
{
    struct embedded_selection *self = embedded_selection(selection);
    WITH_RECOVERY(self, embedded_list(self, after_row, limit, out, ret_count, err), err);
}

static ibid_code count_values(struct selection *selection, uint32_t key, size_t limit, struct arena *arena,
                              struct value_count **ret, size_t *ret_count, ibid_error *err)
{
    struct embedded_selection *self = embedded_selection(selection);
    WITH_RECOVERY(self, embedded_count_values(self, key, limit, arena, ret, ret_count, err), err);
}

/* ---- looking after ---- */

/* Vectors of living rows. Rows are looked at only where some have none. A damaged segment counts all it had. */
static uint64_t living_vectors(const struct part *part)
{
    struct segment *segment = part->segment;
    if (segment->header->vectors == segment->rows)
        return part_living(part);
    if (!part->dead || segment->header->vectors == 0)
        return segment->header->vectors;
    uint64_t *bits = xcalloc(segment->words, sizeof *bits);
    uint64_t count = segment->header->vectors;
    if (segment_vector_rows(segment, bits, NULL) == IBID_OK) {
        bitmap_and_not(bits, part->dead->bits, segment->words);
        count = bitmap_count(bits, segment->words);
    }
    free(bits);
    return count;
}

static ibid_code embedded_stats(struct vector_store *store, int64_t collection_id,
                                struct vector_store_stats *ret, ibid_error *err)
{
    struct collection *collection;
    TRY(find_collection(store_of(store), collection_id, &collection, err));
    struct snapshot *snapshot = collection_snapshot(collection);
    struct vector_store_stats stats = {
        .watermark = snapshot->watermark,
        .durable = atomic_load(&collection->durable),
        .segments = snapshot->count,
        .rebuilding = atomic_load(&collection->rebuilding),
    };
    for (size_t i = 0; i < snapshot->count; i++) {
        const struct part *part = &snapshot->parts[i];
        stats.rows += part_living(part);
        stats.tombstones += part->segment->rows - part_living(part);
        stats.vectors += living_vectors(part);
        if (part->segment->memory)
            stats.bytes_in_memory += part->segment->size;
        else
            stats.bytes_on_disk += part->segment->size;
        if (part->dead)
            stats.bytes_in_memory += part->segment->words * sizeof(uint64_t);
    }
    snapshot_unref(snapshot);
    collection_unref(collection);
    *ret = stats;
    return IBID_OK;
}

static ibid_code embedded_verify(struct vector_store *store, int64_t collection_id, bool repair,
                                 const struct watch *watch, struct arena *arena,
                                 struct vector_store_finding **ret, size_t *ret_count, ibid_error *err)
{
    struct collection *collection;
    TRY(find_collection(store_of(store), collection_id, &collection, err));
    const ibid_code code = collection_verify(collection, repair, watch, arena, ret, ret_count, err);
    collection_unref(collection);
    return code;
}

static const struct option embedded_option_table[] = {
    {.name = "direct_rows",
     .type = OPTION_INT,
     .offset = offsetof(struct embedded_options, direct_rows),
     .default_text = "20000",
     .low = 0,
     .high = 1e9,
     .help = "Vector searches that may see no more chunks than this compare all of them at full precision; "
             "larger ones find their candidates by one-bit codes first."},
    {.name = "seal_rows",
     .type = OPTION_INT,
     .offset = offsetof(struct embedded_options, seal_rows),
     .default_text = "512",
     .low = 16,
     .high = 65536,
     .help =
         "Changed chunks that are kept in memory before they are written to the index's files. After a crash "
         "they are read again from the records, so more of them mean a slower start."},
    OPTION_END,
};

const struct vector_store_ops vector_store_embedded = {
    .name = "embedded",
    .help =
        "ibid's own index in files beside its records: vectors, words and filters, nothing else to install.",
    .capabilities =
        VECTOR_STORE_SCOPE_INSIDE | VECTOR_STORE_KEYWORD | VECTOR_STORE_EXACT_SCORES | VECTOR_STORE_FACETS,
    .options = embedded_option_table,
    .options_size = sizeof(struct embedded_options),
    .open = embedded_open,
    .close = embedded_close,
    .attach = embedded_attach,
    .follow = embedded_follow,
    .compact = embedded_compact,
    .drop = embedded_drop,
    .select = select_rows,
    .selection_free = embedded_selection_free,
    .nearest = nearest,
    .match = match,
    .score = score,
    .list = list,
    .count_values = count_values,
    .stats = embedded_stats,
    .verify = embedded_verify,
};
