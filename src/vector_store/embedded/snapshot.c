#include "vector_store/embedded/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "vector_store/embedded/bitmap.h"

struct dead *dead_new(const struct segment *segment)
{
    struct dead *dead = xcalloc(1, sizeof *dead + segment->words * sizeof *dead->bits);
    atomic_init(&dead->references, 1);
    return dead;
}

struct dead *dead_copy(const struct dead *dead, const struct segment *segment)
{
    struct dead *copy = dead_new(segment);
    copy->count = dead->count;
    copy->words = dead->words;
    memcpy(copy->bits, dead->bits, segment->words * sizeof *dead->bits);
    return copy;
}

struct dead *dead_ref(struct dead *dead)
{
    if (dead)
        atomic_fetch_add(&dead->references, 1);
    return dead;
}

void dead_unref(struct dead *dead)
{
    if (dead && atomic_fetch_sub(&dead->references, 1) == 1)
        free(dead);
}

struct snapshot *snapshot_new(size_t capacity, int64_t watermark)
{
    struct snapshot *snapshot = xcalloc(1, sizeof *snapshot + capacity * sizeof *snapshot->parts);
    atomic_init(&snapshot->references, 1);
    snapshot->watermark = watermark;
    return snapshot;
}

struct snapshot *snapshot_ref(struct snapshot *snapshot)
{
    atomic_fetch_add(&snapshot->references, 1);
    return snapshot;
}

void snapshot_unref(struct snapshot *snapshot)
{
    if (!snapshot || atomic_fetch_sub(&snapshot->references, 1) != 1)
        return;
    for (size_t i = 0; i < snapshot->count; i++) {
        segment_unref(snapshot->parts[i].segment);
        dead_unref(snapshot->parts[i].dead);
    }
    free(snapshot);
}

void snapshot_add(struct snapshot *snapshot, struct segment *take_segment, struct dead *take_dead)
{
    snapshot->parts[snapshot->count++] = (struct part){take_segment, take_dead};
}

static ibid_code bury_row(const struct part *part, uint32_t row, struct dead **dead, ibid_error *err)
{
    if (*dead && bitmap_get((*dead)->bits, row))
        return IBID_OK;
    const uint16_t *length =
        segment_read(part->segment, SECTION_LENGTHS, row * sizeof *length, sizeof *length);
    if (!length)
        return segment_damage(part->segment, err);
    if (*dead == part->dead) { /* the first change: from here on a copy */
        *dead = part->dead ? dead_copy(part->dead, part->segment) : dead_new(part->segment);
        dead_unref(part->dead);
    }
    bitmap_set((*dead)->bits, row);
    (*dead)->count++;
    (*dead)->words += *length;
    return IBID_OK;
}

ibid_code part_bury(const struct part *part, const int64_t *row_ids, size_t count, struct dead **ret_dead,
                    ibid_error *err)
{
    struct segment *segment = part->segment;
    struct dead *dead = dead_ref(part->dead);
    ibid_code code = IBID_OK;
    for (size_t i = first_id_at_least(row_ids, count, segment->header->first_row_id);
         i < count && row_ids[i] <= segment->header->last_row_id && code == IBID_OK; i++) {
        int64_t row;
        code = segment_find_row(segment, row_ids[i], &row, err);
        if (code == IBID_OK && row >= 0)
            code = bury_row(part, (uint32_t)row, &dead, err);
    }
    if (code != IBID_OK) {
        dead_unref(dead);
        return code;
    }
    *ret_dead = dead;
    return IBID_OK;
}
