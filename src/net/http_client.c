#include "net/http_client.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "net/unix_socket.h"
#include "net/url.h"

enum {
    DEFAULT_RESPONSE_LIMIT = 16 * 1024 * 1024,
    IDLE_SESSIONS_LIMIT = 16, /* kept for reuse; more may be under way */
    POLL_MS = 100,            /* how soon a raised cancel flag is seen */
};

/* A multi handle for one call at a time: it holds the connections that its calls left open. */
struct session {
    struct session *next;
    CURLM *multi;
    CURL *easy;
};

struct http_client {
    const struct net_policy *policy;
    pthread_mutex_t lock;
    struct session *idle;
    unsigned idle_count;
};

/* One request on the wire: a call makes one, and one more for each redirect. */
struct exchange {
    const struct net_policy *policy;
    const struct http_request *request;
    struct arena *arena;
    struct url url;
    const char *proxy;
    char unix_socket[UNIX_SOCKET_PATH_SIZE]; /* as it fits an address */
    const char *method;
    bool send_body;
    struct curl_slist *header_list;
    int64_t deadline, last_progress; /* monotonic; deadline 0: none */
    off_t body_start;

    struct http_header *headers;
    size_t header_count, header_capacity, header_bytes;
    int status;
    struct buffer body;
    size_t received;
    bool sink_begun;

    ibid_code code; /* why a callback ended the transfer; IBID_OK: none did */
    ibid_error error;
    bool denied;
    struct ip_address denied_address;
    char curl_error[CURL_ERROR_SIZE];
};

static void initialize_curl(void)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        BUG("libcurl does not start");
}

struct http_client *http_client_new(const struct net_policy *policy)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialize_curl);
    struct http_client *client = xcalloc(1, sizeof *client);
    client->policy = policy;
    pthread_mutex_init(&client->lock, NULL);
    return client;
}

static void session_free(struct session *session)
{
    curl_easy_cleanup(session->easy);
    curl_multi_cleanup(session->multi);
    free(session);
}

void http_client_free(struct http_client *client)
{
    if (!client)
        return;
    while (client->idle) {
        struct session *session = client->idle;
        client->idle = session->next;
        session_free(session);
    }
    pthread_mutex_destroy(&client->lock);
    free(client);
}

static struct session *session_take(struct http_client *client)
{
    pthread_mutex_lock(&client->lock);
    struct session *session = client->idle;
    if (session) {
        client->idle = session->next;
        client->idle_count--;
    }
    pthread_mutex_unlock(&client->lock);
    if (session)
        return session;
    session = xcalloc(1, sizeof *session);
    session->multi = curl_multi_init();
    session->easy = curl_easy_init();
    if (!session->multi || !session->easy)
        BUG("out of memory");
    return session;
}

static void session_give_back(struct http_client *client, struct session *session)
{
    curl_easy_reset(session->easy);
    pthread_mutex_lock(&client->lock);
    const bool keep = client->idle_count < IDLE_SESSIONS_LIMIT;
    if (keep) {
        session->next = client->idle;
        client->idle = session;
        client->idle_count++;
    }
    pthread_mutex_unlock(&client->lock);
    if (!keep)
        session_free(session);
}

/* ---- what libcurl calls ---- */

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct exchange *exchange = context;
    struct ip_address ip;
    const bool local = exchange->request->unix_socket || exchange->proxy;
    if (!local && (!ip_from_socket_address(&address->addr, &ip) ||
                   !net_policy_allows(exchange->policy, exchange->url.host, exchange->url.port, &ip))) {
        exchange->denied = true;
        if (!ip_from_socket_address(&address->addr, &exchange->denied_address))
            exchange->denied_address = (struct ip_address){{0}};
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static bool is_success(const struct exchange *exchange)
{
    return exchange->status >= 200 && exchange->status < 300;
}

static void forget_reply(struct exchange *exchange)
{
    exchange->header_count = 0;
    exchange->header_bytes = 0;
    buffer_clear(&exchange->body);
}

/* A status line starts a reply anew: what an interim one (100, 103) or a proxy's said is dropped. */
static void read_status_line(struct exchange *exchange, struct str line)
{
    long long status = 0;
    const size_t space = str_find(line, ' ');
    if (!str_to_int64(str_slice(line, space + 1, space + 4), &status) || status < 100 || status > 999)
        status = 0;
    forget_reply(exchange);
    exchange->status = (int)status;
}

static void add_header(struct exchange *exchange, struct str line)
{
    const size_t colon = str_find(line, ':');
    if (colon == line.size)
        return;
    if (exchange->header_count == exchange->header_capacity) {
        const size_t capacity = exchange->header_capacity ? exchange->header_capacity * 2 : 16;
        struct http_header *grown = ARENA_ARRAY(exchange->arena, struct http_header, capacity);
        if (exchange->header_count > 0)
            memcpy(grown, exchange->headers, exchange->header_count * sizeof *grown);
        exchange->headers = grown;
        exchange->header_capacity = capacity;
    }
    exchange->headers[exchange->header_count++] = (struct http_header){
        .name = arena_str(exchange->arena, str_trim(str_slice(line, 0, colon))),
        .value = arena_str(exchange->arena, str_trim(str_slice(line, colon + 1, line.size))),
    };
}

static size_t receive_header(char *data, size_t unit, size_t size, void *context)
{
    struct exchange *exchange = context;
    const struct str line = {data, unit * size};
    exchange->last_progress = clock_monotonic_us();
    exchange->header_bytes += line.size;
    if (exchange->header_bytes > HTTP_HEADER_LIMIT) {
        exchange->code =
            fail(&exchange->error, IBID_ETOOBIG, "%s answered with headers larger than the limit of %d bytes",
                 exchange->url.place, HTTP_HEADER_LIMIT);
        return 0;
    }
    if (str_starts_with(line, "HTTP/"))
        read_status_line(exchange, line);
    else
        add_header(exchange, line);
    return line.size;
}

static struct http_response head_of(const struct exchange *exchange)
{
    return (struct http_response){.status = exchange->status,
                                  .headers = {exchange->headers, exchange->header_count},
                                  .body = STR_EMPTY,
                                  .url = exchange->url.place};
}

static ibid_code sink_begin(struct exchange *exchange)
{
    const struct http_sink *sink = exchange->request->sink;
    if (exchange->sink_begun)
        return IBID_OK;
    exchange->sink_begun = true;
    const struct http_response head = head_of(exchange);
    return sink->begin ? sink->begin(&head, sink->context, &exchange->error) : IBID_OK;
}

static ibid_code receive(struct exchange *exchange, struct str bytes)
{
    const struct http_request *request = exchange->request;
    const bool to_sink = request->sink && is_success(exchange);
    size_t limit = request->response_limit;
    if (request->sink && !to_sink)
        limit = HTTP_ERROR_BODY_LIMIT;
    else if (limit == 0)
        limit = to_sink ? SIZE_MAX : DEFAULT_RESPONSE_LIMIT;
    if (bytes.size > limit - exchange->received) {
        if (!is_success(exchange)) { /* the start of an error page says enough */
            bytes.size = limit - exchange->received;
        } else {
            return fail(&exchange->error, IBID_ETOOBIG,
                        "the reply of %s is larger than the limit of %zu bytes", exchange->url.place, limit);
        }
    }
    exchange->received += bytes.size;
    if (!to_sink) {
        buffer_append_str(&exchange->body, bytes);
        return IBID_OK;
    }
    TRY(sink_begin(exchange));
    return request->sink->write(bytes, request->sink->context, &exchange->error);
}

static size_t receive_body(char *data, size_t unit, size_t size, void *context)
{
    struct exchange *exchange = context;
    const struct str bytes = {data, unit * size};
    exchange->last_progress = clock_monotonic_us();
    exchange->code = receive(exchange, bytes);
    return exchange->code == IBID_OK ? bytes.size : 0;
}

static size_t send_file(char *out, size_t unit, size_t size, void *context)
{
    struct exchange *exchange = context;
    exchange->last_progress = clock_monotonic_us();
    ssize_t count;
    do
        count = read(exchange->request->body_fd, out, unit * size);
    while (count < 0 && errno == EINTR);
    if (count >= 0)
        return (size_t)count;
    exchange->code = fail_errno(&exchange->error, errno, "cannot read the file to send");
    return CURL_READFUNC_ABORT;
}

static int seek_file(void *context, curl_off_t offset, int origin)
{
    struct exchange *exchange = context;
    if (origin != SEEK_SET ||
        lseek(exchange->request->body_fd, exchange->body_start + offset, SEEK_SET) == (off_t)-1)
        return CURL_SEEKFUNC_CANTSEEK;
    return CURL_SEEKFUNC_OK;
}

/* ---- one exchange ---- */

/* Headers that describe the request rather than who makes it. */
static bool is_safe_elsewhere(struct str name)
{
    static const char *const plain[] = {"content-type", "range", "user-agent"};
    for (size_t i = 0; i < COUNT_OF(plain); i++)
        if (str_equal_nocase(name, str_from(plain[i])))
            return true;
    return str_equal_nocase(str_slice(name, 0, 6), STR("accept")) ||
           str_equal_nocase(str_slice(name, 0, 3), STR("if-"));
}

static void list_append(struct curl_slist **list, const char *line)
{
    struct curl_slist *grown = curl_slist_append(*list, line);
    if (!grown)
        BUG("out of memory");
    *list = grown;
}

static ibid_code make_header_list(struct exchange *exchange, bool same_origin, ibid_error *err)
{
    const struct http_request *request = exchange->request;
    bool has_type = false;
    for (size_t i = 0; i < request->header_count; i++) {
        const struct http_header *header = &request->headers[i];
        if (!http_is_token(header->name) || !http_is_field_value(header->value))
            return fail(err, IBID_EINVAL, "header %zu of the request has a name or value that HTTP forbids",
                        i + 1);
        if (!same_origin && !is_safe_elsewhere(header->name))
            continue;
        has_type |= str_equal_nocase(header->name, STR("content-type"));
        /* libcurl reads "Name:" as "send none of that name"; "Name;" sends it empty. */
        const char *line =
            header->value.size > 0
                ? arena_printf(exchange->arena, "%.*s: %.*s", STR_ARG(header->name), STR_ARG(header->value))
                : arena_printf(exchange->arena, "%.*s;", STR_ARG(header->name));
        list_append(&exchange->header_list, line);
    }
    if (!has_type)
        list_append(&exchange->header_list, "Content-Type:");
    list_append(&exchange->header_list, "Expect:"); /* waiting for 100 costs a second with many servers */
    return IBID_OK;
}

#define SET(option, value)                                         \
    do {                                                           \
        if (curl_easy_setopt(easy, (option), (value)) != CURLE_OK) \
            BUG("libcurl refuses " #option);                       \
    } while (0)

static void set_body(CURL *easy, struct exchange *exchange)
{
    const struct http_request *request = exchange->request;
    SET(CURLOPT_CUSTOMREQUEST, exchange->method);
    if (strcmp(exchange->method, "HEAD") == 0)
        SET(CURLOPT_NOBODY, 1L);
    if (!exchange->send_body)
        return;
    SET(CURLOPT_POST, 1L);
    if (request->body_fd > 0) {
        struct stat status;
        const bool sized = fstat(request->body_fd, &status) == 0 && S_ISREG(status.st_mode);
        SET(CURLOPT_POSTFIELDSIZE_LARGE,
            sized ? (curl_off_t)(status.st_size - exchange->body_start) : (curl_off_t)-1);
        SET(CURLOPT_READFUNCTION, send_file);
        SET(CURLOPT_READDATA, exchange);
        SET(CURLOPT_SEEKFUNCTION, seek_file);
        SET(CURLOPT_SEEKDATA, exchange);
    } else {
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
        SET(CURLOPT_POSTFIELDS, request->body.size > 0 ? request->body.data : "");
    }
}

static void set_connection(CURL *easy, struct exchange *exchange)
{
    const struct net_policy *policy = exchange->policy;
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)(policy->connect_timeout / 1000));
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(CURLOPT_OPENSOCKETDATA, exchange);
    SET(CURLOPT_SSL_VERIFYPEER, 1L);
    SET(CURLOPT_SSL_VERIFYHOST, 2L);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (policy->ca_file)
        SET(CURLOPT_CAINFO, policy->ca_file);
    SET(CURLOPT_PROXY, exchange->proxy ? exchange->proxy : "");
    if (exchange->request->unix_socket)
        SET(CURLOPT_UNIX_SOCKET_PATH, exchange->unix_socket);
}

static void set_options(CURL *easy, struct exchange *exchange, const char *url)
{
    curl_easy_reset(easy);
    SET(CURLOPT_URL, url);
    SET(CURLOPT_ERRORBUFFER, exchange->curl_error);
    SET(CURLOPT_USERAGENT, "ibid");
    SET(CURLOPT_HTTPHEADER, exchange->header_list);
    SET(CURLOPT_HEADERFUNCTION, receive_header);
    SET(CURLOPT_HEADERDATA, exchange);
    SET(CURLOPT_WRITEFUNCTION, receive_body);
    SET(CURLOPT_WRITEDATA, exchange);
    if (!exchange->request->sink)
        SET(CURLOPT_ACCEPT_ENCODING, ""); /* whatever libcurl can decode; the ceiling counts decoded bytes */
    set_connection(easy, exchange);
    set_body(easy, exchange);
}

static ibid_code check_clock(struct exchange *exchange)
{
    const struct http_request *request = exchange->request;
    const int64_t now = clock_monotonic_us();
    const int64_t stall = request->stall_timeout > 0 ? request->stall_timeout : 60 * SECOND_US;
    if (request->cancel && atomic_load_explicit(request->cancel, memory_order_relaxed))
        return fail(&exchange->error, IBID_ECANCELED, "canceled");
    if (exchange->deadline && now >= exchange->deadline)
        return fail(&exchange->error, IBID_ETIMEOUT, "%s took longer than %.3g s", exchange->url.place,
                    (double)request->timeout / (double)SECOND_US);
    if (now - exchange->last_progress >= stall)
        return fail(&exchange->error, IBID_ETIMEOUT, "%s sent nothing for %.3g s", exchange->url.place,
                    (double)stall / (double)SECOND_US);
    return IBID_OK;
}

/* Uploading makes no callback for a body in memory; the byte counters show that it moves. */
static void note_upload(struct exchange *exchange, CURL *easy, curl_off_t *uploaded)
{
    curl_off_t now = 0;
    curl_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &now);
    if (now != *uploaded)
        exchange->last_progress = clock_monotonic_us();
    *uploaded = now;
}

/* Runs the transfer to its end; the result of libcurl, or CURLE_ABORTED_BY_CALLBACK with
 * exchange->code set. */
static CURLcode transfer(struct session *session, struct exchange *exchange)
{
    CURLcode result = CURLE_ABORTED_BY_CALLBACK;
    curl_off_t uploaded = 0;
    int running = 1;
    if (curl_multi_add_handle(session->multi, session->easy) != CURLM_OK)
        BUG("libcurl takes no transfer");
    while (running > 0) {
        if (curl_multi_perform(session->multi, &running) != CURLM_OK)
            BUG("libcurl cannot go on");
        if (running == 0)
            break;
        note_upload(exchange, session->easy, &uploaded);
        exchange->code = check_clock(exchange);
        if (exchange->code != IBID_OK)
            break;
        curl_multi_poll(session->multi, NULL, 0, POLL_MS, NULL);
    }
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(session->multi, &left));)
        if (message->msg == CURLMSG_DONE)
            result = message->data.result;
    curl_multi_remove_handle(session->multi, session->easy);
    return result;
}

enum { REASON_SIZE = 256 };

/* What libcurl says, but for a refused connection, which the system names better: "Connection refused". */
static const char *reason_of(CURL *easy, const struct exchange *exchange, CURLcode result,
                             char out[REASON_SIZE])
{
    long os_errno = 0;
    if (result == CURLE_COULDNT_CONNECT &&
        curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &os_errno) == CURLE_OK && os_errno != 0)
        return strerror_r((int)os_errno, out, REASON_SIZE);
    return exchange->curl_error[0] ? exchange->curl_error : curl_easy_strerror(result);
}

static ibid_code explain_failure(CURL *easy, const struct exchange *exchange, CURLcode result,
                                 ibid_error *err)
{
    const char *place = exchange->url.place, *origin = exchange->url.origin;
    char text[REASON_SIZE];
    const char *reason = reason_of(easy, exchange, result, text);
    if (exchange->code != IBID_OK) {
        if (err)
            *err = exchange->error;
        return exchange->code;
    }
    if (exchange->denied) {
        char address[IP_TEXT_SIZE];
        return fail(
            err, IBID_EDENIED,
            "%s is at %s, which is not a public address; if it may be reached, add '%.*s' to net.allow",
            place, ip_format(&exchange->denied_address, address), STR_ARG(exchange->url.host));
    }
    switch (result) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
        return fail(err, IBID_EUNAVAILABLE, "cannot connect to %s: %s", origin, reason);
    case CURLE_OPERATION_TIMEDOUT:
        return fail(err, IBID_ETIMEOUT, "cannot connect to %s: %s", origin, reason);
    case CURLE_PEER_FAILED_VERIFICATION:
        return fail(err, IBID_EUPSTREAM, "the certificate of %s is not trusted: %s", place, reason);
    case CURLE_SSL_CACERT_BADFILE:
        return fail(err, IBID_EINVAL, "net.ca_file cannot be read: %s", reason);
    default:
        return fail(err, IBID_EUPSTREAM, "the request to %s failed: %s", place, reason);
    }
}

/* ---- the call ---- */

/* A connection that breaks while TLS writes to it raises SIGPIPE, which would end a program that only links
 * this: it is held back for the call, and taken if the call raised it. */
struct pipe_guard {
    sigset_t before;
    bool was_pending;
};

static void pipe_guard_begin(struct pipe_guard *guard)
{
    sigset_t pending, pipe;
    sigpending(&pending);
    guard->was_pending = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &guard->before);
}

static void pipe_guard_end(const struct pipe_guard *guard)
{
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    while (!guard->was_pending && sigtimedwait(&pipe, NULL, &(struct timespec){0}) == SIGPIPE)
        ;
    pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
}

static bool is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* RFC 9110 section 15.4: 303 asks with GET; for 301 and 302 every client does so after a POST. */
static void adapt_method(struct exchange *exchange)
{
    const bool post = strcmp(exchange->method, "POST") == 0;
    const bool to_get = (exchange->status == 303 && strcmp(exchange->method, "HEAD") != 0) ||
                        (post && (exchange->status == 301 || exchange->status == 302));
    if (to_get) {
        exchange->method = "GET";
        exchange->send_body = false;
    }
}

static ibid_code check_redirect(struct exchange *exchange, const char *target, unsigned hops, struct url *ret,
                                ibid_error *err)
{
    if (!target)
        return fail(err, IBID_EUPSTREAM, "%s redirects to nowhere", exchange->url.place);
    if (hops >= exchange->request->max_redirects)
        return fail(err, IBID_EUPSTREAM, "%s redirects more often than %u times", exchange->url.place,
                    exchange->request->max_redirects);
    ibid_code code = url_parse(target, exchange->arena, ret, err);
    if (code != IBID_OK) {
        error_context(err, "%s redirects", exchange->url.place);
        return code;
    }
    if (exchange->url.https && !ret->https)
        return fail(err, IBID_EDENIED, "%s redirects from https to http", exchange->url.place);
    return IBID_OK;
}

static void start_exchange(struct exchange *exchange, struct url url)
{
    exchange->url = url;
    exchange->proxy =
        exchange->request->unix_socket ? NULL : net_policy_proxy(exchange->policy, url.https, url.host);
    exchange->last_progress = clock_monotonic_us();
    exchange->status = 0;
    exchange->received = 0;
    exchange->denied = false;
    exchange->curl_error[0] = '\0';
    forget_reply(exchange);
    curl_slist_free_all(exchange->header_list);
    exchange->header_list = NULL;
}

static ibid_code run_exchange(struct session *session, struct exchange *exchange, const char *url,
                              bool same_origin, ibid_error *err)
{
    if (exchange->proxy &&
        !net_policy_allows_unresolved(exchange->policy, exchange->url.host, exchange->url.port))
        return fail(err, IBID_EDENIED,
                    "%s is not a public host; if it may be reached, add '%.*s' to net.allow",
                    exchange->url.place, STR_ARG(exchange->url.host));
    if (exchange->send_body && exchange->request->body_fd > 0 &&
        lseek(exchange->request->body_fd, exchange->body_start, SEEK_SET) == (off_t)-1 && errno != ESPIPE)
        return fail_errno(err, errno, "cannot read the file to send");
    TRY(make_header_list(exchange, same_origin, err));
    set_options(session->easy, exchange, url);
    const CURLcode result = transfer(session, exchange);
    if (result != CURLE_OK || exchange->code != IBID_OK)
        return explain_failure(session->easy, exchange, result, err);
    return IBID_OK;
}

/* Follows redirects until a final reply. */
static ibid_code run_call(struct session *session, struct exchange *exchange, ibid_error *err)
{
    const char *target = exchange->request->url;
    struct url url;
    TRY(url_parse(target, exchange->arena, &url, err));
    const struct url origin = url;
    for (unsigned hops = 0;; hops++) {
        start_exchange(exchange, url);
        TRY(run_exchange(session, exchange, target, url_same_origin(&origin, &url), err));
        if (!is_redirect(exchange->status) || exchange->request->takes_redirects ||
            exchange->request->unix_socket)
            return IBID_OK;
        char *location = NULL;
        curl_easy_getinfo(session->easy, CURLINFO_REDIRECT_URL, &location);
        TRY(check_redirect(exchange, location, hops, &url, err));
        target = arena_strdup(exchange->arena, location);
        adapt_method(exchange);
    }
}

ibid_code http_client_send(struct http_client *client, const struct http_request *request,
                           struct arena *arena, struct http_response *ret, ibid_error *err)
{
    const bool has_body = request->body.size > 0 || request->body_fd > 0;
    struct exchange exchange = {
        .policy = client->policy,
        .request = request,
        .arena = arena,
        .method = request->method ? request->method
                  : has_body      ? "POST"
                                  : "GET",
        .send_body = has_body,
        .deadline = request->timeout > 0 ? clock_monotonic_us() + request->timeout : 0,
        .body_start = request->body_fd > 0 ? lseek(request->body_fd, 0, SEEK_CUR) : 0,
        .body = BUFFER(SIZE_MAX),
    };
    if (!http_is_token(str_from(exchange.method)))
        return fail(err, IBID_EINVAL, "'%s' is no HTTP method", exchange.method);
    if (exchange.body_start < 0)
        exchange.body_start = 0;
    int folder_fd = -1;
    if (request->unix_socket)
        TRY(unix_socket_name(request->unix_socket, exchange.unix_socket, &folder_fd, err));
    struct pipe_guard guard;
    pipe_guard_begin(&guard);
    struct session *session = session_take(client);
    ibid_code code = run_call(session, &exchange, err);
    if (code == IBID_OK && request->sink && is_success(&exchange)) {
        code = sink_begin(&exchange);
        if (code != IBID_OK && err)
            *err = exchange.error;
    }
    if (code == IBID_OK) {
        *ret = head_of(&exchange);
        ret->body = arena_str(arena, buffer_str(&exchange.body));
    }
    session_give_back(client, session);
    pipe_guard_end(&guard);
    if (folder_fd >= 0)
        close(folder_fd);
    curl_slist_free_all(exchange.header_list);
    buffer_release(&exchange.body);
    return code;
}

/* ---- what a reply says ---- */

static struct str json_text(const json_t *value)
{
    return json_is_string(value) ? (struct str){json_string_value(value), json_string_length(value)}
                                 : STR_EMPTY;
}

/* The message in the shapes that services use. */
static struct str message_in(const json_t *body)
{
    static const char *const keys[] = {"message", "error", "detail", "error_message"};
    const json_t *error = json_object_get(body, "error");
    struct str text = json_text(json_object_get(error, "message"));
    for (size_t i = 0; text.size == 0 && i < COUNT_OF(keys); i++)
        text = json_text(json_object_get(body, keys[i]));
    return text;
}

ibid_code http_response_check(const struct http_response *response, const char *what, ibid_error *err)
{
    const ibid_code code = http_status_code(response->status);
    if (code == IBID_OK)
        return IBID_OK;
    AUTO_JSON *body = NULL;
    struct str text = str_trim(response->body);
    if (json_parse(text, &body, NULL) == IBID_OK)
        text = message_in(body);
    else if (str_starts_with(text, "<"))
        text = STR_EMPTY; /* an error page */
    text = str_slice(text, 0, str_find(text, '\n'));
    text = str_slice(text, 0, 300);
    const char *name = http_status_text(response->status);
    fail(err, code, "%s: %s answered %d%s%s%s%.*s", what, response->url, response->status, *name ? " " : "",
         name, text.size > 0 ? ": " : "", STR_ARG(text));
    if (err)
        err->retry_after_s = http_retry_after(&response->headers, clock_now_us());
    return code;
}
