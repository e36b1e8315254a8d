/* One state of a collection: its segments, oldest first, and which of their rows are dead. Immutable and
 * shared by reference, so that a search keeps the state it began with. Each living row is in one segment. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "vector_store/embedded/segment.h"

/* Rows of a segment that were removed, or changed and stand in a newer one. */
struct dead {
    atomic_uint references;
    uint32_t count;
    uint64_t words;  /* sum of their lengths */
    uint64_t bits[]; /* of all the segment's rows */
};

struct part {
    struct segment *segment;
    struct dead *dead; /* NULL: none */
};

struct snapshot {
    atomic_uint references;
    int64_t watermark; /* all changes up to this seq are in it */
    size_t count;
    struct part parts[];
};

struct dead *dead_new(const struct segment *segment) __attribute__((returns_nonnull));
struct dead *dead_copy(const struct dead *dead, const struct segment *segment)
    __attribute__((returns_nonnull));
struct dead *dead_ref(struct dead *dead); /* NULL is fine */
void dead_unref(struct dead *dead);       /* NULL is fine */

/* Without parts yet; room for `capacity`. */
struct snapshot *snapshot_new(size_t capacity, int64_t watermark) __attribute__((returns_nonnull));
struct snapshot *snapshot_ref(struct snapshot *snapshot);
void snapshot_unref(struct snapshot *snapshot); /* NULL is fine */

/* Appends a part; takes both references over. */
void snapshot_add(struct snapshot *snapshot, struct segment *take_segment, struct dead *take_dead);

static inline uint32_t part_living(const struct part *part)
{
    return part->segment->rows - (part->dead ? part->dead->count : 0);
}

/* The bits of its dead rows, NULL when there are none. */
static inline const uint64_t *part_dead_bits(const struct part *part)
{
    return part->dead ? part->dead->bits : NULL;
}

/* Marks as dead those of the ascending `row_ids` that live in the part: *ret_dead is a new reference, the
 * present one when nothing changed. */
ibid_code part_bury(const struct part *part, const int64_t *row_ids, size_t count, struct dead **ret_dead,
                    ibid_error *err) MUST_CHECK;
