#include "base/option.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

#include "base/clock.h"
#include "base/file.h"

struct unit {
    const char *suffix;
    double factor;
};

static const struct unit size_units[] = {{"", 1},
                                         {"b", 1},
                                         {"k", 1024},
                                         {"kb", 1024},
                                         {"kib", 1024},
                                         {"m", 1048576},
                                         {"mb", 1048576},
                                         {"mib", 1048576},
                                         {"g", 1073741824},
                                         {"gb", 1073741824},
                                         {"gib", 1073741824},
                                         {NULL, 0}};

static const struct unit duration_units[] = {{"us", 1},      {"ms", 1e3},    {"s", 1e6},     {"m", 60e6},
                                             {"min", 60e6},  {"h", 3600e6},  {"d", 86400e6}, {NULL, 0}};

/* A number followed by one of the units, e.g. "1.5 GiB". */
static bool parse_quantity(struct str text, const struct unit *units, double *ret)
{
    size_t digits = 0;
    while (digits < text.size && (isdigit((unsigned char)text.data[digits]) || text.data[digits] == '.'))
        digits++;
    double number;
    if (!str_to_double(str_slice(text, 0, digits), &number))
        return false;
    struct str suffix = str_trim(str_slice(text, digits, text.size));
    for (; units->suffix; units++)
        if (str_equal_nocase(suffix, str_from(units->suffix))) {
            *ret = number * units->factor;
            return true;
        }
    return false;
}

static bool parse_bool(struct str text, bool *ret)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (str_equal_nocase(text, str_from(words[i]))) {
            *ret = i & 1;
            return true;
        }
    return false;
}

static void *field(const struct option *option, void *values)
{
    return (char *)values + option->offset;
}

static ibid_code wrong_value(const struct option *option, struct str text, const char *expected, ibid_error *err)
{
    if (option->flags & OPTION_SECRET)
        return fail(err, IBID_EINVAL, "%s: the value is not %s", option->name, expected);
    return fail(err, IBID_EINVAL, "%s: '%.*s' is not %s", option->name, STR_ARG(text), expected);
}

static ibid_code check_range(const struct option *option, double value, struct str text, ibid_error *err)
{
    if ((option->low == 0 && option->high == 0) || (value >= option->low && value <= option->high))
        return IBID_OK;
    if (option->type == OPTION_INT || option->type == OPTION_REAL)
        return fail(err, IBID_EINVAL, "%s: %.*s is out of range (%g to %g)", option->name, STR_ARG(text),
                    option->low, option->high);
    return fail(err, IBID_EINVAL, "%s: %.*s is out of range", option->name, STR_ARG(text));
}

static void list_append(struct option_list *list, const char *item, struct arena *arena)
{
    /* Lists are short and made once: copying them on each append keeps the type plain. */
    const char **items = ARENA_ARRAY(arena, const char *, list->count + 1);
    for (size_t i = 0; i < list->count; i++)
        items[i] = list->items[i];
    items[list->count] = item;
    *list = (struct option_list){items, list->count + 1};
}

static ibid_code set_choice(const struct option *option, int *value, struct str text, ibid_error *err)
{
    struct str rest = str_from(option->choices), choice;
    for (int i = 0; str_split(&rest, '|', &choice); i++)
        if (str_equal_nocase(choice, text)) {
            *value = i;
            return IBID_OK;
        }
    return fail(err, IBID_EINVAL, "%s: '%.*s' is none of %s", option->name, STR_ARG(text), option->choices);
}

ibid_code option_set(const struct option *option, void *values, struct str text, struct arena *arena,
                     ibid_error *err)
{
    text = str_trim(text);
    double number;
    long long whole;
    switch (option->type) {
    case OPTION_BOOL:
        return parse_bool(text, field(option, values)) ? IBID_OK
                                                       : wrong_value(option, text, "true or false", err);
    case OPTION_INT:
        if (!str_to_int64(text, &whole))
            return wrong_value(option, text, "a whole number", err);
        TRY(check_range(option, (double)whole, text, err));
        *(int64_t *)field(option, values) = whole;
        return IBID_OK;
    case OPTION_REAL:
        if (!str_to_double(text, &number))
            return wrong_value(option, text, "a number", err);
        TRY(check_range(option, number, text, err));
        *(double *)field(option, values) = number;
        return IBID_OK;
    case OPTION_SIZE:
    case OPTION_DURATION: {
        bool is_size = option->type == OPTION_SIZE;
        if (!parse_quantity(text, is_size ? size_units : duration_units, &number) || number > 9e18)
            return wrong_value(option, text, is_size ? "a size such as 512KB or 50MB"
                                                     : "a duration such as 250ms, 30s or 24h", err);
        TRY(check_range(option, number, text, err));
        *(int64_t *)field(option, values) = (int64_t)number;
        return IBID_OK;
    }
    case OPTION_STRING:
        *(const char **)field(option, values) = arena_str(arena, text).data;
        return IBID_OK;
    case OPTION_PATH: {
        const char *home = getenv("HOME");
        bool tilde = home && (str_starts_with(text, "~/") || str_is(text, "~"));
        *(const char **)field(option, values) =
            tilde ? arena_printf(arena, "%s%.*s", home, (int)text.size - 1, text.data + 1)
                  : arena_str(arena, text).data;
        return IBID_OK;
    }
    case OPTION_CHOICE:
        return set_choice(option, field(option, values), text, err);
    case OPTION_LIST: {
        struct option_list *list = field(option, values);
        struct str rest = text, item;
        if (option->flags & OPTION_REPEATED) {
            list_append(list, arena_str(arena, text).data, arena);
            return IBID_OK;
        }
        while (str_split(&rest, ',', &item)) {
            item = str_trim(item);
            if (item.size)
                list_append(list, arena_str(arena, item).data, arena);
        }
        return IBID_OK;
    }
    }
    BUG("option %s has type %d", option->name, (int)option->type);
}

void option_set_defaults(const struct option *table, void *values, struct arena *arena)
{
    for (; table->name; table++) {
        if (!table->default_text)
            continue;
        ibid_error err;
        if (option_set(table, values, str_from(table->default_text), arena, &err) != IBID_OK)
            BUG("default of option %s: %s", table->name, err.message);
    }
}

static bool same_name(struct str given, const char *name)
{
    if (given.size != strlen(name))
        return false;
    for (size_t i = 0; i < given.size; i++)
        if (given.data[i] != name[i] && !(given.data[i] == '-' && name[i] == '_'))
            return false;
    return true;
}

const struct option *option_find(const struct option *table, struct str name)
{
    for (; table->name; table++)
        if (same_name(name, table->name))
            return table;
    return NULL;
}

static const char *format_quantity(int64_t value, const struct unit *units, const char *const *shown,
                                   struct arena *arena)
{
    /* The largest unit of those in `shown` (descending) that divides the value. */
    for (; *shown; shown++)
        for (const struct unit *unit = units; unit->suffix; unit++)
            if (strcmp(unit->suffix, *shown) == 0 && value % (int64_t)unit->factor == 0 &&
                (value != 0 || shown[1] == NULL)) {
                AUTO_FREE char *upper = xstrdup(unit->suffix);
                if (units == size_units)
                    for (char *at = upper; *at; at++)
                        *at = (char)toupper((unsigned char)*at);
                return arena_printf(arena, "%" PRId64 "%s", value / (int64_t)unit->factor, upper);
            }
    return arena_printf(arena, "%" PRId64, value);
}

const char *option_format(const struct option *option, const void *values, struct arena *arena)
{
    static const char *const sizes[] = {"gb", "mb", "kb", "", NULL};
    static const char *const durations[] = {"d", "h", "m", "s", "ms", "us", NULL};
    const void *at = (const char *)values + option->offset;
    if (option->flags & OPTION_SECRET)
        return *(const char *const *)at ? "***" : "";
    switch (option->type) {
    case OPTION_BOOL:
        return *(const bool *)at ? "true" : "false";
    case OPTION_INT:
        return arena_printf(arena, "%" PRId64, *(const int64_t *)at);
    case OPTION_REAL:
        return arena_printf(arena, "%g", *(const double *)at);
    case OPTION_SIZE:
        return format_quantity(*(const int64_t *)at, size_units, sizes, arena);
    case OPTION_DURATION:
        return format_quantity(*(const int64_t *)at, duration_units, durations, arena);
    case OPTION_STRING:
    case OPTION_PATH:
        return *(const char *const *)at ? *(const char *const *)at : "";
    case OPTION_CHOICE: {
        struct str rest = str_from(option->choices), choice = STR_EMPTY;
        for (int i = 0; i <= *(const int *)at; i++)
            str_split(&rest, '|', &choice);
        return arena_str(arena, choice).data;
    }
    case OPTION_LIST: {
        const struct option_list *list = at;
        const char *text = "";
        for (size_t i = 0; i < list->count; i++)
            text = arena_printf(arena, "%s%s%s", text, i ? "," : "", list->items[i]);
        return text;
    }
    }
    return "";
}

const char *option_placeholder(const struct option *option)
{
    static const char *const by_type[] = {
        [OPTION_BOOL] = "",     [OPTION_INT] = "N",       [OPTION_REAL] = "X",
        [OPTION_SIZE] = "SIZE", [OPTION_DURATION] = "DURATION", [OPTION_STRING] = "TEXT",
        [OPTION_PATH] = "PATH", [OPTION_CHOICE] = "",     [OPTION_LIST] = "LIST",
    };
    if (option->placeholder)
        return option->placeholder;
    return option->type == OPTION_CHOICE ? option->choices : by_type[option->type];
}

/* Levenshtein distance of two short names, for "did you mean". */
static size_t edit_distance(struct str a, struct str b)
{
    size_t row[64];
    if (b.size >= COUNT_OF(row))
        return SIZE_MAX;
    for (size_t j = 0; j <= b.size; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.size; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size; j++) {
            size_t above = row[j];
            bool same = a.data[i - 1] == b.data[j - 1] || (a.data[i - 1] == '-' && b.data[j - 1] == '_');
            size_t best = diagonal + !same;
            if (above + 1 < best)
                best = above + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = above;
            row[j] = best;
        }
    }
    return row[b.size];
}

static ibid_code unknown_flag(const struct option *table, struct str name, ibid_error *err)
{
    const char *nearest = NULL;
    size_t best = 4;
    for (; table->name; table++) {
        size_t distance = edit_distance(name, str_from(table->name));
        if (distance < best)
            best = distance, nearest = table->name;
    }
    if (!nearest)
        return fail(err, IBID_EINVAL, "unknown option --%.*s (see --help)", STR_ARG(name));
    AUTO_FREE char *spelt = xstrdup(nearest);
    for (char *at = spelt; *at; at++)
        if (*at == '_')
            *at = '-';
    return fail(err, IBID_EINVAL, "unknown option --%.*s; did you mean --%s?", STR_ARG(name), spelt);
}

/* Sets one flag; *position stands on it and moves on when the next argument is its value. */
static ibid_code parse_flag(const struct option *table, void *values, int argc, const char *const argv[],
                            int *position, struct arena *arena, ibid_error *err)
{
    const char *argument = argv[*position];
    const struct option *option = NULL;
    struct str name, value = {NULL, 0};
    if (argument[1] == '-') {
        struct str text = str_from(argument + 2);
        size_t equals = str_find(text, '=');
        name = str_slice(text, 0, equals);
        if (equals < text.size)
            value = str_slice(text, equals + 1, text.size);
        option = option_find(table, name);
        if (!option && str_starts_with(name, "no-")) {
            option = option_find(table, str_slice(name, 3, name.size));
            if (option && option->type == OPTION_BOOL && !value.data)
                return option_set(option, values, STR("false"), arena, err);
            option = NULL;
        }
    } else {
        name = (struct str){argument + 1, 1};
        for (const struct option *row = table; row->name && !option; row++)
            if (row->letter == argument[1])
                option = row;
        if (argument[2])
            value = str_from(argument[2] == '=' ? argument + 3 : argument + 2);
    }
    if (!option)
        return argument[1] == '-' ? unknown_flag(table, name, err)
                                  : fail(err, IBID_EINVAL, "unknown option %s (see --help)", argument);
    if (option->type == OPTION_BOOL && !value.data)
        return option_set(option, values, STR("true"), arena, err);
    if (!value.data) {
        if (*position + 1 >= argc)
            return fail(err, IBID_EINVAL, "%s needs a value: %s", argument, option_placeholder(option));
        value = str_from(argv[++*position]);
    }
    return option_set(option, values, value, arena, err);
}

ibid_code option_parse_arguments(const struct option *table, void *values, int argc, const char *const argv[],
                                 struct arena *arena, const char ***ret_positional, size_t *ret_count,
                                 ibid_error *err)
{
    const char **positional = ARENA_ARRAY(arena, const char *, (size_t)argc + 1);
    size_t count = 0;
    bool flags = true;
    for (int i = 0; i < argc; i++) {
        if (flags && strcmp(argv[i], "--") == 0)
            flags = false;
        else if (flags && argv[i][0] == '-' && argv[i][1])
            TRY(parse_flag(table, values, argc, argv, &i, arena, err));
        else
            positional[count++] = argv[i];
    }
    *ret_positional = positional;
    *ret_count = count;
    return IBID_OK;
}

/* ---- settings ---- */

struct attached {
    const struct option_section *section;
    void *values;
    const char **origins; /* one for each option; NULL: default */
};

struct settings {
    struct arena arena;
    struct attached *attached;
    size_t count, capacity;
};

struct settings *settings_new(void)
{
    return xcalloc(1, sizeof(struct settings));
}

void settings_free(struct settings *settings)
{
    if (!settings)
        return;
    free(settings->attached);
    arena_release(&settings->arena);
    free(settings);
}

void settings_add(struct settings *settings, const struct option_section *section, void *values)
{
    size_t options = 0;
    while (section->table[options].name)
        options++;
    GROW(settings->attached, settings->count, settings->capacity);
    settings->attached[settings->count++] = (struct attached){
        .section = section,
        .values = values,
        .origins = ARENA_ARRAY(&settings->arena, const char *, options),
    };
    option_set_defaults(section->table, values, &settings->arena);
}

/* Lists from a stronger place replace those of a weaker one; within one place they add up. */
static ibid_code set_from(struct settings *settings, struct attached *attached, const struct option *option,
                          struct str text, const char *origin, ibid_error *err)
{
    const char **seen = &attached->origins[option - attached->section->table];
    if (option->type == OPTION_LIST && (!*seen || strcmp(*seen, origin) != 0))
        *(struct option_list *)field(option, attached->values) = (struct option_list){0};
    ibid_code code = option_set(option, attached->values, text, &settings->arena, err);
    if (code != IBID_OK) {
        error_context(err, "%s: %s", origin, attached->section->name);
        return code;
    }
    *seen = arena_strdup(&settings->arena, origin);
    return IBID_OK;
}

ibid_code settings_set(struct settings *settings, struct str key, struct str text, const char *origin,
                       ibid_error *err)
{
    size_t dot = key.size;
    while (dot > 0 && key.data[dot - 1] != '.')
        dot--;
    struct str section = str_slice(key, 0, dot ? dot - 1 : 0), name = str_slice(key, dot, key.size);
    for (size_t i = 0; i < settings->count; i++) {
        struct attached *attached = &settings->attached[i];
        const struct option *option =
            str_is(section, attached->section->name) ? option_find(attached->section->table, name) : NULL;
        if (option)
            return set_from(settings, attached, option, text, origin, err);
    }
    return fail(err, IBID_EINVAL, "%s: there is no setting '%.*s' (see `ibid config explain`)", origin,
                STR_ARG(key));
}

ibid_code settings_set_pair(struct settings *settings, struct str pair, const char *origin, ibid_error *err)
{
    const size_t equals = str_find(pair, '=');
    if (equals == pair.size)
        return fail(err, IBID_EINVAL, "%s: a setting is given as KEY=VALUE, not '%.*s'", origin, STR_ARG(pair));
    return settings_set(settings, str_slice(pair, 0, equals), str_slice(pair, equals + 1, pair.size), origin,
                        err);
}

static void environment_name(const char *section, const char *name, char *out, size_t size)
{
    snprintf(out, size, "IBID_%s_%s", section, name);
    for (char *at = out; *at; at++)
        *at = *at == '.' ? '_' : (char)toupper((unsigned char)*at);
}

ibid_code settings_load_environment(struct settings *settings, char *const environment[], ibid_error *err)
{
    for (size_t i = 0; i < settings->count; i++) {
        struct attached *attached = &settings->attached[i];
        for (const struct option *option = attached->section->table; option->name; option++) {
            char name[128];
            environment_name(attached->section->name, option->name, name, sizeof name);
            size_t size = strlen(name);
            for (char *const *variable = environment; *variable; variable++)
                if (strncmp(*variable, name, size) == 0 && (*variable)[size] == '=')
                    TRY(set_from(settings, attached, option, str_from(*variable + size + 1), name, err));
        }
    }
    return IBID_OK;
}

/* Walks libyaml's events; `key` is the dotted path of the value under way. */
struct yaml_reader {
    yaml_parser_t parser;
    struct settings *settings;
    const char *path;
    struct buffer key;
};

static ibid_code yaml_fail(struct yaml_reader *reader, const yaml_mark_t *mark, const char *problem, ibid_error *err)
{
    return fail(err, IBID_EINVAL, "%s, line %zu: %s", reader->path, mark->line + 1, problem);
}

static ibid_code yaml_next(struct yaml_reader *reader, yaml_event_t *event, ibid_error *err)
{
    if (!yaml_parser_parse(&reader->parser, event))
        return yaml_fail(reader, &reader->parser.problem_mark,
                         reader->parser.problem ? reader->parser.problem : "not valid YAML", err);
    if (event->type == YAML_ALIAS_EVENT) {
        yaml_mark_t mark = event->start_mark;
        yaml_event_delete(event);
        return yaml_fail(reader, &mark, "aliases are not used here", err);
    }
    return IBID_OK;
}

static ibid_code yaml_set(struct yaml_reader *reader, const yaml_event_t *event, ibid_error *err)
{
    struct str text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    ibid_code code = settings_set(reader->settings, buffer_str(&reader->key), text, reader->path, err);
    if (code != IBID_OK)
        error_context(err, "line %zu", event->start_mark.line + 1);
    return code;
}

static ibid_code yaml_mapping(struct yaml_reader *reader, int depth, ibid_error *err);

static ibid_code yaml_value(struct yaml_reader *reader, int depth, ibid_error *err)
{
    yaml_event_t event;
    TRY(yaml_next(reader, &event, err));
    ibid_code code = IBID_OK;
    if (event.type == YAML_SCALAR_EVENT) {
        code = yaml_set(reader, &event, err);
    } else if (event.type == YAML_MAPPING_START_EVENT && depth < 8) {
        code = yaml_mapping(reader, depth + 1, err);
    } else if (event.type == YAML_SEQUENCE_START_EVENT) {
        for (bool more = true; code == IBID_OK && more;) {
            yaml_event_t item;
            TRY(yaml_next(reader, &item, err));
            if (item.type == YAML_SCALAR_EVENT)
                code = yaml_set(reader, &item, err);
            else if (item.type == YAML_SEQUENCE_END_EVENT)
                more = false;
            else
                code = yaml_fail(reader, &item.start_mark, "a list holds plain values only", err);
            yaml_event_delete(&item);
        }
    } else {
        code = yaml_fail(reader, &event.start_mark, "a value is expected", err);
    }
    yaml_event_delete(&event);
    return code;
}

static ibid_code yaml_mapping(struct yaml_reader *reader, int depth, ibid_error *err)
{
    size_t outer = reader->key.size;
    for (;;) {
        yaml_event_t event;
        TRY(yaml_next(reader, &event, err));
        if (event.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&event);
            return IBID_OK;
        }
        ibid_code code = IBID_OK;
        if (event.type == YAML_SCALAR_EVENT) {
            if (outer)
                buffer_append_byte(&reader->key, '.');
            buffer_append(&reader->key, event.data.scalar.value, event.data.scalar.length);
            code = buffer_check(&reader->key, "a setting's name", err);
        } else {
            code = yaml_fail(reader, &event.start_mark, "a setting's name is expected", err);
        }
        yaml_event_delete(&event);
        TRY(code);
        TRY(yaml_value(reader, depth, err));
        buffer_truncate(&reader->key, outer);
    }
}

static ibid_code yaml_document(struct yaml_reader *reader, ibid_error *err)
{
    for (;;) {
        yaml_event_t event;
        TRY(yaml_next(reader, &event, err));
        yaml_event_type_t type = event.type;
        bool empty = type == YAML_SCALAR_EVENT && event.data.scalar.length == 0;
        yaml_mark_t mark = event.start_mark;
        yaml_event_delete(&event);
        if (type == YAML_STREAM_END_EVENT)
            return IBID_OK;
        if (type == YAML_MAPPING_START_EVENT)
            TRY(yaml_mapping(reader, 0, err));
        else if (type == YAML_SEQUENCE_START_EVENT || (type == YAML_SCALAR_EVENT && !empty))
            return yaml_fail(reader, &mark, "sections such as `server:` are expected", err);
    }
}

ibid_code settings_load_file(struct settings *settings, const char *path, ibid_error *err)
{
    AUTO_BUFFER text = BUFFER(1024 * 1024);
    TRY(file_read(path, &text, err));
    struct yaml_reader reader = {.settings = settings, .path = path, .key = BUFFER(256)};
    if (!yaml_parser_initialize(&reader.parser))
        BUG("yaml_parser_initialize");
    struct str input = buffer_str(&text);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)input.data, input.size);
    ibid_code code = yaml_document(&reader, err);
    yaml_parser_delete(&reader.parser);
    buffer_release(&reader.key);
    return code;
}

void settings_explain(struct settings *settings,
                      void (*each)(const struct option_section *section, const struct option *option,
                                   const char *value, const char *origin, void *context),
                      void *context)
{
    for (size_t i = 0; i < settings->count; i++) {
        struct attached *attached = &settings->attached[i];
        for (const struct option *option = attached->section->table; option->name; option++) {
            AUTO_ARENA arena = ARENA_INIT;
            const char *origin = attached->origins[option - attached->section->table];
            each(attached->section, option, option_format(option, attached->values, &arena),
                 origin ? origin : "default", context);
        }
    }
}
