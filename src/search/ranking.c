#include "search/ranking.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"

static const double month_us = 30.0 * 86400.0 * 1e6;

static double clamp(double value)
{
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

double ranking_recency(int64_t date_us, int64_t now_us, int64_t half_life_us)
{
    if (date_us == 0)
        return RANKING_UNKNOWN;
    if (date_us >= now_us)
        return 1;
    return exp2(-((double)now_us - (double)date_us) / (double)half_life_us);
}

double ranking_trust(int64_t updates, int64_t added_at_us, int64_t now_us)
{
    double months = ((double)now_us - (double)added_at_us) / month_us;
    if (months < 1) {
        if (updates == 0)
            return RANKING_UNKNOWN;
        months = 1;
    }
    double rate = (double)updates / months;
    return rate / (rate + 1);
}

static double *value_at(double *values, size_t stride, size_t i)
{
    return (double *)((char *)values + i * stride);
}

static int compare_doubles(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

void ranking_fill_unknown(double *values, size_t stride, size_t count)
{
    AUTO_FREE double *known = xcalloc(count + 1, sizeof *known);
    size_t known_count = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(*value_at(values, stride, i)))
            known[known_count++] = *value_at(values, stride, i);
    if (known_count == count)
        return;
    qsort(known, known_count, sizeof *known, compare_doubles);
    double median = known_count ? (known[(known_count - 1) / 2] + known[known_count / 2]) / 2 : 0.5;
    for (size_t i = 0; i < count; i++)
        if (isnan(*value_at(values, stride, i)))
            *value_at(values, stride, i) = median;
}

double ranking_confidence(double similarity, double floor, double ceiling, double language_factor,
                          double coverage)
{
    double dense = 0;
    if (!isnan(similarity) && ceiling > floor)
        dense = clamp((similarity - floor) / (ceiling - floor)) * language_factor;
    return 1 - (1 - dense * dense) * (1 - pow(clamp(coverage), 1.5));
}

double ranking_final(const struct hit_score *score, const struct ranking_weights *weights)
{
    double sum = weights->relevance + weights->recency + weights->trust + weights->overlap;
    return (weights->relevance * score->relevance + weights->recency * score->recency +
            weights->trust * score->trust + weights->overlap * score->overlap) /
           sum;
}

double ranking_similarity(double cosine)
{
    return isnan(cosine) ? cosine : clamp(cosine);
}
