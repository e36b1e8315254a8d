#include "vector_store/embedded/pool.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

void pool_start(struct pool *pool, size_t keep)
{
    *pool =
        (struct pool){.items = xmalloc(2 * keep * sizeof *pool->items), .keep = keep, .threshold = -INFINITY};
}

void pool_release(struct pool *pool)
{
    free(pool->items);
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
void places_partition(struct place *places, size_t total, size_t count)
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

void pool_shrink(struct pool *pool)
{
    if (pool->count <= pool->keep)
        return;
    places_partition(pool->items, pool->count, pool->keep);
    pool->count = pool->keep;
    float least = INFINITY;
    for (size_t i = 0; i < pool->count; i++)
        least = pool->items[i].score < least ? pool->items[i].score : least;
    pool->threshold = least;
}
