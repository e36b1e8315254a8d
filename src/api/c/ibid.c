#include "ibid/ibid.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/door.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "net/url.h"

extern char **environ;

struct ibid_index {
    struct rest_settings settings;
    struct door *door;
};

/* A caller built with an older header passes a shorter struct: what it does not know keeps its default. */
#define COPY_OPTIONS(ret, given)                                                                \
    do {                                                                                        \
        if (given)                                                                              \
            memcpy(&(ret), (given), (given)->size < sizeof(ret) ? (given)->size : sizeof(ret)); \
    } while (0)

const char *ibid_version(void)
{
    return IBID_VERSION;
}

void ibid_free(void *pointer)
{
    free(pointer);
}

/* ---- opening ---- */

static ibid_code load_settings(struct ibid_index *index, const ibid_open_options *options, ibid_error *err)
{
    struct settings *table = instance_settings_table(index->settings.instance);
    TRY(instance_data_folder(options->folder, &index->settings.folder, err));
    TRY(instance_settings_load(index->settings.instance, index->settings.folder, options->config, environ,
                               err));
    for (const char *const *setting = options->settings; setting && *setting; setting++)
        TRY(settings_set_pair(table, str_from(*setting), "program", err));
    return IBID_OK;
}

ibid_code ibid_open(const ibid_open_options *given, ibid_index **ret, ibid_error *err)
{
    ibid_open_options options = IBID_OPEN_OPTIONS_INIT;
    COPY_OPTIONS(options, given);
    struct ibid_index *index = xcalloc(1, sizeof *index);
    rest_settings_init(&index->settings);
    const ibid_code code = load_settings(index, &options, err);
    if (code != IBID_OK) {
        ibid_close(index);
        return code;
    }
    index->door = door_new(&index->settings, !options.is_private, NULL);
    *ret = index;
    return IBID_OK;
}

void ibid_close(ibid_index *index)
{
    if (!index)
        return;
    door_free(index->door);
    rest_settings_release(&index->settings);
    free(index);
}

/* ---- reading answers ---- */

/* Strings of a JSON value live as long as it. */
static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static int64_t int_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static double real_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* ---- indexing ---- */

static json_t *patterns_to_json(const char *const *patterns)
{
    json_t *array = json_array();
    for (; patterns && *patterns; patterns++)
        json_array_append_new(array, json_string(*patterns));
    return array;
}

static ibid_code paths_to_json(const char *const *paths, size_t count, json_t *array, ibid_error *err)
{
    for (size_t i = 0; i < count; i++) {
        ibid_error error = {0};
        AUTO_FREE char *path = path_resolve(paths[i], &error);
        if (!path) {
            if (err)
                *err = error;
            return error.code;
        }
        json_t *text = json_string(path);
        if (!text)
            return fail(err, IBID_EINVAL, "the path '%s' is no UTF-8 text", paths[i]);
        json_array_append_new(array, text);
    }
    return IBID_OK;
}

static bool wants_to_stop(const ibid_index_options *options, const json_t *status)
{
    const json_t *run = json_object_get(status, "run");
    const ibid_progress progress = {
        .done = int_of(run, "done"),
        .total = int_of(run, "total"),
        .documents_per_second = real_of(run, "documents_per_second"),
        .current = text_of(run, "current"),
    };
    return options->progress && options->progress(&progress, options->context) != 0;
}

static ibid_code wait_for_end(ibid_index *index, const ibid_index_options *options, json_t **ret,
                              ibid_error *err)
{
    bool stopped = false;
    for (;;) {
        AUTO_JSON *status = NULL, *answer = NULL;
        TRY(door_call(index->door, "GET", "/api/v1/indexing/status", NULL, &status, err));
        if (strcmp(text_of(status, "status"), "RUNNING") != 0) {
            *ret = json_incref(status);
            return stopped ? fail(err, IBID_ECANCELED, "the run was stopped: what was indexed stays")
                           : IBID_OK;
        }
        if (!stopped && wants_to_stop(options, status)) {
            const ibid_code code =
                door_call(index->door, "POST", "/api/v1/indexing/cancel", NULL, &answer, err);
            if (code != IBID_OK && code != IBID_ECONFLICT) /* it has just ended */
                return code;
            stopped = true;
        }
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
}

static ibid_index_report read_report(const json_t *status)
{
    const json_t *run = json_object_get(status, "run");
    return (ibid_index_report){
        .indexed = int_of(run, "indexed"),
        .unchanged = int_of(run, "unchanged"),
        .moved = int_of(run, "moved"),
        .removed = int_of(run, "removed"),
        .skipped = int_of(run, "skipped"),
        .failed = int_of(run, "failed"),
        .chunks = int_of(run, "chunks"),
    };
}

ibid_code ibid_index_paths(ibid_index *index, const char *const *paths, size_t count,
                           const ibid_index_options *given, ibid_index_report *ret, ibid_error *err)
{
    ibid_index_options options = IBID_INDEX_OPTIONS_INIT;
    COPY_OPTIONS(options, given);
    AUTO_JSON *body = json_object(), *started = NULL, *status = NULL, *list = json_array();
    TRY(paths_to_json(paths, count, list, err));
    json_set(body, "paths", json_incref(list));
    json_set(body, "include", patterns_to_json(options.include));
    json_set(body, "exclude", patterns_to_json(options.exclude));
    json_set_bool(body, "force", options.force != 0);
    TRY(door_call(index->door, "POST", "/api/v1/indexing/trigger", body, &started, err));
    const ibid_code code = wait_for_end(index, &options, &status, err);
    if (ret && status)
        *ret = read_report(status);
    TRY(code);
    if (strcmp(text_of(status, "status"), "COMPLETED") != 0)
        return fail(err, IBID_EIO, "the run did not complete: %s", text_of(status, "message"));
    return IBID_OK;
}

/* ---- searching ---- */

struct ibid_results {
    json_t *answer; /* owns every string */
    struct arena arena;
    ibid_hit *hits;
    size_t count;
};

static void read_marks(const json_t *array, struct arena *arena, ibid_hit *hit)
{
    ibid_range *marks = ARENA_ARRAY(arena, ibid_range, json_array_size(array) + 1);
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *pair = json_array_get(array, i);
        marks[i] = (ibid_range){(uint32_t)json_integer_value(json_array_get(pair, 0)),
                                (uint32_t)json_integer_value(json_array_get(pair, 1))};
    }
    hit->marks = marks;
    hit->mark_count = json_array_size(array);
}

static void read_hit(const json_t *object, struct arena *arena, ibid_hit *hit)
{
    *hit = (ibid_hit){
        .score = real_of(object, "score"),
        .confidence = real_of(object, "confidence"),
        .confidence_band = text_of(object, "confidence_band"),
        .document_id = int_of(object, "document_id"),
        .file_id = text_of(object, "file_id"),
        .chunk_id = text_of(object, "chunk_id"),
        .document_title = text_of(object, "document_title"),
        .path = text_of(object, "path"),
        .source_url = text_of(object, "source_url"),
        .heading_path = text_of(object, "heading_path"),
        .page = (unsigned)int_of(object, "page"),
        .start = (uint32_t)int_of(object, "start"),
        .end = (uint32_t)int_of(object, "end"),
        .passage = text_of(object, "passage"),
        .text = text_of(object, "chunk_text"),
    };
    const json_t *last = json_object_get(object, "page_last");
    hit->page_last = last ? (unsigned)json_integer_value(last) : hit->page;
    read_marks(json_object_get(object, "marks"), arena, hit);
}

static json_t *search_body(const char *query, const ibid_search_options *options)
{
    static const char *const modes[] = {
        [IBID_HYBRID] = "hybrid", [IBID_VECTOR] = "vector", [IBID_KEYWORD] = "keyword"};
    json_t *body = json_object();
    if (query && *query)
        json_set_string(body, "query", query);
    json_set_string(body, "mode", (size_t)options->mode < COUNT_OF(modes) ? modes[options->mode] : "");
    json_set_string(body, "group_by", options->by_document ? "document" : "none");
    json_set_int(body, "top_k", options->top_k ? (int64_t)options->top_k : 10);
    json_set_int(body, "offset", (int64_t)options->offset);
    json_set_real(body, "score_threshold", options->score_threshold);
    if (options->passage_bytes)
        json_set_int(body, "passage_bytes", (int64_t)options->passage_bytes);
    if (options->filter)
        json_set_string(body, "filter", options->filter);
    return body;
}

ibid_code ibid_search(ibid_index *index, const char *query, const ibid_search_options *given,
                      ibid_results **ret, ibid_error *err)
{
    ibid_search_options options = IBID_SEARCH_OPTIONS_INIT;
    COPY_OPTIONS(options, given);
    AUTO_JSON *body = search_body(query, &options), *answer = NULL;
    TRY(door_call(index->door, "POST", "/api/v1/search", body, &answer, err));
    const json_t *hits = json_object_get(answer, "hits");
    struct ibid_results *results = xcalloc(1, sizeof *results);
    results->answer = json_incref(answer);
    results->count = json_array_size(hits);
    results->hits = ARENA_ARRAY(&results->arena, ibid_hit, results->count + 1);
    for (size_t i = 0; i < results->count; i++)
        read_hit(json_array_get(hits, i), &results->arena, &results->hits[i]);
    *ret = results;
    return IBID_OK;
}

size_t ibid_results_count(const ibid_results *results)
{
    return results->count;
}

const ibid_hit *ibid_results_hit(const ibid_results *results, size_t number)
{
    return number < results->count ? &results->hits[number] : NULL;
}

const char *ibid_results_remark(const ibid_results *results)
{
    return text_of(json_object_get(results->answer, "degraded"), "message");
}

void ibid_results_free(ibid_results *results)
{
    if (!results)
        return;
    json_decref(results->answer);
    arena_release(&results->arena);
    free(results);
}

/* ---- documents ---- */

struct ibid_documents {
    json_t *answer; /* owns every string */
    ibid_document *items;
    size_t count;
};

static void read_document(const json_t *object, ibid_document *document)
{
    *document = (ibid_document){
        .id = int_of(object, "id"),
        .file_id = text_of(object, "file_id"),
        .document_title = text_of(object, "document_title"),
        .path = text_of(object, "path"),
        .source = text_of(object, "source"),
        .media_type = text_of(object, "media_type"),
        .language = text_of(object, "language"),
        .processing_state = text_of(object, "processing_state"),
        .reason = text_of(object, "reason"),
        .size = int_of(object, "size"),
        .indexed_at = text_of(object, "indexed_at"),
    };
}

ibid_code ibid_documents_list(ibid_index *index, const ibid_list_options *given, ibid_documents **ret,
                              ibid_error *err)
{
    ibid_list_options options = IBID_LIST_OPTIONS_INIT;
    COPY_OPTIONS(options, given);
    AUTO_JSON *answer = NULL;
    AUTO_BUFFER target = BUFFER(64 * 1024);
    buffer_printf(&target, "/api/v1/documents?limit=%zu", options.limit ? options.limit : 100);
    const struct {
        const char *name, *value;
    } parameters[] = {{"state", options.state}, {"title", options.title}, {"cursor", options.cursor}};
    for (size_t i = 0; i < COUNT_OF(parameters); i++) {
        if (!parameters[i].value)
            continue;
        buffer_printf(&target, "&%s=", parameters[i].name);
        url_append_escaped(&target, str_from(parameters[i].value));
    }
    TRY(buffer_check(&target, "the request", err));
    TRY(door_call(index->door, "GET", target.data, NULL, &answer, err));
    const json_t *array = json_object_get(answer, "documents");
    struct ibid_documents *documents = xcalloc(1, sizeof *documents);
    documents->answer = json_incref(answer);
    documents->count = json_array_size(array);
    documents->items = xcalloc(documents->count + 1, sizeof *documents->items);
    for (size_t i = 0; i < documents->count; i++)
        read_document(json_array_get(array, i), &documents->items[i]);
    *ret = documents;
    return IBID_OK;
}

size_t ibid_documents_count(const ibid_documents *documents)
{
    return documents->count;
}

const ibid_document *ibid_documents_get(const ibid_documents *documents, size_t number)
{
    return number < documents->count ? &documents->items[number] : NULL;
}

const char *ibid_documents_cursor(const ibid_documents *documents)
{
    return json_string_value(json_object_get(documents->answer, "next_cursor"));
}

void ibid_documents_free(ibid_documents *documents)
{
    if (!documents)
        return;
    json_decref(documents->answer);
    free(documents->items);
    free(documents);
}

ibid_code ibid_document_remove(ibid_index *index, int64_t document_id, ibid_error *err)
{
    AUTO_JSON *answer = NULL;
    AUTO_FREE char *target = xasprintf("/api/v1/documents/%lld", (long long)document_id);
    return door_call(index->door, "DELETE", target, NULL, &answer, err);
}

/* ---- everything else ---- */

ibid_code ibid_request(ibid_index *index, const char *method, const char *target, const char *body,
                       char **ret_body, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct str answer;
    if (!target || target[0] != '/')
        return fail(err, IBID_EINVAL, "a target begins with '/'");
    TRY(door_text(index->door, method, target, str_from(body), &arena, &answer, err));
    *ret_body = xmemdup0(answer.data, answer.size);
    return IBID_OK;
}
