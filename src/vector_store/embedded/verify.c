#include "vector_store/embedded/verify.h"

#include <stdlib.h>

#include "base/memory.h"
#include "vector_store/embedded/bitmap.h"

enum { FINDING_LIMIT = 100 }; /* one more would tell nothing new */

struct findings {
    struct arena *arena;
    int64_t collection_id;
    struct vector_store_finding *items;
    size_t count;
};

static void report(struct findings *findings, const char *place, const char *problem)
{
    if (findings->count < FINDING_LIMIT)
        findings->items[findings->count++] = (struct vector_store_finding){place, problem, false};
}

static const char *place_of(const struct findings *findings, uint64_t number)
{
    return number ? arena_printf(findings->arena, "collection %lld, segment %06llu",
                                 (long long)findings->collection_id, (unsigned long long)number)
                  : arena_printf(findings->arena, "collection %lld", (long long)findings->collection_id);
}

/* ---- checksums ---- */

static ibid_code check_files(struct collection *collection, const struct snapshot *snapshot,
                             const struct watch *watch, struct findings *findings, ibid_error *err)
{
    pthread_mutex_lock(&collection->writer);
    for (size_t i = 0; i < collection->hole_count; i++)
        report(findings, place_of(findings, collection->holes[i].number), "is missing or cannot be read");
    pthread_mutex_unlock(&collection->writer);
    for (size_t i = 0; i < snapshot->count; i++) {
        struct segment *segment = snapshot->parts[i].segment;
        TRY(watch_step(watch, "index files", (int64_t)i, (int64_t)snapshot->count, err));
        if (segment_check(segment, NULL) != IBID_OK)
            report(findings, place_of(findings, segment->number), "is damaged: its checksums do not match");
    }
    return IBID_OK;
}

/* ---- rows against the truth ---- */

/* Which living rows of a segment the truth has confirmed. */
struct confirmed {
    const int64_t *row_ids, *seqs;
    uint64_t *bits;
};

struct comparison {
    struct collection *collection;
    const struct snapshot *snapshot;
    const struct watch *watch;
    struct confirmed *confirmed; /* a part */
    struct findings *findings;
    bool *suspect; /* a part: holds a row that is not as the truth has it */
    bool lacks_rows;
};

/* The part where a row lives. */
static bool find_living(const struct comparison *comparison, int64_t row_id, size_t *ret_part,
                        uint32_t *ret_row)
{
    for (size_t i = 0; i < comparison->snapshot->count; i++) {
        const struct part *part = &comparison->snapshot->parts[i];
        int64_t row;
        if (segment_find_row(part->segment, row_id, &row, NULL) == IBID_OK && row >= 0 &&
            !(part->dead && bitmap_get(part->dead->bits, (uint32_t)row))) {
            *ret_part = i;
            *ret_row = (uint32_t)row;
            return true;
        }
    }
    return false;
}

static void compare_row(struct comparison *comparison, const struct row *row)
{
    struct findings *findings = comparison->findings;
    size_t part = 0;
    uint32_t place = 0;
    const bool found = find_living(comparison, row->row_id, &part, &place);
    const bool is_newer = row->seq > comparison->snapshot->watermark;
    if (found && (is_newer || !row->removed))
        bitmap_set(comparison->confirmed[part].bits, place);
    if (is_newer || row->removed)
        return;
    if (!found) {
        comparison->lacks_rows = true;
        report(findings, place_of(findings, 0),
               arena_printf(findings->arena, "row %lld is missing", (long long)row->row_id));
    } else if (comparison->confirmed[part].seqs[place] != row->seq) {
        comparison->suspect[part] = true;
        report(findings, place_of(findings, comparison->snapshot->parts[part].segment->number),
               arena_printf(findings->arena, "row %lld is out of date", (long long)row->row_id));
    }
}

static ibid_code compare_all(struct comparison *comparison, ibid_error *err)
{
    const struct collection *collection = comparison->collection;
    const struct row_source *source = collection->source;
    int64_t after = 0, done = 0;
    bool more = true;
    while (more) {
        AUTO_ARENA arena = ARENA_INIT;
        struct row *rows;
        size_t count;
        TRY(watch_step(comparison->watch, "index rows", done, 0, err));
        TRY(source->changes(source, collection->id, after, FOLLOW_BATCH, &arena, &rows, &count, err));
        for (size_t i = 0; i < count; i++)
            compare_row(comparison, &rows[i]);
        done += (int64_t)count;
        if (count)
            after = rows[count - 1].seq;
        more = count >= FOLLOW_BATCH;
    }
    return IBID_OK;
}

static void report_unconfirmed(struct comparison *comparison)
{
    struct findings *findings = comparison->findings;
    for (size_t i = 0; i < comparison->snapshot->count; i++) {
        const struct part *part = &comparison->snapshot->parts[i];
        const struct confirmed *confirmed = &comparison->confirmed[i];
        for (uint32_t row = 0; row < part->segment->rows && confirmed->row_ids; row++) {
            if (bitmap_get(confirmed->bits, row) || (part->dead && bitmap_get(part->dead->bits, row)))
                continue;
            comparison->suspect[i] = true;
            report(findings, place_of(findings, part->segment->number),
                   arena_printf(findings->arena, "row %lld was removed and is still there",
                                (long long)confirmed->row_ids[row]));
        }
    }
}

static ibid_code compare_rows(struct comparison *comparison, ibid_error *err)
{
    const struct snapshot *snapshot = comparison->snapshot;
    struct arena *arena = comparison->findings->arena;
    comparison->confirmed = ARENA_ARRAY(arena, struct confirmed, snapshot->count);
    comparison->suspect = ARENA_ARRAY(arena, bool, snapshot->count);
    for (size_t i = 0; i < snapshot->count; i++) {
        struct segment *segment = snapshot->parts[i].segment;
        comparison->confirmed[i] = (struct confirmed){segment_section(segment, SECTION_ROW_IDS),
                                                      segment_section(segment, SECTION_SEQS),
                                                      ARENA_ARRAY(arena, uint64_t, segment->words)};
        if (!comparison->confirmed[i].row_ids || !comparison->confirmed[i].seqs)
            return segment_damage(segment, err);
    }
    TRY(compare_all(comparison, err));
    report_unconfirmed(comparison);
    return IBID_OK;
}

/* Segments that hold a wrong row count as damaged from here on, and are mended. A row that none has is in
 * nobody's range, and a segment in memory has no file to be mended: then everything is read anew. */
static ibid_code repair_rows(struct comparison *comparison, ibid_error *err)
{
    bool everything = comparison->lacks_rows;
    for (size_t i = 0; i < comparison->snapshot->count; i++) {
        struct segment *segment = comparison->snapshot->parts[i].segment;
        if (comparison->suspect[i] && segment->memory)
            everything = true;
        else if (comparison->suspect[i])
            atomic_store(&segment->damaged, true);
    }
    return everything ? collection_rebuild(comparison->collection, err)
                      : collection_mend(comparison->collection, err);
}

/* ---- all of it ---- */

static void mark_repaired(struct findings *findings, size_t first)
{
    for (size_t i = first; i < findings->count; i++)
        findings->items[i].repaired = true;
}

static ibid_code verify_files(struct collection *collection, bool repair, const struct watch *watch,
                              struct findings *findings, ibid_error *err)
{
    struct snapshot *snapshot = collection_snapshot(collection);
    const ibid_code code = check_files(collection, snapshot, watch, findings, err);
    snapshot_unref(snapshot);
    TRY(code);
    if (findings->count == 0 || !repair)
        return IBID_OK;
    TRY(collection_mend(collection, err));
    mark_repaired(findings, 0);
    return IBID_OK;
}

static ibid_code verify_rows(struct collection *collection, bool repair, const struct watch *watch,
                             struct findings *findings, ibid_error *err)
{
    struct snapshot *snapshot = collection_snapshot(collection);
    struct comparison comparison = {
        .collection = collection, .snapshot = snapshot, .watch = watch, .findings = findings};
    const size_t first = findings->count;
    ibid_code code = compare_rows(&comparison, err);
    if (code == IBID_OK && repair && findings->count > first) {
        code = repair_rows(&comparison, err);
        if (code == IBID_OK)
            mark_repaired(findings, first);
    }
    snapshot_unref(snapshot);
    return code;
}

ibid_code collection_verify(struct collection *collection, bool repair, const struct watch *watch,
                            struct arena *arena, struct vector_store_finding **ret, size_t *ret_count,
                            ibid_error *err)
{
    struct findings findings = {arena, collection->id,
                                ARENA_ARRAY(arena, struct vector_store_finding, FINDING_LIMIT), 0};
    TRY(verify_files(collection, repair, watch, &findings, err));
    if (findings.count == 0 || repair) /* rows of a damaged file cannot be compared */
        TRY(verify_rows(collection, repair, watch, &findings, err));
    *ret = findings.items;
    *ret_count = findings.count;
    return IBID_OK;
}
