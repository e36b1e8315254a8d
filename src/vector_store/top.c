#include "vector_store/top.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

void top_start(struct top *top, size_t capacity)
{
    *top = (struct top){.items = xmalloc(capacity * sizeof *top->items), .capacity = capacity};
}

void top_release(struct top *top)
{
    free(top->items);
    *top = (struct top){0};
}

float top_threshold(const struct top *top)
{
    return top->count < top->capacity ? -INFINITY : top->items[0].score;
}

static void sift_up(struct scored_row *items, size_t at)
{
    const struct scored_row item = items[at];
    while (at > 0 && scored_before(items[(at - 1) / 2], item)) {
        items[at] = items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    items[at] = item;
}

static void sift_down(struct scored_row *items, size_t count)
{
    const struct scored_row item = items[0];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count)
            break;
        if (child + 1 < count && scored_before(items[child], items[child + 1]))
            child++;
        if (!scored_before(item, items[child]))
            break;
        items[at] = items[child];
        at = child;
    }
    items[at] = item;
}

void top_offer(struct top *top, int64_t row_id, float score)
{
    const struct scored_row item = {row_id, score};
    if (top->count < top->capacity) {
        top->items[top->count] = item;
        sift_up(top->items, top->count++);
    } else if (top->capacity && scored_before(item, top->items[0])) {
        top->items[0] = item;
        sift_down(top->items, top->count);
    }
}

static int compare_rows(const void *a, const void *b)
{
    return scored_before(*(const struct scored_row *)a, *(const struct scored_row *)b) ? -1 : 1;
}

size_t top_finish(struct top *top)
{
    qsort(top->items, top->count, sizeof *top->items, compare_rows);
    return top->count;
}
