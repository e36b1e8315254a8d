/* Counts the values of a key over a selection: by the bitmap of each text, by the list of numbers. */
#include "base/memory.h"
#include "vector_store/embedded/bitmap.h"
#include "vector_store/embedded/format.h"
#include "vector_store/embedded/segment.h"
#include "vector_store/embedded/selection.h"
#include "vector_store/value_counts.h"

static ibid_code count_texts(const struct selected_part *part, uint32_t key, uint64_t *bits,
                             struct value_counts *counts, ibid_error *err)
{
    struct segment *segment = part->segment;
    uint32_t set, end;
    TRY(segment_sets_of(segment, SET_ATTRIBUTE + key, &set, &end, err));
    for (; set < end; set++) {
        struct value value = {.type = VALUE_STRING};
        memset(bits, 0, segment->words * sizeof *bits);
        TRY(segment_set_value(segment, set, &value.string, err));
        TRY(segment_add_set_at(segment, set, bits, err));
        bitmap_and(bits, part->selected, segment->words);
        value_counts_add(counts, &value, bitmap_count(bits, segment->words));
    }
    return IBID_OK;
}

static ibid_code count_numbers(const struct selected_part *part, uint32_t key, struct value_counts *counts,
                               ibid_error *err)
{
    const double *values;
    const uint16_t *rows;
    size_t count;
    TRY(segment_numbers(part->segment, key, &values, &rows, &count, err));
    for (size_t first = 0, end; first < count; first = end) {
        uint64_t selected = 0;
        for (end = first; end < count && values[end] == values[first]; end++) {
            if (rows[end] >= part->segment->rows)
                return segment_damage(part->segment, err);
            selected += bitmap_get(part->selected, rows[end]);
        }
        value_counts_add(counts, &(struct value){.type = VALUE_NUMBER, .number = values[first]}, selected);
    }
    return IBID_OK;
}

static ibid_code count_parts(struct embedded_selection *self, uint32_t key, struct value_counts *counts,
                             ibid_error *err)
{
    size_t words = 0;
    for (size_t i = 0; i < self->snapshot->count; i++)
        if (self->parts[i].segment->words > words)
            words = self->parts[i].segment->words;
    AUTO_FREE uint64_t *bits = xcalloc(words + 1, sizeof *bits);
    for (size_t i = 0; i < self->snapshot->count; i++) {
        const struct selected_part *part = &self->parts[i];
        if (part->selected_count == 0)
            continue;
        if (counts->type == VALUE_STRING)
            TRY(count_texts(part, key, bits, counts, err));
        else
            TRY(count_numbers(part, key, counts, err));
    }
    return IBID_OK;
}

ibid_code embedded_count_values(struct embedded_selection *self, uint32_t key, size_t limit,
                                struct arena *arena, struct value_count **ret, size_t *ret_count,
                                ibid_error *err)
{
    struct value_counts counts = {.type = filter_keys[key].type};
    ibid_code code = count_parts(self, key, &counts, err);
    if (code == IBID_OK)
        code = value_counts_finish(&counts, limit, arena, ret, ret_count, err);
    value_counts_release(&counts);
    return code;
}
