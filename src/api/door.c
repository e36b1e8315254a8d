#include "api/door.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "net/http_client.h"
#include "net/unix_socket.h"

enum {
    WAIT_FOR_DATA_S = 10, /* for another process to answer or to let go */
    REPLY_LIMIT = 1 << 30,
    LONG_CALL_S = 24 * 60 * 60, /* an evaluation or a repair sends nothing until it is done */
};

struct door {
    const struct rest_settings *settings;
    const _Atomic bool *cancel;
    bool shares;
    char *socket;
    struct arena arena;
    struct net_policy policy; /* nothing is allowed: the socket needs no policy */

    pthread_mutex_t lock;       /* of what follows */
    bool decided, remote;       /* remote: another process answers */
    struct http_client *client; /* stays once made */
    struct rest *rest;          /* likewise */
    struct http_server *server;
};

struct door *door_new(const struct rest_settings *settings, bool shares, const _Atomic bool *cancel)
{
    struct door *door = xcalloc(1, sizeof *door);
    door->settings = settings;
    door->shares = shares;
    door->cancel = cancel;
    door->socket = rest_socket_path(settings->folder);
    door->policy = (struct net_policy){.connect_timeout = 5 * SECOND_US};
    pthread_mutex_init(&door->lock, NULL);
    return door;
}

void door_free(struct door *door)
{
    if (!door)
        return;
    http_server_close(door->server, 2 * SECOND_US);
    rest_close(door->rest);
    http_client_free(door->client);
    pthread_mutex_destroy(&door->lock);
    arena_release(&door->arena);
    free(door->socket);
    free(door);
}

/* ---- who answers ---- */

static bool somebody_listens(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int folder_fd;
    if (unix_socket_name(path, address.sun_path, &folder_fd, NULL) != IBID_OK)
        return false;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool answers = fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    if (fd >= 0)
        close(fd);
    if (folder_fd >= 0)
        close(folder_fd);
    return answers;
}

static ibid_code decide_locked(struct door *door, ibid_error *err)
{
    if (door->decided)
        return IBID_OK;
    door->remote = somebody_listens(door->socket);
    if (door->remote && !door->client)
        door->client = http_client_new(&door->policy);
    if (!door->remote && !door->rest)
        TRY(rest_open(door->settings, &door->rest, err));
    door->decided = true;
    return IBID_OK;
}

static ibid_code decide(struct door *door, bool *ret_remote, ibid_error *err)
{
    pthread_mutex_lock(&door->lock);
    const ibid_code code = decide_locked(door, err);
    *ret_remote = door->remote;
    pthread_mutex_unlock(&door->lock);
    return code;
}

/* The data turned out to be open elsewhere, or the process that had it has gone: look again. */
static void reconsider(struct door *door)
{
    pthread_mutex_lock(&door->lock);
    door->decided = false;
    pthread_mutex_unlock(&door->lock);
}

bool door_is_remote(struct door *door)
{
    bool remote;
    return decide(door, &remote, NULL) == IBID_OK && remote;
}

ibid_code door_rest(struct door *door, struct rest **ret, ibid_error *err)
{
    pthread_mutex_lock(&door->lock);
    ibid_code code = IBID_OK;
    if (!door->rest)
        code = rest_open(door->settings, &door->rest, err);
    *ret = door->rest;
    pthread_mutex_unlock(&door->lock);
    return code;
}

/* ---- calling ---- */

struct answer {
    int status;
    struct str text;
};

static ibid_code call_remote(struct door *door, const char *method, const char *target, struct str body,
                             struct arena *arena, struct answer *ret, ibid_error *err)
{
    const struct http_header json_type = {STR("Content-Type"), STR("application/json")};
    const struct http_request request = {
        .method = method,
        .url = arena_printf(arena, "http://localhost%s", target),
        .unix_socket = door->socket,
        .headers = &json_type,
        .header_count = body.size > 0,
        .body = body,
        .response_limit = REPLY_LIMIT,
        .stall_timeout = LONG_CALL_S * SECOND_US,
        .cancel = door->cancel,
    };
    struct http_response response;
    TRY(http_client_send(door->client, &request, arena, &response, err));
    *ret = (struct answer){response.status, response.body};
    return IBID_OK;
}

/* Lets others in while this process has the data open. That it cannot is no reason to fail. */
static void share(struct door *door)
{
    struct instance *instance;
    ibid_error error;
    pthread_mutex_lock(&door->lock);
    if (door->shares && !door->server && rest_instance(door->rest, false, &instance, NULL) == IBID_OK &&
        rest_serve(door->rest, false, true, &door->server, &error) != IBID_OK)
        log_debug("others cannot reach this process: %s", error.message);
    pthread_mutex_unlock(&door->lock);
}

static void call_here(struct door *door, const char *method, const char *target, struct str body,
                      struct arena *arena, struct answer *ret)
{
    struct http_reply reply;
    rest_call(door->rest, method, target, body, door->cancel, arena, &reply);
    *ret = (struct answer){reply.status, reply.text};
    if (reply.fd > 0)
        close(reply.fd);
    share(door);
}

/* The error that a route answered. */
static ibid_code read_error(const struct answer *answer, ibid_error *err)
{
    AUTO_JSON *value = NULL;
    if (json_parse(answer->text, &value, NULL) != IBID_OK)
        return fail(err, IBID_EUPSTREAM, "the server answered %d", answer->status);
    const json_t *error = json_object_get(value, "error");
    const char *message = json_string_value(json_object_get(error, "message"));
    const ibid_code code = error_code_of(json_string_value(json_object_get(error, "code")), IBID_EUPSTREAM);
    return fail(err, code, "%s", message ? message : "the server gave no reason");
}

static ibid_code call_once(struct door *door, const char *method, const char *target, struct str body,
                           struct arena *arena, struct answer *ret, ibid_error *err)
{
    bool remote;
    TRY(decide(door, &remote, err));
    if (remote)
        TRY(call_remote(door, method, target, body, arena, ret, err));
    else
        call_here(door, method, target, body, arena, ret);
    return ret->status >= 400 ? read_error(ret, err) : IBID_OK;
}

static bool is_canceled(const struct door *door)
{
    return door->cancel && atomic_load(door->cancel);
}

/* A process that has the data open but does not listen yet, or is about to end. */
static bool may_pass(struct door *door, ibid_code code)
{
    return code == IBID_EBUSY ||
           (code == IBID_EUNAVAILABLE && door_is_remote(door) && !somebody_listens(door->socket));
}

ibid_code door_text(struct door *door, const char *method, const char *target, struct str body,
                    struct arena *arena, struct str *ret, ibid_error *err)
{
    const int64_t until = clock_monotonic_us() + WAIT_FOR_DATA_S * SECOND_US;
    for (;;) {
        struct answer answer;
        const ibid_code code = call_once(door, method, target, body, arena, &answer, err);
        if (code == IBID_OK)
            *ret = answer.text;
        if (!may_pass(door, code) || is_canceled(door) || clock_monotonic_us() > until)
            return code;
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        reconsider(door);
    }
}

ibid_code door_call(struct door *door, const char *method, const char *target, const json_t *body,
                    json_t **ret, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_BUFFER text = BUFFER(SIZE_MAX);
    struct str answer;
    if (body)
        json_append(&text, body);
    TRY(door_text(door, method, target, buffer_str(&text), &arena, &answer, err));
    *ret = NULL;
    if (answer.size > 0 && json_parse(answer, ret, err) != IBID_OK)
        return fail(err, IBID_EUPSTREAM, "the server's answer is no JSON");
    return IBID_OK;
}
