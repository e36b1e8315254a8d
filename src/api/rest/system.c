#include <string.h>

#include "api/rest/handlers.h"
#include "api/rest/parameter_tables.h"
#include "api/rest/render.h"
#include "api/rest/tasks.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/metric.h"
#include "ingest/run.h"
#include "records/collection.h"
#include "records/sweep.h"

/* ---- health ---- */

/* Says no more than that the server is there: anybody may ask. */
ibid_code handle_health(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    json_t *answer = json_object();
    json_set_string(answer, "status", "ok");
    json_set_string(answer, "version", IBID_VERSION);
    reply_json(call, reply, 200, answer);
    return IBID_OK;
}

/* ---- status ---- */

static json_t *render_counts(const int64_t counts[PROCESSING_STATE_COUNT])
{
    json_t *object = json_object();
    int64_t total = 0;
    for (size_t i = 0; i < PROCESSING_STATE_COUNT; i++) {
        json_set_int(object, processing_state_string((enum processing_state)i), counts[i]);
        total += counts[i];
    }
    json_set_int(object, "total", total);
    return object;
}

static ibid_code render_rows(struct transaction *transaction, const struct collection *collection,
                             json_t *object, ibid_error *err)
{
    struct collection_counts counts;
    TRY(collection_count(transaction, collection->id, &counts, err));
    json_set_str(object, "embedder", collection->embedder);
    json_set_int(object, "dimension", collection->dimension);
    json_set_int(object, "documents", counts.documents);
    json_set_int(object, "chunks", counts.rows);
    json_set_int(object, "pending_embeddings", counts.pending_rows);
    json_set_int(object, "removed_chunks", counts.removed_rows);
    return IBID_OK;
}

static ibid_code render_collection(struct rest_call *call, struct transaction *transaction,
                                   const struct collection *collection, json_t *object, ibid_error *err)
{
    struct meaning meaning;
    struct collection successor;
    bool changing;
    TRY(instance_meaning(call->instance, collection->parent_id, &meaning, err));
    json_set_int(object, "id", collection->parent_id);
    json_set_str(object, "name", collection->name);
    TRY(render_rows(transaction, collection, object, err));
    json_set_string(object, "meaning", meaning_state_string(meaning.state));
    if (meaning.reason[0])
        json_set_string(object, "meaning_reason", meaning.reason);
    ibid_error index_error = {0};
    if (instance_index_check(call->instance, collection->id, &index_error) != IBID_OK)
        json_set_string(object, "index_error", index_error.message);
    TRY(collection_load_successor(transaction, collection->parent_id, call->arena, &successor, &changing,
                                  err));
    if (!changing)
        return IBID_OK;
    json_set(object, "successor", json_object());
    return render_rows(transaction, &successor, json_object_get(object, "successor"), err);
}

static ibid_code render_collections(struct rest_call *call, struct transaction *transaction, json_t *answer,
                                    ibid_error *err)
{
    struct collection *collections;
    size_t count;
    TRY(collection_list(transaction, call->arena, &collections, &count, err));
    json_t *array = json_array();
    json_set(answer, "collections", array);
    for (size_t i = 0; i < count; i++) {
        if (collections[i].role != COLLECTION_SERVING)
            continue;
        json_t *object = json_object();
        json_array_append_new(array, object);
        TRY(render_collection(call, transaction, &collections[i], object, err));
    }
    return IBID_OK;
}

/* What holds the parsers here. It is asked of the one that is in use, which is started for it; that there can
 * be none is told, not an error. */
static void render_sandbox(struct rest_call *call, json_t *answer)
{
    struct extract_pool *pool;
    ibid_error error = {0};
    const bool there = instance_extract_pool(call->instance, &pool, &error) == IBID_OK;
    json_set_string(answer, "sandbox", there ? extract_pool_sandbox_level(pool) : NULL);
    if (!there)
        json_set_string(answer, "sandbox_reason", error.message);
}

static ibid_code fill_status(struct rest_call *call, json_t *answer, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct scope scope;
    int64_t counts[PROCESSING_STATE_COUNT];
    TRY(call_read(call, &transaction, &scope, err));
    TRY(document_count(transaction, &scope, counts, err));
    json_set_string(answer, "version", IBID_VERSION);
    json_set(answer, "documents", render_counts(counts));
    if (!call->principal.system_admin)
        return IBID_OK;
    json_set_string(answer, "folder", instance_folder(call->instance));
    render_sandbox(call, answer);
    TRY(render_collections(call, transaction, answer, err));
    json_t *sources = json_array();
    json_set(answer, "sources", sources);
    return call_sources(call, transaction, sources, err);
}

ibid_code handle_status(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    AUTO_JSON *answer = json_object();
    TRY(fill_status(call, answer, err));
    reply_json(call, reply, 200, json_incref(answer));
    return IBID_OK;
}

/* ---- metrics ---- */

static ibid_code append_documents(struct rest_call *call, struct buffer *out, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct scope scope;
    int64_t counts[PROCESSING_STATE_COUNT];
    TRY(call_read(call, &transaction, &scope, err));
    TRY(document_count(transaction, &scope, counts, err));
    buffer_append_string(
        out, "# HELP ibid_documents Documents by state of processing.\n# TYPE ibid_documents gauge\n");
    for (size_t i = 0; i < PROCESSING_STATE_COUNT; i++)
        buffer_printf(out, "ibid_documents{state=\"%s\"} %lld\n",
                      processing_state_string((enum processing_state)i), (long long)counts[i]);
    return IBID_OK;
}

static void append_run(struct rest_call *call, struct buffer *out)
{
    struct ingest_status status;
    const bool known = ingest_status(instance_ingest(call->instance), &status);
    metric_append(out, "ibid_indexing_running", "gauge", "Whether an indexing run is under way.",
                  known && status.state == RUN_RUNNING);
    if (!known)
        return;
    metric_append(out, "ibid_indexing_documents_done", "gauge", "Documents done in the present or last run.",
                  (double)status.done);
    metric_append(out, "ibid_indexing_documents_total", "gauge",
                  "Documents to do in the present or last run.", (double)status.total);
    metric_append(out, "ibid_indexing_documents_failed", "gauge",
                  "Documents failed in the present or last run.", (double)status.progress.failed);
    metric_append(out, "ibid_indexing_tokens", "gauge", "Tokens embedded in the present or last run.",
                  (double)status.tokens);
}

ibid_code handle_metrics(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    AUTO_BUFFER out = BUFFER(1024 * 1024);
    metric_append_all(&out);
    TRY(append_documents(call, &out, err));
    append_run(call, &out);
    metric_append_process(&out);
    TRY(buffer_check(&out, "the list of metrics", err));
    reply->text = arena_str(call->arena, buffer_str(&out));
    http_reply_header(call->http, reply, "Content-Type", STR("text/plain; version=0.0.4; charset=utf-8"));
    reply_lock_down(call->http, reply);
    return IBID_OK;
}

/* ---- settings ---- */

static void explain_setting(const struct option_section *section, const struct option *option,
                            const char *value, const char *origin, void *context)
{
    json_t *object = json_object();
    AUTO_FREE char *key = xasprintf("%s.%s", section->name, option->name);
    json_set_string(object, "key", key);
    json_set_string(object, "value", value);
    json_set_string(object, "origin", origin);
    json_set_string(object, "default", option->default_text);
    json_set_string(object, "help", option->help);
    json_array_append_new(context, object);
}

ibid_code handle_config(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    const struct rest_settings *settings = call_settings(call);
    json_t *answer = json_object(), *array = json_array();
    settings_explain(instance_settings_table(settings->instance), explain_setting, array);
    json_set_string(answer, "folder", settings->folder);
    json_set(answer, "settings", array);
    reply_json(call, reply, 200, answer);
    return IBID_OK;
}

/* ---- verify ---- */

static ibid_code verify_absence(struct rest_call *call, int64_t document_id, struct http_reply *reply,
                                ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    bool gone;
    TRY(transaction_begin(instance_metadata(call->instance), TRANSACTION_READ, &transaction, err));
    TRY(document_is_gone(transaction, document_id, &gone, err));
    json_t *answer = json_object();
    json_set_int(answer, "document", document_id);
    json_set_bool(answer, "gone", gone);
    reply_json(call, reply, 200, answer);
    return IBID_OK;
}

ibid_code handle_verify(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    const struct verify_parameters *parameters = call->parameters;
    struct noted_task task;
    struct instance_finding *findings;
    size_t count;
    if (parameters->document != 0) {
        TRY(instance_compact(call->instance, call->http->cancel, 0, err));
        return verify_absence(call, parameters->document, reply, err);
    }
    TRY(noted_task_begin(&task, call, "verify", parameters->task, err));
    const ibid_code code =
        instance_verify(call->instance, parameters->repair, &task.watch, call->arena, &findings, &count, err);
    noted_task_end(&task);
    TRY(code);
    if (parameters->repair)
        call_changed(call, "findings", (int64_t)count);
    json_t *answer = json_object(), *array = json_array();
    bool clean = true;
    for (size_t i = 0; i < count; i++) {
        json_t *object = json_object();
        json_set_string(object, "place", findings[i].place);
        json_set_string(object, "problem", findings[i].problem);
        json_set_bool(object, "repaired", findings[i].repaired);
        json_array_append_new(array, object);
        clean = clean && findings[i].repaired;
    }
    json_set_bool(answer, "clean", clean);
    json_set(answer, "findings", array);
    reply_json(call, reply, 200, answer);
    return IBID_OK;
}
