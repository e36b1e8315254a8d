#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "cli/command.h"

static ibid_code list_sources(struct invocation *invocation, json_t **ret, ibid_error *err)
{
    return door_call(invocation->door, "GET", "/api/v1/sources", NULL, ret, err);
}

static bool is_folder(const json_t *source)
{
    return str_is(member_text(source, "connector"), "folder");
}

void append_outcomes(const json_t *source, struct buffer *out)
{
    const json_t *ledger = json_object_get(source, "ledger");
    const struct str last = member_text(source, "last_run_at");
    char number[32], time[32];
    buffer_printf(out, "%s indexed", format_count(member_int(ledger, "indexed"), number));
    if (member_int(ledger, "failed") > 0)
        buffer_printf(out, ", %s failed", format_count(member_int(ledger, "failed"), number));
    if (member_int(ledger, "skipped") > 0)
        buffer_printf(out, ", %s skipped", format_count(member_int(ledger, "skipped"), number));
    buffer_printf(out, ", coverage %.1f %%", member_real(source, "coverage_percent"));
    if (last.size > 0)
        buffer_printf(out, ", last run %s", format_time(last, time));
}

/* ---- list ---- */

/* As they are given to `ibid index`. */
static void append_options(const struct terminal *terminal, const json_t *options, struct buffer *out)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)options, name, value)
    {
        size_t index;
        json_t *item;
        const char *flag = strcmp(name, "follow_links") == 0 ? "follow-links" : name;
        if (json_is_true(value))
            buffer_printf(out, "  --%s", flag);
        json_array_foreach(value, index, item)
        {
            buffer_printf(out, "  --%s '", flag);
            terminal_append(terminal, out, STYLE_PLAIN, str_from(json_string_value(item)));
            buffer_append_byte(out, '\'');
        }
    }
}

static void append_source(const struct terminal *terminal, const json_t *source, struct buffer *out)
{
    buffer_printf(out, "%5lld  ", (long long)member_int(source, "id"));
    terminal_append(terminal, out, STYLE_BOLD, member_text(source, "location"));
    append_options(terminal, json_object_get(source, "options"), out);
    buffer_append_string(out, "\n       ");
    append_outcomes(source, out);
    if (!json_is_true(json_object_get(source, "enabled")))
        terminal_append(terminal, out, STYLE_WARN, STR(", being removed: 'ibid source remove' goes on"));
    buffer_append_byte(out, '\n');
}

static ibid_code run_list(struct invocation *invocation, ibid_error *err)
{
    AUTO_JSON *answer = NULL;
    AUTO_BUFFER out = BUFFER(64 * 1024 * 1024);
    TRY(list_sources(invocation, &answer, err));
    if (invocation->global.json) {
        print_json(answer);
        return IBID_OK;
    }
    size_t index;
    json_t *source;
    json_array_foreach(json_object_get(answer, "sources"), index, source) if (is_folder(source))
        append_source(&invocation->terminal, source, &out);
    if (out.size == 0)
        buffer_append_string(&out, "No folders yet: 'ibid index FOLDER' adds one.\n");
    print_buffer(&out);
    return IBID_OK;
}

const struct command command_source_list = {
    .name = "source list",
    .summary = "List the folders that are indexed, with the options kept for them",
    .text = "For each folder (or file) that was given to 'ibid index': its number, its path, the patterns "
            "and switches that later runs use, and what became of its files.",
    .examples = "ibid source list",
    .run = run_list,
};

/* ---- remove ---- */

struct remove_options {
    bool yes;
};

/* By number, by path as it is kept, or by a path that leads there now. Borrowed from the list. */
static ibid_code find_source(const json_t *sources, const char *argument, const json_t **ret, ibid_error *err)
{
    AUTO_FREE char *resolved = path_resolve(argument, NULL);
    size_t index;
    json_t *source;
    json_array_foreach(sources, index, source)
    {
        const struct str location = member_text(source, "location");
        AUTO_FREE char *number = xasprintf("%lld", (long long)member_int(source, "id"));
        if (!is_folder(source) || (strcmp(argument, number) != 0 && !str_is(location, argument) &&
                                   !(resolved && str_is(location, resolved))))
            continue;
        *ret = source;
        return IBID_OK;
    }
    return fail(err, IBID_ENOTFOUND, "no indexed folder has the number or path '%s' (see 'ibid source list')",
                argument);
}

/* Indexing a large folder again takes long. */
static bool may_remove(const struct invocation *invocation, const json_t *source)
{
    const struct remove_options *options = invocation->parameters;
    const int64_t documents = member_int(json_object_get(source, "ledger"), "indexed");
    char number[32];
    if (options->yes || documents == 0)
        return true;
    AUTO_BUFFER question = BUFFER(64 * 1024);
    terminal_append(&invocation->terminal, &question, STYLE_PLAIN, member_text(source, "location"));
    buffer_printf(&question, ": its %s documents leave the index; the files stay. Go on?",
                  format_count(documents, number));
    return terminal_confirm(question.data);
}

static void print_receipt(const struct invocation *invocation, const json_t *source, const json_t *receipt)
{
    AUTO_BUFFER out = BUFFER(64 * 1024);
    char documents[32], chunks[32];
    buffer_append_string(&out, "Removed ");
    terminal_append(&invocation->terminal, &out, STYLE_BOLD, member_text(source, "location"));
    buffer_printf(&out, ": %s documents, %s chunks\n",
                  format_count(member_int(receipt, "documents"), documents),
                  format_count(member_int(receipt, "chunks"), chunks));
    print_buffer(&out);
}

static ibid_code run_remove(struct invocation *invocation, ibid_error *err)
{
    AUTO_JSON *answer = NULL, *removed = json_object();
    json_t *receipts = json_array();
    json_set(removed, "removed", receipts);
    TRY(list_sources(invocation, &answer, err));
    for (size_t i = 0; i < invocation->argument_count; i++) {
        const json_t *source;
        json_t *receipt = NULL;
        TRY(find_source(json_object_get(answer, "sources"), invocation->arguments[i], &source, err));
        if (!may_remove(invocation, source))
            continue;
        const char *target =
            arena_printf(&invocation->arena, "/api/v1/sources/%lld", (long long)member_int(source, "id"));
        TRY(call_with_progress(invocation, "DELETE", target, NULL, &receipt, err));
        json_array_append_new(receipts, receipt);
        if (!invocation->global.json && !invocation->global.quiet)
            print_receipt(invocation, source, receipt);
    }
    if (invocation->global.json)
        print_json(removed);
    return IBID_OK;
}

static const struct option remove_table[] = {
    {.name = "yes",
     .letter = 'y',
     .type = OPTION_BOOL,
     .offset = offsetof(struct remove_options, yes),
     .help = "Do not ask."},
    OPTION_END,
};

const struct command command_source_remove = {
    .name = "source remove",
    .arguments = "SOURCE...",
    .argument_min = 1,
    .argument_max = 1000,
    .summary = "Forget folders and remove their documents from the index",
    .text = "SOURCE is a number or a path from 'ibid source list'. Later runs pass the folder over, and its "
            "documents leave the index for good; its files stay where they are. Stopped by Ctrl-C, the "
            "command goes on where it was when it is given again. While an indexing run is under way, "
            "nothing can be removed.",
    .examples = "ibid source remove ~/old-notes\n"
                "ibid source remove 3 --yes",
    .parameters = remove_table,
    .parameters_size = sizeof(struct remove_options),
    .shares_data = true,
    .run = run_remove,
};
