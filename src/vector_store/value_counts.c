#include "vector_store/value_counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void value_counts_release(struct value_counts *counts)
{
    interner_release(&counts->values);
    free(counts->rows);
}

void value_counts_add(struct value_counts *counts, const struct value *value, uint64_t rows)
{
    struct str bytes = value->string;
    if (counts->type != VALUE_STRING)
        bytes = (struct str){(const char *)&value->number, sizeof value->number};
    if (rows == 0 || counts->values.count > VALUE_COUNTS_LIMIT)
        return;
    const uint32_t number = interner_add(&counts->values, bytes);
    if (number >= counts->capacity) {
        const size_t capacity = counts->capacity ? 2 * counts->capacity : 64;
        counts->rows = xrealloc(counts->rows, capacity, sizeof *counts->rows);
        memset(counts->rows + counts->capacity, 0, (capacity - counts->capacity) * sizeof *counts->rows);
        counts->capacity = capacity;
    }
    counts->rows[number] += rows;
}

static int compare_counts(const void *a, const void *b)
{
    const struct value_count *first = a, *second = b;
    if (first->rows != second->rows)
        return first->rows < second->rows ? 1 : -1;
    if (first->value.type == VALUE_STRING)
        return str_compare(first->value.string, second->value.string);
    return (first->value.number > second->value.number) - (first->value.number < second->value.number);
}

ibid_code value_counts_finish(const struct value_counts *counts, size_t limit, struct arena *arena,
                              struct value_count **ret, size_t *ret_count, ibid_error *err)
{
    const size_t total = counts->values.count;
    if (total > VALUE_COUNTS_LIMIT)
        return fail(err, IBID_ETOOBIG, "there are more than %d different values to count",
                    VALUE_COUNTS_LIMIT);
    AUTO_FREE struct value_count *all = xcalloc(total + 1, sizeof *all);
    for (size_t i = 0; i < total; i++) {
        all[i] = (struct value_count){{.type = counts->type}, counts->rows[i]};
        if (counts->type == VALUE_STRING)
            all[i].value.string = counts->values.texts[i];
        else
            memcpy(&all[i].value.number, counts->values.texts[i].data, sizeof(double));
    }
    qsort(all, total, sizeof *all, compare_counts);
    const size_t count = total < limit ? total : limit;
    *ret = ARENA_ARRAY(arena, struct value_count, count);
    for (size_t i = 0; i < count; i++) {
        (*ret)[i] = all[i];
        if (counts->type == VALUE_STRING)
            (*ret)[i].value.string = arena_str(arena, all[i].value.string);
    }
    *ret_count = count;
    return IBID_OK;
}
