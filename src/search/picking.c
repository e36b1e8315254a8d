#include "search/picking.h"

#include <string.h>

/* How often each id was met. Open addressing; ids are positive. */
struct tally {
    int64_t *ids;
    size_t *counts;
    size_t slots; /* a power of two */
};

static struct tally tally_make(size_t limit, struct arena *arena)
{
    size_t slots = 16;
    while (slots < 2 * limit)
        slots *= 2;
    return (struct tally){ARENA_ARRAY(arena, int64_t, slots), ARENA_ARRAY(arena, size_t, slots), slots};
}

static size_t *tally_of(const struct tally *tally, int64_t id)
{
    size_t slot = (uint64_t)id * UINT64_C(0x9E3779B97F4A7C15) >> 32 & (tally->slots - 1);
    while (tally->ids[slot] && tally->ids[slot] != id)
        slot = (slot + 1) & (tally->slots - 1);
    tally->ids[slot] = id;
    return &tally->counts[slot];
}

/* Comparisons with NAN are false: what is not known does not pass. */
static bool passes(const struct query *query, const struct scored_row *row)
{
    const struct hit_score *score = &row->score;
    if (query->similar_to && row->found->row_id == query->similar_to)
        return false;
    return (query->score_threshold <= 0 || score->confidence >= query->score_threshold) &&
           (query->similarity_threshold <= 0 || score->similarity >= query->similarity_threshold) &&
           score->band >= query->min_confidence;
}

void picks_make(const struct query *query, const struct scorer *scorer, const struct row_record *records,
                const struct scored_row *scored, size_t count, struct arena *arena, struct picks *ret)
{
    struct scored_row *ranked = ARENA_ARRAY(arena, struct scored_row, count);
    const struct tally documents = tally_make(count, arena), sources = tally_make(count, arena);
    if (count)
        memcpy(ranked, scored, count * sizeof *ranked);
    scorer_finish(scorer, ranked, count);
    *ret = (struct picks){.rows = ARENA_ARRAY(arena, const struct scored_row *, count)};
    for (size_t i = 0; i < count; i++) {
        const struct document *document = records[ranked[i].position].document;
        if (!passes(query, &ranked[i]))
            continue;
        ret->passing++;
        size_t *from_document = tally_of(&documents, document->id);
        if (query->group_by == GROUP_BY_DOCUMENT && *from_document > 0)
            continue;
        size_t *from_source = tally_of(&sources, document->source_id);
        if (query->source_diversity && *from_source >= query->source_diversity)
            continue;
        (*from_document)++;
        (*from_source)++;
        ret->rows[ret->count++] = &ranked[i];
    }
}
