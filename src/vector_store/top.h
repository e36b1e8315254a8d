/* The best k of many scored rows: best first, ties by row_id. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scored_row {
    int64_t row_id;
    float score;
};

/* A binary heap with the worst kept row on top. */
struct top {
    struct scored_row *items;
    size_t count, capacity;
};

/* Whether `a` comes before `b`. */
static inline bool scored_before(struct scored_row a, struct scored_row b)
{
    return a.score > b.score || (a.score == b.score && a.row_id < b.row_id);
}

void top_start(struct top *top, size_t capacity);
void top_release(struct top *top);
/* The score that a row must reach to be kept; -INFINITY while there is room. */
float top_threshold(const struct top *top);
void top_offer(struct top *top, int64_t row_id, float score);
/* Sorts `items`, best first; returns how many there are. No more offers after it. */
size_t top_finish(struct top *top);
