#include "api/rest/handlers.h"
#include "api/rest/parameter_tables.h"
#include "api/rest/tasks.h"
#include "ingest/run.h"
#include "records/ledger.h"
#include "records/source.h"

static ibid_code render_source(struct transaction *transaction, const struct source *source, json_t *array,
                               ibid_error *err)
{
    int64_t counts[LEDGER_OUTCOME_COUNT];
    AUTO_JSON *options = NULL;
    TRY(ledger_count(transaction, source->id, counts, err));
    TRY(json_parse(source->options, &options, err));
    json_t *object = json_object(), *ledger = json_object();
    json_array_append_new(array, object);
    json_set_int(object, "id", source->id);
    json_set_str(object, "connector", source->connector_type);
    json_set_str(object, "location", source->location);
    json_set(object, "options", json_incref(options));
    json_set_bool(object, "enabled", source->enabled);
    json_set_int(object, "failures", source->failures);
    json_set_time(object, "last_run_at", source->last_run_at);
    json_set_time(object, "last_complete_at", source->last_complete_at);
    for (int i = 0; i < LEDGER_OUTCOME_COUNT; i++)
        json_set_int(ledger, ledger_outcome_string((enum ledger_outcome)i), counts[i]);
    json_set(object, "ledger", ledger);
    json_set_real(object, "coverage_percent", ledger_coverage(counts));
    return IBID_OK;
}

ibid_code call_sources(struct rest_call *call, struct transaction *transaction, json_t *array,
                       ibid_error *err)
{
    struct source *sources;
    size_t count;
    TRY(source_list(transaction, call->arena, &sources, &count, err));
    for (size_t i = 0; i < count; i++)
        TRY(render_source(transaction, &sources[i], array, err));
    return IBID_OK;
}

ibid_code handle_sources(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    AUTO_JSON *answer = json_object();
    json_t *array = json_array();
    json_set(answer, "sources", array);
    TRY(transaction_begin(instance_metadata(call->instance), TRANSACTION_READ, &transaction, err));
    TRY(call_sources(call, transaction, array, err));
    reply_json(call, reply, 200, json_incref(answer));
    return IBID_OK;
}

ibid_code handle_source_remove(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    const struct source_remove_parameters *parameters = call->parameters;
    struct noted_task task;
    struct source_removal removal;
    int64_t id;
    TRY(call_id(call, "source", &id, err));
    const struct ingest_audit audit = call_ingest_audit(call, "source", id);
    TRY(noted_task_begin(&task, call, "source.remove", parameters->task, err));
    const ibid_code code =
        ingest_remove_source(instance_ingest(call->instance), id, &audit, &task.watch, &removal, err);
    noted_task_end(&task);
    TRY(code);
    json_t *receipt = json_object();
    json_set_int(receipt, "id", id);
    json_set_bool(receipt, "deleted", true);
    json_set_int(receipt, "documents", removal.documents);
    json_set_int(receipt, "chunks", removal.rows);
    json_set_string(receipt, "erasure", "pending"); /* as of a single document */
    reply_json(call, reply, 200, receipt);
    return IBID_OK;
}
