#include "net/http_head.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "net/address.h"
#include "net/url.h"

/* Why a head is refused. */
struct refusal {
    int status;
    ibid_error *err;
};

__attribute__((format(printf, 4, 5))) static bool refuse(struct refusal *refusal, int status, ibid_code code,
                                                         const char *format, ...)
{
    char message[200];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    refusal->status = status;
    fail(refusal->err, code, "%s", message);
    return false;
}

static bool refuse_form(struct refusal *refusal, const char *what)
{
    return refuse(refusal, 400, IBID_EINVAL, "the request's head is malformed: %s", what);
}

/* Cuts the next line off; false when it has no CRLF yet or a line end of another kind. */
static bool next_line(struct str *rest, struct str *ret_line, struct refusal *refusal)
{
    const char *end = memchr(rest->data, '\n', rest->size);
    if (!end)
        return false;
    const size_t size = (size_t)(end - rest->data);
    if (size == 0 || rest->data[size - 1] != '\r')
        return refuse_form(refusal, "a line does not end with CR LF");
    *ret_line = str_slice(*rest, 0, size - 1);
    *rest = str_slice(*rest, size + 1, rest->size);
    return true;
}

static bool is_target(struct str text)
{
    for (size_t i = 0; i < text.size; i++) {
        const unsigned char byte = (unsigned char)text.data[i];
        if (byte <= 0x20 || byte >= 0x7f || byte == '#')
            return false;
    }
    return text.size > 0 && text.data[0] == '/';
}

static bool read_request_line(struct str line, struct http_head *head, struct refusal *refusal)
{
    struct str rest = line, method, target;
    if (!str_split(&rest, ' ', &method) || !str_split(&rest, ' ', &target) || !http_is_token(method))
        return refuse_form(refusal, "the request line is not METHOD TARGET VERSION");
    if (str_is(rest, "HTTP/1.0"))
        head->http_1_0 = true;
    else if (!str_is(rest, "HTTP/1.1"))
        return str_starts_with(rest, "HTTP/")
                   ? refuse(refusal, 505, IBID_EUNSUPPORTED,
                            "only versions 1.0 and 1.1 of HTTP are spoken here")
                   : refuse_form(refusal, "the request line is not METHOD TARGET VERSION");
    if (target.size > HTTP_TARGET_LIMIT)
        return refuse(refusal, 414, IBID_ETOOBIG, "the request's target is longer than the limit of %d bytes",
                      HTTP_TARGET_LIMIT);
    if (!is_target(target))
        return refuse_form(refusal, "the target must be a path");
    const size_t mark = str_find(target, '?');
    head->method = method;
    head->path = str_slice(target, 0, mark);
    head->query = str_slice(target, mark + 1, target.size);
    return true;
}

/* Without spaces and TABs at both ends; other white space is not HTTP's. */
static struct str trim_blanks(struct str text)
{
    while (text.size > 0 && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = str_slice(text, 1, text.size);
    while (text.size > 0 && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
        text.size--;
    return text;
}

static bool read_header(struct str line, struct http_header *ret, struct refusal *refusal)
{
    if (line.data[0] == ' ' || line.data[0] == '\t')
        return refuse_form(refusal, "a header is folded over several lines");
    const size_t colon = str_find(line, ':');
    const struct str name = str_slice(line, 0, colon);
    if (colon == line.size || !http_is_token(name))
        return refuse_form(refusal, "a header's name is no token");
    const struct str value = trim_blanks(str_slice(line, colon + 1, line.size));
    if (!http_is_field_value(value))
        return refuse_form(refusal, "a header's value holds a control character");
    *ret = (struct http_header){name, value};
    return true;
}

/* The value of a header that may stand there once; empty without it. */
static bool single(const struct http_head *head, const char *name, bool *ret_present, struct str *ret,
                   struct refusal *refusal)
{
    const struct str wanted = str_from(name);
    *ret_present = false;
    *ret = STR_EMPTY;
    for (size_t i = 0; i < head->headers.count; i++) {
        if (!str_equal_nocase(head->headers.items[i].name, wanted))
            continue;
        if (*ret_present)
            return refuse(refusal, 400, IBID_EINVAL, "the header %s is given more than once", name);
        *ret_present = true;
        *ret = head->headers.items[i].value;
    }
    return true;
}

static bool is_port(struct str text)
{
    long long port;
    return text.size > 0 && text.size <= 5 && text.data[0] >= '0' && str_to_int64(text, &port) &&
           port < 65536;
}

/* Parts "name:port" and "[address]:port"; the port with its colon, or empty. */
static bool split_host(struct str value, struct str *ret_name, struct str *ret_port)
{
    struct ip_address address;
    size_t end = str_find(value, ':');
    if (value.size > 0 && value.data[0] == '[') {
        end = str_find(value, ']') + 1;
        *ret_name = str_slice(value, 1, end - 1);
        *ret_port = str_slice(value, end, value.size);
        return end <= value.size && ip_parse(*ret_name, &address);
    }
    *ret_name = str_slice(value, 0, end);
    *ret_port = str_slice(value, end, value.size);
    return url_is_host_name(*ret_name);
}

static bool read_host(struct http_head *head, struct arena *arena, struct refusal *refusal)
{
    bool present;
    struct str value, name, port;
    if (!single(head, "Host", &present, &value, refusal))
        return false;
    if (!present)
        return head->http_1_0 || refuse(refusal, 400, IBID_EINVAL, "the header Host is missing");
    if (!split_host(value, &name, &port) ||
        (port.size > 0 && (port.data[0] != ':' || !is_port(str_slice(port, 1, port.size)))))
        return refuse(refusal, 400, IBID_EINVAL, "the header Host is malformed");
    char *lower = arena_memdup0(arena, name.data, name.size);
    for (char *byte = lower; *byte; byte++)
        if (*byte >= 'A' && *byte <= 'Z')
            *byte |= 0x20;
    head->host = (struct str){lower, name.size};
    return true;
}

static bool read_length(struct str value, int64_t *ret, struct refusal *refusal)
{
    int64_t length = 0;
    if (value.size == 0 || value.size > 18)
        return refuse(refusal, 400, IBID_EINVAL, "the header Content-Length is no number");
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] < '0' || value.data[i] > '9')
            return refuse(refusal, 400, IBID_EINVAL, "the header Content-Length is no number");
        length = length * 10 + (value.data[i] - '0');
    }
    *ret = length;
    return true;
}

static bool read_framing(struct http_head *head, struct refusal *refusal)
{
    bool has_length, has_coding;
    struct str length, coding;
    if (!single(head, "Content-Length", &has_length, &length, refusal) ||
        !single(head, "Transfer-Encoding", &has_coding, &coding, refusal))
        return false;
    head->content_length = -1;
    if (has_coding) {
        if (!str_is(coding, "chunked"))
            return refuse(refusal, 501, IBID_EUNSUPPORTED,
                          "the only Transfer-Encoding understood is 'chunked'");
        if (has_length || head->http_1_0)
            return refuse(refusal, 400, IBID_EINVAL,
                          "Transfer-Encoding cannot stand with Content-Length or in HTTP/1.0");
        head->chunked = true;
    }
    return !has_length || read_length(length, &head->content_length, refusal);
}

static bool read_expectation(const struct http_head *head, struct refusal *refusal)
{
    bool present;
    struct str value;
    if (!single(head, "Expect", &present, &value, refusal))
        return false;
    if (present && !str_equal_nocase(value, STR("100-continue")))
        return refuse(refusal, 417, IBID_EUNSUPPORTED, "the only expectation met is '100-continue'");
    return true;
}

/* What decides who asks and what for: two of them could be read differently by what stands in front. */
static bool check_others(const struct http_head *head, struct refusal *refusal)
{
    static const char *const names[] = {"Authorization", "Content-Type", "Range"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        bool present;
        struct str value;
        if (!single(head, names[i], &present, &value, refusal))
            return false;
    }
    return true;
}

/* All lines of a head that has arrived whole. */
static bool read_lines(struct str rest, struct arena *arena, struct http_head *head, struct refusal *refusal)
{
    struct str line;
    struct http_header *headers = ARENA_ARRAY(arena, struct http_header, HTTP_HEADER_COUNT_LIMIT);
    size_t count = 0;
    if (!next_line(&rest, &line, refusal) || !read_request_line(line, head, refusal))
        return false;
    while (next_line(&rest, &line, refusal) && line.size > 0) {
        if (count == HTTP_HEADER_COUNT_LIMIT)
            return refuse(refusal, 431, IBID_ETOOBIG, "the request has more than the limit of %d headers",
                          HTTP_HEADER_COUNT_LIMIT);
        if (!read_header(line, &headers[count++], refusal))
            return false;
    }
    head->headers = (struct http_headers){headers, count};
    return refusal->status == 0 && read_host(head, arena, refusal) && read_framing(head, refusal) &&
           read_expectation(head, refusal) && check_others(head, refusal);
}

/* Bytes up to and with the empty line; 0 while it has not come. A bare LF counts as a line end here, so that
 * what another program might take for the end of the head is looked at at once. */
static size_t head_size(struct str bytes)
{
    for (size_t i = 0; i + 1 < bytes.size; i++) {
        if (bytes.data[i] != '\n')
            continue;
        if (bytes.data[i + 1] == '\n')
            return i + 2;
        if (bytes.data[i + 1] == '\r' && i + 2 < bytes.size && bytes.data[i + 2] == '\n')
            return i + 3;
    }
    return 0;
}

enum http_head_state http_head_parse(struct str bytes, struct arena *arena, struct http_head *ret,
                                     int *ret_status, ibid_error *err)
{
    struct refusal refusal = {.err = err};
    struct http_head head = {.size = head_size(bytes)};
    if (head.size > HTTP_HEAD_LIMIT || (head.size == 0 && bytes.size >= HTTP_HEAD_LIMIT)) {
        refuse(&refusal, 431, IBID_ETOOBIG, "the request's head is larger than the limit of %d bytes",
               HTTP_HEAD_LIMIT);
    } else if (bytes.size > 0 && !http_is_token(str_slice(bytes, 0, 1))) {
        refuse_form(&refusal, "it does not begin with a method"); /* a TLS client, say: tell it at once */
    } else if (head.size == 0) {
        return HEAD_INCOMPLETE;
    } else if (read_lines(arena_str(arena, str_slice(bytes, 0, head.size)), arena, &head, &refusal)) {
        *ret = head;
        return HEAD_COMPLETE;
    }
    ASSERT(refusal.status != 0);
    *ret_status = refusal.status;
    return HEAD_REFUSED;
}
