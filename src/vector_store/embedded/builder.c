#include "vector_store/embedded/builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "vector_store/embedded/codes.h"
#include "vector_store/embedded/interner.h"
#include "vector_store/embedded/number_list.h"
#include "vector_store/row_parts.h"

/* What is kept of a row: runs in the builder's pools. */
struct built_row {
    int64_t row_id, seq;
    uint32_t order; /* in which it came */
    bool removed, has_vector;
    uint16_t length;
    float scale;
    size_t vector; /* offset of its bytes */
    size_t first_term, term_count;
    size_t first_set, set_count;
    size_t first_number, number_count;
};

struct built_term {
    uint32_t term;
    uint8_t tf;
};

struct built_number {
    uint32_t key;
    double value;
};

struct builder {
    uint32_t dimension, padded;
    const struct rotation *rotation;
    struct analyzer *analyzer;
    float *rotated;
    struct built_row *rows;
    size_t row_count, row_capacity;
    bool sorted; /* rows: ascending, each id once */
    int64_t *row_ids;
    struct interner terms, sets; /* sets: key in 4 bytes, most significant first, then the value */
    struct built_term *row_terms;
    size_t row_term_count, row_term_capacity;
    uint32_t *row_sets;
    size_t row_set_count, row_set_capacity;
    struct built_number *row_numbers;
    size_t row_number_count, row_number_capacity;
    int8_t *vectors;
    size_t vector_count, vector_capacity; /* in vectors of `padded` bytes */
};

struct builder *builder_new(uint32_t dimension, const struct rotation *rotation)
{
    struct builder *builder = xcalloc(1, sizeof *builder);
    builder->dimension = dimension;
    builder->padded = rotation_padded(dimension);
    builder->rotation = rotation;
    builder->analyzer = analyzer_new();
    builder->rotated = xmalloc(builder->padded * sizeof *builder->rotated);
    return builder;
}

void builder_clear(struct builder *builder)
{
    interner_release(&builder->terms);
    interner_release(&builder->sets);
    builder->row_count = builder->row_term_count = builder->row_set_count = 0;
    builder->row_number_count = builder->vector_count = 0;
    builder->sorted = false;
}

void builder_free(struct builder *builder)
{
    if (!builder)
        return;
    builder_clear(builder);
    analyzer_free(builder->analyzer);
    free(builder->rotated);
    free(builder->rows);
    free(builder->row_ids);
    free(builder->row_terms);
    free(builder->row_sets);
    free(builder->row_numbers);
    free(builder->vectors);
    free(builder);
}

/* ---- adding ---- */

static void add_terms(struct builder *builder, struct built_row *built, const struct row *row,
                      struct arena *arena)
{
    const struct row_terms terms = row_terms(builder->analyzer, row, arena);
    built->length = (uint16_t)terms.length;
    built->first_term = builder->row_term_count;
    built->term_count = terms.count;
    for (size_t i = 0; i < terms.count; i++) {
        GROW(builder->row_terms, builder->row_term_count, builder->row_term_capacity);
        builder->row_terms[builder->row_term_count++] = (struct built_term){
            interner_add(&builder->terms, terms.terms[i].text), (uint8_t)terms.terms[i].tf};
    }
}

static void add_set(struct builder *builder, uint32_t key, struct str value)
{
    char small[256];
    AUTO_FREE char *large = NULL;
    char *bytes = small;
    if (value.size + 4 > sizeof small)
        bytes = large = xmalloc(value.size + 4);
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (char)(key >> (24 - 8 * i));
    if (value.size)
        memcpy(bytes + 4, value.data, value.size);
    GROW(builder->row_sets, builder->row_set_count, builder->row_set_capacity);
    builder->row_sets[builder->row_set_count++] =
        interner_add(&builder->sets, (struct str){bytes, value.size + 4});
}

static void add_sets(struct builder *builder, struct built_row *built, const struct row *row)
{
    const char state = (char)row->state;
    built->first_set = builder->row_set_count;
    add_set(builder, SET_STATE, (struct str){&state, 1});
    for (size_t i = 0; i < row->workspace_count; i++) {
        char id[8];
        add_set(builder, SET_WORKSPACE, set_workspace_value(row->workspaces[i], id));
    }
    if (built->has_vector)
        add_set(builder, SET_HAS_VECTOR, STR_EMPTY);
}

static void add_attributes(struct builder *builder, struct built_row *built, const struct row *row,
                           struct arena *arena)
{
    struct attribute *attributes;
    const size_t count = row_attributes(row, arena, &attributes);
    built->first_number = builder->row_number_count;
    for (size_t i = 0; i < count; i++) {
        const struct value *value = &attributes[i].value;
        if (value->type == VALUE_STRING) {
            add_set(builder, SET_ATTRIBUTE + attributes[i].key, value->string);
            continue;
        }
        GROW(builder->row_numbers, builder->row_number_count, builder->row_number_capacity);
        builder->row_numbers[builder->row_number_count++] =
            (struct built_number){attributes[i].key, value->number};
    }
    built->set_count = builder->row_set_count - built->first_set;
    built->number_count = builder->row_number_count - built->first_number;
}

static void add_vector(struct builder *builder, struct built_row *built, const float *vector)
{
    if (builder->vector_count == builder->vector_capacity) {
        builder->vector_capacity = builder->vector_capacity ? builder->vector_capacity * 2 : 16;
        builder->vectors = xrealloc(builder->vectors, builder->vector_capacity, builder->padded);
    }
    rotation_apply(builder->rotation, vector, builder->rotated);
    built->vector = builder->vector_count++ * builder->padded;
    built->scale = bytes_encode(builder->rotated, builder->padded, builder->vectors + built->vector);
}

void builder_add(struct builder *builder, const struct row *row)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct built_row built = {.row_id = row->row_id,
                              .seq = row->seq,
                              .order = (uint32_t)builder->row_count,
                              .removed = row->removed,
                              .has_vector = !row->removed && row->vector && builder->dimension};
    if (!row->removed) {
        add_terms(builder, &built, row, &arena);
        add_sets(builder, &built, row);
        add_attributes(builder, &built, row, &arena);
    }
    if (built.has_vector)
        add_vector(builder, &built, row->vector);
    GROW(builder->rows, builder->row_count, builder->row_capacity);
    builder->rows[builder->row_count++] = built;
    builder->sorted = false;
}

size_t builder_count(const struct builder *builder)
{
    return builder->row_count;
}

/* ---- sorting ---- */

static int compare_rows(const void *a, const void *b)
{
    const struct built_row *first = a, *second = b;
    if (first->row_id != second->row_id)
        return first->row_id < second->row_id ? -1 : 1;
    return (first->order > second->order) - (first->order < second->order);
}

/* Rows by id, only the latest of each. */
static void sort_rows(struct builder *builder)
{
    if (builder->sorted)
        return;
    if (builder->row_count)
        qsort(builder->rows, builder->row_count, sizeof *builder->rows, compare_rows);
    size_t kept = 0;
    for (size_t i = 0; i < builder->row_count; i++)
        if (i + 1 == builder->row_count || builder->rows[i + 1].row_id != builder->rows[i].row_id)
            builder->rows[kept++] = builder->rows[i];
    builder->row_count = kept;
    builder->sorted = true;
}

const int64_t *builder_row_ids(struct builder *builder, size_t *ret_count)
{
    sort_rows(builder);
    builder->row_ids = xrealloc(builder->row_ids, builder->row_count, sizeof *builder->row_ids);
    for (size_t i = 0; i < builder->row_count; i++)
        builder->row_ids[i] = builder->rows[i].row_id;
    *ret_count = builder->row_count;
    return builder->row_ids;
}

/* ---- finishing ---- */

/* Which rows hold item i of an interner: members[first[i]] up to members[first[i + 1]], ascending. */
struct inversion {
    uint32_t *first;
    uint16_t *members;
    uint8_t *tfs; /* parallel, terms only */
};

static void inversion_release(struct inversion *inversion)
{
    free(inversion->first);
    free(inversion->members);
    free(inversion->tfs);
}

/* Counts become the positions where each item begins. */
static void accumulate(uint32_t *first, uint32_t count)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i <= count; i++) {
        const uint32_t here = first[i];
        first[i] = sum;
        sum += here;
    }
}

static struct inversion invert_terms(const struct builder *builder, const struct built_row *rows,
                                     uint32_t count)
{
    struct inversion made = {.first = xcalloc(builder->terms.count + 2, sizeof(uint32_t))};
    uint32_t total = 0;
    for (uint32_t row = 0; row < count; row++)
        for (size_t i = 0; i < rows[row].term_count; i++, total++)
            made.first[builder->row_terms[rows[row].first_term + i].term]++;
    accumulate(made.first, builder->terms.count);
    made.members = xmalloc(total * sizeof *made.members);
    made.tfs = xmalloc(total * sizeof *made.tfs);
    uint32_t *next = xmalloc((builder->terms.count + 1) * sizeof *next);
    memcpy(next, made.first, (builder->terms.count + 1) * sizeof *next);
    for (uint32_t row = 0; row < count; row++)
        for (size_t i = 0; i < rows[row].term_count; i++) {
            const struct built_term *term = &builder->row_terms[rows[row].first_term + i];
            const uint32_t at = next[term->term]++;
            made.members[at] = (uint16_t)row;
            made.tfs[at] = term->tf;
        }
    free(next);
    return made;
}

/* A row may name a set twice; it counts once. */
static struct inversion invert_sets(const struct builder *builder, const struct built_row *rows,
                                    uint32_t count)
{
    struct inversion made = {.first = xcalloc(builder->sets.count + 2, sizeof(uint32_t))};
    uint32_t *last = xcalloc(builder->sets.count + 1, sizeof *last); /* row + 1 that named it last */
    uint32_t total = 0;
    for (uint32_t row = 0; row < count; row++)
        for (size_t i = 0; i < rows[row].set_count; i++) {
            const uint32_t set = builder->row_sets[rows[row].first_set + i];
            total += last[set] != row + 1;
            made.first[set] += last[set] != row + 1;
            last[set] = row + 1;
        }
    accumulate(made.first, builder->sets.count);
    made.members = xmalloc(total * sizeof *made.members);
    uint32_t *next = xmalloc((builder->sets.count + 1) * sizeof *next);
    memcpy(next, made.first, (builder->sets.count + 1) * sizeof *next);
    memset(last, 0, (builder->sets.count + 1) * sizeof *last);
    for (uint32_t row = 0; row < count; row++)
        for (size_t i = 0; i < rows[row].set_count; i++) {
            const uint32_t set = builder->row_sets[rows[row].first_set + i];
            if (last[set] != row + 1)
                made.members[next[set]++] = (uint16_t)row;
            last[set] = row + 1;
        }
    free(next);
    free(last);
    return made;
}

static void push_sets(const struct builder *builder, const struct built_row *rows, uint32_t count,
                      struct image *image)
{
    struct inversion sets = invert_sets(builder, rows, count);
    uint32_t *order = interner_sorted(&builder->sets);
    for (uint32_t i = 0; i < builder->sets.count; i++) {
        const struct str text = builder->sets.texts[order[i]];
        const uint32_t first = sets.first[order[i]], members = sets.first[order[i] + 1] - first;
        uint32_t key = 0;
        for (size_t byte = 0; byte < 4; byte++)
            key = key << 8 | (unsigned char)text.data[byte];
        if (members) /* only rows that were replaced may have named it */
            image_add_set(image, key, str_slice(text, 4, text.size), sets.members + first, members);
    }
    free(order);
    inversion_release(&sets);
}

static void push_numbers(const struct builder *builder, const struct built_row *rows, uint32_t count,
                         struct image *image)
{
    struct number_list list = {0};
    for (uint32_t row = 0; row < count; row++)
        for (size_t i = 0; i < rows[row].number_count; i++) {
            const struct built_number *number = &builder->row_numbers[rows[row].first_number + i];
            number_list_add(&list, number->key, number->value, (uint16_t)row);
        }
    number_list_push(&list, image);
    number_list_release(&list);
}

static void push_terms(const struct builder *builder, const struct built_row *rows, uint32_t count,
                       struct image *image)
{
    struct inversion terms = invert_terms(builder, rows, count);
    uint32_t *order = interner_sorted(&builder->terms);
    for (uint32_t i = 0; i < builder->terms.count; i++) {
        const uint32_t first = terms.first[order[i]], members = terms.first[order[i] + 1] - first;
        if (members)
            image_add_term(image, builder->terms.texts[order[i]], terms.members + first, terms.tfs + first,
                           members);
    }
    free(order);
    inversion_release(&terms);
}

/* The living rows alone, and the arrays that an image takes. */
struct living {
    struct built_row *rows;
    uint32_t count;
    int64_t *row_ids, *seqs;
    uint16_t *lengths;
    const int8_t **vectors;
    float *scales;
};

static struct living living_rows(const struct builder *builder)
{
    struct living living = {.rows = xmalloc(builder->row_count * sizeof *living.rows)};
    for (size_t i = 0; i < builder->row_count; i++)
        if (!builder->rows[i].removed)
            living.rows[living.count++] = builder->rows[i];
    living.row_ids = xmalloc(living.count * sizeof *living.row_ids);
    living.seqs = xmalloc(living.count * sizeof *living.seqs);
    living.lengths = xmalloc(living.count * sizeof *living.lengths);
    living.vectors = xcalloc(living.count, sizeof *living.vectors);
    living.scales = xmalloc(living.count * sizeof *living.scales);
    for (uint32_t i = 0; i < living.count; i++) {
        const struct built_row *row = &living.rows[i];
        living.row_ids[i] = row->row_id;
        living.seqs[i] = row->seq;
        living.lengths[i] = row->length;
        living.scales[i] = row->scale;
        if (row->has_vector)
            living.vectors[i] = builder->vectors + row->vector;
    }
    return living;
}

static void living_release(struct living *living)
{
    free(living->rows);
    free(living->row_ids);
    free(living->seqs);
    free(living->lengths);
    free(living->vectors);
    free(living->scales);
}

ibid_code builder_finish(struct builder *builder, const struct image_target *target, int64_t seq_low,
                         int64_t seq_high, struct segment **ret, ibid_error *err)
{
    sort_rows(builder);
    struct living living = living_rows(builder);
    struct segment *segment = NULL;
    ibid_code code = IBID_OK;
    if (living.count > SEGMENT_ROWS)
        BUG("%u rows for one segment", living.count);
    if (living.count) {
        const struct image_rows rows = {living.count,       living.row_ids, living.seqs,
                                        living.lengths,     living.vectors, living.scales,
                                        builder->dimension, seq_low,        seq_high};
        struct image *image = image_new(target, &rows);
        push_sets(builder, living.rows, living.count, image);
        push_numbers(builder, living.rows, living.count, image);
        image_add_vectors(image);
        push_terms(builder, living.rows, living.count, image);
        code = image_finish(image, &segment, err);
    }
    living_release(&living);
    if (code != IBID_OK)
        return code;
    builder_clear(builder);
    *ret = segment;
    return IBID_OK;
}
