/* How a collection moves on: following the truth, merging, sealing. */
#include <stdlib.h>

#include "base/memory.h"
#include "vector_store/embedded/builder.h"
#include "vector_store/embedded/collection.h"
#include "vector_store/embedded/merge.h"
#include "vector_store/embedded/plan.h"

static ibid_code canceled(const _Atomic bool *cancel, ibid_error *err)
{
    if (cancel && atomic_load(cancel))
        return fail(err, IBID_ECANCELED, "following the changes was canceled");
    return IBID_OK;
}

static bool is_in_file(const struct part *part)
{
    return part->segment->number != 0;
}

/* Appends copies of the parts [first, end). */
static void keep_parts(struct snapshot *made, const struct snapshot *present, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        snapshot_add(made, segment_ref(present->parts[i].segment), dead_ref(present->parts[i].dead));
}

/* Makes one change as the writer. What comes upon damage is done again once that is mended. */
static ibid_code change(struct collection *collection, ibid_code (*make)(void *context, ibid_error *err),
                        void *context, ibid_error *err)
{
    enum { ATTEMPTS = 4 };
    for (unsigned attempt = 1;; attempt++) {
        TRY(collection_begin_change(collection, err));
        const ibid_code code = make(context, err);
        collection_end_change(collection);
        if (code != IBID_ECORRUPT || attempt == ATTEMPTS)
            return code;
        TRY(collection_mend(collection, err));
    }
}

/* What is done again and again until nothing is left to do. */
struct repeated {
    struct collection *collection;
    bool more;
};

static ibid_code repeat(struct collection *collection, ibid_code (*make)(void *context, ibid_error *err),
                        const _Atomic bool *cancel, ibid_error *err)
{
    struct repeated repeated = {collection, true};
    while (repeated.more) {
        TRY(canceled(cancel, err));
        TRY(change(collection, make, &repeated, err));
    }
    return IBID_OK;
}

/* ---- merging ---- */

/* Makes one segment of `count` parts from `first` on, in a file when one of them is in one or `to_file` says
 * so. `durable`: what the manifest is to say; it is written only when a file changes. Under `writer`. */
static ibid_code merge_parts(struct collection *collection, size_t first, size_t count, bool to_file,
                             int64_t durable, ibid_error *err)
{
    const struct snapshot *present = collection->snapshot;
    struct merge_source *sources = xcalloc(count, sizeof *sources);
    bool touches_file = to_file;
    for (size_t i = 0; i < count; i++) {
        const struct part *part = &present->parts[first + i];
        sources[i] = (struct merge_source){part->segment, part_dead_bits(part)};
        touches_file |= is_in_file(part);
    }
    const struct image_target target =
        touches_file ? collection_next_file(collection) : (struct image_target){0};
    struct segment *merged = NULL;
    const ibid_code code = merge_segments(sources, count, &target, &merged, err);
    free(sources);
    if (code != IBID_OK)
        return code;
    struct snapshot *made = snapshot_new(present->count, present->watermark);
    keep_parts(made, present, 0, first);
    if (merged)
        snapshot_add(made, merged, NULL);
    keep_parts(made, present, first + count, present->count);
    if (touches_file)
        return collection_commit(collection, made, durable, err);
    collection_publish(collection, made);
    return IBID_OK;
}

/* One merge, if any is due. */
static ibid_code merge_once(void *context, ibid_error *err)
{
    struct repeated *repeated = context;
    struct collection *collection = repeated->collection;
    const struct snapshot *present = collection->snapshot;
    struct plan_part *sizes = xcalloc(present->count, sizeof *sizes);
    for (size_t i = 0; i < present->count; i++)
        sizes[i] = (struct plan_part){present->parts[i].segment->rows, part_living(&present->parts[i]),
                                      is_in_file(&present->parts[i])};
    struct plan plan;
    repeated->more = plan_merge(sizes, present->count, &plan);
    free(sizes);
    if (!repeated->more)
        return IBID_OK;
    return merge_parts(collection, plan.first, plan.count, false, atomic_load(&collection->durable), err);
}

/* ---- sealing ---- */

static size_t first_in_memory(const struct snapshot *snapshot)
{
    size_t first = snapshot->count;
    while (first > 0 && !is_in_file(&snapshot->parts[first - 1]))
        first--;
    return first;
}

/* Everything in memory goes to a file, and the manifest says that all changes so far are durable. Under
 * `writer`. */
static ibid_code seal(struct collection *collection, ibid_error *err)
{
    struct snapshot *present = collection->snapshot;
    const size_t first = first_in_memory(present);
    if (first < present->count)
        return merge_parts(collection, first, present->count - first, true, present->watermark, err);
    if (atomic_load(&collection->durable) == present->watermark)
        return IBID_OK;
    return collection_commit(collection, snapshot_ref(present), present->watermark, err);
}

ibid_code collection_seal(struct collection *collection, ibid_error *err)
{
    TRY(collection_begin_change(collection, err));
    /* A manifest that no longer named a missing segment would lose its rows. */
    const ibid_code code = collection->hole_count ? IBID_OK : seal(collection, err);
    collection_end_change(collection);
    return code;
}

static uint64_t rows_in_memory(const struct snapshot *snapshot)
{
    uint64_t rows = 0;
    for (size_t i = first_in_memory(snapshot); i < snapshot->count; i++)
        rows += snapshot->parts[i].segment->rows;
    return rows;
}

/* ---- following ---- */

/* What a run of collection_follow has under way. */
struct follower {
    struct collection *collection;
    struct builder *builder;
    const _Atomic bool *cancel;
    int64_t read;         /* all changes up to this seq are applied or in the builder */
    int64_t highest;      /* seq of the last change read: above `read` within changes that share a seq */
    uint64_t not_durable; /* changes applied since the manifest was written last */
};

/* The present parts with the builder's rows dead in them. Under `writer`. */
static ibid_code bury_old_versions(struct follower *follower, struct snapshot **ret, ibid_error *err)
{
    const struct snapshot *present = follower->collection->snapshot;
    size_t id_count;
    const int64_t *ids = builder_row_ids(follower->builder, &id_count);
    struct snapshot *made = snapshot_new(present->count + 1, follower->read);
    for (size_t i = 0; i < present->count; i++) {
        struct dead *dead;
        const ibid_code code = part_bury(&present->parts[i], ids, id_count, &dead, err);
        if (code != IBID_OK) {
            snapshot_unref(made);
            return code;
        }
        snapshot_add(made, segment_ref(present->parts[i].segment), dead);
    }
    *ret = made;
    return IBID_OK;
}

/* Makes the builder's rows searchable. */
static ibid_code apply(void *context, ibid_error *err)
{
    struct follower *follower = context;
    struct collection *collection = follower->collection;
    const int64_t seq_low = collection->snapshot->watermark;
    if (builder_count(follower->builder) == 0 && follower->read == seq_low)
        return IBID_OK;
    const size_t changes = builder_count(follower->builder);
    const bool to_file = (int64_t)changes >= collection->options.seal_rows;
    if (to_file)
        TRY(seal(collection, err)); /* files come before memory */
    struct snapshot *made;
    TRY(bury_old_versions(follower, &made, err));
    const struct image_target target = to_file ? collection_next_file(collection) : (struct image_target){0};
    struct segment *segment = NULL;
    const ibid_code code =
        builder_finish(follower->builder, &target, seq_low, follower->highest, &segment, err);
    if (code != IBID_OK) {
        snapshot_unref(made);
        return code;
    }
    builder_clear(follower->builder);
    if (segment)
        snapshot_add(made, segment, NULL);
    if (to_file) {
        follower->not_durable = 0;
        return collection_commit(collection, made, follower->read, err);
    }
    follower->not_durable += changes;
    collection_publish(collection, made);
    return IBID_OK;
}

static ibid_code apply_and_merge(struct follower *follower, ibid_error *err)
{
    TRY(change(follower->collection, apply, follower, err));
    return repeat(follower->collection, merge_once, follower->cancel, err);
}

/* Adds the changes of one batch; so many may share a seq that the builder has to be emptied between them. */
static ibid_code add_changes(struct follower *follower, const struct row *rows, size_t count, ibid_error *err)
{
    for (size_t i = 0; i < count; i++) {
        builder_add(follower->builder, &rows[i]);
        follower->highest = rows[i].seq;
        if (i + 1 == count || rows[i + 1].seq != rows[i].seq)
            follower->read = rows[i].seq;
        if (builder_count(follower->builder) >= GATHER_ROWS)
            TRY(apply_and_merge(follower, err));
    }
    return IBID_OK;
}

static ibid_code follow_batch(struct follower *follower, bool *ret_more, ibid_error *err)
{
    const struct collection *collection = follower->collection;
    const struct row_source *source = collection->source;
    AUTO_ARENA arena = ARENA_INIT;
    int64_t latest;
    struct row *rows;
    size_t count;
    TRY(source->latest_seq(source, collection->id, &latest, err));
    TRY(source->changes(source, collection->id, follower->read, FOLLOW_BATCH, &arena, &rows, &count, err));
    TRY(add_changes(follower, rows, count, err));
    *ret_more = count >= FOLLOW_BATCH;
    if (!*ret_more && latest > follower->read)
        follower->read = follower->highest = latest;
    return IBID_OK;
}

static ibid_code follow_changes(struct follower *follower, ibid_error *err)
{
    bool more = true;
    while (more) {
        const ibid_code stop = canceled(follower->cancel, err);
        if (stop != IBID_OK) {
            follower->cancel = NULL; /* what was read is applied first */
            TRY(apply_and_merge(follower, NULL));
            return stop;
        }
        TRY(follow_batch(follower, &more, err));
    }
    return apply_and_merge(follower, err);
}

ibid_code collection_follow(struct collection *collection, const _Atomic bool *cancel, ibid_error *err)
{
    if (collection_is_damaged(collection))
        TRY(collection_mend(collection, err));
    struct snapshot *present = collection_snapshot(collection);
    struct follower follower = {.collection = collection,
                                .builder = builder_new(collection->dimension, collection->rotation),
                                .cancel = cancel,
                                .read = present->watermark,
                                .highest = present->watermark};
    snapshot_unref(present);
    const ibid_code code = follow_changes(&follower, err);
    builder_free(follower.builder);
    if (code != IBID_OK)
        return code;
    present = collection_snapshot(collection);
    const uint64_t limit = (uint64_t)collection->options.seal_rows;
    const bool is_due = rows_in_memory(present) >= limit || follower.not_durable >= limit;
    snapshot_unref(present);
    if (is_due)
        TRY(collection_seal(collection, err));
    return repeat(collection, merge_once, cancel, err);
}

/* ---- compacting ---- */

/* Writes the first part with dead rows anew. */
static ibid_code rewrite_once(void *context, ibid_error *err)
{
    struct repeated *repeated = context;
    const struct snapshot *present = repeated->collection->snapshot;
    repeated->more = false;
    for (size_t i = 0; i < present->count; i++)
        if (part_living(&present->parts[i]) < present->parts[i].segment->rows) {
            repeated->more = true;
            return merge_parts(repeated->collection, i, 1, false, atomic_load(&repeated->collection->durable),
                               err);
        }
    return IBID_OK;
}

ibid_code collection_compact(struct collection *collection, const _Atomic bool *cancel, ibid_error *err)
{
    if (collection_is_damaged(collection))
        TRY(collection_mend(collection, err));
    TRY(collection_seal(collection, err));
    return repeat(collection, rewrite_once, cancel, err);
}
