#include "search/facets.h"

#include "search/scope_filter.h"

enum { FACET_WORKSPACES = 100000 }; /* counted before those that the caller may know of are kept */

static struct str value_text(const struct value *value, struct arena *arena)
{
    if (value->type == VALUE_STRING)
        return value->string;
    return str_from(arena_printf(arena, "%.17g", value->number));
}

/* Keeps the workspaces of the scope; returns how many there are. */
static size_t keep_known_workspaces(struct value_count *values, size_t count, const struct scope *scope)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (scope_has_workspace(scope, (int64_t)values[i].value.number))
            values[kept++] = values[i];
    return kept;
}

static ibid_code count_key(struct selection *selection, const struct scope *scope,
                           const struct filter_key *key, struct arena *arena, struct facet *ret,
                           ibid_error *err)
{
    const bool about_workspaces = filter_is_about_workspaces(str_from(key->name));
    struct value_count *values;
    size_t count;
    TRY(selection_count_values(selection, (uint32_t)(key - filter_keys),
                               about_workspaces ? FACET_WORKSPACES : SEARCH_FACET_VALUES, arena, &values,
                               &count, err));
    if (about_workspaces)
        count = keep_known_workspaces(values, count, scope);
    ret->count = count < SEARCH_FACET_VALUES ? count : SEARCH_FACET_VALUES;
    struct facet_count *counts = ARENA_ARRAY(arena, struct facet_count, ret->count);
    for (size_t i = 0; i < ret->count; i++)
        counts[i] = (struct facet_count){value_text(&values[i].value, arena), values[i].rows};
    ret->key = str_from(key->name);
    ret->counts = counts;
    return IBID_OK;
}

ibid_code facets_count(struct selection *selection, const struct scope *scope, const struct query *query,
                       struct arena *arena, const struct facet **ret, size_t *ret_count, ibid_error *err)
{
    struct facet *facets = ARENA_ARRAY(arena, struct facet, query->facet_count);
    for (size_t i = 0; i < query->facet_count; i++)
        TRY(count_key(selection, scope, filter_key_find(query->facets[i]), arena, &facets[i], err));
    *ret = facets;
    *ret_count = query->facet_count;
    return IBID_OK;
}
