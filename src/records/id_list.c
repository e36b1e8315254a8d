#include "records/id_list.h"

#include <stdlib.h>

#include "base/memory.h"

void id_list_release(struct id_list *list)
{
    free(list->ids);
    *list = (struct id_list){0};
}

void id_list_add(struct id_list *list, int64_t id)
{
    GROW(list->ids, list->count, list->capacity);
    list->ids[list->count++] = id;
}

ibid_code id_list_collect(struct id_list *list, struct statement *statement, ibid_error *err)
{
    for (bool row;;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        id_list_add(list, statement_int(statement, 0));
    }
    statement_reset(statement);
    return IBID_OK;
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void id_list_sort(struct id_list *list)
{
    if (list->count < 2)
        return;
    qsort(list->ids, list->count, sizeof *list->ids, compare_ids);
    size_t kept = 1;
    for (size_t i = 1; i < list->count; i++)
        if (list->ids[i] != list->ids[kept - 1])
            list->ids[kept++] = list->ids[i];
    list->count = kept;
}

void id_list_intersect(struct id_list *list, const struct id_list *other)
{
    size_t kept = 0, at = 0;
    for (size_t i = 0; i < list->count; i++) {
        while (at < other->count && other->ids[at] < list->ids[i])
            at++;
        if (at < other->count && other->ids[at] == list->ids[i])
            list->ids[kept++] = list->ids[i];
    }
    list->count = kept;
}

size_t id_list_find(const struct id_list *list, int64_t id)
{
    const int64_t *found = list->count ? bsearch(&id, list->ids, list->count, sizeof id, compare_ids) : NULL;
    return found ? (size_t)(found - list->ids) : SIZE_MAX;
}
