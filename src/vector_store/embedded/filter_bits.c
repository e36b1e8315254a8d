#include "vector_store/embedded/filter_bits.h"

#include <string.h>

#include "vector_store/embedded/bitmap.h"
#include "vector_store/filter_match.h"

struct evaluation {
    struct segment *segment;
    const struct outside_leaves *leaves;
    struct arena *arena;
    ibid_error *err;
};

static bool is_leaf(const struct filter *filter)
{
    return filter->op != FILTER_AND && filter->op != FILTER_OR && filter->op != FILTER_NOT;
}

/* ---- undeclared keys ---- */

ibid_code outside_leaves_ask(const struct row_source *source, int64_t collection_id,
                             const struct filter *filter, struct arena *arena, struct outside_leaves *leaves,
                             ibid_error *err)
{
    for (size_t i = 0; !is_leaf(filter) && i < filter->child_count; i++)
        TRY(outside_leaves_ask(source, collection_id, filter->children[i], arena, leaves, err));
    if (!is_leaf(filter) || filter_key_find(filter->key))
        return IBID_OK;
    if (leaves->count == leaves->capacity) {
        const size_t capacity = leaves->capacity ? leaves->capacity * 2 : 4;
        struct outside_leaf *items = ARENA_ARRAY(arena, struct outside_leaf, capacity);
        if (leaves->count)
            memcpy(items, leaves->items, leaves->count * sizeof *items);
        leaves->items = items;
        leaves->capacity = capacity;
    }
    struct outside_leaf *made = &leaves->items[leaves->count];
    int64_t *row_ids;
    TRY(source->select(source, collection_id, filter, arena, &row_ids, &made->count, err));
    made->leaf = filter;
    made->row_ids = row_ids;
    leaves->count++;
    return IBID_OK;
}

/* The first position at or after `from` with a value >= row_id, found in steps that double. */
static size_t gallop(const int64_t *ids, size_t count, size_t from, int64_t row_id)
{
    size_t step = 1, low = from;
    while (low + step < count && ids[low + step] < row_id) {
        low += step;
        step *= 2;
    }
    const size_t high = low + step < count ? low + step + 1 : count;
    return low + first_id_at_least(ids + low, high - low, row_id);
}

static ibid_code outside_bits(struct evaluation *evaluation, const struct filter *leaf, uint64_t *bits)
{
    struct segment *segment = evaluation->segment;
    const struct outside_leaf *answer = evaluation->leaves->items;
    while (answer->leaf != leaf)
        answer++;
    const int64_t *ids = segment_section(segment, SECTION_ROW_IDS);
    if (!ids)
        return segment_damage(segment, evaluation->err);
    /* Both ascend: each side leaps to where the other stands. */
    size_t wanted = gallop(answer->row_ids, answer->count, 0, segment->header->first_row_id), row = 0;
    while (wanted < answer->count && row < segment->rows) {
        row = gallop(ids, segment->rows, row, answer->row_ids[wanted]);
        if (row == segment->rows)
            break;
        if (ids[row] == answer->row_ids[wanted]) {
            bitmap_set(bits, (uint32_t)row++);
            wanted++;
        } else {
            wanted = gallop(answer->row_ids, answer->count, wanted, ids[row]);
        }
    }
    return IBID_OK;
}

/* ---- numbers ---- */

/* Positions [*ret_first, *ret_end) of the ascending values that an operand admits under the operator. */
static void number_range(enum filter_op op, double operand, const double *values, size_t count,
                         size_t *ret_first, size_t *ret_end)
{
    size_t low = 0, high = count;
    while (low < high) { /* first value >= operand */
        const size_t middle = (low + high) / 2;
        if (values[middle] < operand)
            low = middle + 1;
        else
            high = middle;
    }
    const size_t at_least = low;
    high = count;
    while (low < high) { /* first value > operand */
        const size_t middle = (low + high) / 2;
        if (values[middle] <= operand)
            low = middle + 1;
        else
            high = middle;
    }
    const size_t above = low;
    *ret_first = op == FILTER_LT || op == FILTER_LTE ? 0 : op == FILTER_GT ? above : at_least;
    *ret_end = op == FILTER_LT ? at_least : op == FILTER_GT || op == FILTER_GTE ? count : above;
}

static ibid_code add_number(struct evaluation *evaluation, enum filter_op op, uint32_t key,
                            const struct value *operand, uint64_t *bits)
{
    const double *values;
    const uint16_t *rows;
    size_t count, first, end;
    TRY(segment_numbers(evaluation->segment, key, &values, &rows, &count, evaluation->err));
    if (count == 0)
        return IBID_OK;
    number_range(op, operand->number, values, count, &first, &end);
    for (size_t i = first; i < end; i++) {
        if (rows[i] >= evaluation->segment->rows)
            return segment_damage(evaluation->segment, evaluation->err);
        bitmap_set(bits, rows[i]);
    }
    return IBID_OK;
}

/* ---- texts ---- */

/* Sets whose value has to be looked at one by one: contains, lt, lte, gt, gte. */
static ibid_code add_matching_sets(struct evaluation *evaluation, const struct filter *leaf,
                                   const struct filter_key *key, uint64_t *bits)
{
    struct segment *segment = evaluation->segment;
    uint32_t set, end;
    TRY(segment_sets_of(segment, SET_ATTRIBUTE + (uint32_t)(key - filter_keys), &set, &end, evaluation->err));
    for (; set < end; set++) {
        struct value value = {.type = VALUE_STRING};
        TRY(segment_set_value(segment, set, &value.string, evaluation->err));
        if (filter_value_matches(leaf, key, &value))
            TRY(segment_add_set_at(segment, set, bits, evaluation->err));
    }
    return IBID_OK;
}

/* The rows with a value that one operand admits. */
static ibid_code add_operand(struct evaluation *evaluation, enum filter_op op, const struct filter_key *key,
                             const struct value *operand, uint64_t *bits)
{
    const uint32_t position = (uint32_t)(key - filter_keys);
    if (operand->type != key->type)
        return IBID_OK;
    if (key->type == VALUE_STRING)
        return segment_add_set(evaluation->segment, SET_ATTRIBUTE + position, operand->string, bits,
                               evaluation->err);
    return add_number(evaluation, op, position, operand, bits);
}

static ibid_code all_bits(struct evaluation *evaluation, const struct filter *leaf,
                          const struct filter_key *key, uint64_t *bits)
{
    const size_t words = evaluation->segment->words;
    uint64_t *one = ARENA_ARRAY(evaluation->arena, uint64_t, words);
    bitmap_fill(bits, evaluation->segment->rows);
    for (size_t i = 0; i < leaf->value_count; i++) {
        memset(one, 0, words * sizeof *one);
        TRY(add_operand(evaluation, FILTER_EQ, key, &leaf->values[i], one));
        bitmap_and(bits, one, words);
    }
    return IBID_OK;
}

static ibid_code leaf_bits(struct evaluation *evaluation, const struct filter *leaf, uint64_t *bits)
{
    const struct filter_key *key = filter_key_find(leaf->key);
    memset(bits, 0, evaluation->segment->words * sizeof *bits);
    if (!key)
        return outside_bits(evaluation, leaf, bits);
    if (leaf->op == FILTER_ALL)
        return all_bits(evaluation, leaf, key, bits);
    const bool by_equality =
        leaf->op == FILTER_EQ || leaf->op == FILTER_IN || (leaf->op == FILTER_CONTAINS && key->multiple);
    if (key->type == VALUE_STRING && !by_equality)
        return add_matching_sets(evaluation, leaf, key, bits);
    for (size_t i = 0; i < leaf->value_count; i++)
        TRY(add_operand(evaluation, leaf->op, key, &leaf->values[i], bits));
    return IBID_OK;
}

/* ---- trees ---- */

static ibid_code tree_bits(struct evaluation *evaluation, const struct filter *filter, uint64_t *bits)
{
    if (is_leaf(filter))
        return leaf_bits(evaluation, filter, bits);
    const size_t words = evaluation->segment->words;
    TRY(tree_bits(evaluation, filter->children[0], bits));
    if (filter->op == FILTER_NOT) {
        uint64_t *all = ARENA_ARRAY(evaluation->arena, uint64_t, words);
        bitmap_fill(all, evaluation->segment->rows);
        bitmap_and_not(all, bits, words);
        memcpy(bits, all, words * sizeof *bits);
        return IBID_OK;
    }
    uint64_t *other = ARENA_ARRAY(evaluation->arena, uint64_t, words);
    for (size_t i = 1; i < filter->child_count; i++) {
        if (filter->op == FILTER_AND && bitmap_is_empty(bits, words))
            return IBID_OK;
        TRY(tree_bits(evaluation, filter->children[i], other));
        if (filter->op == FILTER_AND)
            bitmap_and(bits, other, words);
        else
            bitmap_or(bits, other, words);
    }
    return IBID_OK;
}

ibid_code filter_bits(struct segment *segment, const struct filter *filter,
                      const struct outside_leaves *leaves, struct arena *arena, uint64_t *bits,
                      ibid_error *err)
{
    struct evaluation evaluation = {segment, leaves, arena, err};
    return tree_bits(&evaluation, filter, bits);
}
