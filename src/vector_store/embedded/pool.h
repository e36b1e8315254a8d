/* The best of many scored rows, in no order: cheap to offer to, since most rows fall below the threshold. */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* No similarity comes near it: what does is made of damaged numbers. */
#define POOL_SCORE_LIMIT 1e6f

struct place {
    float score;
    uint32_t part, row; /* of a selection's parts */
};

struct pool {
    struct place *items;
    struct place *scratch;
    size_t count, keep; /* room for 2 * keep */
    float threshold;    /* what is below it cannot be among the best `keep` */
};

void pool_start(struct pool *pool, size_t keep);
void pool_release(struct pool *pool);

/* Shrinks to the best `keep`, if there are more. */
void pool_shrink(struct pool *pool);

static inline void pool_offer(struct pool *pool, float score, uint32_t part, uint32_t row)
{
    if (!(score >= pool->threshold && fabsf(score) < POOL_SCORE_LIMIT)) /* nor NaN */
        return;
    pool->items[pool->count++] = (struct place){score, part, row};
    if (pool->count == 2 * pool->keep)
        pool_shrink(pool);
}

/* Puts the best `count` of the items first. */
void pool_partition(struct pool *pool, size_t count);

/* The least score of the best `count`, which pool_partition has put first; -INFINITY when there are fewer. */
float pool_least(const struct pool *pool, size_t count);
