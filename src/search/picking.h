/* From ranked candidates to those that are shown: thresholds, groups, diversity. */
#pragma once

#include "model/query.h"
#include "records/chunk_record.h"
#include "search/scoring.h"

struct picks {
    const struct scored_row **rows; /* in final order */
    size_t count;
    size_t passing; /* rows that pass the thresholds, before grouping */
};

/* Ranks `scored` (whose positions point into `records`; it is left as it is) and chooses. Thresholds drop a
 * row also when it lacks what they ask for. The row of query.similar_to is left out. */
void picks_make(const struct query *query, const struct scorer *scorer, const struct row_record *records,
                const struct scored_row *scored, size_t count, struct arena *arena, struct picks *ret);
