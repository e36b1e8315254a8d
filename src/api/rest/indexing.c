#include <math.h>
#include <string.h>

#include "api/rest/handlers.h"
#include "api/rest/parameter_tables.h"
#include "base/clock.h"
#include "base/memory.h"
#include "ingest/run.h"
#include "ingest/upload.h"
#include "records/run.h"

/* ---- starting ---- */

static bool has_folder_options(const struct index_parameters *parameters)
{
    return parameters->include.count > 0 || parameters->exclude.count > 0 || parameters->hidden ||
           parameters->follow_links || parameters->reset;
}

/* What changes in the options that a source keeps: null forgets one. NULL: nothing does. */
static json_t *folder_options(const struct index_parameters *parameters)
{
    static const char *const kept[] = {"include", "exclude", "hidden", "follow_links"};
    if (!has_folder_options(parameters))
        return NULL;
    json_t *options = json_object();
    for (size_t i = 0; parameters->reset && i < COUNT_OF(kept); i++)
        json_set(options, kept[i], json_null());
    if (parameters->include.count > 0)
        json_set(options, "include", parameter_list_to_json(&parameters->include));
    if (parameters->exclude.count > 0)
        json_set(options, "exclude", parameter_list_to_json(&parameters->exclude));
    if (parameters->hidden)
        json_set_bool(options, "hidden", true);
    if (parameters->follow_links)
        json_set_bool(options, "follow_links", true);
    return options;
}

static ibid_code check_index(const struct rest_call *call, ibid_error *err)
{
    const struct index_parameters *parameters = call->parameters;
    if (parameters->url && *parameters->url)
        return fail(err, IBID_EUNSUPPORTED,
                    "indexing a web folder ('url') needs the connector 'http', which this "
                    "version of ibid does not have");
    if (parameters->proxy || parameters->credentials || parameters->insecure_ssl)
        return fail(err, IBID_EINVAL, "'proxy', 'credentials' and 'insecureSsl' make sense only with 'url'");
    if (parameters->paths.count > 0 && !call->is_owner)
        return fail(err, IBID_EDENIED,
                    "only the person at the server's machine may name its folders, "
                    "through its unix socket (as the command line does)");
    if (parameters->paths.count == 0 && has_folder_options(parameters))
        return fail(err, IBID_EINVAL,
                    "'include', 'exclude', 'hidden', 'follow_links' and 'reset' belong to 'paths': say for "
                    "which folder");
    for (size_t i = 0; i < parameters->paths.count; i++)
        if (parameters->paths.items[i][0] != '/')
            return fail(err, IBID_EINVAL, "'%s' is not an absolute path", parameters->paths.items[i]);
    return IBID_OK;
}

static ibid_code find_sources(struct rest_call *call, int64_t *ids, ibid_error *err)
{
    const struct index_parameters *parameters = call->parameters;
    AUTO_JSON *options = folder_options(parameters);
    for (size_t i = 0; i < parameters->paths.count; i++) {
        TRY(ingest_source(instance_ingest(call->instance), "folder", parameters->paths.items[i], options,
                          &ids[i], err));
        call_changed(call, "source", ids[i]);
    }
    return IBID_OK;
}

static void reply_started(struct rest_call *call, struct http_reply *reply, int64_t run_id)
{
    char now[CLOCK_TEXT_SIZE];
    call_changed(call, "run", run_id);
    json_t *answer = json_object();
    json_set_string(answer, "status", "RUNNING");
    json_set_int(answer, "run_id", run_id);
    json_set_string(answer, "message", "indexing has started");
    json_set_string(answer, "timestamp", clock_format(clock_now_us(), now));
    reply_json(call, reply, 202, answer);
}

ibid_code handle_index(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    const struct index_parameters *parameters = call->parameters;
    int64_t run_id;
    TRY(check_index(call, err));
    int64_t *ids = ARENA_ARRAY(call->arena, int64_t, parameters->paths.count + 1);
    TRY(find_sources(call, ids, err));
    const struct ingest_request request = {.kind = INGEST_INDEX,
                                           .source_ids = ids,
                                           .source_count = parameters->paths.count,
                                           .force = parameters->force};
    TRY(ingest_start(instance_ingest(call->instance), &request, &run_id, err));
    reply_started(call, reply, run_id);
    return IBID_OK;
}

static ibid_code retry_documents(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    const struct retry_parameters *parameters = call->parameters;
    AUTO_TRANSACTION *transaction = NULL;
    struct scope scope;
    int64_t *ids = ARENA_ARRAY(call->arena, int64_t, parameters->documents.count);
    TRY(call_read(call, &transaction, &scope, err));
    for (size_t i = 0; i < parameters->documents.count; i++) {
        struct document document;
        const struct str id = str_from(parameters->documents.items[i]);
        TRY(call_document(call, transaction, &scope, id, &document, err));
        ids[i] = document.id;
    }
    transaction_rollback(transaction_take(&transaction));
    json_t *array = json_array();
    ibid_code code = IBID_OK;
    for (size_t i = 0; code == IBID_OK && i < parameters->documents.count; i++) {
        code = ingest_retry(instance_ingest(call->instance), ids[i], err);
        if (code == IBID_OK)
            call_changed(call, "document", ids[i]);
        json_array_append_new(array, json_integer(ids[i]));
    }
    json_t *answer = json_object();
    json_set(answer, "retried", array);
    if (code == IBID_OK)
        reply_json(call, reply, 202, answer);
    else
        json_decref(answer);
    return code;
}

ibid_code handle_retry(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    const struct retry_parameters *parameters = call->parameters;
    if (parameters->documents.count > 0)
        return retry_documents(call, reply, err);
    int64_t run_id;
    const struct ingest_request request = {.kind = INGEST_RETRY};
    TRY(ingest_start(instance_ingest(call->instance), &request, &run_id, err));
    reply_started(call, reply, run_id);
    return IBID_OK;
}

ibid_code handle_index_cancel(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    struct ingest_status status;
    if (!ingest_status(instance_ingest(call->instance), &status) || status.state != RUN_RUNNING)
        return fail(err, IBID_ECONFLICT, "no indexing run is under way");
    ingest_cancel(instance_ingest(call->instance));
    call_changed(call, "run", status.run_id);
    json_t *answer = json_object();
    json_set_int(answer, "run_id", status.run_id);
    json_set_string(answer, "message", "the run is stopping: what was indexed stays");
    reply_json(call, reply, 202, answer);
    return IBID_OK;
}

/* ---- progress ---- */

/* The four states of the requirements. */
static const char *outer_state(enum run_state state)
{
    switch (state) {
    case RUN_RUNNING:
        return "RUNNING";
    case RUN_COMPLETED:
        return "COMPLETED";
    case RUN_FAILED:
    case RUN_CANCELED:
    case RUN_INTERRUPTED:
        break;
    }
    return "FAILED";
}

static void set_progress(json_t *object, const struct run_progress *progress)
{
    json_set_int(object, "discovered", progress->discovered);
    json_set_int(object, "indexed", progress->indexed);
    json_set_int(object, "unchanged", progress->unchanged);
    json_set_int(object, "skipped", progress->skipped);
    json_set_int(object, "failed", progress->failed);
    json_set_int(object, "removed", progress->removed);
    json_set_int(object, "chunks", progress->chunks);
    json_set_int(object, "bytes", progress->bytes);
}

static json_t *render_reasons(const struct ingest_status *status)
{
    json_t *array = json_array();
    for (size_t i = 0; i < status->reason_count; i++) {
        const struct ingest_reason *reason = &status->reasons[i];
        json_t *object = json_object();
        json_set_string(object, "outcome", ledger_outcome_string(reason->outcome));
        json_set_string(object, "stage", reason->stage);
        json_set_string(object, "reason", reason->reason);
        json_set_int(object, "count", reason->count);
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *render_run(const struct ingest_status *status)
{
    json_t *run = json_object(), *stages = json_object();
    json_set_int(run, "id", status->run_id);
    json_set_string(run, "state", run_state_string(status->state));
    json_set_bool(run, "listing", status->listing);
    set_progress(run, &status->progress);
    json_set_int(run, "moved", status->moved);
    json_set_int(run, "total", status->total);
    json_set_int(run, "total_bytes", status->total_bytes);
    json_set_int(run, "done", status->done);
    json_set_int(run, "done_bytes", status->done_bytes);
    json_set_int(run, "tokens", status->tokens);
    json_set_int(run, "embedded", status->embedded);
    json_set_int(run, "reused", status->reused);
    json_set_int(run, "pending_embeddings", status->pending);
    json_set_int(run, "backlog", status->backlog);
    json_set_int(run, "backlog_done", status->backlog_done);
    json_set_time(run, "started_at", status->started_at);
    json_set_time(run, "finished_at", status->finished_at);
    json_set_real(run, "seconds", status->seconds);
    json_set_real(run, "documents_per_second", status->documents_per_second);
    if (isfinite(status->seconds_left))
        json_set_real(run, "seconds_left", status->seconds_left);
    for (int i = 0; i < STAGE_COUNT; i++)
        json_set_real(stages, ingest_stage_string((enum ingest_stage)i), (double)status->stage_us[i] / 1e6);
    json_set(run, "stage_seconds", stages);
    json_set(run, "reasons", render_reasons(status));
    if (status->current[0])
        json_set_string(run, "current", status->current);
    if (status->current_seconds > 0)
        json_set_real(run, "current_seconds", status->current_seconds);
    return run;
}

static json_t *render_status(const char *state, int64_t count, int64_t total, const char *message)
{
    char now[CLOCK_TEXT_SIZE];
    json_t *answer = json_object();
    json_set_string(answer, "status", state);
    json_set_int(answer, "documentCount", count);
    json_set_int(answer, "totalDocuments", total);
    if (message && *message)
        json_set_string(answer, "message", message);
    json_set_string(answer, "timestamp", clock_format(clock_now_us(), now));
    return answer;
}

/* The last run of another process, as it was recorded. */
static ibid_code reply_recorded(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct run *runs;
    size_t count;
    TRY(transaction_begin(instance_metadata(call->instance), TRANSACTION_READ, &transaction, err));
    TRY(run_list(transaction, 0, 1, call->arena, &runs, &count, err));
    if (count == 0) {
        reply_json(call, reply, 200, render_status("IDLE", 0, 0, NULL));
        return IBID_OK;
    }
    const struct run_progress *progress = &runs->progress;
    const int64_t done = progress->indexed + progress->unchanged + progress->skipped + progress->failed;
    json_t *answer = render_status(outer_state(runs->state), done, progress->discovered,
                                   arena_str(call->arena, runs->reason).data);
    json_t *run = json_object();
    json_set_int(run, "id", runs->id);
    json_set_string(run, "state", run_state_string(runs->state));
    set_progress(run, progress);
    json_set_time(run, "started_at", runs->started_at);
    json_set_time(run, "finished_at", runs->finished_at);
    json_set(answer, "run", run);
    reply_json(call, reply, 200, answer);
    return IBID_OK;
}

ibid_code handle_index_status(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    struct ingest_status status;
    if (!ingest_status(instance_ingest(call->instance), &status))
        return reply_recorded(call, reply, err);
    const char *message = status.message[0] || status.state != RUN_CANCELED ? status.message : "canceled";
    json_t *answer = render_status(outer_state(status.state), status.done, status.total, message);
    json_set(answer, "run", render_run(&status));
    reply_json(call, reply, 200, answer);
    return IBID_OK;
}
