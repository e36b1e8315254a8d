/* BM25 as every member computes it (Robertson & Zaragoza, "The Probabilistic Relevance Framework", 2009),
 * in the form of Lucene: without the constant factor k1 + 1, and with an idf that is never negative.
 *
 *   score(row) = sum over terms  weight * idf * tf / (tf + k1 * (1 - b + b * length / mean_length))
 *   idf        = ln(1 + (rows - df + 0.5) / (df + 0.5))
 *
 * `rows`, `df` and `mean_length` count what the caller's scope may read. A length is a row's number of
 * words; tf and length stop at BM25_TF_LIMIT and BM25_LENGTH_LIMIT. */
#pragma once

#include <math.h>
#include <stdint.h>

enum { BM25_TF_LIMIT = 255, BM25_LENGTH_LIMIT = 65535 };

/* k1 * (1 - b + b * length / mean_length) = base + slope * length */
struct bm25_norm {
    float base, slope;
};

static inline struct bm25_norm bm25_norm(float k1, float b, uint64_t total_length, uint64_t rows)
{
    const double mean = rows && total_length ? (double)total_length / (double)rows : 1;
    return (struct bm25_norm){.base = k1 * (1 - b), .slope = (float)(k1 * b / mean)};
}

static inline float bm25_idf(uint64_t rows, uint64_t df)
{
    return (float)log1p(((double)rows - (double)df + 0.5) / ((double)df + 0.5));
}

/* What one term adds to a row's score, before weight and idf: 0..1, rising in tf, falling in length. */
static inline float bm25_saturation(struct bm25_norm norm, unsigned tf, unsigned length)
{
    return (float)tf / ((float)tf + norm.base + norm.slope * (float)length);
}
