#include "tests/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/thread.h"
#include "net/http_server.h"
#include "net/unix_socket.h"

enum { BODY_LIMIT = 1000 };

/* ---- a service that says what it saw ---- */

struct fixture {
    struct http_server *server;
    atomic_uint begun, handled, waiting, canceled, sinks_closed, streams_closed;
    atomic_bool release;
    char *long_text;
    char folder[32], file[64], socket[64];
};

struct counting_sink {
    struct http_body_sink base;
    struct fixture *fixture;
    size_t bytes;
    bool finished;
};

static ibid_code sink_write(struct http_body_sink *self, struct str bytes, ibid_error *err)
{
    struct counting_sink *sink = (struct counting_sink *)self;
    if (memchr(bytes.data, '!', bytes.size))
        return fail(err, IBID_EFORMAT, "no exclamation marks");
    sink->bytes += bytes.size;
    return IBID_OK;
}

static ibid_code sink_finish(struct http_body_sink *self, ibid_error *err)
{
    ((struct counting_sink *)self)->finished = true;
    return IBID_OK;
}

static void sink_close(struct http_body_sink *self)
{
    atomic_fetch_add(&((struct counting_sink *)self)->fixture->sinks_closed, 1);
    free(self);
}

static ibid_code begin(struct http_call *call, void *context, ibid_error *err)
{
    struct fixture *fixture = context;
    atomic_fetch_add(&fixture->begun, 1);
    if (str_is(call->path, "/none"))
        return fail(err, IBID_ENOTFOUND, "nothing is here");
    call->body_limit = BODY_LIMIT;
    if (str_is(call->path, "/sink")) {
        struct counting_sink *sink = xcalloc(1, sizeof *sink);
        *sink = (struct counting_sink){{sink_write, sink_finish, sink_close}, fixture, 0, false};
        call->sink = &sink->base;
        call->body_limit = 8 << 20;
    }
    return IBID_OK;
}

struct countdown {
    struct fixture *fixture;
    unsigned left;
};

static ssize_t stream_read(void *data, char *out, size_t size)
{
    struct countdown *countdown = data;
    if (countdown->left == 0)
        return 0;
    return snprintf(out, size, "line %u\n", countdown->left--);
}

static void stream_close(void *data)
{
    atomic_fetch_add(&((struct countdown *)data)->fixture->streams_closed, 1);
}

static void handle(struct http_call *call, struct http_reply *reply, void *context)
{
    struct fixture *fixture = context;
    atomic_fetch_add(&fixture->handled, 1);
    if (str_is(call->path, "/wait")) {
        atomic_fetch_add(&fixture->waiting, 1);
        while (!atomic_load(&fixture->release) && !atomic_load(call->cancel))
            usleep(1000);
        atomic_fetch_sub(&fixture->waiting, 1);
        atomic_fetch_add(&fixture->canceled, atomic_load(call->cancel));
        reply->text = atomic_load(call->cancel) ? STR("canceled") : STR("released");
    } else if (str_is(call->path, "/file")) {
        reply->fd = open(fixture->file, O_RDONLY | O_CLOEXEC);
        reply->fd_size = 10;
    } else if (str_is(call->path, "/stream")) {
        struct countdown *countdown = ARENA_NEW(call->arena, struct countdown);
        *countdown = (struct countdown){fixture, 3};
        reply->stream = stream_read;
        reply->stream_data = countdown;
        reply->stream_close = stream_close;
    } else if (str_is(call->path, "/long")) {
        reply->text = str_from(fixture->long_text);
    } else if (call->sink) {
        const struct counting_sink *sink = (const struct counting_sink *)call->sink;
        reply->text =
            str_from(arena_printf(call->arena, "%zu bytes%s", sink->bytes, sink->finished ? "" : "?"));
    } else {
        reply->status = 201;
        reply->text = str_from(
            arena_printf(call->arena, "%.*s %.*s?%.*s [%.*s] from %s", STR_ARG(call->method),
                         STR_ARG(call->path), STR_ARG(call->query), STR_ARG(call->body),
                         call->peer.is_local ? arena_printf(call->arena, "uid %d", (int)call->peer.uid)
                                             : call->peer.address));
        http_reply_header(call, reply, "X-Seen", http_headers_get(&call->headers, "x-see"));
    }
}

static void refuse(struct arena *arena, int status, const ibid_error *error, struct http_reply *reply,
                   void *context)
{
    reply->text = str_from(arena_printf(arena, "refused %d: %s", status, error->message));
}

static const struct http_header common_headers[] = {{{"X-Common", 8}, {"yes", 3}}, {{"", 0}, {"", 0}}};

static const char *const hosts[] = {"ibid.example"};

static struct fixture *start_with(unsigned max_requests, int64_t head_timeout)
{
    struct fixture *fixture = xcalloc(1, sizeof *fixture);
    snprintf(fixture->folder, sizeof fixture->folder, "/tmp/ibid-net-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    snprintf(fixture->file, sizeof fixture->file, "%s/file", fixture->folder);
    snprintf(fixture->socket, sizeof fixture->socket, "%s/socket", fixture->folder);
    assert_ok(file_write_atomically(fixture->file, "0123456789", 10, 0600, err));
    static struct http_service service;
    service = (struct http_service){.context = fixture,
                                    .begin = begin,
                                    .handle = handle,
                                    .refuse = refuse,
                                    .common_headers = common_headers};
    const struct http_server_settings settings = {.address = "127.0.0.1",
                                                  .unix_socket = fixture->socket,
                                                  .hosts = hosts,
                                                  .host_count = 1,
                                                  .max_requests = max_requests,
                                                  .max_connections = 64,
                                                  .head_timeout = head_timeout,
                                                  .idle_timeout = 2 * SECOND_US};
    assert_ok(http_server_open(&settings, &service, &fixture->server, err));
    return fixture;
}

static int start(void **state)
{
    *state = start_with(16, 10 * SECOND_US);
    return 0;
}

static int stop(void **state)
{
    struct fixture *fixture = *state;
    atomic_store(&fixture->release, true);
    http_server_close(fixture->server, 2 * SECOND_US);
    assert_false(file_exists(fixture->socket));
    assert_ok(folder_remove(fixture->folder, err));
    free(fixture->long_text);
    free(fixture);
    return 0;
}

/* ---- a client that sends raw bytes ---- */

static int dial(const struct fixture *fixture)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)http_server_port(fixture->server)),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void say(int fd, struct str bytes)
{
    for (size_t sent = 0; sent < bytes.size;) {
        const ssize_t count = send(fd, bytes.data + sent, bytes.size - sent, MSG_NOSIGNAL);
        if (count <= 0)
            return; /* the other side has had enough */
        sent += (size_t)count;
    }
}

/* All until the other side closes; fails the test when it does not. */
static const char *hear(int fd, struct buffer *out)
{
    buffer_clear(out);
    buffer_append_string(out, "");
    for (;;) {
        char bytes[4096];
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (poll(&wait, 1, 20000) != 1)
            fail_msg("the server does not close; so far: %s", out->data);
        const ssize_t count = recv(fd, bytes, sizeof bytes, 0);
        if (count <= 0)
            break;
        buffer_append(out, bytes, (size_t)count);
    }
    close(fd);
    return out->data;
}

static const char *ask(const struct fixture *fixture, const char *bytes, struct buffer *out)
{
    const int fd = dial(fixture);
    say(fd, str_from(bytes));
    return hear(fd, out);
}

static unsigned count_of(const char *text, const char *what)
{
    unsigned count = 0;
    while ((text = strstr(text, what))) {
        count++;
        text++;
    }
    return count;
}

static bool ends_with(const char *text, const char *end)
{
    return str_ends_with(str_from(text), end);
}

/* ---- the tests ---- */

static void a_request_is_served(void **state)
{
    struct fixture *fixture = *state;
    AUTO_BUFFER out = BUFFER(1 << 20);
    const char *text = ask(fixture,
                           "POST /a%20b?c=d HTTP/1.1\r\nHost: localhost:1\r\nX-See: it\r\n"
                           "Content-Length: 5\r\n\r\nhello",
                           &out);
    assert_true(str_starts_with(str_from(text), "HTTP/1.1 201 Created\r\n"));
    assert_true(ends_with(text, "\r\n\r\nPOST /a%20b?c=d [hello] from 127.0.0.1"));
    assert_int_equal(count_of(text, "X-Seen: it\r\n"), 1);
    assert_int_equal(count_of(text, "X-Common: yes\r\n"), 1);
    assert_int_equal(count_of(text, "Connection: close\r\n"), 1);
    text = ask(fixture,
               "PUT /x HTTP/1.1\r\nHost: [::1]:8420\r\nTransfer-Encoding: "
               "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
               &out);
    assert_true(ends_with(text, "PUT /x? [abcde] from 127.0.0.1"));
    text = ask(fixture, "GET /old HTTP/1.0\r\n\r\n", &out);
    assert_true(ends_with(text, "GET /old? [] from 127.0.0.1"));
    text = ask(fixture, "HEAD /x HTTP/1.1\r\nHost: x.localhost\r\n\r\n", &out);
    assert_true(ends_with(text, "\r\n\r\n"));
    text = ask(fixture, "GET /none HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", &out);
    assert_true(str_starts_with(str_from(text), "HTTP/1.1 404 Not Found\r\n"));
    assert_true(ends_with(text, "refused 404: nothing is here"));
}

static void a_head_may_come_in_pieces(void **state)
{
    struct fixture *fixture = *state;
    AUTO_BUFFER out = BUFFER(1 << 20);
    const struct str bytes = STR("POST /p HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc");
    const int fd = dial(fixture);
    for (size_t i = 0; i < bytes.size; i++) {
        say(fd, str_slice(bytes, i, i + 1));
        usleep(500);
    }
    assert_true(ends_with(hear(fd, &out), "POST /p? [abc] from 127.0.0.1"));
    /* One who stops sending after the request still gets the reply; one who stops within it gets none. */
    const int half = dial(fixture);
    say(half, STR("GET /h HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    shutdown(half, SHUT_WR);
    assert_true(ends_with(hear(half, &out), "GET /h? [] from 127.0.0.1"));
    const int cut = dial(fixture);
    say(cut, STR("GET /h HTTP/1.1\r\nHost: loc"));
    shutdown(cut, SHUT_WR);
    assert_string_equal(hear(cut, &out), "");
}

/* Heads that another program might read differently. %s stands for nothing; NUL is written as '@'. */
static const struct {
    const char *head;
    int status;
} unsound[] = {
    {"GET / HTTP/1.1\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost\r\nhost: evil\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost:\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost:x\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost@evil\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: [localhost]\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost, evil\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400},
    {"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\r\nAuthorization: Bearer a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\r\nX: y\r\nauthorization: Bearer "
     "b\r\n\r\n",
     400},
    {"GET / HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-1\r\nRange: bytes=0-9\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Type: application/json\r\n"
     "Content-Length: 5\r\n\r\nhello",
     400},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5, 5\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: +5\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0x5\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5 5\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length:\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length : 5\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     400},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
     "chunked\r\n\r\n0\r\n\r\n",
     400},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", 501},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: identity\r\n\r\nhello", 501},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding:\r\n\r\nhello", 501},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding:\x0b"
     "chunked\r\n\r\n0\r\n\r\n",
     400},
    {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400},
    {"POST / HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    {"GET / HTTP/1.1\nHost: localhost\n\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost\r\nX: y\n\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost\r\nX: a@b\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost\r\nX@: a\r\n\r\n", 400},
    {"GET /@ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n Host: localhost\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost\r\n: empty\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost\r\nX(: y\r\n\r\n", 400},
    {"GET http://evil/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
    {"CONNECT evil:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
    {"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
    {"GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
    {"GET /\tHTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
    {"GET / HTTP/1.1 \r\nHost: localhost\r\n\r\n", 505},
    {"GET /a#b HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
    {"GET /\xc3\xa4 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
    {"GET /\r\n\r\n", 400},
    {"GET / HTTP/1.2\r\nHost: localhost\r\n\r\n", 505},
    {"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", 505},
    {"GET / http/1.1\r\nHost: localhost\r\n\r\n", 400},
    {"\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
    {"\x16\x03\x01\x02", 400},
    {"GET / HTTP/1.1\r\nHost: localhost\r\nExpect: 200-maybe\r\n\r\n", 417},
    {"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421},
    {"GET / HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n", 421},
    {"GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n", 421},
};

static struct str bytes_of(const char *text, struct arena *arena)
{
    char *bytes = arena_strdup(arena, text);
    const size_t size = strlen(text);
    for (size_t i = 0; i < size; i++)
        if (bytes[i] == '@')
            bytes[i] = '\0';
    return (struct str){bytes, size};
}

static void unsound_heads_reach_no_handler(void **state)
{
    struct fixture *fixture = *state;
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_BUFFER out = BUFFER(1 << 20);
    for (size_t i = 0; i < COUNT_OF(unsound); i++) {
        const int fd = dial(fixture);
        say(fd, bytes_of(unsound[i].head, &arena));
        const char *text = hear(fd, &out);
        const char *status = arena_printf(&arena, "HTTP/1.1 %d ", unsound[i].status);
        if (!str_starts_with(str_from(text), status) || count_of(text, "HTTP/1.1 ") != 1)
            fail_msg("'%s': wanted %d, got '%s'", unsound[i].head, unsound[i].status, text);
    }
    assert_int_equal(atomic_load(&fixture->begun), 0);
}

/* Whatever follows the first request on its connection is never read as a request. */
static void a_connection_serves_one_request(void **state)
{
    struct fixture *fixture = *state;
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_BUFFER out = BUFFER(1 << 20);
    static const char *const firsts[] = {
        "GET /first HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n",
        "POST /first HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc",
        "POST /first HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "GET /first HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        ("GET /first HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\n"
         "Upgrade: h2c\r\n\r\n"),
    };
    static const char second[] = "GET /second HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (size_t i = 0; i < COUNT_OF(firsts); i++) {
        atomic_store(&fixture->begun, 0);
        const char *text = ask(fixture, arena_printf(&arena, "%s%s", firsts[i], second), &out);
        assert_int_equal(count_of(text, "HTTP/1.1 "), 1);
        assert_non_null(strstr(text, "/first?"));
        assert_null(strstr(text, "/second"));
        for (size_t j = 0; j < COUNT_OF(unsound); j++) { /* an unsound second request is not even looked at */
            const int fd = dial(fixture);
            say(fd, str_from(firsts[i]));
            say(fd, bytes_of(unsound[j].head, &arena));
            assert_int_equal(count_of(hear(fd, &out), "HTTP/1.1 "), 1);
        }
        assert_int_equal(atomic_load(&fixture->begun), 1 + COUNT_OF(unsound));
        const int fd = dial(fixture); /* keep-alive: the second comes after the reply */
        say(fd, str_from(firsts[i]));
        usleep(20000);
        say(fd, STR(second));
        assert_int_equal(count_of(hear(fd, &out), "HTTP/1.1 "), 1);
    }
}

static void bodies_have_a_ceiling(void **state)
{
    struct fixture *fixture = *state;
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_BUFFER out = BUFFER(1 << 20);
    AUTO_BUFFER big = BUFFER(64 << 20);
    /* Announced: refused before it comes, and the client that sends it all the same still reads why. */
    buffer_append_string(&big, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000000\r\n\r\n");
    buffer_append_repeated(&big, 'x', 20000000);
    int fd = dial(fixture);
    say(fd, buffer_str(&big));
    assert_true(
        ends_with(hear(fd, &out), "refused 413: the request's body is larger than the limit of 1000 bytes"));
    /* Not announced: refused when it crosses the ceiling. */
    buffer_clear(&big);
    buffer_append_string(&big, "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (unsigned i = 0; i < 5000; i++)
        buffer_append_string(&big,
                             "64\r\n0123456789012345678901234567890123456789012345678901234567890123456789"
                             "012345678901234567890123456789\r\n");
    fd = dial(fixture);
    say(fd, buffer_str(&big));
    const char *text = hear(fd, &out);
    assert_true(str_starts_with(str_from(text), "HTTP/1.1 413 "));
    assert_true(ends_with(text, "limit of 1000 bytes"));
    /* A sink gets it piece by piece and may refuse it on the way. */
    buffer_clear(&big);
    buffer_append_string(&big, "POST /sink HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000000\r\n\r\n");
    buffer_append_repeated(&big, 'x', 5000000);
    fd = dial(fixture);
    say(fd, buffer_str(&big));
    assert_true(ends_with(hear(fd, &out), "\r\n\r\n5000000 bytes"));
    big.data[100000] = '!';
    fd = dial(fixture);
    say(fd, buffer_str(&big));
    assert_true(ends_with(hear(fd, &out), "refused 422: no exclamation marks"));
    for (unsigned i = 0; i < 5000 && atomic_load(&fixture->sinks_closed) < 2; i++)
        usleep(1000); /* it is closed after the reply has gone */
    assert_int_equal(atomic_load(&fixture->sinks_closed), 2);
    /* Heads have one, too. */
    const char *head = arena_printf(&arena, "GET /%09000d HTTP/1.1\r\nHost: localhost\r\n\r\n", 1);
    assert_true(str_starts_with(str_from(ask(fixture, head, &out)), "HTTP/1.1 414 "));
    head = arena_printf(&arena, "GET / HTTP/1.1\r\nHost: localhost\r\nX: %020000d\r\n\r\n", 1);
    assert_true(str_starts_with(str_from(ask(fixture, head, &out)), "HTTP/1.1 431 "));
    buffer_clear(&big);
    buffer_append_string(&big, "GET / HTTP/1.1\r\nHost: localhost\r\n");
    for (unsigned i = 0; i < 100; i++)
        buffer_printf(&big, "X-%u: y\r\n", i);
    buffer_append_string(&big, "\r\n");
    assert_true(str_starts_with(str_from(ask(fixture, big.data, &out)), "HTTP/1.1 431 "));
}

static void a_client_that_waits_is_told_to_continue(void **state)
{
    struct fixture *fixture = *state;
    AUTO_BUFFER out = BUFFER(1 << 20);
    int fd = dial(fixture);
    say(fd, STR("POST /e HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
    char bytes[26] = "";
    assert_int_equal(recv(fd, bytes, 25, MSG_WAITALL), 25);
    assert_string_equal(bytes, "HTTP/1.1 100 Continue\r\n\r\n");
    say(fd, STR("ok"));
    assert_true(ends_with(hear(fd, &out), "POST /e? [ok] from 127.0.0.1"));
    fd = dial(fixture);
    say(fd,
        STR("POST /e HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2000\r\n\r\n"));
    assert_true(str_starts_with(str_from(hear(fd, &out)), "HTTP/1.1 413 "));
}

static void files_are_served_by_range(void **state)
{
    struct fixture *fixture = *state;
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_BUFFER out = BUFFER(1 << 20);
    static const struct {
        const char *range, *status, *end;
    } rows[] = {
        {"", "200", "\r\n\r\n0123456789"},
        {"Range: bytes=2-4\r\n", "206", "\r\n\r\n234"},
        {"Range: bytes=7-\r\n", "206", "\r\n\r\n789"},
        {"Range: bytes=-3\r\n", "206", "\r\n\r\n789"},
        {"Range: bytes=-30\r\n", "206", "\r\n\r\n0123456789"},
        {"Range: bytes=5-99\r\n", "206", "\r\n\r\n56789"},
        {"Range: bytes=10-\r\n", "416", "\r\n\r\n"},
        {"Range: bytes=1-2,4-5\r\n", "200", "0123456789"},
        {"Range: bytes=x\r\n", "200", "0123456789"},
        {"Range: lines=1-2\r\n", "200", "0123456789"},
        {"Range: bytes=-\r\n", "200", "0123456789"},
        {"Range: bytes=4-2\r\n", "416", "\r\n\r\n"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *text =
            ask(fixture,
                arena_printf(&arena, "GET /file HTTP/1.1\r\nHost: localhost\r\n%s\r\n", rows[i].range), &out);
        if (strncmp(text + 9, rows[i].status, 3) != 0 || !ends_with(text, rows[i].end))
            fail_msg("%s: %s", rows[i].range, text);
    }
    const char *text =
        ask(fixture, "GET /file HTTP/1.1\r\nHost: localhost\r\nRange: bytes=2-4\r\n\r\n", &out);
    assert_non_null(strstr(text, "Content-Range: bytes 2-4/10\r\n"));
}

static void streams_come_in_chunks(void **state)
{
    struct fixture *fixture = *state;
    AUTO_BUFFER out = BUFFER(1 << 20);
    const char *text = ask(fixture, "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n", &out);
    assert_non_null(strstr(text, "Transfer-Encoding: chunked\r\n"));
    assert_non_null(strstr(text, "line 3\n"));
    assert_true(ends_with(text, "0\r\n\r\n"));
    text = ask(fixture, "GET /stream HTTP/1.0\r\n\r\n", &out);
    assert_true(ends_with(text, "\r\n\r\nline 3\nline 2\nline 1\n"));
    for (unsigned i = 0; i < 1000 && atomic_load(&fixture->streams_closed) < 2; i++)
        usleep(1000);
    assert_int_equal(atomic_load(&fixture->streams_closed), 2);
    /* A client that goes away in the midst of a long reply takes nothing with it. */
    enum { SIZE = 4000000 };
    fixture->long_text = xmalloc(SIZE + 1);
    memset(fixture->long_text, 'x', SIZE);
    fixture->long_text[SIZE] = '\0';
    const int fd = dial(fixture);
    say(fd, STR("GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    char bytes[10];
    assert_int_equal(recv(fd, bytes, sizeof bytes, MSG_WAITALL), 10);
    close(fd);
    assert_true(str_starts_with(
        str_from(ask(fixture, "GET /x HTTP/1.1\r\nHost: ibid.example:80\r\n\r\n", &out)), "HTTP/1.1 201"));
}

static void local_peers_are_known_by_uid(void **state)
{
    struct fixture *fixture = *state;
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_BUFFER out = BUFFER(1 << 20);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", fixture->socket);
    struct stat status;
    assert_int_equal(stat(fixture->socket, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    const struct str head = STR("POST /u HTTP/1.1\r\nHost: anything\r\nContent-Length: 2\r\n\r\nok");
    for (size_t i = 0; i < head.size; i++)
        say(fd, str_slice(head, i, i + 1));
    const char *text = hear(fd, &out);
    assert_true(ends_with(text, arena_printf(&arena, "POST /u? [ok] from uid %d", (int)getuid())));
}

static void long_socket_paths_work(void **state)
{
    char folder[300], name[UNIX_SOCKET_PATH_SIZE];
    snprintf(folder, sizeof folder, "/tmp/ibid-net-%0150d/x", (int)getpid());
    assert_ok(folder_make(folder, err));
    AUTO_FREE char *path = path_join(folder, "socket");
    int fd, folder_fd;
    assert_ok(unix_socket_listen(path, &fd, err));
    assert_ok(unix_socket_listen(path, &folder_fd, err)); /* one that is left there is replaced */
    close(folder_fd);
    assert_ok(unix_socket_name(path, name, &folder_fd, err));
    assert_true(folder_fd >= 0 && access(name, W_OK) == 0);
    close(folder_fd);
    close(fd);
    *strrchr(folder, '/') = '\0';
    assert_ok(folder_remove(folder, err));
}

/* ---- limits on time and number ---- */

static void slow_heads_are_given_up(void **state)
{
    struct fixture *fixture = start_with(4, SECOND_US / 4);
    AUTO_BUFFER out = BUFFER(1 << 20);
    const int silent = dial(fixture), slow = dial(fixture);
    say(slow, STR("GET / HTTP/1.1\r\nHost"));
    assert_string_equal(hear(silent, &out), "");
    assert_true(str_starts_with(str_from(hear(slow, &out)), "HTTP/1.1 408 "));
    assert_int_equal(atomic_load(&fixture->begun), 0);
    void *self = fixture;
    stop(&self);
}

static void idle_bodies_are_given_up(void **state)
{
    struct fixture *fixture = *state;
    AUTO_BUFFER out = BUFFER(1 << 20);
    const int fd = dial(fixture);
    say(fd, STR("POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc"));
    assert_null(strstr(hear(fd, &out), "201"));
    assert_int_equal(atomic_load(&fixture->handled), 0);
}

static void requests_wait_for_a_free_place(void **state)
{
    struct fixture *fixture = start_with(2, 10 * SECOND_US);
    AUTO_BUFFER out = BUFFER(1 << 20);
    enum { CLIENTS = 6 };
    int fds[CLIENTS];
    for (unsigned i = 0; i < CLIENTS; i++) {
        fds[i] = dial(fixture);
        say(fds[i], STR("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    }
    for (unsigned i = 0; i < 5000 && atomic_load(&fixture->waiting) < 2; i++)
        usleep(1000);
    usleep(50000);
    assert_int_equal(atomic_load(&fixture->waiting), 2);
    assert_int_equal(atomic_load(&fixture->handled), 2);
    atomic_store(&fixture->release, true);
    for (unsigned i = 0; i < CLIENTS; i++)
        assert_true(ends_with(hear(fds[i], &out), "released"));
    assert_int_equal(atomic_load(&fixture->handled), CLIENTS);
    void *self = fixture;
    stop(&self);
}

static void stopping_cancels_what_runs(void **state)
{
    struct fixture *fixture = start_with(4, 10 * SECOND_US);
    AUTO_BUFFER out = BUFFER(1 << 20);
    const int fd = dial(fixture), idle = dial(fixture);
    say(fd, STR("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    while (atomic_load(&fixture->waiting) == 0)
        usleep(1000);
    http_server_close(fixture->server, SECOND_US / 5);
    assert_true(ends_with(hear(fd, &out), "canceled"));
    assert_string_equal(hear(idle, &out), "");
    assert_ok(folder_remove(fixture->folder, err));
    free(fixture);
}

static int dial_unix(const struct fixture *fixture)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", fixture->socket);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void hanging_up_cancels_what_runs(void **state)
{
    struct fixture *fixture = start_with(8, 10 * SECOND_US);
    AUTO_BUFFER out = BUFFER(1 << 20);
    const struct str request = STR("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const int fds[] = {dial(fixture), dial_unix(fixture), dial(fixture)};
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        say(fds[i], request);
    while (atomic_load(&fixture->waiting) < COUNT_OF(fds))
        usleep(1000);
    close(fds[0]);
    close(fds[1]);
    while (atomic_load(&fixture->canceled) < 2)
        usleep(1000);
    assert_int_equal(atomic_load(&fixture->waiting), 1); /* who stays is served */
    atomic_store(&fixture->release, true);
    assert_true(ends_with(hear(fds[2], &out), "released"));
    assert_int_equal(atomic_load(&fixture->canceled), 2);
    void *self = fixture;
    stop(&self);
}

static void an_address_in_use_is_said(void **state)
{
    struct fixture *fixture = *state;
    static const struct http_service service = {.begin = begin, .handle = handle, .refuse = refuse};
    struct http_server_settings settings = {.address = "127.0.0.1",
                                            .port = http_server_port(fixture->server),
                                            .max_requests = 1,
                                            .max_connections = 1,
                                            .head_timeout = SECOND_US,
                                            .idle_timeout = SECOND_US};
    struct http_server *server;
    ibid_error why;
    assert_int_equal(http_server_open(&settings, &service, &server, &why), IBID_ECONFLICT);
    assert_non_null(strstr(why.message, "is in use"));
    settings.address = "localhost";
    assert_int_equal(http_server_open(&settings, &service, &server, &why), IBID_EINVAL);
}

struct hammer {
    const struct fixture *fixture;
    unsigned served;
};

static void *hammer_run(void *argument)
{
    struct hammer *hammer = argument;
    AUTO_BUFFER out = BUFFER(1 << 20);
    for (unsigned i = 0; i < 50; i++)
        hammer->served +=
            count_of(ask(hammer->fixture, "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n", &out), " 201 ");
    return NULL;
}

static void many_clients_are_served(void **state)
{
    struct fixture *fixture = *state;
    struct hammer hammers[20];
    pthread_t threads[COUNT_OF(hammers)];
    for (size_t i = 0; i < COUNT_OF(hammers); i++) {
        hammers[i] = (struct hammer){.fixture = fixture};
        thread_start(&threads[i], "hammer", hammer_run, &hammers[i]);
    }
    for (size_t i = 0; i < COUNT_OF(hammers); i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(hammers[i].served, 50);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_request_is_served, start, stop),
        cmocka_unit_test_setup_teardown(a_head_may_come_in_pieces, start, stop),
        cmocka_unit_test_setup_teardown(unsound_heads_reach_no_handler, start, stop),
        cmocka_unit_test_setup_teardown(a_connection_serves_one_request, start, stop),
        cmocka_unit_test_setup_teardown(bodies_have_a_ceiling, start, stop),
        cmocka_unit_test_setup_teardown(a_client_that_waits_is_told_to_continue, start, stop),
        cmocka_unit_test_setup_teardown(files_are_served_by_range, start, stop),
        cmocka_unit_test_setup_teardown(streams_come_in_chunks, start, stop),
        cmocka_unit_test_setup_teardown(local_peers_are_known_by_uid, start, stop),
        cmocka_unit_test(long_socket_paths_work),
        cmocka_unit_test(slow_heads_are_given_up),
        cmocka_unit_test_setup_teardown(idle_bodies_are_given_up, start, stop),
        cmocka_unit_test(requests_wait_for_a_free_place),
        cmocka_unit_test(stopping_cancels_what_runs),
        cmocka_unit_test(hanging_up_cancels_what_runs),
        cmocka_unit_test_setup_teardown(an_address_in_use_is_said, start, stop),
        cmocka_unit_test_setup_teardown(many_clients_are_served, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
