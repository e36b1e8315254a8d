#include "search/fusion.h"

#include <math.h>

/* Best first, the pool's missing scores being `fill`. */
static double prominence(const float *best, size_t count, size_t pool, double fill)
{
    if (pool == 0)
        return 0;
    double sum = fill * (double)(pool - count), squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += best[i];
    double mean = sum / (double)pool;
    for (size_t i = 0; i < count; i++)
        squares += (best[i] - mean) * (best[i] - mean);
    squares += (double)(pool - count) * (fill - mean) * (fill - mean);
    double deviation = sqrt(squares / (double)pool);
    double top = (count ? best[0] : fill) - mean;
    return deviation > 1e-6 * fabs(top + mean) ? top / deviation : 0;
}

struct fusion_side fusion_dense_side(const float *best, size_t count)
{
    if (count > FUSION_POOL)
        count = FUSION_POOL;
    if (count == 0)
        return (struct fusion_side){0};
    return (struct fusion_side){.found = true,
                                .low = best[count - 1],
                                .high = best[0],
                                .prominence = prominence(best, count, count, 0)};
}

struct fusion_side fusion_keyword_side(const float *best, size_t count, size_t rows)
{
    size_t pool = rows < FUSION_POOL ? rows : FUSION_POOL;
    if (count > pool)
        count = pool;
    if (count == 0 || !(best[0] > 0))
        return (struct fusion_side){0};
    return (struct fusion_side){
        .found = true, .high = best[0], .prominence = prominence(best, count, pool, 0)};
}

double fusion_normalise(const struct fusion_side *side, double score)
{
    if (isnan(score) || !side->found)
        return 0;
    if (score >= side->high)
        return 1;
    if (!(side->high > side->low))
        return score < side->low ? -1 : 1;
    return fmax((score - side->low) / (side->high - side->low), -1);
}

double fusion_dense_weight(const struct fusion_side *dense, const struct fusion_side *keyword,
                           double agreement, double language_factor)
{
    if (!dense->found)
        return 0;
    if (!keyword->found)
        return 1;
    const double trust = language_factor * (1 + agreement) / 2;
    double a = trust * dense->prominence * dense->prominence;
    double b = keyword->prominence * keyword->prominence;
    if (a + b == 0) { /* one row, or rows that are all alike */
        a = trust;
        b = 1;
    }
    return a / (a + b);
}
