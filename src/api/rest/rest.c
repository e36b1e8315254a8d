#include "api/rest/rest.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "access/token.h"
#include "api/rest/dispatch.h"
#include "api/rest/models.h"
#include "api/rest/state.h"
#include "base/file.h"
#include "base/memory.h"
#include "records/bootstrap.h"
#include "records/row_feed.h"

/* ---- life ---- */

ibid_code rest_open(const struct rest_settings *settings, struct rest **ret, ibid_error *err)
{
    if (sodium_init() < 0)
        BUG("libsodium does not start");
    struct rest *rest = xcalloc(1, sizeof *rest);
    rest->settings = settings;
    const ibid_code code =
        net_policy_init(instance_settings_net(settings->instance), &rest->arena, &rest->net_policy, err);
    if (code != IBID_OK) {
        arena_release(&rest->arena);
        free(rest);
        return code;
    }
    rest->model_job = model_job_new(&rest->net_policy);
    rest->service = (struct http_service){
        .context = rest,
        .begin = dispatch_begin,
        .handle = dispatch_handle,
        .refuse = dispatch_refuse,
        .common_headers = dispatch_common_headers,
    };
    randombytes_buf(rest->link_key, sizeof rest->link_key);
    pthread_mutex_init(&rest->tasks.lock, NULL);
    pthread_mutex_init(&rest->lock, NULL);
    *ret = rest;
    return IBID_OK;
}

void rest_close(struct rest *rest)
{
    if (!rest)
        return;
    model_job_free(rest->model_job);
    searcher_free(rest->searcher);
    row_source_free(rest->rows);
    instance_close(rest->instance);
    extract_pool_close(rest->extract_pool);
    embedder_close(rest->embedder);
    pthread_mutex_destroy(&rest->lock);
    pthread_mutex_destroy(&rest->tasks.lock);
    sodium_memzero(rest->link_key, sizeof rest->link_key);
    arena_release(&rest->arena);
    free(rest);
}

static ibid_code open_instance_locked(struct rest *rest, bool create, ibid_error *err)
{
    const struct rest_settings *settings = rest->settings;
    TRY(instance_open(settings->folder, settings->instance, create ? INSTANCE_CREATE : INSTANCE_EXISTING,
                      &rest->instance, err));
    rest->rows = row_source_new(instance_metadata(rest->instance));
    const struct search_context context = {
        .metadata_store = instance_metadata(rest->instance),
        .vector_store = instance_vectors(rest->instance),
        .rows = rest->rows,
        .slots = instance_compute(rest->instance),
        .settings = &settings->search,
    };
    rest->searcher = searcher_new(&context);
    return IBID_OK;
}

ibid_code rest_instance(struct rest *rest, bool create, struct instance **ret, ibid_error *err)
{
    pthread_mutex_lock(&rest->lock);
    const ibid_code code = rest->instance ? IBID_OK : open_instance_locked(rest, create, err);
    if (code == IBID_OK)
        *ret = rest->instance;
    pthread_mutex_unlock(&rest->lock);
    if (code == IBID_ENOTFOUND)
        fail(err, code, "nothing has been indexed in %s yet: begin with 'ibid index FOLDER'",
             rest->settings->folder);
    return code;
}

struct instance *rest_open_instance(struct rest *rest)
{
    pthread_mutex_lock(&rest->lock);
    struct instance *instance = rest->instance;
    pthread_mutex_unlock(&rest->lock);
    return instance;
}

/* ---- serving ---- */

char *rest_socket_path(const char *folder)
{
    return path_join(folder, "socket");
}

ibid_code rest_serve(struct rest *rest, bool network, bool local, struct http_server **ret, ibid_error *err)
{
    const struct server_settings *server = &rest->settings->server;
    AUTO_FREE char *socket = rest_socket_path(rest->settings->folder);
    const struct http_server_settings settings = {
        .address = network ? server->address : NULL,
        .port = (unsigned)server->port,
        .unix_socket = local ? socket : NULL,
        .hosts = server->hosts.items,
        .host_count = server->hosts.count,
        .max_requests = (unsigned)server->max_requests,
        .max_connections = (unsigned)server->max_connections,
        .head_timeout = server->head_timeout,
        .idle_timeout = server->idle_timeout,
    };
    return http_server_open(&settings, &rest->service, ret, err);
}

/* The token in the file still holds. */
static ibid_code token_is_valid(struct instance *instance, struct str token, bool *ret, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = NULL;
    struct principal principal;
    TRY(transaction_begin(instance_metadata(instance), TRANSACTION_READ, &transaction, err));
    const ibid_code code = principal_from_token(transaction, token, &arena, &principal, err);
    *ret = code == IBID_OK;
    return code == IBID_EAUTH ? IBID_OK : code;
}

static ibid_code issue_token(struct instance *instance, const char *path, char **ret, ibid_error *err)
{
    char text[TOKEN_TEXT_SIZE];
    int64_t id;
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(instance_metadata(instance), TRANSACTION_WRITE, &transaction, err));
    TRY(token_issue(transaction, OWNER_USER_ID, STR("first token"), 0, text, &id, err));
    ibid_code code = file_write_atomically(path, text, strlen(text), 0600, err);
    if (code == IBID_OK)
        code = transaction_commit(transaction_take(&transaction), err);
    if (code == IBID_OK)
        *ret = xstrdup(text);
    sodium_memzero(text, sizeof text);
    return code;
}

ibid_code rest_owner_token(struct rest *rest, char **ret_token, bool *ret_new, ibid_error *err)
{
    struct instance *instance;
    TRY(rest_instance(rest, true, &instance, err));
    AUTO_FREE char *path = path_join(rest->settings->folder, "token");
    AUTO_BUFFER text = BUFFER(1024);
    bool valid = false;
    if (file_read(path, &text, NULL) == IBID_OK)
        TRY(token_is_valid(instance, str_trim(buffer_str(&text)), &valid, err));
    *ret_new = !valid;
    if (!valid)
        return issue_token(instance, path, ret_token, err);
    const struct str token = str_trim(buffer_str(&text));
    *ret_token = xmemdup0(token.data, token.size);
    return IBID_OK;
}

/* ---- what handlers need ---- */

ibid_code rest_embedder(struct rest_call *call, struct embedder **ret, ibid_error *err)
{
    struct rest *rest = call->rest;
    if (call->instance)
        return instance_embedder(call->instance, ret, err);
    pthread_mutex_lock(&rest->lock);
    ibid_code code = IBID_OK;
    if (!rest->embedder)
        code = instance_settings_open_embedder(rest->settings->instance, &rest->embedder, err);
    *ret = rest->embedder;
    pthread_mutex_unlock(&rest->lock);
    return code;
}

ibid_code rest_extract_pool(struct rest_call *call, struct extract_pool **ret, ibid_error *err)
{
    struct rest *rest = call->rest;
    if (call->instance)
        return instance_extract_pool(call->instance, ret, err);
    pthread_mutex_lock(&rest->lock);
    ibid_code code = IBID_OK;
    if (!rest->extract_pool)
        code =
            extract_pool_open(instance_settings_extract(rest->settings->instance), &rest->extract_pool, err);
    *ret = rest->extract_pool;
    pthread_mutex_unlock(&rest->lock);
    return code;
}
