/* Searching by words: BM25 (vector_store/bm25.h) over the postings of each segment.
 *
 * Terms are added up one after the other into an array of scores, the strongest first. Once `k` rows are
 * known, terms that even together cannot lift a row to the k-th best score are not added up but looked up for
 * the few rows that the others have brought near it (MaxScore; Turtle & Flood, 1995). */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "vector_store/bm25.h"
#include "vector_store/embedded/bitmap.h"
#include "vector_store/embedded/kernels.h"
#include "vector_store/embedded/postings.h"
#include "vector_store/embedded/selection.h"
#include "vector_store/similarity.h"
#include "vector_store/top.h"

/* ---- statistics over what the scope reads ---- */

static ibid_code words_of_part(const struct selected_part *part, uint64_t *sum, ibid_error *err)
{
    struct segment *segment = part->segment;
    const uint64_t living_words = segment->header->words - (part->dead ? part->dead->words : 0);
    const uint32_t living = segment->rows - (part->dead ? part->dead->count : 0);
    if (part->readable_count == living || part->readable_count == 0) {
        *sum += part->readable_count ? living_words : 0;
        return IBID_OK;
    }
    const uint16_t *lengths = segment_section(segment, SECTION_LENGTHS);
    if (!lengths)
        return segment_damage(segment, err);
    struct bitmap_walk walk = bitmap_walk(part->readable, segment->words);
    uint32_t row;
    while (bitmap_next(&walk, &row))
        *sum += lengths[row];
    return IBID_OK;
}

static ibid_code readable_words(struct embedded_selection *self, uint64_t *ret, ibid_error *err)
{
    pthread_mutex_lock(&self->lock);
    const bool known = self->words_known;
    *ret = self->readable_words;
    pthread_mutex_unlock(&self->lock);
    if (known)
        return IBID_OK;
    uint64_t sum = 0;
    for (size_t i = 0; i < self->snapshot->count; i++)
        TRY(words_of_part(&self->parts[i], &sum, err));
    pthread_mutex_lock(&self->lock);
    self->readable_words = sum;
    self->words_known = true;
    pthread_mutex_unlock(&self->lock);
    *ret = sum;
    return IBID_OK;
}

static void open_term(struct postings *postings, const struct segment *segment,
                      const struct segment_term *term)
{
    postings_open(postings, term->postings, term->postings_size, term_entry_count(&term->entry),
                  segment->rows);
}

static ibid_code count_readable(const struct selected_part *part, const struct segment_term *term,
                                uint64_t *df, ibid_error *err)
{
    struct postings postings;
    if (part->readable_count == part->segment->rows) {
        *df += term_entry_count(&term->entry);
        return IBID_OK;
    }
    open_term(&postings, part->segment, term);
    while (postings_next_rows(&postings))
        for (uint32_t i = 0; i < postings.count; i++)
            *df += bitmap_get(part->readable, postings.rows[i]);
    return postings.damaged ? segment_damage(part->segment, err) : IBID_OK;
}

static bool recall_term(struct embedded_selection *self, struct str text, uint64_t *ret_df)
{
    bool found = false;
    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < self->term_count && !found; i++)
        if (str_equal(self->terms[i].text, text)) {
            *ret_df = self->terms[i].df;
            found = true;
        }
    pthread_mutex_unlock(&self->lock);
    return found;
}

static void remember_term(struct embedded_selection *self, struct str text, uint64_t df)
{
    pthread_mutex_lock(&self->lock);
    GROW(self->terms, self->term_count, self->term_capacity);
    self->terms[self->term_count++] = (struct known_term){arena_str(&self->term_arena, text), df};
    pthread_mutex_unlock(&self->lock);
}

/* A term in one segment. */
struct stored_term {
    bool found;
    struct segment_term term;
};

/* Looks a term up in each part that the scope reads anything of. */
static ibid_code find_everywhere(const struct embedded_selection *self, struct str text,
                                 struct stored_term *stored, ibid_error *err)
{
    for (size_t i = 0; i < self->snapshot->count; i++) {
        const struct selected_part *part = &self->parts[i];
        stored[i].found = false;
        if (part->readable_count)
            TRY(segment_find_term(part->segment, text, &stored[i].found, &stored[i].term, err));
    }
    return IBID_OK;
}

static ibid_code document_frequency(struct embedded_selection *self, struct str text,
                                    const struct stored_term *stored, uint64_t *ret, ibid_error *err)
{
    if (recall_term(self, text, ret))
        return IBID_OK;
    uint64_t df = 0;
    for (size_t i = 0; i < self->snapshot->count; i++)
        if (stored[i].found)
            TRY(count_readable(&self->parts[i], &stored[i].term, &df, err));
    remember_term(self, text, df);
    *ret = df;
    return IBID_OK;
}

/* ---- the query ---- */

/* A query's distinct terms that some readable row holds, in the order of the query, with idf in their
 * weights. */
struct weighted_query {
    float weights[TERM_QUERY_LIMIT];
    struct stored_term *stored; /* by term, then part */
    size_t count, parts;
    struct bm25_norm norm;
};

static void weighted_query_free(struct weighted_query **query)
{
    if (*query)
        free((*query)->stored);
    free(*query);
}

static struct stored_term *stored_terms(const struct weighted_query *query, size_t term)
{
    return query->stored + term * query->parts;
}

static bool is_repeated(const struct term_query *query, size_t term)
{
    for (size_t i = 0; i < term; i++)
        if (str_equal(query->terms[i], query->terms[term]))
            return true;
    return false;
}

/* *ret is set in any case and freed by the caller. */
static ibid_code weigh(struct embedded_selection *self, const struct term_query *query,
                       struct weighted_query **ret, ibid_error *err)
{
    struct weighted_query *weighted = *ret = xmalloc(sizeof *weighted);
    uint64_t words;
    weighted->count = 0;
    weighted->parts = self->snapshot->count;
    weighted->stored = xcalloc(query->count * weighted->parts, sizeof *weighted->stored);
    TRY(readable_words(self, &words, err));
    weighted->norm = bm25_norm(query->k1, query->b, words, self->readable_rows);
    for (size_t i = 0; i < query->count; i++) {
        const float weight = query->weights ? query->weights[i] : 1;
        struct stored_term *stored = stored_terms(weighted, weighted->count);
        uint64_t df;
        if (query->idf)
            query->idf[i] = 0;
        if (!(weight > 0) || is_repeated(query, i))
            continue;
        TRY(find_everywhere(self, query->terms[i], stored, err));
        TRY(document_frequency(self, query->terms[i], stored, &df, err));
        const float idf = bm25_idf(self->readable_rows, df);
        if (query->idf)
            query->idf[i] = idf;
        if (df > 0)
            weighted->weights[weighted->count++] = idf * weight;
    }
    return IBID_OK;
}

/* ---- scores of given rows ---- */

/* A row to score and where its score goes. */
struct wanted_row {
    uint32_t part, row;
    size_t index;
    float score;
};

static int compare_wanted(const void *a, const void *b)
{
    const struct wanted_row *first = a, *second = b;
    if (first->part != second->part)
        return first->part < second->part ? -1 : 1;
    return (first->row > second->row) - (first->row < second->row);
}

/* Adds one term's part to the scores of ascending rows of one segment. */
static ibid_code look_up_term(const struct selected_part *part, const struct segment_term *term, float weight,
                              const struct bm25_norm *norm, const uint16_t *lengths, struct wanted_row *rows,
                              size_t count, ibid_error *err)
{
    struct postings postings;
    uint32_t at = 0;
    open_term(&postings, part->segment, term);
    for (size_t i = 0; i < count; i++) {
        while (postings.count == 0 || postings.rows[postings.count - 1] < rows[i].row) {
            if (!postings_next_reaching(&postings, rows[i].row))
                return postings.damaged ? segment_damage(part->segment, err) : IBID_OK;
            at = 0;
        }
        while (postings.rows[at] < rows[i].row)
            at++;
        if (postings.rows[at] == rows[i].row)
            rows[i].score += weight * bm25_saturation(*norm, postings.tfs[at], lengths[rows[i].row]);
    }
    return IBID_OK;
}

/* Scores sorted rows term by term in the order of the query, so that equal rows get equal bits. */
static ibid_code score_rows(struct embedded_selection *self, const struct weighted_query *query,
                            struct wanted_row *rows, size_t count, ibid_error *err)
{
    for (size_t first = 0; first < count;) {
        size_t end = first;
        while (end < count && rows[end].part == rows[first].part)
            end++;
        const struct selected_part *part = &self->parts[rows[first].part];
        const uint16_t *lengths = segment_section(part->segment, SECTION_LENGTHS);
        if (!lengths)
            return segment_damage(part->segment, err);
        for (size_t i = 0; i < query->count; i++) {
            const struct stored_term *stored = &stored_terms(query, i)[rows[first].part];
            if (stored->found)
                TRY(look_up_term(part, &stored->term, query->weights[i], &query->norm, lengths, rows + first,
                                 end - first, err));
        }
        first = end;
    }
    return IBID_OK;
}

/* ---- the best rows ---- */

/* A term of the query in the segment at hand. */
struct part_term {
    struct segment_term stored;
    float weight;
    float bound; /* the most it adds to a score here */
};

struct matching {
    struct embedded_selection *selection;
    const struct weighted_query *query;
    struct top top;
    struct part_term *terms;
    size_t term_count;
    float *scores;  /* a row of the segment at hand */
    uint64_t *near; /* rows that may be among the best */
    struct wanted_row *rows;
};

static int compare_bounds(const void *a, const void *b)
{
    const struct part_term *first = a, *second = b;
    return (first->bound < second->bound) - (first->bound > second->bound);
}

static void find_terms(struct matching *matching, uint32_t part)
{
    const struct weighted_query *query = matching->query;
    matching->term_count = 0;
    for (size_t i = 0; i < query->count; i++) {
        const struct stored_term *stored = &stored_terms(query, i)[part];
        if (!stored->found)
            continue;
        const struct term_entry *entry = &stored->term.entry;
        matching->terms[matching->term_count++] = (struct part_term){
            .stored = stored->term,
            .weight = query->weights[i],
            .bound = query->weights[i] * bm25_saturation(query->norm, entry->max_tf, entry->min_length),
        };
    }
    qsort(matching->terms, matching->term_count, sizeof *matching->terms, compare_bounds);
}

/* How many of the terms, strongest first, have to be added up: the rest cannot lift a row to the threshold. A
 * little is taken off for rounding. */
static size_t count_essential(const struct matching *matching, float threshold, float *ret_rest)
{
    size_t essential = matching->term_count;
    float rest = 0;
    while (essential > 0 && (rest + matching->terms[essential - 1].bound) * 1.0001f < threshold)
        rest += matching->terms[--essential].bound;
    *ret_rest = rest;
    return essential;
}

static ibid_code add_up_term(struct matching *matching, const struct selected_part *part,
                             const struct part_term *term, const uint16_t *lengths, ibid_error *err)
{
    const struct bm25_norm norm = matching->query->norm;
    const struct kernels *kernels = kernels_best();
    struct postings postings;
    open_term(&postings, part->segment, &term->stored);
    while (postings_next(&postings))
        kernels->add_up(postings.rows, postings.tfs, postings.count, lengths, term->weight, norm.base,
                        norm.slope, matching->scores);
    return postings.damaged ? segment_damage(part->segment, err) : IBID_OK;
}

/* Rows whose score so far, with all that may still come, reaches the threshold. */
static size_t gather_near_rows(struct matching *matching, const struct selected_part *part, uint32_t index,
                               float rest, float threshold)
{
    const float needed = threshold - rest * 1.0001f;
    const size_t words = part->segment->words;
    kernels_best()->at_least(matching->scores, words * 64, needed > FLT_MIN ? needed : FLT_MIN,
                             matching->near);
    bitmap_and(matching->near, part->selected, words);
    struct bitmap_walk walk = bitmap_walk(matching->near, words);
    size_t count = 0;
    uint32_t row;
    while (bitmap_next(&walk, &row))
        matching->rows[count++] = (struct wanted_row){index, row, 0, matching->scores[row]};
    return count;
}

static ibid_code offer_rows(struct matching *matching, struct segment *segment, size_t count, ibid_error *err)
{
    const int64_t *row_ids = segment_section(segment, SECTION_ROW_IDS);
    if (!row_ids)
        return segment_damage(segment, err);
    for (size_t i = 0; i < count; i++)
        if (matching->rows[i].score > 0)
            top_offer(&matching->top, row_ids[matching->rows[i].row], matching->rows[i].score);
    return IBID_OK;
}

/* Offers the rows whose scores are whole, a few at a time: what was offered raises the threshold for the
 * rest. */
static ibid_code offer_added_up(struct matching *matching, const struct selected_part *part, ibid_error *err)
{
    enum { CHUNK_WORDS = 16 };
    const int64_t *row_ids = segment_section(part->segment, SECTION_ROW_IDS);
    if (!row_ids)
        return segment_damage(part->segment, err);
    for (size_t first = 0; first < part->segment->words; first += CHUNK_WORDS) {
        const size_t left = part->segment->words - first, words = left < CHUNK_WORDS ? left : CHUNK_WORDS;
        const float *scores = matching->scores + first * 64;
        const float threshold = top_threshold(&matching->top);
        kernels_best()->at_least(scores, words * 64, threshold > FLT_MIN ? threshold : FLT_MIN,
                                 matching->near);
        bitmap_and(matching->near, part->selected + first, words);
        struct bitmap_walk walk = bitmap_walk(matching->near, words);
        uint32_t row;
        while (bitmap_next(&walk, &row))
            top_offer(&matching->top, row_ids[first * 64 + row], scores[row]);
    }
    return IBID_OK;
}

/* Whether looking up each selected row is less work than reading all postings. */
static bool lookup_pays(const struct matching *matching, const struct selected_part *part, size_t essential)
{
    uint64_t postings = 0;
    for (size_t i = 0; i < essential; i++)
        postings += term_entry_count(&matching->terms[i].stored.entry);
    return (uint64_t)part->selected_count * essential * 8 < postings;
}

static size_t gather_selected_rows(struct matching *matching, const struct selected_part *part,
                                   uint32_t index)
{
    struct bitmap_walk walk = bitmap_walk(part->selected, part->segment->words);
    size_t count = 0;
    uint32_t row;
    while (bitmap_next(&walk, &row))
        matching->rows[count++] = (struct wanted_row){index, row, 0, 0};
    return count;
}

/* Drops the rows that what may still come does not lift to the threshold. */
static size_t drop_hopeless(struct wanted_row *rows, size_t count, float needed)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        rows[kept] = rows[i];
        kept += rows[i].score >= needed;
    }
    return kept;
}

static ibid_code match_part(struct matching *matching, uint32_t index, ibid_error *err)
{
    const struct selected_part *part = &matching->selection->parts[index];
    if (part->selected_count == 0)
        return IBID_OK;
    find_terms(matching, index);
    const float threshold = top_threshold(&matching->top);
    float rest;
    const size_t essential = count_essential(matching, threshold, &rest);
    if (essential == 0)
        return IBID_OK;
    const uint16_t *lengths = segment_section(part->segment, SECTION_LENGTHS);
    if (!lengths)
        return segment_damage(part->segment, err);
    size_t count, next = 0;
    if (lookup_pays(matching, part, essential)) {
        count = gather_selected_rows(matching, part, index);
    } else {
        memset(matching->scores, 0, part->segment->words * 64 * sizeof *matching->scores);
        for (; next < essential; next++)
            TRY(add_up_term(matching, part, &matching->terms[next], lengths, err));
        if (next == matching->term_count)
            return offer_added_up(matching, part, err);
        count = gather_near_rows(matching, part, index, rest, threshold);
    }
    for (size_t i = next; i < essential; i++)
        rest += matching->terms[i].bound;
    for (; next < matching->term_count && count; next++) {
        const struct part_term *term = &matching->terms[next];
        TRY(look_up_term(part, &term->stored, term->weight, &matching->query->norm, lengths, matching->rows,
                         count, err));
        rest -= term->bound;
        count = drop_hopeless(matching->rows, count, threshold - rest * 1.0001f);
    }
    return offer_rows(matching, part->segment, count, err);
}

/* The rows found, scored once more term by term as everyone scores them, best first. */
static ibid_code rank_found(struct matching *matching, struct candidate *out, size_t *ret_count,
                            ibid_error *err)
{
    struct embedded_selection *self = matching->selection;
    const size_t count = matching->top.count;
    AUTO_FREE struct wanted_row *rows = xcalloc(count, sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        bool found;
        size_t part;
        TRY(embedded_find(self, matching->top.items[i].row_id, &found, &part, &rows[i].row, err));
        if (!found)
            return fail(err, IBID_ECORRUPT, "row %lld of the index is not where it was",
                        (long long)matching->top.items[i].row_id);
        rows[i].part = (uint32_t)part;
        rows[i].index = i;
    }
    if (count)
        qsort(rows, count, sizeof *rows, compare_wanted);
    TRY(score_rows(self, matching->query, rows, count, err));
    for (size_t i = 0; i < count; i++)
        matching->top.items[rows[i].index].score = rows[i].score;
    top_finish(&matching->top);
    for (size_t i = 0; i < count; i++)
        out[i] = (struct candidate){matching->top.items[i].row_id, NAN, matching->top.items[i].score};
    *ret_count = count;
    return IBID_OK;
}

static ibid_code match_parts(struct matching *matching, ibid_error *err)
{
    for (uint32_t i = 0; i < matching->selection->snapshot->count; i++)
        TRY(match_part(matching, i, err));
    return IBID_OK;
}

ibid_code embedded_match(struct embedded_selection *self, const struct term_query *query, size_t k,
                         struct candidate *out, size_t *ret_count, ibid_error *err)
{
    *ret_count = 0;
    AUTO(weighted_query_free) struct weighted_query *weighted = NULL;
    TRY(weigh(self, query, &weighted, err));
    if (weighted->count == 0 || self->base.count == 0)
        return IBID_OK;
    struct matching matching = {
        .selection = self,
        .query = weighted,
        .terms = xcalloc(weighted->count, sizeof *matching.terms),
        .scores = xaligned_alloc(64, SEGMENT_ROWS * sizeof *matching.scores),
        .near = xaligned_alloc(64, SEGMENT_ROWS / 8),
        .rows = xmalloc(SEGMENT_ROWS * sizeof *matching.rows),
    };
    top_start(&matching.top, k);
    ibid_code code = match_parts(&matching, err);
    if (code == IBID_OK)
        code = rank_found(&matching, out, ret_count, err);
    top_release(&matching.top);
    free(matching.terms);
    free(matching.scores);
    free(matching.near);
    free(matching.rows);
    return code;
}

/* ---- both sides of given rows ---- */

static ibid_code score_words(struct embedded_selection *self, const struct term_query *query,
                             struct wanted_row *rows, size_t count, struct candidate *candidates,
                             ibid_error *err)
{
    AUTO(weighted_query_free) struct weighted_query *weighted = NULL;
    TRY(weigh(self, query, &weighted, err));
    TRY(score_rows(self, weighted, rows, count, err));
    for (size_t i = 0; i < count; i++)
        candidates[rows[i].index].bm25 = rows[i].score;
    return IBID_OK;
}

static ibid_code has_vector(struct embedded_selection *self, const struct wanted_row *row, bool *ret,
                            ibid_error *err)
{
    struct segment *segment = self->parts[row->part].segment;
    *ret = false;
    if (segment->header->vectors == 0)
        return IBID_OK;
    const float *scale = segment_read(segment, SECTION_SCALES, row->row * sizeof *scale, sizeof *scale);
    if (!scale)
        return segment_damage(segment, err);
    *ret = *scale > 0;
    return IBID_OK;
}

static ibid_code score_vectors(struct embedded_selection *self, const float *vector,
                               const struct wanted_row *rows, size_t count, struct candidate *candidates,
                               ibid_error *err)
{
    enum { BATCH = 256 };
    const struct collection *collection = self->collection;
    const uint32_t dimension = collection->dimension;
    AUTO_FREE float *vectors = xmalloc(BATCH * sizeof *vectors * dimension);
    int64_t row_ids[BATCH];
    for (size_t first = 0; first < count; first += BATCH) {
        const size_t batch = count - first < BATCH ? count - first : BATCH;
        for (size_t i = 0; i < batch; i++)
            row_ids[i] = candidates[rows[first + i].index].row_id;
        TRY(collection->source->vectors(collection->source, collection->id, row_ids, batch, vectors, err));
        for (size_t i = 0; i < batch; i++) {
            bool any;
            TRY(has_vector(self, &rows[first + i], &any, err));
            if (any)
                candidates[rows[first + i].index].similarity =
                    similarity_f32(vector, vectors + i * dimension, dimension);
        }
    }
    return IBID_OK;
}

ibid_code embedded_score(struct embedded_selection *self, const float *vector, const struct term_query *query,
                         struct candidate *candidates, size_t count, ibid_error *err)
{
    AUTO_FREE struct wanted_row *rows = xcalloc(count, sizeof *rows);
    size_t found_count = 0;
    for (size_t i = 0; i < count; i++) {
        bool found;
        size_t part;
        candidates[i].similarity = candidates[i].bm25 = NAN;
        TRY(embedded_find(self, candidates[i].row_id, &found, &part, &rows[found_count].row, err));
        if (!found)
            continue;
        rows[found_count].part = (uint32_t)part;
        rows[found_count++].index = i;
    }
    if (found_count)
        qsort(rows, found_count, sizeof *rows, compare_wanted);
    if (query)
        TRY(score_words(self, query, rows, found_count, candidates, err));
    if (vector)
        TRY(score_vectors(self, vector, rows, found_count, candidates, err));
    return IBID_OK;
}
