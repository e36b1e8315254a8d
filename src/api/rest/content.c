#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "api/rest/handlers.h"
#include "api/rest/parameter_tables.h"
#include "api/rest/state.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "instance/original.h"
#include "net/url.h"

enum { LINK_LIFETIME_S = 300 };

/* ---- signed links: a browser's tab cannot send a token ---- */

/* What a link is good for. */
struct link {
    int64_t document_id, user_id;
    int64_t token_id; /* it was asked for with: a revoked token takes its links along; 0: without one */
    int64_t expires;  /* seconds since 1970 */
};

static void sign(const struct rest *rest, const struct link *link,
                 char out[2 * crypto_auth_hmacsha256_BYTES + 1])
{
    _Static_assert(sizeof rest->link_key == crypto_auth_hmacsha256_KEYBYTES, "the size of its keys");
    unsigned char signature[crypto_auth_hmacsha256_BYTES];
    const int64_t message[4] = {link->document_id, link->user_id, link->token_id, link->expires};
    crypto_auth_hmacsha256(signature, (const unsigned char *)message, sizeof message, rest->link_key);
    sodium_bin2hex(out, 2 * sizeof signature + 1, signature, sizeof signature);
}

static bool signature_holds(const struct rest_call *call, const struct content_parameters *parameters,
                            int64_t document_id)
{
    char expected[2 * crypto_auth_hmacsha256_BYTES + 1];
    if (!parameters->signature || strlen(parameters->signature) != sizeof expected - 1 ||
        parameters->expires < clock_now_us() / SECOND_US)
        return false;
    const struct link link = {document_id, parameters->user, parameters->token, parameters->expires};
    sign(call->rest, &link, expected);
    return sodium_memcmp(expected, parameters->signature, sizeof expected - 1) == 0;
}

ibid_code handle_content_link(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct scope scope;
    struct document document;
    TRY(call_read(call, &transaction, &scope, err));
    TRY(call_document(call, transaction, &scope, call->id, &document, err));
    const struct link link = {document.id, call->principal.user_id, call->principal.token_id,
                              clock_now_us() / SECOND_US + LINK_LIFETIME_S};
    char signature[2 * crypto_auth_hmacsha256_BYTES + 1];
    sign(call->rest, &link, signature);
    json_t *answer = json_object();
    json_set_string(
        answer, "url",
        arena_printf(call->arena,
                     "/api/v1/documents/%lld/content?user=%lld&token=%lld&expires=%lld&signature=%s",
                     (long long)link.document_id, (long long)link.user_id, (long long)link.token_id,
                     (long long)link.expires, signature));
    json_set_time(answer, "expires_at", link.expires * SECOND_US);
    reply_json(call, reply, 200, answer);
    return IBID_OK;
}

/* Who asks: the holder of a token, or (with a valid signature) the user that the link was made for. Their
 * rights are looked up anew: a link does not outlive them. */
static ibid_code identify_reader(struct rest_call *call, ibid_error *err)
{
    const struct content_parameters *parameters = call->parameters;
    int64_t document_id;
    if (call->principal.user_id != 0)
        return IBID_OK;
    TRY(call_id(call, "document", &document_id, err));
    if (!signature_holds(call, parameters, document_id))
        return fail(err, IBID_EAUTH, "a token or a valid, recent link is needed");
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(instance_metadata(call->instance), TRANSACTION_READ, &transaction, err));
    return principal_from_token_id(transaction, parameters->user, parameters->token, call->arena,
                                   &call->principal, err);
}

/* ---- the bytes ---- */

/* What a browser may show in place. Whatever can carry script is shown in a sandbox of no origin; the rest is
 * saved. */
static bool is_shown(struct str media_type)
{
    return str_is(media_type, "application/pdf") || str_starts_with(media_type, "text/") ||
           str_is(media_type, "image/png") || str_is(media_type, "image/jpeg") ||
           str_is(media_type, "application/xhtml+xml");
}

static struct str shown_type(const struct rest_call *call, struct str media_type)
{
    if (!is_shown(media_type))
        return STR("application/octet-stream");
    const bool html = str_is(media_type, "text/html") || str_is(media_type, "application/xhtml+xml");
    if (str_starts_with(media_type, "text/") && !html)
        return STR("text/plain; charset=utf-8"); /* Markdown, CSV, source code: to be read as they are */
    return arena_str(call->arena, media_type);
}

static struct str disposition(struct rest_call *call, const struct document *document, bool save)
{
    AUTO_BUFFER out = BUFFER(16 * 1024);
    struct str name = path_base_name(document->path.size > 0 ? document->path : document->document_title);
    buffer_printf(&out, "%s; filename*=UTF-8''", save ? "attachment" : "inline");
    url_append_escaped(&out, str_slice(name, 0, 1000));
    return arena_str(call->arena, buffer_str(&out));
}

ibid_code handle_content(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    const struct content_parameters *parameters = call->parameters;
    struct scope scope;
    struct document document;
    TRY(identify_reader(call, err));
    AUTO_TRANSACTION *transaction = NULL;
    TRY(call_read(call, &transaction, &scope, err));
    TRY(call_document(call, transaction, &scope, call->id, &document, err));
    transaction_rollback(transaction_take(&transaction));
    TRY(instance_open_original(call->instance, &document, &reply->fd, &reply->fd_size, err));
    const bool save = parameters->download || !is_shown(document.media_type);
    http_reply_header(call->http, reply, "Content-Type", shown_type(call, document.media_type));
    http_reply_header(call->http, reply, "Content-Disposition", disposition(call, &document, save));
    /* A browser shows no PDF in a sandbox; its viewer runs none of the document's script in our origin. */
    http_reply_header(call->http, reply, "Content-Security-Policy",
                      str_is(document.media_type, "application/pdf")
                          ? STR("frame-ancestors 'none'")
                          : STR("sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
                                "frame-ancestors 'none'"));
    return IBID_OK;
}
