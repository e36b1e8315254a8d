#include "vector_store/embedded/plan.h"

#include "vector_store/embedded/format.h"

/* Segments of this level and above are large enough to stay as they are. */
enum { FULL_LEVEL = 5 };

/* 0 for less than 8 rows, 1 for less than 64, ... */
static unsigned level_of(const struct plan_part *part)
{
    unsigned level = 0;
    for (uint32_t rows = part->living; rows >= MERGE_FAN_IN; rows /= MERGE_FAN_IN)
        level++;
    return level;
}

/* The oldest parts of a run that fit into one segment: at least two do below FULL_LEVEL. */
static struct plan take_fitting(const struct plan_part *parts, size_t first, size_t end)
{
    uint64_t living = 0;
    size_t count = 0;
    while (first + count < end && living + parts[first + count].living <= SEGMENT_ROWS)
        living += parts[first + count++].living;
    return (struct plan){first, count};
}

/* Looks for a run of adjacent parts of at most this level, with MERGE_FAN_IN of just this level among them.
 */
static bool plan_level(const struct plan_part *parts, size_t count, unsigned level, struct plan *ret)
{
    for (size_t first = 0; first < count; first++) {
        size_t same = 0, last = first;
        for (size_t i = first; i < count && level_of(&parts[i]) <= level; i++) {
            if (parts[i].in_file != parts[first].in_file)
                break;
            if (level_of(&parts[i]) == level) {
                same++;
                last = i;
            }
        }
        if (same >= MERGE_FAN_IN) {
            *ret = take_fitting(parts, first, last + 1);
            return true;
        }
    }
    return false;
}

bool plan_merge(const struct plan_part *parts, size_t count, struct plan *ret)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t dead = parts[i].rows - parts[i].living;
        if (dead >= (parts[i].rows + 3) / 4) {
            *ret = (struct plan){i, 1};
            return true;
        }
    }
    for (unsigned level = 0; level < FULL_LEVEL; level++)
        if (plan_level(parts, count, level, ret))
            return true;
    return false;
}
