#include "search/facets.h"

static struct str value_text(const struct value *value, struct arena *arena)
{
    if (value->type == VALUE_STRING)
        return value->string;
    return str_from(arena_printf(arena, "%.17g", value->number));
}

static ibid_code count_key(struct selection *selection, const struct filter_key *key, struct arena *arena,
                           struct facet *ret, ibid_error *err)
{
    struct value_count *values;
    TRY(selection_count_values(selection, (uint32_t)(key - filter_keys), SEARCH_FACET_VALUES, arena, &values,
                               &ret->count, err));
    struct facet_count *counts = ARENA_ARRAY(arena, struct facet_count, ret->count);
    for (size_t i = 0; i < ret->count; i++)
        counts[i] = (struct facet_count){value_text(&values[i].value, arena), values[i].rows};
    ret->key = str_from(key->name);
    ret->counts = counts;
    return IBID_OK;
}

ibid_code facets_count(struct selection *selection, const struct query *query, struct arena *arena,
                       const struct facet **ret, size_t *ret_count, ibid_error *err)
{
    struct facet *facets = ARENA_ARRAY(arena, struct facet, query->facet_count);
    for (size_t i = 0; i < query->facet_count; i++)
        TRY(count_key(selection, filter_key_find(query->facets[i]), arena, &facets[i], err));
    *ret = facets;
    *ret_count = query->facet_count;
    return IBID_OK;
}
