#include "net/http.h"

#include <curl/curl.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

struct str http_headers_get(const struct http_headers *headers, const char *name)
{
    const struct str wanted = str_from(name);
    for (size_t i = 0; i < headers->count; i++)
        if (str_equal_nocase(headers->items[i].name, wanted))
            return headers->items[i].value;
    return STR_EMPTY;
}

bool http_is_token(struct str text)
{
    for (size_t i = 0; i < text.size; i++) {
        const char byte = text.data[i];
        const bool alphanumeric =
            (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
        if (!alphanumeric && (byte == '\0' || !strchr("!#$%&'*+-.^_`|~", byte)))
            return false;
    }
    return text.size > 0;
}

bool http_is_field_value(struct str text)
{
    for (size_t i = 0; i < text.size; i++) {
        const unsigned char byte = (unsigned char)text.data[i];
        if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
            return false;
    }
    return true;
}

const char *http_status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } rows[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {206, "Partial Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {411, "Length Required"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {416, "Range Not Satisfiable"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {499, "Canceled"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
        {507, "Insufficient Storage"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].status == status)
            return rows[i].text;
    return "";
}

unsigned http_retry_after(const struct http_headers *headers, int64_t now_us)
{
    enum { DAY = 24 * 60 * 60 };
    double seconds = 0;
    char date[64];
    struct str text = str_trim(http_headers_get(headers, "retry-after-ms"));
    if (text.size > 0 && str_to_double(text, &seconds)) {
        seconds /= 1000;
    } else {
        text = str_trim(http_headers_get(headers, "retry-after"));
        if (text.size == 0 || text.size >= sizeof date)
            return 0;
        if (!str_to_double(text, &seconds)) {
            memcpy(date, text.data, text.size);
            date[text.size] = '\0';
            const time_t when = curl_getdate(date, NULL);
            seconds = when < 0 ? 0 : (double)when - (double)now_us / (double)SECOND_US;
        }
    }
    if (!(seconds > 0))
        return 0;
    if (seconds >= DAY)
        return DAY;
    const unsigned whole = (unsigned)seconds;
    return whole + (seconds > whole);
}

ibid_code http_status_code(int status)
{
    switch (status) {
    case 401:
    case 403:
        return IBID_EDENIED;
    case 404:
    case 410:
        return IBID_ENOTFOUND;
    case 408:
    case 504:
        return IBID_ETIMEOUT;
    case 409:
        return IBID_ECONFLICT;
    case 413:
        return IBID_ETOOBIG;
    case 429:
        return IBID_EBUSY;
    case 503:
    case 529:
        return IBID_EUNAVAILABLE;
    case 425:
        return IBID_EUPSTREAM;
    default:
        if (status < 300)
            return IBID_OK;
        return status >= 400 && status < 500 ? IBID_EINVAL : IBID_EUPSTREAM;
    }
}
