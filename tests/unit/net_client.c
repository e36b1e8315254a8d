#include "tests/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "net/http_client.h"
#include "net/http_download.h"
#include "net/url.h"
#include "tests/support/tiny_server.h"

/* ---- addresses and policy ---- */

static void addresses_are_told_apart(void **state)
{
    static const struct {
        const char *text;
        bool is_public;
    } rows[] = {
        {"8.8.8.8", true},
        {"10.1.2.3", false},
        {"172.15.0.1", true},
        {"172.31.255.255", false},
        {"172.32.0.1", true},
        {"192.168.0.1", false},
        {"127.0.0.1", false},
        {"0.0.0.0", false},
        {"169.254.169.254", false},
        {"100.64.0.1", false},
        {"100.128.0.1", true},
        {"224.0.0.1", false},
        {"255.255.255.255", false},
        {"198.18.5.5", false},
        {"198.20.0.1", true},
        {"::1", false},
        {"::", false},
        {"::ffff:127.0.0.1", false},
        {"::ffff:8.8.8.8", true},
        {"::127.0.0.1", false},
        {"64:ff9b::7f00:1", false},
        {"64:ff9b::808:808", true},
        {"2002:7f00:1::", false},
        {"2002:808:808::1", true},
        {"fe80::1", false},
        {"fd00::1", false},
        {"ff02::1", false},
        {"2001:db8::1", false},
        {"2001::1", false},
        {"2606:4700::1111", true},
        {"2001:4860:4860::8888", true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct ip_address address;
        if (!ip_parse(str_from(rows[i].text), &address) || ip_is_public(&address) != rows[i].is_public)
            fail_msg("%s", rows[i].text);
    }
    static const char *const none[] = {"",           "127.1",      "0177.0.0.1", "0x7f.1",
                                       "2130706433", "fe80::1%lo", "1.2.3.4 "};
    struct ip_address address;
    for (size_t i = 0; i < COUNT_OF(none); i++)
        if (ip_parse(str_from(none[i]), &address))
            fail_msg("'%s' was taken for an address", none[i]);
}

static void ranges_hold_their_addresses(void **state)
{
    static const struct {
        const char *range, *address;
        bool inside;
    } rows[] = {
        {"10.0.0.0/8", "10.255.0.1", true},    {"10.0.0.0/8", "11.0.0.1", false},
        {"10.1.2.3", "10.1.2.3", true},        {"10.1.2.3", "10.1.2.4", false},
        {"0.0.0.0/0", "1.2.3.4", true},        {"0.0.0.0/0", "2000::1", false},
        {"10.0.0.128/25", "10.0.0.200", true}, {"10.0.0.128/25", "10.0.0.100", false},
        {"fd00::/8", "fdff::1", true},         {"::/0", "10.0.0.1", true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct ip_range range;
        struct ip_address address;
        assert_true(ip_range_parse(str_from(rows[i].range), &range) &&
                    ip_parse(str_from(rows[i].address), &address));
        if (ip_range_contains(&range, &address) != rows[i].inside)
            fail_msg("%s in %s", rows[i].address, rows[i].range);
    }
    struct ip_range range;
    assert_false(ip_range_parse(STR("10.0.0.0/33"), &range));
    assert_false(ip_range_parse(STR("10.0.0.0/-1"), &range));
    assert_false(ip_range_parse(STR("example.org"), &range));
}

static struct net_policy policy_of(struct arena *arena, const char *const *allow, size_t count)
{
    struct net_settings settings = {.allow = {(const char **)allow, count}, .proxy = "none"};
    struct net_policy policy;
    assert_ok(net_policy_init(&settings, arena, &policy, err));
    return policy;
}

static void policy_opens_what_it_names(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    static const char *const allow[] = {"wiki.intra", "*.corp.example", "10.0.0.0/8", "db.intra:5000",
                                        "[fd00::5]:80"};
    const struct net_policy policy = policy_of(&arena, allow, COUNT_OF(allow));
    static const struct {
        const char *host;
        unsigned port;
        const char *address;
        bool allowed;
    } rows[] = {
        {"example.org", 80, "8.8.8.8", true},
        {"example.org", 80, "192.168.1.1", false},
        {"example.org", 80, "10.9.9.9", true},
        {"WIKI.intra", 80, "192.168.1.1", true},
        {"xwiki.intra", 80, "192.168.1.1", false},
        {"a.corp.example", 443, "192.168.1.1", true},
        {"corp.example", 443, "192.168.1.1", false},
        {"acorp.example", 443, "192.168.1.1", false},
        {"db.intra", 5000, "192.168.1.1", true},
        {"db.intra", 5001, "192.168.1.1", false},
        {"fd00::5", 80, "fd00::5", true},
        {"fd00::5", 81, "fd00::5", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct ip_address address;
        assert_true(ip_parse(str_from(rows[i].address), &address));
        if (net_policy_allows(&policy, str_from(rows[i].host), rows[i].port, &address) != rows[i].allowed)
            fail_msg("%s:%u at %s", rows[i].host, rows[i].port, rows[i].address);
    }
    const char *wrong[] = {"http://x"};
    struct net_settings settings = {.allow = {wrong, 1}};
    struct net_policy unused;
    ibid_error why;
    assert_int_equal(net_policy_init(&settings, &arena, &unused, &why), IBID_EINVAL);
    assert_non_null(strstr(why.message, "'http://x'"));
}

static void proxy_is_chosen_by_host(void **state)
{
    const struct net_policy policy = {.http_proxy = "http://proxy:1",
                                      .https_proxy = "http://proxy:2",
                                      .no_proxy = "intra.example, .corp, 10.0.0.0/8"};
    assert_string_equal(net_policy_proxy(&policy, false, STR("example.org")), "http://proxy:1");
    assert_string_equal(net_policy_proxy(&policy, true, STR("example.org")), "http://proxy:2");
    static const char *const direct[] = {"localhost",       "127.0.0.1", "::1",     "intra.example",
                                         "a.intra.example", "x.corp",    "10.1.1.1"};
    for (size_t i = 0; i < COUNT_OF(direct); i++)
        assert_null(net_policy_proxy(&policy, true, str_from(direct[i])));
    assert_true(net_policy_allows_unresolved(&policy, STR("example.org"), 80));
    assert_false(net_policy_allows_unresolved(&policy, STR("wiki"), 80));
    assert_false(net_policy_allows_unresolved(&policy, STR("192.168.0.1"), 80));
    assert_false(net_policy_allows_unresolved(&policy, STR("metadata.google.internal"), 80));
}

static void urls_are_taken_apart(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct url url;
    assert_ok(url_parse("HTTPS://Example.ORG/a/b?token=secret#x", &arena, &url, err));
    assert_true(url.https && url.port == 443 && str_is(url.host, "example.org"));
    assert_string_equal(url.place, "https://example.org/a/b");
    assert_ok(url_parse("http://[::1]:8080", &arena, &url, err));
    assert_true(str_is(url.host, "::1") && url.port == 8080);
    assert_string_equal(url.origin, "http://[::1]:8080");
    assert_string_equal(url.place, "http://[::1]:8080/");
    static const char *const wrong[] = {"",
                                        "example.org/x",
                                        "ftp://example.org",
                                        "file:///etc/passwd",
                                        "http://user:pw@example.org/",
                                        "javascript:alert(1)"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (url_parse(wrong[i], &arena, &url, NULL) != IBID_EINVAL)
            fail_msg("'%s' passed", wrong[i]);
    AUTO_BUFFER out = BUFFER(100);
    url_append_escaped(&out, STR("a b/ä"));
    assert_string_equal(out.data, "a%20b%2F%C3%A4");
    struct str text;
    assert_true(url_unescape(STR("a%20b+c"), true, &arena, &text) && str_is(text, "a b c"));
    assert_true(url_unescape(STR("a+b"), false, &arena, &text) && str_is(text, "a+b"));
    assert_false(url_unescape(STR("a%2"), true, &arena, &text));
    assert_false(url_unescape(STR("a%zz"), true, &arena, &text));
    assert_false(url_unescape(STR("a%00b"), true, &arena, &text));
}

static void retry_after_is_read(void **state)
{
    static const struct {
        const char *name, *value;
        unsigned seconds;
    } rows[] = {
        {"Retry-After", "7", 7},
        {"retry-after", "1.2", 2},
        {"Retry-After-Ms", "1500", 2},
        {"Retry-After", "-5", 0},
        {"Retry-After", "soon", 0},
        {"Retry-After", "1e9", 86400},
        {"Retry-After", "Thu, 01 Jan 1970 00:01:40 GMT", 60},
        {"X", "5", 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct http_header header = {str_from(rows[i].name), str_from(rows[i].value)};
        const struct http_headers headers = {&header, 1};
        assert_int_equal(http_retry_after(&headers, 40 * SECOND_US), rows[i].seconds);
    }
}

/* ---- the client against a server ---- */

struct fixture {
    struct tiny_server *server, *other;
    pthread_mutex_t lock; /* a request that its client gave up may be under way beside the next one */
    char seen[4096];      /* head of the last request */
    char other_seen[4096];
    char body[4096];
    unsigned calls;
    struct str file;    /* what /file serves */
    size_t break_after; /* bytes of /file sent before the connection breaks; 0: never */
    bool ignore_range;
    atomic_bool *raise; /* set when a request comes */
};

static void reply(struct buffer *out, const char *status, const char *headers, struct str body)
{
    buffer_printf(out, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n", status, headers, body.size);
    buffer_append_str(out, body);
}

static bool serve_file(struct fixture *fixture, struct str head, struct buffer *out)
{
    size_t start = 0;
    const char *range = strstr(head.data, "Range: bytes=");
    if (range && range < head.data + head.size && !fixture->ignore_range)
        start = strtoul(range + 13, NULL, 10);
    if (start >= fixture->file.size) {
        reply(out, "416 No", "", STR_EMPTY);
        return true;
    }
    const size_t size = fixture->file.size - start;
    if (start > 0)
        buffer_printf(out, "HTTP/1.1 206 Partial\r\nContent-Range: bytes %zu-%zu/%zu\r\n", start,
                      fixture->file.size - 1, fixture->file.size);
    else
        buffer_append_string(out, "HTTP/1.1 200 OK\r\n");
    buffer_printf(out, "Content-Length: %zu\r\n\r\n", size);
    const size_t sent = fixture->break_after && fixture->break_after < size ? fixture->break_after : size;
    buffer_append(out, fixture->file.data + start, sent);
    return sent == size;
}

static bool other_handler(struct str head, struct str body, struct buffer *out, void *context)
{
    struct fixture *fixture = context;
    snprintf(fixture->other_seen, sizeof fixture->other_seen, "%.*s", STR_ARG(head));
    reply(out, "200 OK", "", STR("elsewhere"));
    return true;
}

static void note_request(struct fixture *fixture, struct str head, struct str body)
{
    pthread_mutex_lock(&fixture->lock);
    snprintf(fixture->seen, sizeof fixture->seen, "%.*s", STR_ARG(head));
    snprintf(fixture->body, sizeof fixture->body, "%.*s", STR_ARG(body));
    fixture->calls++;
    if (fixture->raise)
        atomic_store(fixture->raise, true);
    pthread_mutex_unlock(&fixture->lock);
}

static bool handler(struct str head, struct str body, struct buffer *out, void *context)
{
    struct fixture *fixture = context;
    char path[128] = "", headers[256];
    sscanf(head.data, "%*s %100s", path);
    note_request(fixture, head, body);
    if (strcmp(path, "/file") == 0)
        return serve_file(fixture, head, out);
    if (strcmp(path, "/elsewhere") == 0) {
        snprintf(headers, sizeof headers, "Location: http://localhost:%u/x\r\n",
                 tiny_server_port(fixture->other));
        reply(out, "302 Found", headers, STR("moved"));
    } else if (strcmp(path, "/here") == 0) {
        reply(out, "307 Temporary", "Location: /ok\r\n", STR_EMPTY);
    } else if (strcmp(path, "/loop") == 0) {
        reply(out, "302 Found", "Location: /loop\r\n", STR_EMPTY);
    } else if (strcmp(path, "/to-file") == 0) {
        reply(out, "302 Found", "Location: file:///etc/passwd\r\n", STR_EMPTY);
    } else if (strcmp(path, "/busy") == 0) {
        reply(out, "429 Slow", "Retry-After: 9\r\n", STR("{\"error\":{\"message\":\"too fast\"}}"));
    } else if (strcmp(path, "/big") == 0) {
        buffer_append_string(out, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
        buffer_append_repeated(out, 'x', 1000000);
    } else if (strcmp(path, "/silent") == 0) {
        usleep(1500000);
        return false;
    } else if (strcmp(path, "/headers") == 0) {
        buffer_append_string(out, "HTTP/1.1 200 OK\r\n");
        for (unsigned i = 0; i < 6000; i++)
            buffer_printf(out, "X-%u: %060u\r\n", i, i);
        buffer_append_string(out, "Content-Length: 0\r\n\r\n");
    } else if (strcmp(path, "/break") == 0) {
        buffer_append_string(out, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort");
        return false;
    } else {
        reply(out, "200 OK", "X-Name: value \r\n", STR("fine"));
    }
    return true;
}

static int start(void **state)
{
    struct fixture *fixture = xcalloc(1, sizeof *fixture);
    pthread_mutex_init(&fixture->lock, NULL);
    fixture->server = tiny_server_start(NULL, handler, fixture);
    fixture->other = tiny_server_start(NULL, other_handler, fixture);
    *state = fixture;
    return 0;
}

static int stop(void **state)
{
    struct fixture *fixture = *state;
    tiny_server_stop(fixture->server);
    tiny_server_stop(fixture->other);
    pthread_mutex_destroy(&fixture->lock);
    free(fixture);
    return 0;
}

static const char *url_of(struct arena *arena, const struct fixture *fixture, const char *path)
{
    return arena_printf(arena, "http://127.0.0.1:%u%s", tiny_server_port(fixture->server), path);
}

static const char *const loopback[] = {"127.0.0.0/8", "::1"};

static void request_and_reply_arrive_whole(void **state)
{
    struct fixture *fixture = *state;
    AUTO_ARENA arena = ARENA_INIT;
    const struct net_policy policy = policy_of(&arena, loopback, 2);
    struct http_client *client = http_client_new(&policy);
    const struct http_header headers[] = {{STR("Authorization"), STR("Bearer x")},
                                          {STR("Content-Type"), STR("application/json")}};
    struct http_request request = {.url = url_of(&arena, fixture, "/ok"),
                                   .headers = headers,
                                   .header_count = 2,
                                   .body = STR("{\"a\":1}")};
    struct http_response response;
    for (unsigned i = 0; i < 3; i++)
        assert_ok(http_client_send(client, &request, &arena, &response, err));
    assert_int_equal(response.status, 200);
    assert_true(str_is(response.body, "fine"));
    assert_true(str_is(http_headers_get(&response.headers, "x-NAME"), "value"));
    assert_string_equal(fixture->body, "{\"a\":1}");
    assert_non_null(strstr(fixture->seen, "POST /ok HTTP/1.1"));
    assert_non_null(strstr(fixture->seen, "Authorization: Bearer x"));
    assert_int_equal(tiny_server_connections(fixture->server), 1); /* kept open */

    const struct http_header evil = {STR("X"), STR("a\r\nHost: b")};
    request.headers = &evil;
    request.header_count = 1;
    assert_int_equal(http_client_send(client, &request, &arena, &response, NULL), IBID_EINVAL);
    http_client_free(client);
}

static void private_addresses_are_refused(void **state)
{
    struct fixture *fixture = *state;
    AUTO_ARENA arena = ARENA_INIT;
    const struct net_policy policy = policy_of(&arena, NULL, 0);
    struct http_client *client = http_client_new(&policy);
    struct http_response response;
    static const char *const forms[] = {"127.0.0.1",          "localhost",  "[::1]",
                                        "2130706433",         "0x7f.0.0.1", "127.1",
                                        "[::ffff:127.0.0.1]", "0.0.0.0"};
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        struct http_request request = {
            .url = arena_printf(&arena, "http://%s:%u/?secret", forms[i], tiny_server_port(fixture->server))};
        ibid_error why;
        assert_int_equal(http_client_send(client, &request, &arena, &response, &why), IBID_EDENIED);
        assert_non_null(strstr(why.message, "net.allow"));
        assert_null(strstr(why.message, "secret"));
    }
    assert_int_equal(fixture->calls, 0);
    struct net_policy wider;
    assert_ok(net_policy_with_url(&policy, url_of(&arena, fixture, "/v1"), &arena, &wider, err));
    struct http_client *configured = http_client_new(&wider);
    struct http_request request = {.url = url_of(&arena, fixture, "/ok")};
    assert_ok(http_client_send(configured, &request, &arena, &response, err));
    request.url = arena_printf(&arena, "http://127.0.0.1:%u/", tiny_server_port(fixture->other));
    assert_int_equal(http_client_send(configured, &request, &arena, &response, NULL), IBID_EDENIED);
    http_client_free(client);
    http_client_free(configured);
}

static void redirects_are_checked_like_requests(void **state)
{
    struct fixture *fixture = *state;
    AUTO_ARENA arena = ARENA_INIT;
    const struct net_policy wide = policy_of(&arena, loopback, 2);
    const struct net_policy narrow = policy_of(
        &arena,
        (const char *const[]){arena_printf(&arena, "127.0.0.1:%u", tiny_server_port(fixture->server))}, 1);
    struct http_client *client = http_client_new(&wide), *strict = http_client_new(&narrow);
    const struct http_header headers[] = {{STR("X-Api-Key"), STR("k")}, {STR("Accept"), STR("text/x")}};
    struct http_request request = {.url = url_of(&arena, fixture, "/elsewhere"),
                                   .headers = headers,
                                   .header_count = 2,
                                   .body = STR("hello"),
                                   .max_redirects = 3};
    struct http_response response;
    assert_ok(http_client_send(client, &request, &arena, &response, err));
    assert_true(str_is(response.body, "elsewhere"));
    assert_non_null(strstr(fixture->other_seen, "GET /x"));
    assert_null(strstr(fixture->other_seen, "X-Api-Key")); /* another origin sees no credential */
    assert_non_null(strstr(fixture->other_seen, "Accept: text/x"));
    assert_non_null(strstr(fixture->seen, "X-Api-Key: k"));

    assert_int_equal(http_client_send(strict, &request, &arena, &response, NULL), IBID_EDENIED);
    request.url = url_of(&arena, fixture, "/here");
    assert_ok(http_client_send(client, &request, &arena, &response, err));
    assert_non_null(strstr(fixture->seen, "POST /ok")); /* 307 keeps method and body */
    assert_string_equal(fixture->body, "hello");
    assert_non_null(strstr(fixture->seen, "X-Api-Key: k"));
    request.url = url_of(&arena, fixture, "/loop");
    assert_int_equal(http_client_send(client, &request, &arena, &response, NULL), IBID_EUPSTREAM);
    request.url = url_of(&arena, fixture, "/to-file");
    assert_int_equal(http_client_send(client, &request, &arena, &response, NULL), IBID_EINVAL);
    http_client_free(client);
    http_client_free(strict);
}

static void raise_on_request(struct fixture *fixture, atomic_bool *raise)
{
    pthread_mutex_lock(&fixture->lock);
    fixture->raise = raise;
    pthread_mutex_unlock(&fixture->lock);
}

static ibid_code refuse(struct str bytes, void *context, ibid_error *err)
{
    return fail(err, IBID_ENOSPACE, "the sink is full");
}

static void limits_end_a_call(void **state)
{
    struct fixture *fixture = *state;
    AUTO_ARENA arena = ARENA_INIT;
    const struct net_policy policy = policy_of(&arena, loopback, 2);
    struct http_client *client = http_client_new(&policy);
    struct http_response response;
    ibid_error why;
    struct http_request request = {.url = url_of(&arena, fixture, "/big"), .response_limit = 1000};
    assert_int_equal(http_client_send(client, &request, &arena, &response, &why), IBID_ETOOBIG);
    assert_non_null(strstr(why.message, "limit of 1000 bytes"));
    const struct http_sink sink = {.write = refuse};
    request = (struct http_request){.url = url_of(&arena, fixture, "/big"), .sink = &sink};
    assert_int_equal(http_client_send(client, &request, &arena, &response, &why), IBID_ENOSPACE);
    assert_string_equal(why.message, "the sink is full");
    request = (struct http_request){.url = url_of(&arena, fixture, "/headers")};
    assert_int_equal(http_client_send(client, &request, &arena, &response, &why), IBID_ETOOBIG);
    request = (struct http_request){.url = url_of(&arena, fixture, "/silent"), .timeout = 200000};
    assert_int_equal(http_client_send(client, &request, &arena, &response, &why), IBID_ETIMEOUT);
    request = (struct http_request){.url = url_of(&arena, fixture, "/silent"), .stall_timeout = 200000};
    assert_int_equal(http_client_send(client, &request, &arena, &response, &why), IBID_ETIMEOUT);
    atomic_bool cancel = false;
    raise_on_request(fixture, &cancel);
    request = (struct http_request){.url = url_of(&arena, fixture, "/silent"), .cancel = &cancel};
    assert_int_equal(http_client_send(client, &request, &arena, &response, &why), IBID_ECANCELED);
    raise_on_request(fixture, NULL);
    request = (struct http_request){.url = url_of(&arena, fixture, "/break")};
    assert_int_equal(http_client_send(client, &request, &arena, &response, &why), IBID_EUPSTREAM);
    request = (struct http_request){.url = "http://127.0.0.1:1/a/b"};
    assert_int_equal(http_client_send(client, &request, &arena, &response, &why), IBID_EUNAVAILABLE);
    assert_string_equal(why.message, "cannot connect to http://127.0.0.1:1: Connection refused");
    http_client_free(client);
}

static void failures_are_explained(void **state)
{
    struct fixture *fixture = *state;
    AUTO_ARENA arena = ARENA_INIT;
    const struct net_policy policy = policy_of(&arena, loopback, 2);
    struct http_client *client = http_client_new(&policy);
    struct http_response response;
    ibid_error why;
    const struct http_request request = {.url = url_of(&arena, fixture, "/busy")};
    assert_ok(http_client_send(client, &request, &arena, &response, err));
    assert_int_equal(http_response_check(&response, "embedding", &why), IBID_EBUSY);
    assert_int_equal(why.retry_after_s, 9);
    assert_non_null(strstr(why.message, "embedding: http://127.0.0.1:"));
    assert_non_null(strstr(why.message, "429 Too Many Requests: too fast"));
    http_client_free(client);
}

static void unix_socket_is_spoken_to(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    char folder[] = "/tmp/ibid-net-XXXXXX";
    assert_non_null(mkdtemp(folder));
    struct fixture local = {.lock = PTHREAD_MUTEX_INITIALIZER};
    const char *path = arena_printf(&arena, "%s/socket", folder);
    struct tiny_server *server = tiny_server_start(path, handler, &local);
    const struct net_policy policy = policy_of(&arena, NULL, 0);
    struct http_client *client = http_client_new(&policy);
    const char *file = arena_printf(&arena, "%s/body", folder);
    assert_ok(file_write_atomically(file, "from a file", 11, 0600, err));
    const int fd = open(file, O_RDONLY | O_CLOEXEC);
    struct http_request request = {.url = "http://localhost/ok", .unix_socket = path, .body_fd = fd};
    struct http_response response;
    assert_ok(http_client_send(client, &request, &arena, &response, err));
    assert_string_equal(local.body, "from a file");
    close(fd);
    http_client_free(client);
    tiny_server_stop(server);
    assert_ok(folder_remove(folder, err));
}

/* ---- downloads ---- */

struct progress {
    int64_t done, total;
    unsigned calls;
};

static void note_progress(int64_t done, int64_t total, void *context)
{
    struct progress *progress = context;
    assert_true(done >= progress->done);
    *progress = (struct progress){done, total, progress->calls + 1};
}

static void download_goes_on_where_it_stopped(void **state)
{
    struct fixture *fixture = *state;
    AUTO_ARENA arena = ARENA_INIT;
    char folder[] = "/tmp/ibid-net-XXXXXX";
    assert_non_null(mkdtemp(folder));
    enum { SIZE = 300000 };
    char *bytes = arena_alloc(&arena, SIZE);
    for (unsigned i = 0; i < SIZE; i++)
        bytes[i] = (char)(i * 31 + i / 251);
    fixture->file = (struct str){bytes, SIZE};
    fixture->break_after = 110000;
    const struct sha256 hash = sha256_of(bytes, SIZE);
    const struct net_policy policy = policy_of(&arena, loopback, 2);
    struct http_client *client = http_client_new(&policy);
    struct progress progress = {0};
    const char *path = arena_printf(&arena, "%s/model", folder),
               *part = arena_printf(&arena, "%s.part", path);
    struct http_download download = {.url = url_of(&arena, fixture, "/file"),
                                     .path = path,
                                     .expected_size = SIZE,
                                     .expected_hash = &hash,
                                     .progress = note_progress,
                                     .context = &progress};
    assert_ok(http_download(client, &download, err));
    assert_int_equal(fixture->calls, 3);
    assert_true(progress.done == SIZE && progress.total == SIZE);
    assert_true(file_exists(path) && !file_exists(part));

    /* A part that an earlier run left is used; one of another file is thrown away. */
    assert_ok(file_write_atomically(part, bytes, 200000, 0600, err));
    fixture->break_after = 0;
    fixture->calls = 0;
    progress = (struct progress){0};
    assert_ok(http_download(client, &download, err));
    assert_non_null(strstr(fixture->seen, "Range: bytes=200000-"));
    assert_ok(file_write_atomically(part, "wrong", 5, 0600, err));
    progress = (struct progress){0};
    ibid_error why;
    assert_int_equal(http_download(client, &download, &why), IBID_EFORMAT);
    assert_non_null(strstr(why.message, "SHA-256"));
    assert_false(file_exists(part));

    /* A server that knows no ranges sends the whole again. */
    assert_ok(file_write_atomically(part, "wrong", 5, 0600, err));
    fixture->ignore_range = true;
    progress = (struct progress){0};
    assert_ok(http_download(client, &download, err));

    download.expected_size = 0;
    download.expected_hash = NULL;
    download.size_limit = 1000;
    assert_int_equal(http_download(client, &download, &why), IBID_ETOOBIG);
    progress = (struct progress){0};
    download.size_limit = 0;
    download.url = url_of(&arena, fixture, "/break");
    download.attempts = 1;
    assert_int_equal(http_download(client, &download, &why), IBID_EUPSTREAM);
    http_client_free(client);
    assert_ok(folder_remove(folder, err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_told_apart),
        cmocka_unit_test(ranges_hold_their_addresses),
        cmocka_unit_test(policy_opens_what_it_names),
        cmocka_unit_test(proxy_is_chosen_by_host),
        cmocka_unit_test(urls_are_taken_apart),
        cmocka_unit_test(retry_after_is_read),
        cmocka_unit_test_setup_teardown(request_and_reply_arrive_whole, start, stop),
        cmocka_unit_test_setup_teardown(private_addresses_are_refused, start, stop),
        cmocka_unit_test_setup_teardown(redirects_are_checked_like_requests, start, stop),
        cmocka_unit_test_setup_teardown(limits_end_a_call, start, stop),
        cmocka_unit_test_setup_teardown(failures_are_explained, start, stop),
        cmocka_unit_test(unix_socket_is_spoken_to),
        cmocka_unit_test_setup_teardown(download_goes_on_where_it_stopped, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
