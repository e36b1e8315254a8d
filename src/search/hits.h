/* From a row that was found and read to a hit that a person can judge. */
#pragma once

#include "base/arena.h"
#include "model/hit.h"
#include "model/scope.h"
#include "records/chunk_record.h"
#include "search/scoring.h"

struct hit_maker {
    struct transaction *transaction; /* for neighbours */
    const struct query *query;
    struct analyzer *analyzer;
    const struct retrieval_query *queries; /* NULL: a listing */
    struct arena *arena;
};

/* `scored` NULL: a listing, score 1. */
ibid_code hit_make(const struct hit_maker *maker, const struct row_record *record,
                   const struct scored_row *scored, struct hit *ret, ibid_error *err) MUST_CHECK;
