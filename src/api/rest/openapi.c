/* The description of the API, made from the same tables that answer requests. */
#include <string.h>

#include "api/rest/handlers.h"
#include "base/memory.h"

/* ---- what a route takes ---- */

static json_t *required_members(const struct option *table)
{
    json_t *array = json_array();
    for (; table && table->name; table++)
        if (table->flags & OPTION_REQUIRED)
            json_array_append_new(array, json_string(table->name));
    return array;
}

static json_t *describe_body(const struct route *route)
{
    json_t *properties = parameters_schema(route->parameters, true);
    for (const char *const *name = route->other_members; name && *name; name++)
        json_set(properties, *name, json_object());
    json_t *schema = json_pack("{ss,so,so,sb}", "type", "object", "properties", properties, "required",
                               required_members(route->parameters), "additionalProperties", 0);
    return json_pack("{s{s{so}}}", "content", "application/json", "schema", schema);
}

static json_t *describe_upload(void)
{
    static const struct {
        const char *name, *description;
    } fields[] = {
        {"title", "Instead of the document's own title, if there is one file."},
        {"metadata", "A JSON object: kept with the documents, to filter by."},
        {"workspace", "The name of the workspace that they come into; without it, the default one."},
    };
    json_t *properties = json_object();
    json_set(properties, "file",
             json_pack("{ss,s{ss,ss},ss}", "type", "array", "items", "type", "string", "contentMediaType",
                       "application/octet-stream", "description",
                       "Parts with a file name, each a document."));
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        json_set(properties, fields[i].name,
                 json_pack("{ss,ss}", "type", "string", "description", fields[i].description));
    return json_pack("{s{s{s{ss,so,s[s]}}}}", "content", "multipart/form-data", "schema", "type", "object",
                     "properties", properties, "required", "file");
}

static json_t *describe_query(const struct route *route)
{
    AUTO_JSON *properties = parameters_schema(route->parameters, false);
    json_t *list = json_array(), *schema;
    const char *name;
    if (strstr(route->path, "{id}"))
        json_array_append_new(list, json_pack("{ss,ss,sb,s{ss}}", "name", "id", "in", "path", "required", 1,
                                              "schema", "type", "string"));
    json_object_foreach(properties, name, schema)
        json_array_append_new(list, json_pack("{ss,ss,sO}", "name", name, "in", "query", "schema", schema));
    return list;
}

/* ---- routes ---- */

/* "get_documents_id_chunks" */
static json_t *operation_id(const char *method, const char *path)
{
    static const char prefix[] = "/api/v1";
    AUTO_BUFFER out = BUFFER(1024);
    if (strncmp(path, prefix, sizeof prefix - 1) == 0)
        path += sizeof prefix - 1;
    buffer_append_string(&out, method);
    for (; *path; path++)
        if (*path != '{' && *path != '}')
            buffer_append_byte(&out, *path == '/' || *path == '.' ? '_' : *path);
    return json_stringn(out.data, out.size);
}

static json_t *describe_route(const struct route *route, const char *method)
{
    json_t *operation = json_object();
    json_set(operation, "operationId", operation_id(method, route->path));
    json_set_string(operation, "summary", route->summary);
    if (route->body == BODY_JSON) {
        json_set(operation, "requestBody", describe_body(route));
    } else {
        json_set(operation, "parameters", describe_query(route));
        if (route->body == BODY_UPLOAD)
            json_set(operation, "requestBody", describe_upload());
    }
    json_set(operation, "responses",
             json_pack("{s{ss},s{ss}}", "2XX", "description", "Done.", "default", "$ref",
                       "#/components/responses/error"));
    if (route->need == NEED_NOTHING)
        json_set(operation, "security", json_array());
    return operation;
}

static json_t *describe_paths(void)
{
    json_t *paths = json_object();
    for (size_t i = 0; i < route_count; i++) {
        if (!routes[i].summary) /* the page */
            continue;
        json_t *path = json_object_get(paths, routes[i].path);
        if (!path) {
            path = json_object();
            json_set(paths, routes[i].path, path);
        }
        AUTO_FREE char *method = xstrdup(routes[i].method);
        for (char *byte = method; *byte; byte++)
            *byte |= 0x20;
        json_set(path, method, describe_route(&routes[i], method));
    }
    return paths;
}

static json_t *describe_error(void)
{
    json_t *properties = json_object();
    json_set(properties, "code", json_pack("{ss}", "type", "string"));
    json_set(properties, "message", json_pack("{ss}", "type", "string"));
    json_set(properties, "retryable", json_pack("{ss}", "type", "boolean"));
    json_set(properties, "retry_after", json_pack("{ss,ss}", "type", "integer", "description", "Seconds."));
    json_t *error =
        json_pack("{ss,so,s[ss]}", "type", "object", "properties", properties, "required", "code", "message");
    json_t *schema =
        json_pack("{ss,s{so},s[s]}", "type", "object", "properties", "error", error, "required", "error");
    return json_pack("{ss,s{s{so}}}", "description", "What went wrong.", "content", "application/json",
                     "schema", schema);
}

ibid_code handle_openapi(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    json_t *answer = json_object();
    json_set_string(answer, "openapi", "3.1.0");
    json_set(answer, "info", json_pack("{ss,ss}", "title", "ibid", "version", IBID_VERSION));
    json_set(answer, "security", json_pack("[{s[]}]", "token"));
    json_set(answer, "components",
             json_pack("{s{s{ss,ss}},s{so}}", "securitySchemes", "token", "type", "http", "scheme", "bearer",
                       "responses", "error", describe_error()));
    json_set(answer, "paths", describe_paths());
    reply_json(call, reply, 200, answer);
    return IBID_OK;
}
