#include "base/option_json.h"

#include <stdint.h>

#include "base/json.h"
#include "base/memory.h"

static ibid_code set_option(const struct option *option, void *values, const json_t *value,
                            struct arena *arena, ibid_error *err)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        return option_set(option, values, (struct str){json_string_value(value), json_string_length(value)},
                          arena, err);
    case JSON_INTEGER:
        return option_set(option, values, str_from(arena_printf(arena, "%lld", json_integer_value(value))),
                          arena, err);
    case JSON_REAL:
        return option_set(option, values, str_from(arena_printf(arena, "%.17g", json_real_value(value))),
                          arena, err);
    case JSON_TRUE:
    case JSON_FALSE:
        return option_set(option, values, json_is_true(value) ? STR("true") : STR("false"), arena, err);
    case JSON_NULL:
        return IBID_OK;
    case JSON_ARRAY:
        break;
    case JSON_OBJECT:
        return fail(err, IBID_EINVAL, "'%s' is not an object", option->name);
    }
    if (option->type == OPTION_LIST) /* it replaces what is there */
        *(struct option_list *)((char *)values + option->offset) = (struct option_list){0};
    size_t i;
    const json_t *item;
    json_array_foreach(value, i, item)
    {
        if (!json_is_string(item))
            return fail(err, IBID_EINVAL, "'%s' is a list of texts", option->name);
        TRY(set_option(option, values, item, arena, err));
    }
    return IBID_OK;
}

ibid_code options_from_json(const struct option *table, void *values, struct str json, struct arena *arena,
                            ibid_error *err)
{
    if (json.size == 0)
        return IBID_OK;
    AUTO_JSON *object = NULL;
    TRY(json_parse(json, &object, err));
    if (!json_is_object(object))
        return fail(err, IBID_EINVAL, "options are a JSON object");
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        const struct option *option = option_find(table, str_from(name));
        if (!option)
            return fail(err, IBID_EINVAL, "there is no option '%s'", name);
        TRY(set_option(option, values, value, arena, err));
    }
    return IBID_OK;
}

static json_t *list_to_json(const struct option_list *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(array, json_string(list->items[i]));
    return array;
}

static bool is_text_not_set(const struct option *option, const void *at)
{
    return (option->type == OPTION_STRING || option->type == OPTION_PATH) && !*(const char *const *)at;
}

struct str options_to_json(const struct option *table, const void *values, struct arena *arena)
{
    AUTO_JSON *object = json_object();
    for (; table && table->name; table++) {
        const void *at = (const char *)values + table->offset;
        if ((table->flags & OPTION_SECRET) || is_text_not_set(table, at))
            continue;
        if (table->type == OPTION_LIST)
            json_set(object, table->name, list_to_json(at));
        else if (table->type == OPTION_REAL)
            json_set_real(object, table->name, *(const double *)at);
        else
            json_set_string(object, table->name, option_format(table, values, arena));
    }
    AUTO_BUFFER text = BUFFER(SIZE_MAX);
    json_append(&text, object);
    return arena_str(arena, buffer_str(&text));
}
