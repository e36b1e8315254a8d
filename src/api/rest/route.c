#include "api/rest/route.h"

#include <string.h>

#include "api/rest/handlers.h"
#include "api/rest/parameter_tables.h"
#include "base/memory.h"

enum { SMALL_BODY = 1024 * 1024, LARGE_BODY = 16 * 1024 * 1024 };

#define TAKES(table) .parameters = table, .parameters_size = sizeof(struct table)
#define JSON(table, limit) .body = BODY_JSON, .body_limit = (limit), TAKES(table)

/* clang-format off */
const struct route routes[] = {
    {"GET", "/", NEED_NOTHING, .handle = handle_page},
    {"GET", "/app.js", NEED_NOTHING, .handle = handle_page},
    {"GET", "/app.css", NEED_NOTHING, .handle = handle_page},
    {"GET", "/favicon.svg", NEED_NOTHING, .handle = handle_page},

    {"GET", "/api/v1/health", NEED_NOTHING, .handle = handle_health,
     .summary = "Whether the server answers."},
    {"GET", "/api/v1/openapi.json", NEED_NOTHING, .handle = handle_openapi,
     .summary = "This description."},
    {"GET", "/api/v1/status", NEED_USER, .data = DATA_EXISTING, .handle = handle_status,
     .summary = "Documents by state; for a System-Admin also collections and sources."},
    {"GET", "/metrics", NEED_ADMIN, .data = DATA_EXISTING, .handle = handle_metrics, .is_metrics = true,
     .summary = "Counters in the text format of Prometheus."},
    {"GET", "/api/v1/config", NEED_ADMIN, .handle = handle_config,
     .summary = "Every setting, its value and where it comes from."},
    {"POST", "/api/v1/verify", NEED_ADMIN, .data = DATA_EXISTING, JSON(verify_parameters, SMALL_BODY),
     .handle = handle_verify, .summary = "Checks what is stored, and repairs it if asked.",
     .action = "repair"},

    {"GET", "/api/v1/tasks", NEED_ADMIN, .handle = handle_tasks,
     .summary = "Long calls under way (verify, eval, the removal of a source) and how far they are."},

    {"POST", "/api/v1/search", NEED_USER, .data = DATA_EXISTING, JSON(search_parameters, SMALL_BODY),
     .other_members = search_other_members, .handle = handle_search,
     .summary = "Passages that answer a query, best first."},

    {"GET", "/api/v1/documents", NEED_USER, .data = DATA_EXISTING, TAKES(documents_parameters),
     .handle = handle_documents, .summary = "The documents that the caller may read, page by page."},
    {"POST", "/api/v1/documents", NEED_USER, .data = DATA_EXISTING, .body = BODY_UPLOAD, TAKES(upload_parameters),
     .handle = handle_document_upload,
     .summary = "Brings documents: files, and the fields title, metadata (JSON), workspace.",
     .action = "document.upload"},
    {"GET", "/api/v1/documents/{id}", NEED_USER, .data = DATA_EXISTING, .handle = handle_document,
     .summary = "One document, by its number or file_id."},
    {"DELETE", "/api/v1/documents/{id}", NEED_USER, .data = DATA_EXISTING, .handle = handle_document_remove,
     .summary = "Removes a document for good.",
     .action = "document.remove"},
    {"GET", "/api/v1/documents/{id}/chunks", NEED_USER, .data = DATA_EXISTING, TAKES(chunks_parameters),
     .handle = handle_chunks, .summary = "Its chunks and their places, page by page."},
    {"GET", "/api/v1/documents/{id}/text", NEED_USER, .data = DATA_EXISTING, TAKES(text_parameters),
     .handle = handle_text,
     .summary = "Its text, as extracted; ranges of chunks are bytes of it. The header Text-Range says which came: "
                "'start=0, end=80, size=1200'."},
    {"GET", "/api/v1/documents/{id}/content", NEED_LINK, .data = DATA_EXISTING, TAKES(content_parameters),
     .handle = handle_content, .summary = "The original."},
    {"POST", "/api/v1/documents/{id}/link", NEED_USER, .data = DATA_EXISTING, .handle = handle_content_link,
     .summary = "A link to the original that a browser can open for five minutes without the token."},

    {"POST", "/api/v1/indexing/trigger", NEED_ADMIN, .data = DATA_CREATED, JSON(index_parameters, SMALL_BODY),
     .handle = handle_index, .summary = "Starts an indexing run over the configured sources.",
     .action = "run.start"},
    {"POST", "/api/v1/indexing/retry", NEED_ADMIN, .data = DATA_EXISTING, JSON(retry_parameters, SMALL_BODY),
     .handle = handle_retry, .summary = "Tries again what has failed.",
     .action = "run.retry"},
    {"GET", "/api/v1/indexing/status", NEED_ADMIN, .data = DATA_EXISTING, .handle = handle_index_status,
     .summary = "The run under way, or the last one."},
    {"POST", "/api/v1/indexing/cancel", NEED_ADMIN, .data = DATA_EXISTING, .handle = handle_index_cancel,
     .summary = "Stops the run under way; what was indexed stays.",
     .action = "run.cancel"},

    {"GET", "/api/v1/sources", NEED_ADMIN, .data = DATA_EXISTING, .handle = handle_sources,
     .summary = "Where documents come from, with the options kept for it and what became of its files."},
    {"DELETE", "/api/v1/sources/{id}", NEED_ADMIN, .data = DATA_EXISTING, TAKES(source_remove_parameters),
     .handle = handle_source_remove,
     .summary = "Forgets a source and removes its documents for good; its files stay.",
     .action = "source.remove"},

    {"GET", "/api/v1/models", NEED_ADMIN, .handle = handle_models,
     .summary = "The embedding models known by name, and which of them are here."},
    {"POST", "/api/v1/models/pull", NEED_ADMIN, JSON(model_parameters, SMALL_BODY), .handle = handle_model_pull,
     .summary = "Starts to fetch a model; only the person at the server's machine may say where from."},
    {"GET", "/api/v1/models/pull", NEED_ADMIN, .handle = handle_model_pull_status,
     .summary = "How far fetching a model has got."},
    {"DELETE", "/api/v1/models/pull", NEED_ADMIN, .handle = handle_model_pull_cancel,
     .summary = "Stops fetching a model; what has come is kept for the next time."},
    {"POST", "/api/v1/models/check", NEED_ADMIN, JSON(model_parameters, SMALL_BODY), .handle = handle_model_check,
     .summary = "Compares a model's files with their pinned hashes."},
    {"POST", "/api/v1/embed", NEED_USER, JSON(embed_parameters, LARGE_BODY), .handle = handle_embed,
     .summary = "Vectors for texts; for no texts, what the model is."},

    {"GET", "/api/v1/tokens", NEED_ADMIN, .data = DATA_EXISTING, .handle = handle_tokens,
     .summary = "The access tokens that were made, without their secrets."},
    {"POST", "/api/v1/tokens", NEED_ADMIN, .data = DATA_EXISTING, JSON(token_parameters, SMALL_BODY),
     .handle = handle_token_create, .summary = "Makes an access token of the caller; only this answer shows it.",
     .action = "token.create"},
    {"DELETE", "/api/v1/tokens/{id}", NEED_ADMIN, .data = DATA_EXISTING, .handle = handle_token_revoke,
     .summary = "Revokes a token: from now on it is refused.",
     .action = "token.revoke"},

    {"GET", "/api/v1/audit", NEED_ADMIN, .data = DATA_EXISTING, TAKES(audit_parameters), .handle = handle_audit,
     .summary = "Who changed what, newest first, page by page."},

    {"POST", "/api/v1/extract", NEED_OWNER, JSON(extract_parameters, SMALL_BODY), .handle = handle_extract,
     .summary = "What would be extracted from a file; nothing is stored."},
    {"POST", "/api/v1/eval", NEED_OWNER, JSON(eval_parameters, SMALL_BODY), .handle = handle_eval,
     .summary = "Relevance on a judged collection in the BEIR layout."},
};
/* clang-format on */
const size_t route_count = COUNT_OF(routes);

/* Whether `path` has the form of `pattern`; {id} stands for one segment. */
static bool matches(const char *pattern, struct str path, struct str *ret_id)
{
    const char *hole = strstr(pattern, "{id}");
    if (!hole)
        return str_is(path, pattern);
    const size_t before = (size_t)(hole - pattern);
    const char *after = hole + 4;
    if (path.size <= before || memcmp(path.data, pattern, before) != 0)
        return false;
    const struct str rest = str_slice(path, before, path.size);
    const size_t end = str_find(rest, '/');
    *ret_id = str_slice(rest, 0, end);
    return end > 0 && str_is(str_slice(rest, end, rest.size), after);
}

const struct route *route_find(struct str method, struct str path, struct arena *arena, struct str *ret_id,
                               const char **ret_methods)
{
    const char *methods = "";
    for (size_t i = 0; i < route_count; i++) {
        struct str id = STR_EMPTY;
        if (!matches(routes[i].path, path, &id))
            continue;
        if (str_is(method, routes[i].method)) {
            *ret_id = id;
            *ret_methods = "";
            return &routes[i];
        }
        methods = arena_printf(arena, "%s%s%s%s", methods, *methods ? ", " : "", routes[i].method,
                               strcmp(routes[i].method, "GET") == 0 ? ", HEAD" : "");
    }
    *ret_methods = methods;
    return NULL;
}
