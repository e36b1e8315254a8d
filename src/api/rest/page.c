#include "api/rest/handlers.h"
#include "api/rest/web_files.h"

/* The page is of this program's own making: it may run its own script and style, and talk to its own server.
 */
ibid_code handle_page(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    for (const struct web_file *file = web_files; file->path; file++) {
        if (!str_is(call->http->path, file->path))
            continue;
        reply->text = (struct str){(const char *)file->bytes, file->size};
        http_reply_header(call->http, reply, "Content-Type", str_from(file->media_type));
        http_reply_header(
            call->http, reply, "Content-Security-Policy",
            STR("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"));
        return IBID_OK;
    }
    return fail(err, IBID_ENOTFOUND, "there is nothing at %.*s", STR_ARG(call->http->path));
}
