#include <math.h>
#include <stdio.h>
#include <time.h>

#include "api/rest/parameter_tables.h"
#include "api/rest/parameters.h"
#include "base/memory.h"
#include "cli/command.h"

enum { POLL_MS = 200, LONG_READING_S = 3 };

/* What is read, and for how long if that may look as if nothing moved. */
static void append_current(struct buffer *out, const json_t *run)
{
    char time[32];
    const double seconds = member_real(run, "current_seconds");
    buffer_append_str(out, member_text(run, "current"));
    if (seconds >= LONG_READING_S)
        buffer_printf(out, " (for %s)", format_seconds(floor(seconds), time));
}

static void show(struct progress *progress, const json_t *run)
{
    const double left = member_real(run, "seconds_left");
    const double bytes = member_real(run, "total_bytes");
    const bool listing = json_is_true(json_object_get(run, "listing"));
    AUTO_BUFFER note = BUFFER(4096);
    append_current(&note, run);
    const double backlog = member_real(run, "backlog"), backlog_done = member_real(run, "backlog_done");
    const bool embedding =
        !listing && backlog > backlog_done && member_real(run, "done") >= member_real(run, "total");
    const struct progress_state backlog_state = {
        .stage = "embedding",
        .what = "chunks",
        .done = backlog_done,
        .total = backlog,
        .per_second = NAN,
        .seconds_left = left > 0 ? left : (double)NAN,
    };
    const struct progress_state state = {
        .what = "documents",
        .done = member_real(run, "done"),
        .total = listing ? 0 : member_real(run, "total"),
        .share = bytes > 0 ? member_real(run, "done_bytes") / bytes : 0, /* documents differ in size */
        .per_second = member_real(run, "documents_per_second"),
        .seconds_left = left > 0 ? left : (double)NAN,
        .note = note.data,
    };
    progress_show(progress, embedding ? &backlog_state : &state);
}

static ibid_code wait_for_end(struct invocation *invocation, struct progress *progress, json_t **ret,
                              ibid_error *err)
{
    bool canceled = false;
    for (;;) {
        json_t *status = NULL;
        TRY(door_call(invocation->door, "GET", "/api/v1/indexing/status", NULL, &status, err));
        if (!str_is(member_text(status, "status"), "RUNNING")) {
            *ret = status;
            return IBID_OK;
        }
        show(progress, json_object_get(status, "run"));
        json_decref(status);
        if (!canceled && atomic_load(invocation->cancel)) {
            json_t *answer = NULL;
            canceled = true;
            progress_clear(progress);
            if (!invocation->global.quiet)
                fputs("Stopping: what was indexed stays (Ctrl-C again ends at once)\n", stderr);
            const ibid_code code =
                door_call(invocation->door, "POST", "/api/v1/indexing/cancel", NULL, &answer, err);
            json_decref(answer);
            if (code != IBID_OK && code != IBID_ECONFLICT) /* it has just ended */
                return code;
        }
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
    }
}

/* ---- the summary ---- */

static void append_count(struct buffer *out, int64_t count, const char *what)
{
    char number[32];
    if (count > 0)
        buffer_printf(out, ", %s %s", format_count(count, number), what);
}

static void append_counter(struct buffer *out, const json_t *run, const char *key, const char *word)
{
    append_count(out, member_int(run, key), word);
}

static void append_reasons(const struct terminal *terminal, const json_t *run, const char *outcome,
                           struct buffer *out)
{
    size_t index;
    json_t *reason;
    char number[32];
    json_array_foreach(json_object_get(run, "reasons"), index, reason)
    {
        if (!str_is(member_text(reason, "outcome"), outcome))
            continue;
        buffer_printf(out, "  %s %s: ", format_count(member_int(reason, "count"), number), outcome);
        terminal_append(terminal, out, STYLE_PLAIN, member_text(reason, "reason"));
        buffer_append_byte(out, '\n');
    }
}

/* The first documents that failed, by name. */
static void append_failures(struct invocation *invocation, struct buffer *out)
{
    json_t *answer = NULL;
    size_t index;
    json_t *document;
    if (door_call(invocation->door, "GET", "/api/v1/documents?state=failed&limit=10", NULL, &answer, NULL) !=
        IBID_OK)
        return;
    json_array_foreach(json_object_get(answer, "documents"), index, document)
    {
        buffer_append_string(out, "    ");
        terminal_append(&invocation->terminal, out, STYLE_BAD, member_text(document, "path"));
        buffer_append_string(out, ": ");
        terminal_append(&invocation->terminal, out, STYLE_PLAIN, member_text(document, "reason"));
        buffer_append_byte(out, '\n');
    }
    if (!json_is_null(json_object_get(answer, "next_cursor")))
        buffer_append_string(out, "    ... (ibid documents --state failed lists them all)\n");
    json_decref(answer);
}

static void append_hint(struct invocation *invocation, struct buffer *out)
{
    json_t *status = NULL;
    size_t index;
    json_t *collection;
    if (door_call(invocation->door, "GET", "/api/v1/status", NULL, &status, NULL) != IBID_OK)
        return;
    json_array_foreach(json_object_get(status, "collections"), index, collection)
    {
        const struct str meaning = member_text(collection, "meaning");
        if (member_int(collection, "chunks") == 0 || str_is(meaning, "ready"))
            continue;
        terminal_append(&invocation->terminal, out, STYLE_WARN, STR("Searching goes by word only: "));
        terminal_append(&invocation->terminal, out, STYLE_PLAIN, member_text(collection, "meaning_reason"));
        buffer_append_byte(out, '\n');
    }
    json_decref(status);
}

static void print_summary(struct invocation *invocation, const json_t *status)
{
    const json_t *run = json_object_get(status, "run");
    const struct terminal *terminal = &invocation->terminal;
    char number[32], chunks[32], time[32];
    AUTO_BUFFER out = BUFFER(1024 * 1024);
    const bool completed = str_is(member_text(status, "status"), "COMPLETED");
    terminal_append(terminal, &out, completed ? STYLE_GOOD : STYLE_BAD,
                    completed ? STR("Done") : STR("Stopped"));
    buffer_printf(&out, " in %s: %s indexed (%s chunks)", format_seconds(member_real(run, "seconds"), time),
                  format_count(member_int(run, "indexed"), number),
                  format_count(member_int(run, "chunks"), chunks));
    append_counter(&out, run, "unchanged", "unchanged");
    append_counter(&out, run, "moved", "moved");
    append_counter(&out, run, "removed", "removed");
    append_counter(&out, run, "skipped", "skipped");
    append_counter(&out, run, "failed", "failed");
    append_count(&out, member_int(run, "backlog_done") - member_int(run, "pending_embeddings"),
                 "vectors made for chunks from before");
    buffer_append_byte(&out, '\n');
    if (str_is(member_text(status, "status"), "FAILED") && !str_is(member_text(run, "state"), "canceled") &&
        member_text(status, "message").size > 0) {
        terminal_append(terminal, &out, STYLE_BAD, member_text(status, "message"));
        buffer_append_byte(&out, '\n');
    }
    append_reasons(terminal, run, "skipped", &out);
    append_reasons(terminal, run, "failed", &out);
    if (member_int(run, "failed") > 0)
        append_failures(invocation, &out);
    append_hint(invocation, &out);
    print_buffer(&out);
}

ibid_code follow_run(struct invocation *invocation, ibid_error *err)
{
    struct progress progress = {.terminal = &invocation->terminal, .quiet = invocation->global.quiet};
    AUTO_JSON *status = NULL;
    const ibid_code code = wait_for_end(invocation, &progress, &status, err);
    progress_clear(&progress);
    TRY(code);
    if (invocation->global.json)
        print_json(status);
    else if (!invocation->global.quiet)
        print_summary(invocation, status);
    if (atomic_load(invocation->cancel))
        return fail(err, IBID_ECANCELED, "stopped: run it again to go on where it stopped");
    if (!str_is(member_text(status, "status"), "COMPLETED"))
        return fail(err, IBID_EIO, "the run did not complete: %s", member_string(status, "message"));
    return IBID_OK;
}

/* ---- index ---- */

static ibid_code run_index(struct invocation *invocation, ibid_error *err)
{
    struct index_parameters *parameters = invocation->parameters;
    const char **paths = ARENA_ARRAY(&invocation->arena, const char *, invocation->argument_count + 1);
    for (size_t i = 0; i < invocation->argument_count; i++)
        TRY(absolute_path(invocation, invocation->arguments[i], &paths[i], err));
    parameters->paths = (struct option_list){paths, invocation->argument_count};
    AUTO_JSON *body = json_object(), *answer = NULL;
    parameters_to_json(index_parameters, parameters, body);
    TRY(door_call(invocation->door, "POST", "/api/v1/indexing/trigger", body, &answer, err));
    return follow_run(invocation, err);
}

static const char *const not_for_the_command_line[] = {"paths",       "url",         "proxy",
                                                       "credentials", "insecureSsl", NULL};

const struct command command_index = {
    .name = "index",
    .arguments = "[PATH...]",
    .argument_max = 1000,
    .summary = "Index folders and files, or bring the index up to date",
    .text =
        "Reads every document below each PATH, cuts it into passages, and makes them searchable by word and "
        "by meaning. Folders are remembered: without PATH, all of them are looked through again.\n\n"
        "Only what is new or changed is read: a file counts as unchanged when its size and time are, else "
        "when its bytes are. Files that moved keep their place in the index, files that are gone leave it. "
        "Hidden files and files without text are skipped; a file that cannot be read is named and never "
        "stops the rest.\n\n"
        "A pattern without '/' is tried on names (*.md), one with '/' on the path below PATH (drafts/**); "
        "--exclude keeps folders out, too, and goes before --include. Each of --include, --exclude, "
        "--hidden and --follow-links is kept for its PATH until it is given anew or until --reset forgets "
        "them all; 'ibid source list' shows what is kept. A PATH within a folder that is indexed whole is "
        "part of that folder and keeps no patterns of its own. Documents that are left out from now on leave "
        "the index, their files stay.\n\n"
        "Ctrl-C stops after the documents in hand; running the command again goes on from there. While it "
        "runs, other commands (ibid search) work.",
    .examples = "ibid index ~/Documents  # everything below a folder\n"
                "ibid index  # look through all known folders again\n"
                "ibid index ~/notes --include '*.md' --exclude 'drafts/**'  # some of it\n"
                "ibid index ~/notes --reset  # all of it again\n"
                "ibid index --force  # read everything anew",
    .parameters = index_parameters,
    .parameters_size = sizeof(struct index_parameters),
    .hidden = not_for_the_command_line,
    .shares_data = true,
    .run = run_index,
};

/* ---- retry ---- */

static ibid_code run_retry(struct invocation *invocation, ibid_error *err)
{
    AUTO_JSON *body = json_object(), *answer = NULL;
    json_t *documents = json_array();
    for (size_t i = 0; i < invocation->argument_count; i++) {
        AUTO_JSON *document = NULL;
        const ibid_code code = find_document(invocation, invocation->arguments[i], &document, err);
        if (code != IBID_OK) {
            json_decref(documents);
            return code;
        }
        AUTO_FREE char *id = xasprintf("%lld", (long long)member_int(document, "id"));
        json_array_append_new(documents, json_string(id));
    }
    json_set(body, "documents", documents);
    TRY(door_call(invocation->door, "POST", "/api/v1/indexing/retry", body, &answer, err));
    if (invocation->argument_count == 0)
        return follow_run(invocation, err);
    if (invocation->global.json)
        print_json(answer);
    else if (!invocation->global.quiet)
        printf("%zu document%s will be read again.\n", invocation->argument_count,
               invocation->argument_count == 1 ? "" : "s");
    return IBID_OK;
}

const struct command command_retry = {
    .name = "retry",
    .arguments = "[DOCUMENT...]",
    .argument_max = 1000,
    .summary = "Try again what has failed",
    .text = "Reads again the documents that failed, or those given, whatever their state. A document that "
            "crashed its parser or outran it is tried, too.",
    .examples = "ibid retry  # all that failed\n"
                "ibid retry 42  # document 42",
    .shares_data = true,
    .run = run_retry,
};
