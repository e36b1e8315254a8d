#include <stdio.h>
#include <string.h>

#include "api/rest/parameter_tables.h"
#include "api/rest/parameters.h"
#include "base/memory.h"
#include "cli/command.h"

/* ---- status ---- */

static void append_documents(const json_t *counts, struct buffer *out)
{
    static const char *const states[] = {"completed", "pending", "in_progress", "failed", "skipped"};
    const char *separator = ": ";
    char number[32];
    buffer_printf(out, "Documents  %s", format_count(member_int(counts, "total"), number));
    for (size_t i = 0; i < COUNT_OF(states); i++)
        if (member_int(counts, states[i]) > 0) {
            buffer_printf(out, "%s%s %s", separator, format_count(member_int(counts, states[i]), number),
                          states[i]);
            separator = ", ";
        }
    buffer_append_byte(out, '\n');
    if (member_int(counts, "failed") > 0)
        buffer_append_string(out, "           why: ibid documents --state failed\n");
}

/* Nothing when all is as it should be. */
static void append_meaning(const struct terminal *terminal, const json_t *collection, struct buffer *out)
{
    const json_t *successor = json_object_get(collection, "successor");
    const struct str reason = member_text(collection, "meaning_reason");
    char made[32], chunks[32], carried[32], documents[32];
    if (reason.size > 0) {
        const bool ready = str_is(member_text(collection, "meaning"), "ready");
        buffer_append_string(out, "           ");
        terminal_append(terminal, out, STYLE_WARN,
                        ready ? STR("searching goes ") : STR("searching goes by word only: "));
        terminal_append(terminal, out, STYLE_PLAIN, reason);
        buffer_append_byte(out, '\n');
    }
    if (!successor)
        return;
    const int64_t all = member_int(successor, "chunks"), left = member_int(successor, "pending_embeddings");
    buffer_printf(out, "           being made: %s of %s vectors, %s of %s documents, by ",
                  format_count(all - left, made), format_count(all, chunks),
                  format_count(member_int(successor, "documents"), carried),
                  format_count(member_int(collection, "documents"), documents));
    terminal_append(terminal, out, STYLE_PLAIN, member_text(successor, "embedder"));
    buffer_append_byte(out, '\n');
}

static void append_collections(const struct terminal *terminal, const json_t *collections, struct buffer *out)
{
    size_t index;
    json_t *collection;
    char chunks[32], pending[32];
    json_array_foreach(collections, index, collection)
    {
        const struct str embedder = member_text(collection, "embedder");
        buffer_printf(out, "Chunks     %s", format_count(member_int(collection, "chunks"), chunks));
        if (member_int(collection, "pending_embeddings") > 0)
            buffer_printf(out, " (%s not embedded yet)",
                          format_count(member_int(collection, "pending_embeddings"), pending));
        if (embedder.size > 0)
            buffer_printf(out, ", by %.*s", STR_ARG(embedder));
        buffer_append_byte(out, '\n');
        if (member_text(collection, "index_error").size > 0) {
            buffer_append_string(out, "           ");
            terminal_append(terminal, out, STYLE_WARN, STR("the index does not take in changes: "));
            terminal_append(terminal, out, STYLE_PLAIN, member_text(collection, "index_error"));
            buffer_append_byte(out, '\n');
        }
        append_meaning(terminal, collection, out);
    }
}

static void append_sources(const struct terminal *terminal, const json_t *sources, struct buffer *out)
{
    size_t index;
    json_t *source;
    json_array_foreach(sources, index, source)
    {
        buffer_append_string(out, "Source     ");
        terminal_append(terminal, out, STYLE_BOLD, member_text(source, "location"));
        buffer_append_string(out, "  ");
        append_outcomes(source, out);
        buffer_append_byte(out, '\n');
    }
}

static void append_sandbox(const struct terminal *terminal, const json_t *status, struct buffer *out)
{
    static const struct {
        const char *level, *meaning;
    } levels[] = {
        {"full", "a document's parser reaches nothing but the document"},
        {"basic", "limits of memory and time; seccomp and landlock only as far as this system has them"},
        {"off", "only limits of memory and time: extract.sandbox says so"},
    };
    const struct str level = member_text(status, "sandbox");
    buffer_append_string(out, "Sandbox    ");
    if (level.size == 0) {
        terminal_append(terminal, out, STYLE_BAD, STR("documents cannot be read: "));
        terminal_append(terminal, out, STYLE_PLAIN, member_text(status, "sandbox_reason"));
    }
    for (size_t i = 0; i < COUNT_OF(levels); i++)
        if (str_is(level, levels[i].level)) {
            terminal_append(terminal, out, i == 0 ? STYLE_GOOD : STYLE_WARN, level);
            buffer_printf(out, ": %s", levels[i].meaning);
        }
    buffer_append_byte(out, '\n');
}

static void append_run(const struct terminal *terminal, const json_t *status, struct buffer *out)
{
    const json_t *run = json_object_get(status, "run");
    const struct str state = member_text(status, "status");
    /* The four outer states call it FAILED, too, when somebody stopped the run. */
    const bool stopped = str_is(member_text(run, "state"), "canceled");
    char done[32], total[32], time[32];
    buffer_printf(out, "Indexing   %.*s", STR_ARG(stopped ? STR("STOPPED") : state));
    if (str_is(state, "RUNNING"))
        buffer_printf(out, ": %s of %s documents", format_count(member_int(status, "documentCount"), done),
                      format_count(member_int(status, "totalDocuments"), total));
    else if (member_text(run, "finished_at").size > 0)
        buffer_printf(out, " at %s", format_time(member_text(run, "finished_at"), time));
    if (member_text(status, "message").size > 0) {
        buffer_append_string(out, ": ");
        terminal_append(terminal, out, STYLE_PLAIN, member_text(status, "message"));
    }
    buffer_append_byte(out, '\n');
}

static ibid_code run_status(struct invocation *invocation, ibid_error *err)
{
    AUTO_JSON *status = NULL, *indexing = NULL;
    AUTO_BUFFER out = BUFFER(4 * 1024 * 1024);
    TRY(door_call(invocation->door, "GET", "/api/v1/status", NULL, &status, err));
    TRY(door_call(invocation->door, "GET", "/api/v1/indexing/status", NULL, &indexing, err));
    if (invocation->global.json) {
        json_set(status, "indexing", json_incref(indexing));
        print_json(status);
        return IBID_OK;
    }
    buffer_printf(&out, "Data       %s%s\n", invocation->settings.folder,
                  door_is_remote(invocation->door) ? " (open in another process)" : "");
    append_documents(json_object_get(status, "documents"), &out);
    append_collections(&invocation->terminal, json_object_get(status, "collections"), &out);
    append_sources(&invocation->terminal, json_object_get(status, "sources"), &out);
    append_sandbox(&invocation->terminal, status, &out);
    append_run(&invocation->terminal, indexing, &out);
    print_buffer(&out);
    return IBID_OK;
}

const struct command command_status = {
    .name = "status",
    .summary = "Show what is indexed, from where, and how far a run has got",
    .text = "Coverage is the share of what a source holds (less what is skipped on purpose) that is "
            "indexed. Sandbox is what holds the parsers of documents on this system (full, basic, off); the "
            "setting extract.sandbox can require one.",
    .examples = "ibid status\nibid status --json | jq .indexing.status",
    .run = run_status,
};

/* ---- verify ---- */

static void append_findings(const struct terminal *terminal, const json_t *answer, struct buffer *out)
{
    size_t index;
    json_t *finding;
    json_array_foreach(json_object_get(answer, "findings"), index, finding)
    {
        const bool repaired = json_is_true(json_object_get(finding, "repaired"));
        terminal_append(terminal, out, repaired ? STYLE_GOOD : STYLE_BAD,
                        repaired ? STR("repaired  ") : STR("damaged   "));
        terminal_append(terminal, out, STYLE_BOLD, member_text(finding, "place"));
        buffer_append_string(out, ": ");
        terminal_append(terminal, out, STYLE_PLAIN, member_text(finding, "problem"));
        buffer_append_byte(out, '\n');
    }
}

static ibid_code run_verify(struct invocation *invocation, ibid_error *err)
{
    const struct verify_parameters *parameters = invocation->parameters;
    AUTO_JSON *body = json_object(), *answer = NULL;
    AUTO_BUFFER out = BUFFER(16 * 1024 * 1024);
    parameters_to_json(verify_parameters, parameters, body);
    TRY(call_with_progress(invocation, "POST", "/api/v1/verify", body, &answer, err));
    const bool good = json_is_true(json_object_get(answer, parameters->document ? "gone" : "clean"));
    if (invocation->global.json) {
        print_json(answer);
    } else {
        append_findings(&invocation->terminal, answer, &out);
        if (parameters->document)
            buffer_printf(&out, "Document %lld: %s\n", (long long)parameters->document,
                          good ? "nothing of it is left" : "something of it is still there");
        else
            buffer_printf(&out, "%s\n", good ? "Everything is in order." : "Not everything is in order.");
        print_buffer(&out);
    }
    if (good)
        return IBID_OK;
    return parameters->document
               ? fail(err, IBID_ECONFLICT, "the document is not gone")
               : fail(err, IBID_ECORRUPT, "stored data is damaged%s",
                      parameters->repair ? " beyond repair" : ": try 'ibid verify --repair'");
}

static const char *const task_is_set[] = {"task", NULL};

const struct command command_verify = {
    .name = "verify",
    .summary = "Check what is stored, and repair it",
    .text = "Reads the records, the index and the kept files, and names what is damaged. What can be made "
            "anew from what is intact (the whole search index can) is repaired with --repair, while "
            "searching goes on. Ctrl-C stops it.",
    .examples = "ibid verify\n"
                "ibid verify --repair\n"
                "ibid verify --document 42  # after 'ibid rm 42': prove that it is gone",
    .parameters = verify_parameters,
    .parameters_size = sizeof(struct verify_parameters),
    .hidden = task_is_set,
    .shares_data = true,
    .run = run_verify,
};

/* ---- config explain ---- */

static ibid_code run_config(struct invocation *invocation, ibid_error *err)
{
    AUTO_JSON *answer = NULL;
    AUTO_BUFFER out = BUFFER(4 * 1024 * 1024);
    TRY(door_call(invocation->door, "GET", "/api/v1/config", NULL, &answer, err));
    if (invocation->global.json) {
        print_json(answer);
        return IBID_OK;
    }
    const struct terminal *terminal = &invocation->terminal;
    size_t index, shown = 0;
    json_t *setting;
    json_array_foreach(json_object_get(answer, "settings"), index, setting)
    {
        const char *key = member_string(setting, "key"), *origin = member_string(setting, "origin");
        if (invocation->argument_count > 0 && !strstr(key, invocation->arguments[0]))
            continue;
        shown++;
        const char *help = member_string(setting, "help");
        terminal_append(terminal, &out, STYLE_BOLD, str_from(key));
        buffer_append_string(&out, " = ");
        terminal_append(terminal, &out, STYLE_PLAIN, member_text(setting, "value"));
        buffer_append_string(&out, "  ");
        terminal_append(terminal, &out, strcmp(origin, "default") == 0 ? STYLE_DIM : STYLE_GOOD,
                        str_from(arena_printf(&invocation->arena, "(%s)", origin)));
        buffer_append_byte(&out, '\n');
        const struct marked_text text = {.text = str_from(help)};
        terminal_append_wrapped(terminal, &out, &text, 4);
    }
    if (shown == 0)
        return fail(err, IBID_ENOTFOUND, "no setting's name contains '%s' (see 'ibid config explain')",
                    invocation->arguments[0]);
    print_buffer(&out);
    return IBID_OK;
}

const struct command command_config = {
    .name = "config explain",
    .arguments = "[PART]",
    .argument_max = 1,
    .summary = "Show every setting, its value and where it comes from",
    .text =
        "A setting comes from a flag (--set section.name=value), else from the environment "
        "(IBID_SECTION_NAME), else from the file ibid.yaml in the data folder (or --config), else it has "
        "its default. With PART, only settings whose name contains it. When a server runs on the data, its "
        "settings are shown.",
    .examples = "ibid config explain\n"
                "ibid config explain embedder\n"
                "IBID_INGEST_CHUNK_SIZE=256 ibid config explain ingest",
    .run = run_config,
};
