/* Rebuilding what is missing or damaged from the truth. */
#include <stdlib.h>

#include "base/memory.h"
#include "vector_store/embedded/bitmap.h"
#include "vector_store/embedded/builder.h"
#include "vector_store/embedded/collection.h"

/* The ranges of seq to read again: those of all damaged segments and holes, which are left out of `kept`. */
struct repair {
    struct collection *collection;
    bool everything;     /* whatever there is, sound or not */
    struct hole *ranges; /* ascending in seq_low */
    size_t range_count;
    struct snapshot *kept;
    struct segment **made;
    size_t made_count, made_capacity;
    struct builder *builder;
};

static int compare_ranges(const void *a, const void *b)
{
    const struct hole *first = a, *second = b;
    return (first->seq_low > second->seq_low) - (first->seq_low < second->seq_low);
}

static void find_ranges(struct repair *repair)
{
    const struct collection *collection = repair->collection;
    const struct snapshot *present = collection->snapshot;
    repair->ranges = xcalloc(collection->hole_count + present->count + 1, sizeof *repair->ranges);
    if (repair->everything) {
        repair->ranges[repair->range_count++] = (struct hole){0, 0, present->watermark};
        return;
    }
    for (size_t i = 0; i < collection->hole_count; i++)
        repair->ranges[repair->range_count++] = collection->holes[i];
    for (size_t i = 0; i < present->count; i++) {
        struct segment *segment = present->parts[i].segment;
        if (atomic_load(&segment->damaged))
            repair->ranges[repair->range_count++] =
                (struct hole){segment->number, segment->header->seq_low, segment->header->seq_high};
        else
            snapshot_add(repair->kept, segment_ref(segment), dead_ref(present->parts[i].dead));
    }
    qsort(repair->ranges, repair->range_count, sizeof *repair->ranges, compare_ranges);
}

/* Whether a sound segment holds the row already: ranges may overlap where many rows share a seq. */
static ibid_code lives_elsewhere(const struct repair *repair, int64_t row_id, bool *ret, ibid_error *err)
{
    *ret = false;
    for (size_t i = 0; i < repair->kept->count && !*ret; i++) {
        const struct part *part = &repair->kept->parts[i];
        int64_t row;
        TRY(segment_find_row(part->segment, row_id, &row, err));
        *ret = row >= 0 && !(part->dead && bitmap_get(part->dead->bits, (uint32_t)row));
    }
    return IBID_OK;
}

static ibid_code finish_segment(struct repair *repair, const struct hole *range, ibid_error *err)
{
    const struct image_target target = collection_next_file(repair->collection);
    struct segment *segment = NULL;
    TRY(builder_finish(repair->builder, &target, range->seq_low, range->seq_high, &segment, err));
    if (segment) {
        GROW(repair->made, repair->made_count, repair->made_capacity);
        repair->made[repair->made_count++] = segment;
    }
    return IBID_OK;
}

static ibid_code add_rows(struct repair *repair, const struct hole *range, const struct row *rows,
                          size_t count, ibid_error *err)
{
    for (size_t i = 0; i < count && rows[i].seq <= range->seq_high; i++) {
        bool elsewhere;
        TRY(lives_elsewhere(repair, rows[i].row_id, &elsewhere, err));
        if (rows[i].removed || elsewhere)
            continue;
        if (builder_count(repair->builder) == SEGMENT_ROWS)
            TRY(finish_segment(repair, range, err));
        builder_add(repair->builder, &rows[i]);
    }
    return IBID_OK;
}

static ibid_code rebuild_range(struct repair *repair, const struct hole *range, int64_t after,
                               ibid_error *err)
{
    const struct collection *collection = repair->collection;
    const struct row_source *source = collection->source;
    bool more = after < range->seq_high;
    while (more) {
        AUTO_ARENA arena = ARENA_INIT;
        struct row *rows;
        size_t count;
        TRY(source->changes(source, collection->id, after, FOLLOW_BATCH, &arena, &rows, &count, err));
        TRY(add_rows(repair, range, rows, count, err));
        if (count)
            after = rows[count - 1].seq;
        more = count >= FOLLOW_BATCH && after < range->seq_high;
    }
    return finish_segment(repair, range, err);
}

/* Each change is read once, although ranges may overlap. */
static ibid_code rebuild_ranges(struct repair *repair, ibid_error *err)
{
    int64_t done = 0;
    for (size_t i = 0; i < repair->range_count; i++) {
        const struct hole *range = &repair->ranges[i];
        TRY(rebuild_range(repair, range, range->seq_low > done ? range->seq_low : done, err));
        if (range->seq_high > done)
            done = range->seq_high;
    }
    return IBID_OK;
}

/* Old and new segments, ascending in seq. */
static struct snapshot *put_together(struct repair *repair)
{
    const struct snapshot *kept = repair->kept;
    struct snapshot *made = snapshot_new(kept->count + repair->made_count, kept->watermark);
    size_t next = 0;
    for (size_t i = 0; i < kept->count; i++) {
        while (next < repair->made_count &&
               repair->made[next]->header->seq_low <= kept->parts[i].segment->header->seq_low)
            snapshot_add(made, segment_ref(repair->made[next++]), NULL);
        snapshot_add(made, segment_ref(kept->parts[i].segment), dead_ref(kept->parts[i].dead));
    }
    while (next < repair->made_count)
        snapshot_add(made, segment_ref(repair->made[next++]), NULL);
    return made;
}

static bool any_damage(const struct collection *collection)
{
    bool any = collection->hole_count > 0;
    for (size_t i = 0; i < collection->snapshot->count; i++)
        any |= atomic_load(&collection->snapshot->parts[i].segment->damaged);
    return any;
}

/* Something did not fit, and no checksum says why: what was sound when it was first read may have changed
 * since. Returns how many segments have, which are marked then. */
static size_t suspect_all(const struct collection *collection)
{
    size_t damaged = 0;
    for (size_t i = 0; i < collection->snapshot->count; i++)
        damaged += segment_check(collection->snapshot->parts[i].segment, NULL) != IBID_OK;
    return damaged;
}

static ibid_code repair_ranges(struct repair *repair, ibid_error *err)
{
    struct collection *collection = repair->collection;
    if (!repair->everything && !any_damage(collection) && suspect_all(collection) == 0)
        return IBID_OK;
    find_ranges(repair);
    TRY(rebuild_ranges(repair, err));
    const int64_t durable =
        repair->everything ? collection->snapshot->watermark : atomic_load(&collection->durable);
    TRY(collection_commit(collection, put_together(repair), durable, err));
    collection->hole_count = 0;
    atomic_store(&collection->open_holes, 0);
    return IBID_OK;
}

static ibid_code mend_once(struct collection *collection, bool everything, ibid_error *err)
{
    struct repair repair = {
        .collection = collection,
        .everything = everything,
        .kept = snapshot_new(collection->snapshot->count, collection->snapshot->watermark),
        .builder = builder_new(collection->dimension, collection->rotation),
    };
    const ibid_code code = repair_ranges(&repair, err);
    for (size_t i = 0; i < repair.made_count; i++)
        segment_unref(repair.made[i]);
    free(repair.made);
    free(repair.ranges);
    snapshot_unref(repair.kept);
    builder_free(repair.builder);
    return code;
}

static ibid_code mend(struct collection *collection, bool everything, ibid_error *err)
{
    enum { ATTEMPTS = 8 }; /* more damage may show while the first is mended */
    ibid_code code = IBID_ECORRUPT;
    TRY(collection_begin_change(collection, err));
    atomic_store(&collection->rebuilding, true);
    for (unsigned attempt = 0; attempt < ATTEMPTS && code == IBID_ECORRUPT; attempt++)
        code = mend_once(collection, everything, err);
    atomic_store(&collection->rebuilding, false);
    collection_end_change(collection);
    return code;
}

ibid_code collection_mend(struct collection *collection, ibid_error *err)
{
    return mend(collection, false, err);
}

ibid_code collection_rebuild(struct collection *collection, ibid_error *err)
{
    return mend(collection, true, err);
}
