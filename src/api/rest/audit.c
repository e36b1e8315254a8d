#include "records/audit.h"
#include "api/rest/handlers.h"
#include "api/rest/parameter_tables.h"
#include "base/clock.h"
#include "base/log.h"

/* ---- writing ---- */

static struct audit_entry entry_of(const struct rest_call *call, const char *action, const char *object)
{
    return (struct audit_entry){
        .user_id = call->principal.user_id,
        .token_id = call->principal.token_id,
        .action = str_from(action),
        .object = str_from(object),
        .door = call->http->peer.is_local ? STR("local") : str_from(call->http->peer.address),
    };
}

static int64_t keep_after(const struct rest_call *call)
{
    const int64_t keep = call_settings(call)->audit.keep;
    return keep ? clock_now_us() - keep : 0;
}

static const char *name_of(const struct rest_call *call, const char *kind, int64_t id)
{
    return arena_printf(call->arena, "%s %lld", kind, (long long)id);
}

ibid_code call_record(struct rest_call *call, struct transaction *transaction, const char *kind, int64_t id,
                      ibid_error *err)
{
    const struct audit_entry entry = entry_of(call, call->route->action, name_of(call, kind, id));
    return audit_append(transaction, &entry, keep_after(call), err);
}

struct ingest_audit call_ingest_audit(struct rest_call *call, const char *kind, int64_t id)
{
    return (struct ingest_audit){entry_of(call, call->route->action, name_of(call, kind, id)),
                                 keep_after(call)};
}

void call_changed(struct rest_call *call, const char *kind, int64_t id)
{
    const char *before = call->changed ? arena_printf(call->arena, "%s, ", call->changed) : "";
    call->changed = arena_printf(call->arena, "%s%s", before, name_of(call, kind, id));
}

static ibid_code append(struct rest_call *call, const char *action, const char *object, ibid_error *err)
{
    const struct audit_entry entry = entry_of(call, action, object);
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(instance_metadata(call->instance), TRANSACTION_WRITE, &transaction, err));
    TRY(audit_append(transaction, &entry, keep_after(call), err));
    return transaction_commit(transaction_take(&transaction), err);
}

void call_audit(struct rest_call *call, ibid_code code)
{
    ibid_error error = {0};
    ibid_code written = IBID_OK;
    if (!call->instance || call->principal.user_id == 0)
        return;
    if (call->changed)
        written = append(call, call->route->action, call->changed, &error);
    else if (code == IBID_EDENIED)
        written = append(
            call, "denied",
            arena_printf(call->arena, "%.*s %.*s", STR_ARG(call->http->method), STR_ARG(call->http->path)),
            &error);
    if (written != IBID_OK)
        log_error("cannot write the audit log: %s", error.message);
}

/* ---- reading ---- */

static json_t *render_entry(const struct audit_entry *entry)
{
    json_t *object = json_object();
    json_set_int(object, "id", entry->id);
    json_set_time(object, "at", entry->at);
    json_set_int(object, "user_id", entry->user_id);
    json_set_str(object, "user", entry->user);
    json_set_int(object, "token_id", entry->token_id);
    json_set_str(object, "door", entry->door);
    json_set_str(object, "action", entry->action);
    json_set_str(object, "object", entry->object);
    return object;
}

ibid_code handle_audit(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    const struct audit_parameters *parameters = call->parameters;
    const struct audit_query query = {.before_id = parameters->before,
                                      .limit = (size_t)parameters->limit,
                                      .action = str_from(parameters->action ? parameters->action : "")};
    AUTO_TRANSACTION *transaction = NULL;
    struct audit_entry *entries;
    size_t count;
    bool more;
    TRY(transaction_begin(instance_metadata(call->instance), TRANSACTION_READ, &transaction, err));
    TRY(audit_list(transaction, &query, call->arena, &entries, &count, &more, err));
    json_t *answer = json_object(), *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, render_entry(&entries[i]));
    json_set(answer, "entries", array);
    if (more)
        json_set_int(answer, "next_before", entries[count - 1].id);
    reply_json(call, reply, 200, answer);
    return IBID_OK;
}
