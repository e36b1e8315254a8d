/* Scores the candidates of a search whose texts have been read, and puts them in their final order. */
#pragma once

#include "embedder/embedder.h"
#include "search/ranking.h"
#include "search/retrieval.h"
#include "search/text_match.h"

struct scorer {
    const struct retrieval *retrieval;
    const struct retrieval_query *queries;
    struct analyzer *analyzer;
    const struct embedder *embedder; /* NULL: by word alone */
    struct ranking_weights weights;
    int64_t now_us, half_life_us;
};

/* What scoring has to know of a row. */
struct scorer_text {
    struct str text;     /* what was indexed */
    struct str language; /* of the document; empty: unknown, counts as known to the embedder */
    int64_t date_us;     /* last change, 0: unknown */
    int64_t added_at_us, updates;
};

struct scored_row {
    const struct found_row *found;
    size_t position; /* in the caller's own array */
    struct hit_score score;
    struct text_match match; /* of the indexed text */
};

/* Everything but what depends on the other candidates. `match` lives in `arena`. */
void scorer_score(const struct scorer *scorer, const struct found_row *found, const struct scorer_text *text,
                  struct arena *arena, struct scored_row *ret);

/* Fills in what was unknown, then the final score, and sorts: best first, ties by relevance, then row_id. */
void scorer_finish(const struct scorer *scorer, struct scored_row *rows, size_t count);

/* 1, or FUSION_FOREIGN_LANGUAGE where the embedder does not know `language`. */
double language_factor(const struct embedder *embedder, struct str language);
