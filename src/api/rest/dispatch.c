#include "api/rest/dispatch.h"

#include <string.h>
#include <unistd.h>

#include "api/rest/handlers.h"
#include "api/rest/state.h"
#include "api/rest/upload.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/metric.h"
#include "net/url.h"

#define HEADER(name, value)          \
    {                                \
        {name, sizeof(name) - 1},    \
        {                            \
            value, sizeof(value) - 1 \
        }                            \
    }

/* Nothing that this server sends may be sniffed, framed, embedded by another site or kept by a cache. */
const struct http_header dispatch_common_headers[] = {
    HEADER("X-Content-Type-Options", "nosniff"),
    HEADER("X-Frame-Options", "DENY"),
    HEADER("Referrer-Policy", "no-referrer"),
    HEADER("Cross-Origin-Resource-Policy", "same-origin"),
    HEADER("Cross-Origin-Opener-Policy", "same-origin"),
    HEADER("Cache-Control", "no-store"),
    {{"", 0}, {"", 0}},
};

enum { TOKEN_USE_INTERVAL_S = 300 };

/* What begin finds out, kept for handle. */
struct dispatch {
    struct rest_call call;
    int64_t started;
    const char *allowed_methods; /* not NULL: the path is known, the method is not */
};

/* ---- replies ---- */

static struct str json_bytes(struct arena *arena, const json_t *value)
{
    AUTO_BUFFER out = BUFFER(SIZE_MAX);
    json_append(&out, value);
    return arena_str(arena, buffer_str(&out));
}

void reply_lock_down(struct http_call *call, struct http_reply *reply)
{
    http_reply_header(call, reply, "Content-Security-Policy",
                      STR("default-src 'none'; frame-ancestors 'none'"));
}

void reply_json(struct rest_call *call, struct http_reply *reply, int status, json_t *value)
{
    reply->status = status;
    reply->text = json_bytes(call->arena, value);
    http_reply_header(call->http, reply, "Content-Type", STR("application/json"));
    reply_lock_down(call->http, reply);
    json_decref(value);
}

static json_t *error_json(const ibid_error *error)
{
    json_t *inner = json_object(), *outer = json_object();
    json_set_string(inner, "code", ibid_code_string(error->code));
    json_set_string(inner, "message", error->message);
    if (ibid_code_is_retryable(error->code))
        json_set_bool(inner, "retryable", true);
    if (error->retry_after_s > 0)
        json_set_int(inner, "retry_after", error->retry_after_s);
    json_set(outer, "error", inner);
    return outer;
}

static void count_status(int status)
{
    metric_count(status >= 500 ? COUNTER_HTTP_5XX : status >= 400 ? COUNTER_HTTP_4XX : COUNTER_HTTP_1XX_3XX);
}

static void say_error(struct arena *arena, int status, const ibid_error *error, struct http_reply *reply)
{
    struct http_call call = {.arena = arena};
    AUTO_JSON *value = error_json(error);
    reply->text = json_bytes(arena, value);
    http_reply_header(&call, reply, "Content-Type", STR("application/json"));
    reply_lock_down(&call, reply);
    if (status == 401)
        http_reply_header(&call, reply, "WWW-Authenticate", STR("Bearer realm=\"ibid\""));
    if (error->retry_after_s > 0)
        http_reply_header(&call, reply, "Retry-After",
                          str_from(arena_printf(arena, "%u", error->retry_after_s)));
}

/* Called for what never came to a handler: an unsound head, a refusal of dispatch_begin, a broken body. */
void dispatch_refuse(struct arena *arena, int status, const ibid_error *error, struct http_reply *reply,
                     void *rest)
{
    count_status(status);
    log_info("refused with %d: %s", status, error->message);
    say_error(arena, status, error, reply);
}

/* The one place where a failed request is logged: those that are the server's own fault. */
static void answer_error(struct http_call *http, ibid_code code, ibid_error *error, struct http_reply *reply)
{
    error->code = code;
    if (code == IBID_EBUG || code == IBID_ECORRUPT || code == IBID_EIO || code == IBID_ENOSPACE)
        log_error("%.*s %.*s: %s", STR_ARG(http->method), STR_ARG(http->path), error->message);
    *reply = (struct http_reply){.status = ibid_code_http_status(code)};
    say_error(http->arena, reply->status, error, reply);
}

/* ---- who asks ---- */

static struct str bearer_token(const struct http_call *http)
{
    const struct str value = http_headers_get(&http->headers, "authorization");
    if (value.size > 7 && str_equal_nocase(str_slice(value, 0, 7), STR("Bearer ")))
        return str_trim(str_slice(value, 7, value.size));
    return STR_EMPTY;
}

static ibid_code identify(struct rest_call *call, ibid_error *err)
{
    const struct str token = bearer_token(call->http);
    AUTO_TRANSACTION *transaction = NULL;
    if (!call->is_owner && token.size == 0)
        return fail(err, IBID_EAUTH,
                    "a token is needed: send it as 'Authorization: Bearer ...' "
                    "(it is in the file 'token' of the data directory)");
    TRY(transaction_begin(instance_metadata(call->instance), TRANSACTION_READ, &transaction, err));
    if (call->is_owner)
        return principal_local_owner(transaction, call->arena, &call->principal, err);
    return principal_from_token(transaction, token, call->arena, &call->principal, err);
}

/* Notes a token's use, to within some minutes: a request does not wait for a write each time. That it cannot
 * is no reason to refuse. */
static void note_token_use(struct rest_call *call)
{
    const struct principal *principal = &call->principal;
    const int64_t now = clock_now_us();
    AUTO_TRANSACTION *transaction = NULL;
    ibid_error error;
    if (principal->token_id == 0 || now - principal->token_used_at < TOKEN_USE_INTERVAL_S * SECOND_US)
        return;
    ibid_code code =
        transaction_begin(instance_metadata(call->instance), TRANSACTION_WRITE, &transaction, &error);
    if (code == IBID_OK)
        code = token_record_used(transaction, principal->token_id, now, &error);
    if (code == IBID_OK)
        code = transaction_commit(transaction_take(&transaction), &error);
    if (code != IBID_OK)
        log_debug("cannot note the use of a token: %s", error.message);
}

static ibid_code authorize(struct rest_call *call, ibid_error *err)
{
    const enum route_need need = call->route->need;
    if (need == NEED_NOTHING || (call->is_owner && call->route->data == DATA_NONE))
        return IBID_OK;
    if (need == NEED_LINK && !call->is_owner && bearer_token(call->http).size == 0)
        return IBID_OK;
    if (!call->instance) /* who asks is known from the data alone */
        TRY(rest_instance(call->rest, false, &call->instance, err));
    const ibid_code code = identify(call, err);
    if (code == IBID_EAUTH)
        metric_count(COUNTER_AUTH_FAILURES);
    TRY(code);
    note_token_use(call);
    if (call->principal.metrics_only && !call->route->is_metrics)
        return fail(err, IBID_EDENIED, "this token is for /metrics only");
    if (need == NEED_OWNER && !call->is_owner)
        return fail(err, IBID_EDENIED,
                    "only the person at the server's machine may ask this, "
                    "through its unix socket (as the command line does)");
    return need == NEED_ADMIN ? access_check_system_admin(&call->principal, err) : IBID_OK;
}

/* ---- from head to route ---- */

static bool is_local_owner(const struct http_peer *peer)
{
    return peer->is_local && (peer->uid == geteuid() || peer->uid == 0);
}

static ibid_code find_route(struct dispatch *dispatch, ibid_error *err)
{
    struct rest_call *call = &dispatch->call;
    struct http_call *http = call->http;
    const struct str method = str_is(http->method, "HEAD") ? STR("GET") : http->method;
    const char *methods;
    struct str id = STR_EMPTY;
    call->route = route_find(method, http->path, call->arena, &id, &methods);
    if (!call->route && *methods) {
        dispatch->allowed_methods = methods;
        return IBID_OK;
    }
    if (!call->route || !url_unescape(id, false, call->arena, &call->id))
        return fail(err, IBID_ENOTFOUND, "there is nothing at %.*s", STR_ARG(http->path));
    return IBID_OK;
}

static ibid_code open_data(struct rest_call *call, ibid_error *err)
{
    if (call->route->data == DATA_NONE) {
        call->instance = rest_open_instance(call->rest);
        return IBID_OK;
    }
    return rest_instance(call->rest, call->route->data == DATA_CREATED, &call->instance, err);
}

static ibid_code prepare_body(struct rest_call *call, ibid_error *err)
{
    const struct route *route = call->route;
    call->http->body_limit = route->body_limit;
    if (route->body != BODY_UPLOAD)
        return IBID_OK;
    call->http->body_limit = call_settings(call)->server.max_upload;
    const struct upload_limits limits = {
        .file_size = call_settings(call)->server.max_file_size,
        .folder = instance_folder(call->instance),
        .uploads = call_settings(call)->server.max_uploads,
    };
    TRY(upload_open(http_headers_get(&call->http->headers, "content-type"), &limits, &call->rest->uploads,
                    &call->upload, err));
    call->http->sink = upload_sink(call->upload);
    return IBID_OK;
}

ibid_code dispatch_begin(struct http_call *http, void *context, ibid_error *err)
{
    struct dispatch *dispatch = ARENA_NEW(http->arena, struct dispatch);
    struct rest_call *call = &dispatch->call;
    dispatch->started = clock_monotonic_us();
    *call = (struct rest_call){
        .rest = context, .http = http, .arena = http->arena, .is_owner = is_local_owner(&http->peer)};
    http->data = dispatch;
    TRY(find_route(dispatch, err));
    if (dispatch->allowed_methods) {
        http->body_limit = 1024 * 1024; /* read and dropped before the answer */
        return IBID_OK;
    }
    TRY(open_data(call, err));
    const ibid_code code = authorize(call, err);
    if (code != IBID_OK)
        call_audit(call, code);
    TRY(code);
    call->parameters = arena_alloc(call->arena, call->route->parameters_size + 1);
    if (call->route->body != BODY_JSON)
        TRY(parameters_from_query(call->route->parameters, call->parameters, http->query, call->arena, err));
    else if (http->query.size > 0)
        return fail(err, IBID_EINVAL,
                    "this request takes its parameters in a JSON body, not in the query string");
    return prepare_body(call, err);
}

/* ---- from body to reply ---- */

static ibid_code read_json(struct rest_call *call, ibid_error *err)
{
    const struct str type = http_headers_get(&call->http->headers, "content-type");
    const struct str bare = str_trim(str_slice(type, 0, str_find(type, ';')));
    if (call->http->body.size == 0)
        call->body = json_object();
    else if (!str_equal_nocase(bare, STR("application/json")))
        return fail(err, IBID_EINVAL, "the body must be JSON, with 'Content-Type: application/json'");
    else
        TRY(json_parse(call->http->body, &call->body, err));
    if (!json_is_object(call->body))
        return fail(err, IBID_EINVAL, "the body must be a JSON object");
    return parameters_from_json(call->route->parameters, call->parameters, call->body,
                                call->route->other_members, call->arena, err);
}

static ibid_code carry_out(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    if (call->route->body == BODY_JSON)
        TRY(read_json(call, err));
    return call->route->handle(call, reply, err);
}

static void answer_not_allowed(struct dispatch *dispatch, struct http_reply *reply)
{
    struct http_call *http = dispatch->call.http;
    ibid_error error = {0};
    fail(&error, IBID_EINVAL, "%.*s knows %s, not %.*s", STR_ARG(http->path), dispatch->allowed_methods,
         STR_ARG(http->method));
    say_error(http->arena, 405, &error, reply);
    reply->status = 405;
    http_reply_header(http, reply, "Allow", str_from(dispatch->allowed_methods));
}

void dispatch_handle(struct http_call *http, struct http_reply *reply, void *context)
{
    struct dispatch *dispatch = http->data;
    ibid_error error = {0};
    if (dispatch->allowed_methods) {
        answer_not_allowed(dispatch, reply);
    } else {
        const ibid_code code = carry_out(&dispatch->call, reply, &error);
        call_audit(&dispatch->call, code);
        if (code != IBID_OK)
            answer_error(http, code, &error, reply);
    }
    json_decref(dispatch->call.body);
    const int64_t spent = clock_monotonic_us() - dispatch->started;
    count_status(reply->status);
    metric_observe(HISTOGRAM_HTTP, spent);
    log_info("%.*s %.*s %d in %.1f ms for %s", STR_ARG(http->method), STR_ARG(http->path), reply->status,
             (double)spent / 1e3, http->peer.is_local ? "a local peer" : http->peer.address);
}

/* ---- without a network ---- */

void rest_call(struct rest *rest, const char *method, const char *target, struct str body,
               const _Atomic bool *cancel, struct arena *arena, struct http_reply *ret)
{
    static const struct http_header json_type = HEADER("Content-Type", "application/json");
    static const _Atomic bool never = false;
    const struct str whole = str_from(target);
    const size_t mark = str_find(whole, '?');
    struct http_call http = {
        .arena = arena,
        .method = str_from(method),
        .path = str_slice(whole, 0, mark),
        .query = str_slice(whole, mark + 1, whole.size),
        .headers = {&json_type, 1},
        .peer = {.is_local = true, .uid = geteuid()},
        .content_length = (int64_t)body.size,
        .has_body = body.size > 0,
        .cancel = cancel ? cancel : &never,
        .body = body,
    };
    ibid_error error = {0};
    ibid_code code = dispatch_begin(&http, rest, &error);
    if (code == IBID_OK && (int64_t)body.size > http.body_limit)
        code = fail(&error, IBID_ETOOBIG, "the request's body is larger than the limit of %lld bytes",
                    (long long)http.body_limit);
    *ret = (struct http_reply){.status = 200};
    if (code == IBID_OK)
        dispatch_handle(&http, ret, rest);
    else
        answer_error(&http, code, &error, ret);
    if (http.sink)
        http.sink->close(http.sink);
}

/* ---- for handlers ---- */

ibid_code call_id(const struct rest_call *call, const char *what, int64_t *ret, ibid_error *err)
{
    long long id;
    if (call->id.size == 0 || call->id.data[0] < '0' || call->id.data[0] > '9' ||
        !str_to_int64(call->id, &id))
        return fail(err, IBID_ENOTFOUND, "there is no %s '%.*s'", what, STR_ARG(call->id));
    *ret = id;
    return IBID_OK;
}

ibid_code call_read(struct rest_call *call, struct transaction **ret, struct scope *ret_scope,
                    ibid_error *err)
{
    struct transaction *transaction;
    TRY(transaction_begin(instance_metadata(call->instance), TRANSACTION_READ, &transaction, err));
    const ibid_code code = scope_of(transaction, &call->principal, call->arena, ret_scope, err);
    if (code != IBID_OK) {
        transaction_rollback(transaction);
        return code;
    }
    *ret = transaction;
    return IBID_OK;
}

const struct rest_settings *call_settings(const struct rest_call *call)
{
    return call->rest->settings;
}
