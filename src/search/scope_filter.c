#include "search/scope_filter.h"

bool filter_is_about_workspaces(struct str key)
{
    return str_is(key, "workspace_id");
}

static bool holds(enum filter_op op, double id, double operand)
{
    switch (op) {
    case FILTER_LT:
        return id < operand;
    case FILTER_LTE:
        return id <= operand;
    case FILTER_GT:
        return id > operand;
    case FILTER_GTE:
        return id >= operand;
    default: /* on a key of several values, contains is eq */
        return id == operand;
    }
}

static bool is_known(const struct scope *scope, double id)
{
    for (size_t i = 0; i < scope->workspace_count; i++)
        if (holds(FILTER_EQ, (double)scope->workspaces[i], id))
            return true;
    return false;
}

/* The workspaces of the scope for which the condition holds; of `all`, each operand has to be one. */
static const struct filter *condition_within(const struct filter *leaf, const struct scope *scope,
                                             struct arena *arena)
{
    struct value *values = ARENA_ARRAY(arena, struct value, scope->workspace_count + 1);
    size_t count = 0, known = 0;
    for (size_t i = 0; i < scope->workspace_count; i++)
        for (size_t j = 0; j < leaf->value_count; j++)
            if (holds(leaf->op, (double)scope->workspaces[i], leaf->values[j].number)) {
                values[count++] =
                    (struct value){.type = VALUE_NUMBER, .number = (double)scope->workspaces[i]};
                break;
            }
    for (size_t j = 0; j < leaf->value_count; j++)
        known += is_known(scope, leaf->values[j].number);
    if (leaf->op == FILTER_ALL && known == leaf->value_count)
        return leaf;
    if (leaf->op == FILTER_ALL || count == 0) {
        values[0] = (struct value){.type = VALUE_NUMBER, .number = WORKSPACE_NONE};
        count = 1;
    }
    struct filter *within = ARENA_NEW(arena, struct filter);
    *within = (struct filter){.op = FILTER_IN, .key = leaf->key, .values = values, .value_count = count};
    return within;
}

const struct filter *filter_within_scope(const struct filter *filter, const struct scope *scope,
                                         struct arena *arena)
{
    if (!filter)
        return NULL;
    if (filter->child_count == 0)
        return filter_is_about_workspaces(filter->key) ? condition_within(filter, scope, arena) : filter;
    const struct filter **children = ARENA_ARRAY(arena, const struct filter *, filter->child_count);
    for (size_t i = 0; i < filter->child_count; i++)
        children[i] = filter_within_scope(filter->children[i], scope, arena);
    struct filter *within = ARENA_NEW(arena, struct filter);
    *within = *filter;
    within->children = children;
    return within;
}
