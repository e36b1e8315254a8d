#include "vector_store/embedded/number_list.h"

#include <stdlib.h>

#include "base/memory.h"

void number_list_add(struct number_list *list, uint32_t key, double value, uint16_t row)
{
    GROW(list->items, list->count, list->capacity);
    list->items[list->count++] = (struct listed_number){key, row, value};
}

void number_list_release(struct number_list *list)
{
    free(list->items);
    *list = (struct number_list){0};
}

static int compare_numbers(const void *a, const void *b)
{
    const struct listed_number *first = a, *second = b;
    if (first->key != second->key)
        return first->key < second->key ? -1 : 1;
    if (first->value != second->value)
        return first->value < second->value ? -1 : 1;
    return (first->row > second->row) - (first->row < second->row);
}

static void drop_repeated(struct number_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (kept == 0 || compare_numbers(&list->items[kept - 1], &list->items[i]) != 0)
            list->items[kept++] = list->items[i];
    list->count = kept;
}

void number_list_push(struct number_list *list, struct image *image)
{
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare_numbers);
    drop_repeated(list);
    double *values = xmalloc(list->count * sizeof *values);
    uint16_t *rows = xmalloc(list->count * sizeof *rows);
    for (size_t first = 0; first < list->count;) {
        size_t end = first;
        for (; end < list->count && list->items[end].key == list->items[first].key; end++) {
            values[end - first] = list->items[end].value;
            rows[end - first] = list->items[end].row;
        }
        image_add_numbers(image, list->items[first].key, values, rows, (uint32_t)(end - first));
        first = end;
    }
    free(values);
    free(rows);
}
