#include "api/rest/parameters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "net/url.h"

static const struct option no_options[] = {OPTION_END};

static ibid_code unknown(struct str name, ibid_error *err)
{
    return fail(err, IBID_EINVAL, "unknown parameter '%.*s'", STR_ARG(name));
}

/* In a body and a query a list's items stand apart: commas belong to them. */
static ibid_code set_text(const struct option *option, void *values, struct str text, struct arena *arena,
                          ibid_error *err)
{
    struct option whole = *option;
    whole.flags |= OPTION_REPEATED;
    return option_set(&whole, values, text, arena, err);
}

ibid_code parameters_from_query(const struct option *table, void *values, struct str query,
                                struct arena *arena, ibid_error *err)
{
    table = table ? table : no_options;
    option_set_defaults(table, values, arena);
    struct str pair;
    while (str_split(&query, '&', &pair)) {
        struct str name, text;
        const size_t equals = str_find(pair, '=');
        if (pair.size == 0)
            continue;
        if (!url_unescape(str_slice(pair, 0, equals), true, arena, &name) ||
            !url_unescape(str_slice(pair, equals + 1, pair.size), true, arena, &text))
            return fail(err, IBID_EINVAL, "the query string holds a broken escape");
        const struct option *option = option_find(table, name);
        if (!option)
            return unknown(name, err);
        if (equals == pair.size && option->type == OPTION_BOOL)
            text = STR("true");
        TRY(set_text(option, values, text, arena, err));
    }
    return IBID_OK;
}

static ibid_code wrong_type(const struct option *option, const char *expected, ibid_error *err)
{
    return fail(err, IBID_EINVAL, "'%s' must be %s", option->name, expected);
}

static ibid_code set_string(const struct option *option, void *values, const json_t *value,
                            struct arena *arena, ibid_error *err)
{
    return set_text(option, values, (struct str){json_string_value(value), json_string_length(value)}, arena,
                    err);
}

static ibid_code set_list(const struct option *option, void *values, const json_t *value, struct arena *arena,
                          ibid_error *err)
{
    if (json_is_string(value))
        return set_string(option, values, value, arena, err);
    if (!json_is_array(value))
        return wrong_type(option, "a string or an array of strings", err);
    size_t index;
    json_t *item;
    json_array_foreach(value, index, item)
    {
        if (!json_is_string(item))
            return wrong_type(option, "a string or an array of strings", err);
        TRY(set_string(option, values, item, arena, err));
    }
    return IBID_OK;
}

static ibid_code set_number(const struct option *option, void *values, const json_t *value,
                            struct arena *arena, ibid_error *err)
{
    char text[64];
    if (json_is_integer(value))
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
    else
        snprintf(text, sizeof text, "%.17g", json_real_value(value));
    if (option->type == OPTION_DURATION)
        strncat(text, "s", sizeof text - strlen(text) - 1);
    return option_set(option, values, str_from(text), arena, err);
}

/* JSON knows one kind of number: 5.0 is a whole one, too, as far as reals are exact. */
static bool is_whole(const json_t *value)
{
    const double number = json_number_value(value);
    return json_is_integer(value) ||
           (json_is_real(value) && fabs(number) <= 9007199254740992.0 && number == floor(number));
}

static ibid_code set_value(const struct option *option, void *values, const json_t *value,
                           struct arena *arena, ibid_error *err)
{
    switch (option->type) {
    case OPTION_BOOL:
        if (!json_is_boolean(value))
            return wrong_type(option, "true or false", err);
        return option_set(option, values, json_is_true(value) ? STR("true") : STR("false"), arena, err);
    case OPTION_INT:
        if (!is_whole(value))
            return wrong_type(option, "a whole number", err);
        return set_number(option, values, value, arena, err);
    case OPTION_REAL:
        if (!json_is_number(value))
            return wrong_type(option, "a number", err);
        return set_number(option, values, value, arena, err);
    case OPTION_SIZE:
    case OPTION_DURATION:
        if (json_is_number(value))
            return set_number(option, values, value, arena, err);
        break;
    case OPTION_LIST:
        return set_list(option, values, value, arena, err);
    case OPTION_STRING:
    case OPTION_PATH:
    case OPTION_CHOICE:
        break;
    }
    if (!json_is_string(value))
        return wrong_type(option, "a string", err);
    return set_string(option, values, value, arena, err);
}

static ibid_code check_required(const struct option *table, const json_t *object, ibid_error *err)
{
    for (; table->name; table++) {
        const json_t *value = json_object_get(object, table->name);
        if ((table->flags & OPTION_REQUIRED) && (!value || json_is_null(value)))
            return fail(err, IBID_EINVAL, "'%s' is needed", table->name);
    }
    return IBID_OK;
}

static bool is_among(const char *name, const char *const names[])
{
    for (; names && *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

ibid_code parameters_from_json(const struct option *table, void *values, const json_t *object,
                               const char *const others[], struct arena *arena, ibid_error *err)
{
    const char *name;
    json_t *value;
    table = table ? table : no_options;
    option_set_defaults(table, values, arena);
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        if (is_among(name, others))
            continue;
        const struct option *option = option_find(table, str_from(name));
        if (!option || strcmp(option->name, name) != 0)
            return unknown(str_from(name), err);
        if (!json_is_null(value))
            TRY(set_value(option, values, value, arena, err));
    }
    return check_required(table, object, err);
}

static const void *field(const struct option *option, const void *values)
{
    return (const char *)values + option->offset;
}

static bool is_default(const struct option *table, const struct option *option, const void *values,
                       struct arena *arena)
{
    size_t size = 0;
    for (const struct option *row = table; row->name; row++)
        if (row->offset + sizeof(struct option_list) > size)
            size = row->offset + sizeof(struct option_list);
    void *defaults = arena_alloc(arena, size);
    option_set_defaults(option, defaults, arena);
    struct option shown = *option;
    shown.flags &= ~(unsigned)OPTION_SECRET;
    return strcmp(option_format(&shown, values, arena), option_format(&shown, defaults, arena)) == 0;
}

json_t *parameter_list_to_json(const struct option_list *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < list->count; i++)
        json_append_str(array, str_from(list->items[i]));
    return array;
}

void parameters_to_json(const struct option *table, const void *values, json_t *object)
{
    AUTO_ARENA arena = ARENA_INIT;
    for (const struct option *row = table; row->name; row++) {
        if (is_default(table, row, values, &arena))
            continue;
        const void *at = field(row, values);
        switch (row->type) {
        case OPTION_BOOL:
            json_set_bool(object, row->name, *(const bool *)at);
            break;
        case OPTION_INT:
        case OPTION_SIZE:
            json_set_int(object, row->name, *(const int64_t *)at);
            break;
        case OPTION_REAL:
            json_set_real(object, row->name, *(const double *)at);
            break;
        case OPTION_STRING:
        case OPTION_PATH:
            json_set_string(object, row->name, *(const char *const *)at);
            break;
        case OPTION_DURATION:
        case OPTION_CHOICE:
            json_set_string(object, row->name, option_format(row, values, &arena));
            break;
        case OPTION_LIST:
            json_set(object, row->name, parameter_list_to_json(at));
            break;
        }
    }
}

static void append_pair(struct buffer *out, const char *name, const char *text)
{
    buffer_append_byte(out, out->size > 0 ? '&' : '?');
    buffer_append_string(out, name);
    buffer_append_byte(out, '=');
    url_append_escaped(out, str_from(text));
}

void parameters_to_query(const struct option *table, const void *values, struct buffer *out)
{
    AUTO_ARENA arena = ARENA_INIT;
    for (const struct option *row = table; row->name; row++) {
        if (is_default(table, row, values, &arena))
            continue;
        if (row->type != OPTION_LIST) {
            append_pair(out, row->name, option_format(row, values, &arena));
            continue;
        }
        const struct option_list *list = field(row, values);
        for (size_t i = 0; i < list->count; i++)
            append_pair(out, row->name, list->items[i]);
    }
}

/* ---- description ---- */

static json_t *choices_schema(const char *choices)
{
    json_t *array = json_array();
    struct str rest = str_from(choices), choice;
    while (str_split(&rest, '|', &choice))
        json_array_append_new(array, json_stringn(choice.data, choice.size));
    return array;
}

static json_t *type_schema(const struct option *row, bool in_body)
{
    static const char *const types[][3] = {
        [OPTION_BOOL] = {"boolean"}, [OPTION_INT] = {"integer"},     [OPTION_REAL] = {"number"},
        [OPTION_SIZE] = {"string"},  [OPTION_DURATION] = {"string"}, [OPTION_STRING] = {"string"},
        [OPTION_PATH] = {"string"},  [OPTION_CHOICE] = {"string"},   [OPTION_LIST] = {"array", "string"},
    };
    json_t *array = json_array();
    for (const char *const *type = types[row->type]; *type; type++)
        json_array_append_new(array, json_string(*type));
    if (in_body && (row->type == OPTION_SIZE || row->type == OPTION_DURATION))
        json_array_append_new(array, json_string("number"));
    if (in_body && !(row->flags & OPTION_REQUIRED))
        json_array_append_new(array, json_string("null"));
    return array;
}

static json_t *row_schema(const struct option *row, bool in_body)
{
    json_t *schema = json_object();
    json_set(schema, "type", type_schema(row, in_body));
    json_set_string(schema, "description", row->help);
    if (row->type == OPTION_CHOICE) {
        json_t *choices = choices_schema(row->choices);
        if (in_body && !(row->flags & OPTION_REQUIRED))
            json_array_append_new(choices, json_null());
        json_set(schema, "enum", choices);
    }
    if (row->type == OPTION_LIST)
        json_set(schema, "items", json_pack("{ss}", "type", "string"));
    if (row->type == OPTION_INT && (row->low != 0 || row->high != 0)) {
        json_set_int(schema, "minimum", (int64_t)row->low);
        json_set_int(schema, "maximum", (int64_t)row->high);
    }
    if (row->type == OPTION_REAL && (row->low != 0 || row->high != 0)) {
        json_set_real(schema, "minimum", row->low);
        json_set_real(schema, "maximum", row->high);
    }
    return schema;
}

json_t *parameters_schema(const struct option *table, bool in_body)
{
    json_t *properties = json_object();
    for (; table && table->name; table++)
        json_set(properties, table->name, row_schema(table, in_body));
    return properties;
}
