#include "vector_store/embedded/pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { BUCKETS = 256 };

void pool_start(struct pool *pool, size_t keep)
{
    *pool = (struct pool){.items = xmalloc(2 * keep * sizeof *pool->items),
                          .scratch = xmalloc(2 * keep * sizeof *pool->scratch),
                          .keep = keep,
                          .threshold = -INFINITY};
}

void pool_release(struct pool *pool)
{
    free(pool->items);
    free(pool->scratch);
    *pool = (struct pool){0};
}

static float median(float a, float b, float c)
{
    if ((a <= b) == (b <= c))
        return b;
    return (b <= a) == (a <= c) ? a : c;
}

static void swap(struct place *a, struct place *b)
{
    const struct place other = *a;
    *a = *b;
    *b = other;
}

/* Quickselect (Hoare's FIND) with three parts: above, equal to and below the pivot. */
static void quickselect(struct place *places, size_t total, size_t count)
{
    size_t low = 0, high = total;
    while (low < count && count < high) {
        const float pivot =
            median(places[low].score, places[low + (high - low) / 2].score, places[high - 1].score);
        size_t above = low, below = high;
        for (size_t i = low; i < below;) {
            if (places[i].score > pivot)
                swap(&places[above++], &places[i++]);
            else if (places[i].score < pivot)
                swap(&places[--below], &places[i]);
            else
                i++;
        }
        if (count < above)
            high = above;
        else if (count > below)
            low = below;
        else
            return;
    }
}

/* Where a score stands between the least and the greatest. */
struct scale {
    float least, factor;
};

static inline unsigned bucket_of(struct scale scale, float score)
{
    return (unsigned)((score - scale.least) * scale.factor);
}

static struct scale scale_of(const struct place *places, size_t total)
{
    float least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < total; i++) {
        least = places[i].score < least ? places[i].score : least;
        most = places[i].score > most ? places[i].score : most;
    }
    return (struct scale){least, most > least ? (BUCKETS - 1) / (most - least) : 0};
}

/* A histogram tells which bucket the count falls into; one pass, without branches to mispredict, moves what
 * is above and below it; only the bucket itself has to be looked at closely. */
void pool_partition(struct pool *pool, size_t count)
{
    const size_t total = pool->count;
    size_t sizes[BUCKETS] = {0};
    if (count == 0 || count >= total)
        return;
    const struct scale scale = scale_of(pool->items, total);
    for (size_t i = 0; i < total; i++)
        sizes[bucket_of(scale, pool->items[i].score)]++;
    unsigned boundary = BUCKETS - 1;
    size_t above = 0;
    while (above + sizes[boundary] < count)
        above += sizes[boundary--];
    size_t next[3] = {above + sizes[boundary], above, 0}; /* for what is below, in and above the bucket */
    memcpy(pool->scratch, pool->items, total * sizeof *pool->items);
    for (size_t i = 0; i < total; i++) {
        const unsigned bucket = bucket_of(scale, pool->scratch[i].score);
        const unsigned side = (bucket >= boundary) + (bucket > boundary);
        pool->items[next[side]++] = pool->scratch[i];
    }
    quickselect(pool->items + above, sizes[boundary], count - above);
}

float pool_least(const struct pool *pool, size_t count)
{
    if (pool->count < count)
        return -INFINITY;
    float least = INFINITY;
    for (size_t i = 0; i < count; i++)
        least = pool->items[i].score < least ? pool->items[i].score : least;
    return least;
}

void pool_shrink(struct pool *pool)
{
    if (pool->count <= pool->keep)
        return;
    pool_partition(pool, pool->keep);
    pool->count = pool->keep;
    pool->threshold = pool_least(pool, pool->keep);
}
