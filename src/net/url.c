#include "net/url.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/address.h"

static bool is_unreserved(unsigned char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '-' || byte == '.' || byte == '_' || byte == '~';
}

/* One part as a string of the arena, NULL when the URL has none. */
static char *part(CURLU *handle, CURLUPart which, unsigned flags, struct arena *arena)
{
    char *text = NULL;
    if (curl_url_get(handle, which, &text, flags) != CURLUE_OK)
        return NULL;
    char *copy = arena_strdup(arena, text);
    curl_free(text);
    return copy;
}

static ibid_code read_parts(CURLU *handle, struct arena *arena, struct url *ret, ibid_error *err)
{
    const char *scheme = part(handle, CURLUPART_SCHEME, 0, arena);
    if (!scheme || (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
        return fail(err, IBID_EINVAL, "the URL must begin with http:// or https://");
    if (part(handle, CURLUPART_USER, 0, arena) || part(handle, CURLUPART_PASSWORD, 0, arena))
        return fail(err, IBID_EINVAL, "the URL must not carry a user name or password");
    char *host = part(handle, CURLUPART_HOST, 0, arena);
    const char *port = part(handle, CURLUPART_PORT, CURLU_DEFAULT_PORT, arena);
    const char *other_port = part(handle, CURLUPART_PORT, CURLU_NO_DEFAULT_PORT, arena);
    const char *path = part(handle, CURLUPART_PATH, 0, arena);
    if (!host || !port || !path)
        return fail(err, IBID_EINVAL, "the URL names no host");
    for (char *byte = host; *byte; byte++)
        if (*byte >= 'A' && *byte <= 'Z')
            *byte |= 0x20;
    const size_t size = strlen(host);
    ret->https = strcmp(scheme, "https") == 0;
    ret->host = host[0] == '[' ? (struct str){host + 1, size - 2} : (struct str){host, size};
    ret->port = (unsigned)strtoul(port, NULL, 10);
    ret->origin =
        arena_printf(arena, "%s://%s%s%s", scheme, host, other_port ? ":" : "", other_port ? other_port : "");
    ret->place = arena_printf(arena, "%s%s", ret->origin, path);
    return IBID_OK;
}

ibid_code url_parse(const char *text, struct arena *arena, struct url *ret, ibid_error *err)
{
    CURLU *handle = curl_url();
    if (!handle)
        BUG("out of memory");
    ibid_code code;
    if (curl_url_set(handle, CURLUPART_URL, text, 0) != CURLUE_OK)
        code = fail(err, IBID_EINVAL, "this is no http or https URL");
    else
        code = read_parts(handle, arena, ret, err);
    curl_url_cleanup(handle);
    return code;
}

bool url_same_origin(const struct url *a, const struct url *b)
{
    return a->https == b->https && a->port == b->port && str_equal(a->host, b->host);
}

void url_append_escaped(struct buffer *out, struct str text)
{
    for (size_t i = 0; i < text.size; i++) {
        const unsigned char byte = (unsigned char)text.data[i];
        if (is_unreserved(byte))
            buffer_append_byte(out, (char)byte);
        else
            buffer_printf(out, "%%%02X", byte);
    }
}

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool url_unescape(struct str text, bool form, struct arena *arena, struct str *ret)
{
    char *out = arena_alloc(arena, text.size + 1);
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++) {
        char byte = text.data[i];
        if (byte == '%') {
            const int high = i + 2 < text.size ? hex_value(text.data[i + 1]) : -1;
            const int low = i + 2 < text.size ? hex_value(text.data[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            byte = (char)(high << 4 | low);
            i += 2;
        } else if (byte == '+' && form) {
            byte = ' ';
        }
        if (byte == '\0')
            return false;
        out[size++] = byte;
    }
    *ret = (struct str){out, size};
    return true;
}

bool url_is_host_name(struct str text)
{
    if (text.size == 0 || text.size > 253)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        const unsigned char byte = (unsigned char)text.data[i];
        const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                           (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == '.';
        if (!plain)
            return false;
    }
    return true;
}
