#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"

#define FIELD(name) offsetof(struct global_options, name)

const struct option global_options[] = {
    {.name = "data",
     .letter = 'd',
     .type = OPTION_PATH,
     .offset = FIELD(data),
     .placeholder = "FOLDER",
     .help = "Where the index is kept; without it $IBID_DATA, else ~/.local/share/ibid."},
    {.name = "config",
     .letter = 'c',
     .type = OPTION_PATH,
     .offset = FIELD(config),
     .placeholder = "FILE",
     .help = "Settings to read instead of ibid.yaml in the data folder."},
    {.name = "set",
     .type = OPTION_LIST,
     .offset = FIELD(set),
     .flags = OPTION_REPEATED,
     .placeholder = "KEY=VALUE",
     .help = "Sets one setting for this run (see 'ibid config explain'); may be given several times."},
    {.name = "json",
     .letter = 'j',
     .type = OPTION_BOOL,
     .offset = FIELD(json),
     .help = "Print the answer as JSON: the same objects as the REST interface gives."},
    {.name = "quiet",
     .letter = 'q',
     .type = OPTION_BOOL,
     .offset = FIELD(quiet),
     .help = "No progress and no remarks."},
    {.name = "verbose",
     .letter = 'v',
     .type = OPTION_BOOL,
     .offset = FIELD(verbose),
     .help = "Say more on standard error about what is done."},
    {.name = "no_color",
     .type = OPTION_BOOL,
     .offset = FIELD(no_color),
     .help = "No colours; NO_COLOR in the environment does the same."},
    {.name = "help", .letter = 'h', .type = OPTION_BOOL, .offset = FIELD(help), .help = "Show this help."},
    OPTION_END,
};

int exit_status_of(ibid_code code)
{
    switch (code) {
    case IBID_OK:
        return EXIT_OK;
    case IBID_EINVAL:
    case IBID_EUNSUPPORTED:
        return EXIT_USAGE;
    case IBID_ENOTFOUND:
        return EXIT_NOT_FOUND;
    case IBID_EAUTH:
    case IBID_EDENIED:
        return EXIT_NOT_ALLOWED;
    case IBID_EBUSY:
    case IBID_ECONFLICT:
    case IBID_EUPSTREAM:
    case IBID_EUNAVAILABLE:
    case IBID_ETIMEOUT:
        return EXIT_TRY_LATER;
    case IBID_ECANCELED:
        return EXIT_INTERRUPTED;
    case IBID_ETOOBIG:
    case IBID_EFORMAT:
    case IBID_EIO:
    case IBID_ENOSPACE:
    case IBID_ECORRUPT:
    case IBID_EBUG:
        break;
    }
    return EXIT_FAILED;
}

static bool is_hidden(const struct command *command, const char *name)
{
    for (const char *const *hidden = command->hidden; hidden && *hidden; hidden++)
        if (strcmp(*hidden, name) == 0)
            return true;
    return false;
}

static size_t add_rows(struct option *rows, size_t count, const struct command *command,
                       const struct option *table, size_t offset)
{
    for (; table && table->name; table++) {
        if (offset > 0 && is_hidden(command, table->name))
            continue;
        rows[count] = *table;
        rows[count++].offset += offset;
    }
    return count;
}

const struct option *command_options(const struct command *command, struct arena *arena)
{
    enum { ROWS_LIMIT = 64 };
    struct option *rows = ARENA_ARRAY(arena, struct option, ROWS_LIMIT);
    size_t count = add_rows(rows, 0, command, global_options, 0);
    count = add_rows(rows, count, command, command->parameters, GLOBAL_SIZE);
    count = add_rows(rows, count, command, command->more_parameters, GLOBAL_SIZE);
    ASSERT(count < ROWS_LIMIT);
    return rows;
}

/* jansson escapes what JSON demands. Beyond that, a terminal must not be steered by what a document holds. */
static int print_part(const char *data, size_t size, void *context)
{
    const struct str text = {data, size};
    size_t shown = 0;
    for (size_t at = 0; at < size;) {
        const size_t start = at;
        const uint32_t code_point = utf8_next(text, &at);
        if (code_point < 0x7f || !is_terminal_control(code_point))
            continue;
        fwrite(data + shown, 1, start - shown, stdout);
        printf("\\u%04x", (unsigned)code_point);
        shown = at;
    }
    fwrite(data + shown, 1, size - shown, stdout);
    return ferror(stdout) ? -1 : 0;
}

void print_json(const json_t *value)
{
    json_dump_callback(value, print_part, NULL, JSON_INDENT(2) | JSON_ENCODE_ANY);
    putchar('\n');
}

void print_buffer(const struct buffer *out)
{
    const struct str text = buffer_str(out);
    fwrite(text.data, 1, text.size, stdout);
    if (out->overflowed)
        fputs("ibid: the output was cut: ask for less at a time\n", stderr);
}

struct str member_text(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return STR_EMPTY;
    return (struct str){json_string_value(value), json_string_length(value)};
}

const char *member_string(const json_t *object, const char *key)
{
    return member_text(object, key).data;
}

int64_t member_int(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

double member_real(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

void append_pages(const json_t *object, struct buffer *out)
{
    const int64_t page = member_int(object, "page"), last = member_int(object, "page_last");
    if (last > 0)
        buffer_printf(out, " · pages %lld-%lld", (long long)page, (long long)last);
    else if (page > 0)
        buffer_printf(out, " · page %lld", (long long)page);
}

ibid_code absolute_path(struct invocation *invocation, const char *path, const char **ret, ibid_error *err)
{
    ibid_error error = {0};
    AUTO_FREE char *resolved = path_resolve(path, &error);
    if (!resolved) {
        if (err)
            *err = error;
        return error.code;
    }
    *ret = arena_strdup(&invocation->arena, resolved);
    return IBID_OK;
}
