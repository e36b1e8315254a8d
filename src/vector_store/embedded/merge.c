#include "vector_store/embedded/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "vector_store/embedded/bitmap.h"
#include "vector_store/embedded/number_list.h"
#include "vector_store/embedded/postings.h"

enum { NOWHERE = UINT32_MAX };

/* A segment being merged and where its cursors stand. */
struct source {
    struct segment *segment;
    const uint64_t *dead;
    const int64_t *row_ids;
    uint32_t *places; /* of its rows in the new segment; NOWHERE for dead ones */
    uint32_t next;    /* row, set or term that comes next */
    struct str text;  /* of that set or term */
    uint64_t prefix;
    uint32_t key;
    struct segment_term term;
};

struct merge {
    struct source *sources;
    size_t count;
    uint32_t rows; /* of the new segment */
    int64_t *row_ids, *seqs;
    uint16_t *lengths;
    const int8_t **vectors;
    float *scales;
    /* Members of the set or term at hand, in the order of the sources. */
    uint16_t *members;
    uint8_t *tfs;
    uint32_t member_count;
    bool ascending;
    /* For putting them in order. */
    uint64_t bits[SEGMENT_ROWS / 64];
    uint8_t tf_of[SEGMENT_ROWS];
    struct postings postings;
};

/* ---- rows ---- */

static void skip_dead(struct source *source)
{
    while (source->next < source->segment->rows && source->dead && bitmap_get(source->dead, source->next))
        source->next++;
}

/* Rows of all sources by id: gives each its place. */
static ibid_code place_rows(struct merge *merge, ibid_error *err)
{
    for (size_t i = 0; i < merge->count; i++) {
        struct source *source = &merge->sources[i];
        TRY(segment_check(source->segment, err)); /* damage must not get a checksum of its own */
        source->row_ids = segment_section(source->segment, SECTION_ROW_IDS);
        if (!source->row_ids)
            return segment_damage(source->segment, err);
        source->places = xmalloc(source->segment->rows * sizeof *source->places);
        memset(source->places, 0xFF, source->segment->rows * sizeof *source->places);
        skip_dead(source);
    }
    for (;;) {
        struct source *least = NULL;
        for (size_t i = 0; i < merge->count; i++) {
            struct source *source = &merge->sources[i];
            if (source->next < source->segment->rows &&
                (!least || source->row_ids[source->next] < least->row_ids[least->next]))
                least = source;
        }
        if (!least)
            return IBID_OK;
        if (merge->rows == SEGMENT_ROWS)
            BUG("more than %d rows for one segment", SEGMENT_ROWS);
        least->places[least->next++] = merge->rows++;
        skip_dead(least);
    }
}

static ibid_code copy_source_rows(struct merge *merge, struct source *source, ibid_error *err)
{
    struct segment *segment = source->segment;
    const int64_t *seqs = segment_section(segment, SECTION_SEQS);
    const uint16_t *lengths = segment_section(segment, SECTION_LENGTHS);
    const float *scales = segment_section(segment, SECTION_SCALES);
    const int8_t *vectors = segment_section(segment, SECTION_VECTORS);
    uint64_t *has_vector = xmalloc(segment->words * sizeof *has_vector);
    ibid_code code = segment_vector_rows(segment, has_vector, err);
    if (code == IBID_OK && (!seqs || !lengths || !scales || !vectors))
        code = segment_damage(segment, err);
    const bool any = segment->header->vectors > 0;
    for (uint32_t row = 0; row < segment->rows && code == IBID_OK; row++) {
        const uint32_t place = source->places[row];
        if (place == NOWHERE)
            continue;
        merge->row_ids[place] = source->row_ids[row];
        merge->seqs[place] = seqs[row];
        merge->lengths[place] = lengths[row];
        if (any && bitmap_get(has_vector, row)) {
            merge->vectors[place] = vectors + (size_t)row * segment->header->padded;
            merge->scales[place] = scales[row];
        }
    }
    free(has_vector);
    return code;
}

static ibid_code copy_rows(struct merge *merge, ibid_error *err)
{
    merge->row_ids = xmalloc(merge->rows * sizeof *merge->row_ids);
    merge->seqs = xmalloc(merge->rows * sizeof *merge->seqs);
    merge->lengths = xmalloc(merge->rows * sizeof *merge->lengths);
    merge->vectors = xcalloc(merge->rows, sizeof *merge->vectors);
    merge->scales = xcalloc(merge->rows, sizeof *merge->scales);
    for (size_t i = 0; i < merge->count; i++)
        TRY(copy_source_rows(merge, &merge->sources[i], err));
    return IBID_OK;
}

/* ---- members of a set or a term ---- */

static void start_members(struct merge *merge)
{
    merge->member_count = 0;
    merge->ascending = true;
}

static void add_member(struct merge *merge, uint32_t place, uint8_t tf)
{
    if (place == NOWHERE)
        return;
    if (merge->member_count && place <= merge->members[merge->member_count - 1])
        merge->ascending = false;
    merge->members[merge->member_count] = (uint16_t)place;
    merge->tfs[merge->member_count++] = tf;
}

static void sort_members(struct merge *merge)
{
    if (merge->ascending)
        return;
    for (uint32_t i = 0; i < merge->member_count; i++) {
        bitmap_set(merge->bits, merge->members[i]);
        merge->tf_of[merge->members[i]] = merge->tfs[i];
    }
    const size_t words = bitmap_words(merge->rows);
    struct bitmap_walk walk = bitmap_walk(merge->bits, words);
    uint32_t count = 0, row;
    while (bitmap_next(&walk, &row)) {
        merge->members[count] = (uint16_t)row;
        merge->tfs[count++] = merge->tf_of[row];
    }
    merge->member_count = count;
    memset(merge->bits, 0, words * sizeof *merge->bits);
}

/* ---- sets ---- */

/* Reads what the source's cursor stands at; it is at the end when next == sets. */
static ibid_code load_set(struct source *source, ibid_error *err)
{
    if (source->next == source->segment->header->sets)
        return IBID_OK;
    const struct set_entry *entry =
        segment_read(source->segment, SECTION_SETS, source->next * sizeof *entry, sizeof *entry);
    if (!entry)
        return segment_damage(source->segment, err);
    source->key = entry->key;
    return segment_set_value(source->segment, source->next, &source->text, err);
}

static int compare_sets(const struct source *a, const struct source *b)
{
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return str_compare(a->text, b->text);
}

static struct source *least_set(struct merge *merge)
{
    struct source *least = NULL;
    for (size_t i = 0; i < merge->count; i++) {
        struct source *source = &merge->sources[i];
        if (source->next < source->segment->header->sets && (!least || compare_sets(source, least) < 0))
            least = source;
    }
    return least;
}

static ibid_code add_set_of(struct merge *merge, struct source *source, ibid_error *err)
{
    uint64_t *bits = xcalloc(source->segment->words, sizeof *bits);
    const ibid_code code = segment_add_set_at(source->segment, source->next, bits, err);
    struct bitmap_walk walk = bitmap_walk(bits, source->segment->words);
    uint32_t row;
    while (code == IBID_OK && bitmap_next(&walk, &row))
        add_member(merge, source->places[row], 1);
    free(bits);
    return code;
}

static ibid_code merge_sets(struct merge *merge, struct image *image, ibid_error *err)
{
    for (size_t i = 0; i < merge->count; i++) {
        merge->sources[i].next = 0;
        TRY(load_set(&merge->sources[i], err));
    }
    struct source *least;
    while ((least = least_set(merge))) {
        const struct source at = *least; /* the cursor moves on, the borrowed value stays */
        start_members(merge);
        for (size_t i = 0; i < merge->count; i++) {
            struct source *source = &merge->sources[i];
            if (source->next == source->segment->header->sets || compare_sets(source, &at) != 0)
                continue;
            TRY(add_set_of(merge, source, err));
            source->next++;
            TRY(load_set(source, err));
        }
        sort_members(merge);
        if (merge->member_count)
            image_add_set(image, at.key, at.text, merge->members, merge->member_count);
    }
    return IBID_OK;
}

/* ---- numbers ---- */

static ibid_code list_numbers(struct source *source, struct number_list *list, ibid_error *err)
{
    struct segment *segment = source->segment;
    const struct number_entry *entries = segment_section(segment, SECTION_NUMBERS);
    if (!entries)
        return segment_damage(segment, err);
    for (uint32_t i = 0; i < segment->header->numbers; i++) {
        const double *values;
        const uint16_t *rows;
        size_t count;
        TRY(segment_numbers(segment, entries[i].key, &values, &rows, &count, err));
        for (size_t j = 0; j < count; j++) {
            if (rows[j] >= segment->rows)
                return segment_damage(segment, err);
            if (source->places[rows[j]] != NOWHERE)
                number_list_add(list, entries[i].key, values[j], (uint16_t)source->places[rows[j]]);
        }
    }
    return IBID_OK;
}

static ibid_code merge_numbers(struct merge *merge, struct image *image, ibid_error *err)
{
    struct number_list list = {0};
    ibid_code code = IBID_OK;
    for (size_t i = 0; i < merge->count && code == IBID_OK; i++)
        code = list_numbers(&merge->sources[i], &list, err);
    if (code == IBID_OK)
        number_list_push(&list, image);
    number_list_release(&list);
    return code;
}

/* ---- terms ---- */

static ibid_code load_term(struct source *source, ibid_error *err)
{
    if (source->next == source->segment->header->terms)
        return IBID_OK;
    TRY(segment_term_at(source->segment, source->next, &source->text, &source->term, err));
    source->prefix = term_prefix(source->text);
    return IBID_OK;
}

static int compare_terms(const struct source *a, const struct source *b)
{
    if (a->prefix != b->prefix)
        return a->prefix < b->prefix ? -1 : 1;
    return str_compare(a->text, b->text);
}

static struct source *least_term(struct merge *merge)
{
    struct source *least = NULL;
    for (size_t i = 0; i < merge->count; i++) {
        struct source *source = &merge->sources[i];
        if (source->next < source->segment->header->terms && (!least || compare_terms(source, least) < 0))
            least = source;
    }
    return least;
}

static ibid_code add_postings_of(struct merge *merge, struct source *source, ibid_error *err)
{
    struct postings *postings = &merge->postings;
    postings_open(postings, source->term.postings, source->term.postings_size,
                  term_entry_count(&source->term.entry), source->segment->rows);
    while (postings_next(postings))
        for (uint32_t i = 0; i < postings->count; i++)
            add_member(merge, source->places[postings->rows[i]], postings->tfs[i]);
    return postings->damaged ? segment_damage(source->segment, err) : IBID_OK;
}

static ibid_code merge_terms(struct merge *merge, struct image *image, ibid_error *err)
{
    for (size_t i = 0; i < merge->count; i++) {
        merge->sources[i].next = 0;
        TRY(load_term(&merge->sources[i], err));
    }
    struct source *least;
    while ((least = least_term(merge))) {
        const struct source at = *least;
        start_members(merge);
        for (size_t i = 0; i < merge->count; i++) {
            struct source *source = &merge->sources[i];
            if (source->next == source->segment->header->terms || compare_terms(source, &at) != 0)
                continue;
            TRY(add_postings_of(merge, source, err));
            source->next++;
            TRY(load_term(source, err));
        }
        sort_members(merge);
        if (merge->member_count)
            image_add_term(image, at.text, merge->members, merge->tfs, merge->member_count);
    }
    return IBID_OK;
}

/* ---- all of it ---- */

static ibid_code push_parts(struct merge *merge, struct image *image, ibid_error *err)
{
    TRY(merge_sets(merge, image, err));
    TRY(merge_numbers(merge, image, err));
    image_add_vectors(image);
    return merge_terms(merge, image, err);
}

static ibid_code write_merged(struct merge *merge, const struct image_target *target, struct segment **ret,
                              ibid_error *err)
{
    const struct segment_header *first = merge->sources[0].segment->header;
    const struct segment_header *last = merge->sources[merge->count - 1].segment->header;
    TRY(copy_rows(merge, err));
    const struct image_rows rows = {
        .count = merge->rows,
        .row_ids = merge->row_ids,
        .seqs = merge->seqs,
        .lengths = merge->lengths,
        .vectors = merge->vectors,
        .scales = merge->scales,
        .dimension = first->dimension,
        .seq_low = first->seq_low,
        .seq_high = last->seq_high,
    };
    struct image *image = image_new(target, &rows);
    const ibid_code code = push_parts(merge, image, err);
    if (code != IBID_OK) {
        image_discard(image);
        return code;
    }
    return image_finish(image, ret, err);
}

ibid_code merge_segments(const struct merge_source *sources, size_t count, const struct image_target *target,
                         struct segment **ret, ibid_error *err)
{
    struct merge *merge = xcalloc(1, sizeof *merge);
    merge->sources = xcalloc(count, sizeof *merge->sources);
    merge->count = count;
    merge->members = xmalloc(SEGMENT_ROWS * sizeof *merge->members);
    merge->tfs = xmalloc(SEGMENT_ROWS);
    for (size_t i = 0; i < count; i++)
        merge->sources[i] = (struct source){.segment = sources[i].segment, .dead = sources[i].dead};
    struct segment *segment = NULL;
    ibid_code code = place_rows(merge, err);
    if (code == IBID_OK && merge->rows)
        code = write_merged(merge, target, &segment, err);
    for (size_t i = 0; i < count; i++)
        free(merge->sources[i].places);
    free(merge->sources);
    free(merge->row_ids);
    free(merge->seqs);
    free(merge->lengths);
    free(merge->vectors);
    free(merge->scales);
    free(merge->members);
    free(merge->tfs);
    free(merge);
    if (code == IBID_OK)
        *ret = segment;
    return code;
}
