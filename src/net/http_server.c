#include "net/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "net/http_gate.h"
#include "net/http_hangup.h"
#include "net/unix_socket.h"

enum {
    LIBRARY_MEMORY = 64 * 1024, /* of the library for one connection: head, and what it reads at a time */
    THREAD_STACK = 4 * 1024 * 1024,
    STREAM_BLOCK = 16 * 1024,
    SLOW_AFTER_US = 30000000, /* a body slower than SLOW_RATE on average is given up after this time */
    SLOW_RATE = 1024,         /* bytes a second */
};

struct http_server {
    const struct http_service *service;
    struct gate *gate;
    struct MHD_Daemon *daemon;
    struct hangup_watch *hangups;
    char **hosts;
    size_t host_count;
    unsigned max_requests, port, idle_timeout_s;
    char *unix_socket;
    atomic_bool stopping;

    pthread_mutex_t lock;
    pthread_cond_t one_left;
    unsigned active;        /* requests under way */
    struct visitor **by_fd; /* visitors by the descriptor handed to the library */
    size_t by_fd_size;
};

enum stage { STAGE_NEW, STAGE_BODY, STAGE_DONE };

/* One request on its way. */
struct request {
    struct http_server *server;
    struct visitor *visitor;
    struct http_call call;
    struct watched_client client; /* while the call is handled */
    enum stage stage;
    int64_t started;
    int64_t received;
    struct buffer body;
    int status; /* of a refusal, for the reason in `error` */
    ibid_error error;
};

/* ---- replies ---- */

void http_reply_header(struct http_call *call, struct http_reply *reply, const char *name, struct str value)
{
    struct http_header *grown = ARENA_ARRAY(call->arena, struct http_header, reply->header_count + 1);
    if (reply->header_count > 0)
        memcpy(grown, reply->headers, reply->header_count * sizeof *grown);
    grown[reply->header_count++] = (struct http_header){str_from(name), value};
    reply->headers = grown;
}

static void discard(struct http_reply *reply)
{
    if (reply->fd > 0)
        close(reply->fd);
    if (reply->stream && reply->stream_close)
        reply->stream_close(reply->stream_data);
}

struct stream {
    ssize_t (*read)(void *data, char *out, size_t size);
    void *data;
    void (*close)(void *data);
};

static ssize_t read_stream(void *context, uint64_t position, char *out, size_t size)
{
    struct stream *stream = context;
    const ssize_t count = stream->read(stream->data, out, size);
    if (count > 0)
        return count;
    return count == 0 ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void close_stream(void *context)
{
    struct stream *stream = context;
    if (stream->close)
        stream->close(stream->data);
    free(stream);
}

/* The one range of "bytes=a-b", "bytes=a-" or "bytes=-n"; false when the whole is to be sent (several ranges
 * too, as RFC 9110 allows). An unsatisfiable one gives *ret_size = 0. */
static bool parse_range(struct str text, int64_t size, int64_t *ret_start, int64_t *ret_size)
{
    if (!str_starts_with(text, "bytes=") || memchr(text.data, ',', text.size))
        return false;
    text = str_slice(text, 6, text.size);
    const size_t dash = str_find(text, '-');
    const struct str first = str_slice(text, 0, dash), last = str_slice(text, dash + 1, text.size);
    long long start = 0, end = size - 1;
    if (dash == text.size || (first.size > 0 && !str_to_int64(first, &start)) ||
        (last.size > 0 && !str_to_int64(last, &end)) || start < 0 || end < 0)
        return false;
    if (first.size == 0) {
        if (last.size == 0)
            return false;
        start = end < size ? size - end : 0;
        end = size - 1;
    }
    if (end >= size)
        end = size - 1;
    *ret_start = start;
    *ret_size = start < size && start <= end ? end - start + 1 : 0;
    return true;
}

static struct MHD_Response *file_response(struct request *request, struct http_reply *reply)
{
    struct http_call *call = &request->call;
    int64_t start = 0, size = reply->fd_size;
    http_reply_header(call, reply, "Accept-Ranges", STR("bytes"));
    if (reply->status == 200 &&
        parse_range(http_headers_get(&call->headers, "range"), reply->fd_size, &start, &size)) {
        const char *range = size > 0 ? arena_printf(call->arena, "bytes %lld-%lld/%lld", (long long)start,
                                                    (long long)(start + size - 1), (long long)reply->fd_size)
                                     : arena_printf(call->arena, "bytes */%lld", (long long)reply->fd_size);
        http_reply_header(call, reply, "Content-Range", str_from(range));
        reply->status = size > 0 ? 206 : 416;
    }
    if (size == 0) {
        close(reply->fd);
        return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    }
    return MHD_create_response_from_fd_at_offset64((uint64_t)size, reply->fd, (uint64_t)start);
}

static struct MHD_Response *make_response(struct request *request, struct http_reply *reply)
{
    if (reply->fd > 0)
        return file_response(request, reply);
    if (reply->stream) {
        struct stream *stream = xcalloc(1, sizeof *stream);
        *stream = (struct stream){reply->stream, reply->stream_data, reply->stream_close};
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, stream,
                                                 close_stream);
    }
    return MHD_create_response_from_buffer(reply->text.size, (void *)(uintptr_t)reply->text.data,
                                           MHD_RESPMEM_PERSISTENT); /* the arena outlives the reply */
}

static void add_header(struct MHD_Response *response, struct str name, struct str value)
{
    AUTO_FREE char *name_text = xmemdup0(name.data, name.size),
                   *value_text = xmemdup0(value.data, value.size);
    if (http_is_token(name) && http_is_field_value(value))
        MHD_add_response_header(response, name_text, value_text);
    else
        log_error("a reply's header '%s' has a value that HTTP forbids", name_text);
}

static void add_common_headers(struct buffer *out, struct MHD_Response *response,
                               const struct http_service *service)
{
    for (const struct http_header *header = service->common_headers; header && header->name.size > 0;
         header++) {
        if (response)
            add_header(response, header->name, header->value);
        else
            buffer_printf(out, "%.*s: %.*s\r\n", STR_ARG(header->name), STR_ARG(header->value));
    }
}

static enum MHD_Result send_reply(struct request *request, struct MHD_Connection *connection,
                                  struct http_reply *reply)
{
    struct MHD_Response *response = make_response(request, reply);
    if (!response)
        return MHD_NO;
    for (size_t i = 0; i < reply->header_count; i++)
        add_header(response, reply->headers[i].name, reply->headers[i].value);
    add_common_headers(NULL, response, request->server->service);
    MHD_add_response_header(response, "Connection", "close");
    const enum MHD_Result result = MHD_queue_response(connection, (unsigned)reply->status, response);
    MHD_destroy_response(response);
    request->stage = STAGE_DONE;
    return result;
}

static enum MHD_Result send_error(struct request *request, struct MHD_Connection *connection)
{
    struct http_reply reply = {.status = request->status};
    const struct http_service *service = request->server->service;
    service->refuse(request->call.arena, request->status, &request->error, &reply, service->context);
    return send_reply(request, connection, &reply);
}

/* A whole reply as bytes, for where the library can send none. */
static void append_refusal(const struct http_server *server, int status, const ibid_error *error,
                           struct buffer *out)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct http_reply reply = {.status = status};
    server->service->refuse(&arena, status, error, &reply, server->service->context);
    buffer_printf(out, "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Length: %zu\r\n", status,
                  http_status_text(status), reply.text.size);
    for (size_t i = 0; i < reply.header_count; i++)
        buffer_printf(out, "%.*s: %.*s\r\n", STR_ARG(reply.headers[i].name), STR_ARG(reply.headers[i].value));
    add_common_headers(out, NULL, server->service);
    buffer_append_string(out, "\r\n");
    buffer_append_str(out, reply.text);
}

/* In the midst of a body the library takes no reply: it is written past it, and the connection ends. */
static enum MHD_Result break_off(struct request *request)
{
    AUTO_BUFFER out = BUFFER(64 * 1024);
    append_refusal(request->server, request->status, &request->error, &out);
    request->stage = STAGE_DONE;
    if (send(request->visitor->rest_fd, out.data, out.size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        log_debug("a request was broken off without a reply");
    return MHD_NO;
}

static void note_failure(struct request *request, ibid_code code)
{
    request->status = ibid_code_http_status(code);
}

/* ---- requests, called by the library on the connection's thread ---- */

static ibid_code begin(struct request *request, ibid_error *err)
{
    struct http_call *call = &request->call;
    const struct http_service *service = request->server->service;
    TRY(service->begin(call, service->context, err));
    if (call->has_body && call->body_limit == 0)
        return fail(err, IBID_EINVAL, "this request takes no body");
    if (call->content_length > call->body_limit)
        return fail(err, IBID_ETOOBIG, "the request's body is larger than the limit of %lld bytes",
                    (long long)call->body_limit);
    request->body = BUFFER((size_t)call->body_limit);
    return IBID_OK;
}

static ibid_code take_body(struct request *request, struct str bytes, ibid_error *err)
{
    struct http_call *call = &request->call;
    request->received += (int64_t)bytes.size;
    const int64_t spent = clock_monotonic_us() - request->started;
    if (request->received > call->body_limit)
        return fail(err, IBID_ETOOBIG, "the request's body is larger than the limit of %lld bytes",
                    (long long)call->body_limit);
    if (spent > SLOW_AFTER_US && request->received < spent / SECOND_US * SLOW_RATE)
        return fail(err, IBID_ETIMEOUT, "the request's body comes too slowly");
    if (atomic_load(&request->server->stopping))
        return fail(err, IBID_EUNAVAILABLE, "the server is stopping");
    if (call->sink)
        return call->sink->write(call->sink, bytes, err);
    buffer_append_str(&request->body, bytes);
    return IBID_OK;
}

static ibid_code finish_body(struct request *request, ibid_error *err)
{
    struct http_call *call = &request->call;
    if (call->sink)
        return call->sink->finish(call->sink, err);
    call->body = request->body.size > 0 ? buffer_str(&request->body) : STR_EMPTY;
    return IBID_OK;
}

static enum MHD_Result serve(struct request *request, struct MHD_Connection *connection)
{
    const struct http_service *service = request->server->service;
    struct http_reply reply = {.status = 200};
    /* The library counts idleness from the last byte moved: computing is not idleness. */
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
    hangup_watch_add(request->server->hangups, &request->client);
    service->handle(&request->call, &reply, service->context);
    hangup_watch_remove(request->server->hangups, &request->client);
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, request->server->idle_timeout_s);
    const enum MHD_Result result = send_reply(request, connection, &reply);
    if (result == MHD_NO && request->stage != STAGE_DONE)
        discard(&reply);
    return result;
}

static enum MHD_Result handle_request(void *context, struct MHD_Connection *connection, const char *url,
                                      const char *method, const char *version, const char *upload_data,
                                      size_t *upload_size, void **unused)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct request *request = info ? info->socket_context : NULL;
    if (!request || request->stage == STAGE_DONE)
        return MHD_NO;
    ibid_code code = IBID_OK;
    if (request->stage == STAGE_NEW) {
        request->stage = STAGE_BODY;
        code = begin(request, &request->error);
    } else if (*upload_size > 0) {
        code = take_body(request, (struct str){upload_data, *upload_size}, &request->error);
        *upload_size = 0;
        if (code != IBID_OK) {
            note_failure(request, code);
            return break_off(request);
        }
    } else {
        code = finish_body(request, &request->error);
        if (code == IBID_OK)
            return serve(request, connection);
    }
    if (code == IBID_OK)
        return MHD_YES;
    note_failure(request, code);
    return send_error(request, connection);
}

/* ---- connections ---- */

static struct visitor **place_of(struct http_server *server, int fd)
{
    if ((size_t)fd >= server->by_fd_size) {
        const size_t size = ((size_t)fd + 1) * 2;
        server->by_fd = xrealloc(server->by_fd, size, sizeof *server->by_fd);
        memset(server->by_fd + server->by_fd_size, 0, (size - server->by_fd_size) * sizeof *server->by_fd);
        server->by_fd_size = size;
    }
    return &server->by_fd[fd];
}

static struct request *request_new(struct http_server *server, struct visitor *visitor, int fd)
{
    struct request *request = ARENA_NEW(&visitor->arena, struct request);
    const struct http_head *head = &visitor->head;
    request->server = server;
    request->visitor = visitor;
    request->client.fd = fd;
    request->started = clock_monotonic_us();
    request->call = (struct http_call){
        .arena = &visitor->arena,
        .method = head->method,
        .path = head->path,
        .query = head->query,
        .headers = head->headers,
        .peer = visitor->peer,
        .content_length = head->content_length,
        .has_body = head->chunked || head->content_length > 0,
        .cancel = &request->client.gone,
    };
    return request;
}

static void finish_request(struct request *request)
{
    struct http_server *server = request->server;
    if (request->call.sink)
        request->call.sink->close(request->call.sink);
    buffer_release(&request->body);
    gate_return(server->gate, request->visitor);
    pthread_mutex_lock(&server->lock);
    server->active--;
    pthread_cond_signal(&server->one_left);
    pthread_mutex_unlock(&server->lock);
}

static void connection_changed(void *context, struct MHD_Connection *connection, void **socket_context,
                               enum MHD_ConnectionNotificationCode what)
{
    struct http_server *server = context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        pthread_mutex_lock(&server->lock);
        struct visitor **place = place_of(server, fd);
        struct visitor *visitor = *place;
        *place = NULL;
        pthread_mutex_unlock(&server->lock);
        *socket_context = request_new(server, visitor, fd);
    } else if (*socket_context) {
        finish_request(*socket_context);
        *socket_context = NULL;
    }
}

/* ---- what the gate asks ---- */

static bool is_known_host(const struct http_server *server, struct str host)
{
    struct ip_address address;
    if (ip_parse(host, &address) || str_is(host, "localhost") || str_ends_with(host, ".localhost"))
        return true;
    for (size_t i = 0; i < server->host_count; i++)
        if (str_equal_nocase(host, str_from(server->hosts[i])))
            return true;
    return false;
}

static ibid_code inspect(struct visitor *visitor, void *context, int *ret_status, ibid_error *err)
{
    const struct http_server *server = context;
    if (visitor->peer.is_local || visitor->head.host.size == 0 || is_known_host(server, visitor->head.host))
        return IBID_OK;
    *ret_status = 421;
    return fail(err, IBID_EDENIED, "this server is not known as '%.*s': add the name to server.hosts",
                STR_ARG(visitor->head.host));
}

static bool admit(struct visitor *visitor, void *context)
{
    struct http_server *server = context;
    const int fd = visitor->fd;
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    if (getpeername(fd, (struct sockaddr *)&address, &size) != 0)
        size = 0; /* gone already: the library finds out */
    pthread_mutex_lock(&server->lock);
    const bool room = server->active < server->max_requests;
    if (room) {
        server->active++;
        *place_of(server, fd) = visitor;
    }
    pthread_mutex_unlock(&server->lock);
    if (!room)
        return false;
    if (MHD_add_connection(server->daemon, fd, (struct sockaddr *)&address, size) == MHD_YES)
        return true;
    /* The library has closed the socket. Unless it had begun, and so ended, it owes us the visitor. */
    pthread_mutex_lock(&server->lock);
    struct visitor **place = place_of(server, fd);
    const bool begun = *place != visitor;
    *place = NULL;
    if (!begun)
        server->active--;
    pthread_mutex_unlock(&server->lock);
    if (!begun)
        gate_return(server->gate, visitor);
    return true;
}

static void refuse(int status, const ibid_error *error, struct buffer *out, void *context)
{
    append_refusal(context, status, error, out);
}

/* ---- listening ---- */

static ibid_code listen_on(int fd, const char *what, ibid_error *err)
{
    if (listen(fd, SOMAXCONN) == 0)
        return IBID_OK;
    return fail_errno(err, errno, "cannot listen on %s", what);
}

static ibid_code bind_network(int fd, const struct sockaddr *address, socklen_t size, const char *what,
                              ibid_error *err)
{
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* inherited by what it accepts */
    if (bind(fd, address, size) == 0)
        return listen_on(fd, what, err);
    if (errno == EADDRINUSE)
        return fail(err, IBID_ECONFLICT, "%s is in use: choose another with --port or server.port", what);
    return fail_errno(err, errno, "cannot listen on %s", what);
}

static ibid_code open_network(struct http_server *server, const struct http_server_settings *settings,
                              ibid_error *err)
{
    struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)settings->port)};
    struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)settings->port)};
    const bool is_ipv4 = inet_pton(AF_INET, settings->address, &ipv4.sin_addr) == 1;
    if (!is_ipv4 && inet_pton(AF_INET6, settings->address, &ipv6.sin6_addr) != 1)
        return fail(err, IBID_EINVAL, "'%s' is no address to listen on", settings->address);
    const int fd = socket(is_ipv4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return fail_errno(err, errno, "cannot listen on %s", settings->address);
    AUTO_FREE char *what = xasprintf(is_ipv4 ? "%s:%u" : "[%s]:%u", settings->address, settings->port);
    const ibid_code code = is_ipv4 ? bind_network(fd, (struct sockaddr *)&ipv4, sizeof ipv4, what, err)
                                   : bind_network(fd, (struct sockaddr *)&ipv6, sizeof ipv6, what, err);
    if (code != IBID_OK) {
        close(fd);
        return code;
    }
    socklen_t size = sizeof ipv6;
    getsockname(fd, (struct sockaddr *)&ipv6, &size); /* the port stands at the same place in both */
    server->port = ntohs(ipv6.sin6_port);
    gate_add_listener(server->gate, fd);
    return IBID_OK;
}

static ibid_code open_unix(struct http_server *server, const char *path, ibid_error *err)
{
    int fd;
    TRY(unix_socket_listen(path, &fd, err));
    server->unix_socket = xstrdup(path);
    gate_add_listener(server->gate, fd);
    return IBID_OK;
}

/* ---- the whole ---- */

static void start_library(struct http_server *server)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* its threads leave signals to the program's own */
    server->daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL |
            MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC,
        0, NULL, NULL, handle_request, server, MHD_OPTION_NOTIFY_CONNECTION, connection_changed, server,
        MHD_OPTION_CONNECTION_LIMIT, server->max_requests + 64, MHD_OPTION_CONNECTION_TIMEOUT,
        server->idle_timeout_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)LIBRARY_MEMORY,
        MHD_OPTION_THREAD_STACK_SIZE, (size_t)THREAD_STACK, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!server->daemon)
        BUG("libmicrohttpd does not start");
}

static void server_free(struct http_server *server)
{
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    hangup_watch_free(server->hangups);
    gate_close(server->gate);
    if (server->unix_socket)
        unlink(server->unix_socket);
    for (size_t i = 0; i < server->host_count; i++)
        free(server->hosts[i]);
    free(server->hosts);
    free(server->by_fd);
    free(server->unix_socket);
    pthread_cond_destroy(&server->one_left);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

static void copy_hosts(struct http_server *server, const struct http_server_settings *settings)
{
    server->hosts = xcalloc(settings->host_count + 1, sizeof *server->hosts);
    for (size_t i = 0; i < settings->host_count; i++)
        server->hosts[server->host_count++] = xstrdup(settings->hosts[i]);
}

ibid_code http_server_open(const struct http_server_settings *settings, const struct http_service *service,
                           struct http_server **ret, ibid_error *err)
{
    static const struct gate_ops gate_ops = {.inspect = inspect, .admit = admit, .refuse = refuse};
    struct http_server *server = xcalloc(1, sizeof *server);
    server->service = service;
    server->max_requests = settings->max_requests;
    server->idle_timeout_s = (unsigned)((settings->idle_timeout + SECOND_US - 1) / SECOND_US);
    copy_hosts(server, settings);
    pthread_mutex_init(&server->lock, NULL);
    condition_init(&server->one_left);
    server->gate = gate_open(&(struct gate_settings){.visitor_limit = settings->max_connections,
                                                     .head_timeout = settings->head_timeout},
                             &gate_ops, server);
    server->hangups = hangup_watch_new();
    ibid_code code = IBID_OK;
    if (settings->address)
        code = open_network(server, settings, err);
    if (code == IBID_OK && settings->unix_socket)
        code = open_unix(server, settings->unix_socket, err);
    if (code != IBID_OK) {
        server_free(server);
        return code;
    }
    start_library(server);
    gate_start(server->gate);
    *ret = server;
    return IBID_OK;
}

unsigned http_server_port(const struct http_server *server)
{
    return server->port;
}

/* Waits until no request is under way, at most so long. */
static void wait_for_requests(struct http_server *server, int64_t longest)
{
    const int64_t until = clock_monotonic_us() + longest;
    pthread_mutex_lock(&server->lock);
    while (server->active > 0 && condition_wait_until(&server->one_left, &server->lock, until))
        ;
    pthread_mutex_unlock(&server->lock);
}

void http_server_close(struct http_server *server, int64_t grace)
{
    if (!server)
        return;
    gate_shut(server->gate);
    wait_for_requests(server, grace);
    atomic_store(&server->stopping, true);
    hangup_watch_raise(server->hangups);
    wait_for_requests(server, grace);
    server_free(server);
}
