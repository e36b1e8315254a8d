/* What a search may see: bits for each segment of a snapshot, built before the first score. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/arena.h"
#include "vector_store/embedded/collection.h"

struct selected_part {
    struct segment *segment; /* of the snapshot */
    const struct dead *dead; /* of the snapshot, may be NULL */
    uint64_t *readable;      /* living rows that the scope reads */
    uint64_t *selected;      /* those of them that pass the filter */
    uint32_t readable_count, selected_count;
};

/* How many rows the scope reads hold a term: kept, since a search asks more than once. */
struct known_term {
    struct str text;
    uint64_t df;
};

struct embedded_selection {
    struct selection base;
    struct collection *collection;
    /* Copies, to select anew when a damaged segment was rebuilt. */
    struct arena arena;
    struct scope scope;
    const struct filter *filter;
    /* The present state. */
    struct snapshot *snapshot;
    struct selected_part *parts; /* of snapshot->count */
    uint64_t *bits;              /* of all parts */
    uint64_t readable_rows;
    uint64_t readable_words; /* sum of their lengths; see selection_words */
    bool words_known;
    pthread_mutex_t lock; /* what follows */
    struct arena term_arena;
    struct known_term *terms;
    size_t term_count, term_capacity;
};

ibid_code embedded_select(struct collection *collection, const struct scope *scope,
                          const struct filter *filter, struct selection **ret, ibid_error *err) MUST_CHECK;
void embedded_selection_free(struct selection *take_selection);

static inline struct embedded_selection *embedded_selection(struct selection *selection)
{
    return (struct embedded_selection *)selection;
}

/* After a search failed with IBID_ECORRUPT: rebuilds what is damaged and selects anew. */
ibid_code embedded_selection_recover(struct embedded_selection *self, ibid_error *err) MUST_CHECK;

/* The searches, in nearest.c, match.c and facet.c; see struct vector_store_ops. They fail with IBID_ECORRUPT
 * when they come upon damage. */
ibid_code embedded_nearest(struct embedded_selection *self, const float *vector, size_t k,
                           struct candidate *out, size_t *ret_count, ibid_error *err) MUST_CHECK;
ibid_code embedded_match(struct embedded_selection *self, const struct term_query *query, size_t k,
                         struct candidate *out, size_t *ret_count, ibid_error *err) MUST_CHECK;
ibid_code embedded_score(struct embedded_selection *self, const float *vector, const struct term_query *query,
                         struct candidate *candidates, size_t count, ibid_error *err) MUST_CHECK;
ibid_code embedded_list(struct embedded_selection *self, int64_t after_row, size_t limit, int64_t *out,
                        size_t *ret_count, ibid_error *err) MUST_CHECK;
ibid_code embedded_count_values(struct embedded_selection *self, uint32_t key, size_t limit,
                                struct arena *arena, struct value_count **ret, size_t *ret_count,
                                ibid_error *err) MUST_CHECK;

/* Where a row of the selection lives: false when it is not in it. */
ibid_code embedded_find(struct embedded_selection *self, int64_t row_id, bool *ret_found, size_t *ret_part,
                        uint32_t *ret_row, ibid_error *err) MUST_CHECK;
