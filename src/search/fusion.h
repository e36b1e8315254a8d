/* How the scores of the two sides of a hybrid search become one relevance.
 *
 * Convex combination of normalised scores (Bruch, Gai, Ingber: "An Analysis of Fusion Functions for Hybrid
 * Retrieval", 2023), with a weight that follows the evidence of each query instead of a constant:
 *
 *   relevance    = w * dense + (1 - w) * keyword
 *   dense        = (similarity - similarity of the pool's last) / (that of its first - that of its last)
 *   keyword      = bm25 / bm25 of the best row
 *   w / (1 - w)  = language factor * (1 + agreement) / 2 * (prominence of dense / prominence of keyword)^2
 *
 * The pool of a side is its best FUSION_POOL rows. Its prominence tells how far the best row stands above
 * the others of the pool, in standard deviations: a side that knows something about the query has rows
 * that stand out, one that does not (an embedder that never saw the language, words that are everywhere)
 * shows the flat top of noise. The measure has no unit and hardly depends on how large the collection
 * is, so both sides can be compared by it. Agreement is what the dense side makes of the row that words
 * like best: 1 when it puts it first, 0 when it is not in its pool. docs/search.md has the measurements. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { FUSION_POOL = 50 };

/* The language factor where the embedder was not trained for the language of the query or the row. */
#define FUSION_FOREIGN_LANGUAGE 0.25

/* What one side says about one query. A zeroed one found nothing. */
struct fusion_side {
    bool found;        /* any row */
    double low, high;  /* scores that are normalised to 0 and 1 */
    double prominence; /* standard deviations; 0 when nothing stands out */
};

/* From the similarities of the nearest rows, best first; those after FUSION_POOL do not count. */
struct fusion_side fusion_dense_side(const float *best, size_t count);
/* From the bm25 scores of the best rows, best first. `rows` were searched: those without any word of the
 * query fill the pool up with zeros. */
struct fusion_side fusion_keyword_side(const float *best, size_t count, size_t rows);

/* From -1 to 1; below 0 for rows beyond the pool, so that far down the list they keep their order. NAN (a row
 * without vector, a side that was not asked) gives 0. */
double fusion_normalise(const struct fusion_side *side, double score);

/* The weight of the dense side. A side that found nothing gets none. */
double fusion_dense_weight(const struct fusion_side *dense, const struct fusion_side *keyword,
                           double agreement, double language_factor);
