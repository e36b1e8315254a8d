/* A growing list of ids that statements fill; nothing outside records/ includes this. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "metadata_store/metadata_store.h"

struct id_list {
    int64_t *ids;
    size_t count, capacity;
};
#define AUTO_ID_LIST __attribute__((cleanup(id_list_release))) struct id_list

void id_list_release(struct id_list *list);
void id_list_add(struct id_list *list, int64_t id);
/* Adds the first column of every row that the statement gives, and resets it. */
ibid_code id_list_collect(struct id_list *list, struct statement *statement, ibid_error *err) MUST_CHECK;
/* Ascending, each once. */
void id_list_sort(struct id_list *list);
/* Keeps those that are in the other list, too; both are sorted. */
void id_list_intersect(struct id_list *list, const struct id_list *other);
/* Where it is in a sorted list, or SIZE_MAX. */
size_t id_list_find(const struct id_list *list, int64_t id);
