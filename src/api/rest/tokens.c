#include <sodium.h>

#include "access/token.h"
#include "api/rest/handlers.h"
#include "api/rest/parameter_tables.h"
#include "base/clock.h"

static const char *token_state(const struct token_record *token)
{
    if (token->revoked_at != 0)
        return "revoked";
    return token->expires_at != 0 && token->expires_at <= clock_now_us() ? "expired" : "valid";
}

static json_t *render_token(const struct token_record *token)
{
    json_t *object = json_object();
    json_set_int(object, "id", token->id);
    json_set_str(object, "name", token->name);
    json_set_str(object, "hint", token->hint);
    json_set_int(object, "user_id", token->user_id);
    json_set_string(object, "state", token_state(token));
    json_set_bool(object, "metrics_only", token->metrics_only);
    json_set_time(object, "created_at", token->created_at);
    json_set_time(object, "last_used_at", token->last_used_at);
    json_set_time(object, "expires_at", token->expires_at);
    json_set_time(object, "revoked_at", token->revoked_at);
    return object;
}

ibid_code handle_tokens(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct token_record *tokens;
    size_t count;
    TRY(transaction_begin(instance_metadata(call->instance), TRANSACTION_READ, &transaction, err));
    TRY(token_record_list(transaction, 0, call->arena, &tokens, &count, err));
    json_t *answer = json_object(), *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, render_token(&tokens[i]));
    json_set(answer, "tokens", array);
    reply_json(call, reply, 200, answer);
    return IBID_OK;
}

ibid_code handle_token_create(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    const struct token_parameters *parameters = call->parameters;
    const struct str name = str_trim(str_from(parameters->name));
    const int64_t expires_at = parameters->expires_in ? clock_now_us() + parameters->expires_in : 0;
    char text[TOKEN_TEXT_SIZE];
    struct token_record token;
    int64_t id;
    if (name.size == 0)
        return fail(err, IBID_EINVAL, "a token needs a 'name' that says what it is for");
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(instance_metadata(call->instance), TRANSACTION_WRITE, &transaction, err));
    TRY(token_issue(transaction, call->principal.user_id, name, expires_at, text, &id, err));
    if (parameters->metrics)
        TRY(token_record_keep_to_metrics(transaction, id, err));
    TRY(token_record_load(transaction, id, call->arena, &token, err));
    TRY(call_record(call, transaction, "token", id, err));
    TRY(transaction_commit(transaction_take(&transaction), err));
    json_t *answer = render_token(&token);
    json_set_string(answer, "token", text);
    sodium_memzero(text, sizeof text);
    reply_json(call, reply, 201, answer);
    return IBID_OK;
}

ibid_code handle_token_revoke(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct token_record token;
    int64_t id;
    TRY(call_id(call, "token", &id, err));
    TRY(transaction_begin(instance_metadata(call->instance), TRANSACTION_WRITE, &transaction, err));
    TRY(token_record_revoke(transaction, id, err));
    TRY(token_record_load(transaction, id, call->arena, &token, err));
    TRY(call_record(call, transaction, "token", id, err));
    TRY(transaction_commit(transaction_take(&transaction), err));
    reply_json(call, reply, 200, render_token(&token));
    return IBID_OK;
}
