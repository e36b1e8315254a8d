/* From relevance to the final order: recency, trust, overlap, confidence.
 *
 *   final = 0.6 relevance + 0.2 recency + 0.1 trust + 0.1 overlap      (weights are settings)
 *
 * What is not known of a document counts as the median of the candidates of which it is known, so that
 * undated documents are neither favoured nor punished; where nothing is known of any, all count 0.5.
 * What is the same for all candidates leaves their order to relevance. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/hit.h"

#define RANKING_UNKNOWN ((double)NAN)

/* 1 for now (and dates to come), 0.5 after half_life_us, 0.25 after two of them; RANKING_UNKNOWN for date 0.
 */
double ranking_recency(int64_t date_us, int64_t now_us, int64_t half_life_us);

/* How often a document's content has changed since it was first seen, as updates a month against one a
 * month: 0.5 for one, 0.75 for three. RANKING_UNKNOWN for one that did not change in a first month. */
double ranking_trust(int64_t updates, int64_t added_at_us, int64_t now_us);

/* Replaces every RANKING_UNKNOWN among `values`, which lie `stride` bytes apart, by the median of the others.
 */
void ranking_fill_unknown(double *values, size_t stride, size_t count);

/* How sure a hit is, 0..1: either side alone may be sure.
 *
 *   confidence = 1 - (1 - d^2) * (1 - k^1.5)
 *   d = language factor * (similarity - floor) / (ceiling - floor), in 0..1
 *   k = share of the query that the text covers, each word counting as much as it is rare
 *
 * floor and ceiling are the embedder's (similarities of unrelated texts, of a clear match). The exponents are
 * fitted so that the bands mean what they say on judged collections: docs/search.md. */
double ranking_confidence(double similarity, double floor, double ceiling, double language_factor,
                          double coverage);

/* The weighted sum, in units where the weights add up to 1; not clamped. */
double ranking_final(const struct hit_score *score, const struct ranking_weights *weights);

/* 1 - cosine distance in 0..1; NAN stays. */
double ranking_similarity(double cosine);
