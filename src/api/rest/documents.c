#include "api/rest/handlers.h"
#include "api/rest/parameter_tables.h"
#include "api/rest/render.h"
#include "api/rest/upload.h"
#include "base/clock.h"
#include "base/metric.h"
#include "base/utf8.h"
#include "ingest/upload.h"
#include "records/bootstrap.h"

/* ---- one document ---- */

ibid_code call_document(struct rest_call *call, struct transaction *transaction, const struct scope *scope,
                        struct str id, struct document *ret, ibid_error *err)
{
    long long number = 0;
    const bool is_number = id.size > 0 && id.data[0] >= '0' && id.data[0] <= '9';
    if (!is_number || !str_to_int64(id, &number)) {
        int64_t found = 0;
        TRY(document_find_file_id(transaction, id, &found, err));
        number = found;
    }
    const ibid_code code =
        number != 0 ? document_read(transaction, scope, number, call->arena, ret, err) : IBID_ENOTFOUND;
    return code == IBID_ENOTFOUND ? fail(err, code, "there is no document '%.*s'", STR_ARG(id)) : code;
}

ibid_code handle_document(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct scope scope;
    struct document document;
    struct revision revision;
    TRY(call_read(call, &transaction, &scope, err));
    TRY(call_document(call, transaction, &scope, call->id, &document, err));
    if (document.revision_id != 0)
        TRY(revision_load(transaction, document.revision_id, call->arena, &revision, err));
    json_t *object = render_document(&document);
    if (document.revision_id != 0) {
        json_set_int(object, "text_size", revision.text_size);
        json_set_int(object, "page_count", revision.page_count);
        json_set_str(object, "extractor", revision.extractor);
    }
    reply_json(call, reply, 200, object);
    return IBID_OK;
}

ibid_code handle_document_remove(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct scope scope;
    struct document document;
    struct removal removal;
    TRY(call_read(call, &transaction, &scope, err));
    TRY(call_document(call, transaction, &scope, call->id, &document, err));
    TRY(access_check_change(transaction, &call->principal, &document, err));
    transaction_rollback(transaction_take(&transaction));
    TRY(ingest_remove(instance_ingest(call->instance), document.id, &removal, err));
    call_changed(call, "document", document.id);
    json_t *receipt = json_object();
    json_set_int(receipt, "id", document.id);
    json_set_str(receipt, "file_id", document.file_id);
    json_set_bool(receipt, "deleted", true);
    json_set_int(receipt, "chunks", removal.rows);
    /* Nobody finds it any more; the words in the keyword index go with its next clean-up. */
    json_set_string(receipt, "erasure", "pending");
    reply_json(call, reply, 200, receipt);
    return IBID_OK;
}

/* ---- listing ---- */

/* A cursor is the last id of the page before, in a form that nobody is tempted to compute with. */
static const char *make_cursor(int64_t id, struct arena *arena)
{
    return arena_printf(arena, "d%llx", (unsigned long long)id);
}

static ibid_code read_cursor(const char *text, int64_t *ret, ibid_error *err)
{
    char *end = NULL;
    *ret = 0;
    if (!text || !*text)
        return IBID_OK;
    if (text[0] == 'd' && text[1] != '-' && text[1] != '+' && text[1] != ' ')
        *ret = (int64_t)(strtoull(text + 1, &end, 16) & INT64_MAX);
    if (!end || *end)
        return fail(err, IBID_EINVAL, "'%s' is no cursor of a list of documents", text);
    return IBID_OK;
}

ibid_code handle_documents(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    const struct documents_parameters *parameters = call->parameters;
    struct document_query query = {
        .limit = (size_t)parameters->limit,
        .source_id = parameters->source_id,
        .collection_id = parameters->collection_id,
        .processing_state = parameters->state - 1,
        .title_contains = str_from(parameters->title),
    };
    TRY(read_cursor(parameters->cursor, &query.after_id, err));
    AUTO_TRANSACTION *transaction = NULL;
    struct scope scope;
    struct document *documents;
    size_t count;
    bool more;
    int64_t counts[PROCESSING_STATE_COUNT];
    TRY(call_read(call, &transaction, &scope, err));
    TRY(document_list(transaction, &scope, &query, call->arena, &documents, &count, &more, err));
    TRY(document_count(transaction, &scope, counts, err));
    json_t *answer = json_object(), *array = json_array(), *totals = json_object();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, render_document(&documents[i]));
    for (size_t i = 0; i < PROCESSING_STATE_COUNT; i++)
        json_set_int(totals, processing_state_string((enum processing_state)i), counts[i]);
    json_set(answer, "documents", array);
    json_set_string(answer, "next_cursor", more ? make_cursor(documents[count - 1].id, call->arena) : NULL);
    json_set(answer, "counts", totals);
    reply_json(call, reply, 200, answer);
    return IBID_OK;
}

ibid_code handle_chunks(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    enum { BOX_LIMIT = 200 };
    const struct chunks_parameters *parameters = call->parameters;
    AUTO_TRANSACTION *transaction = NULL;
    struct scope scope;
    struct document document;
    struct chunk_record *chunks;
    size_t count;
    int64_t total;
    TRY(call_read(call, &transaction, &scope, err));
    TRY(call_document(call, transaction, &scope, call->id, &document, err));
    TRY(chunk_record_list(transaction, document.id, parameters->collection_id, parameters->offset,
                          (size_t)parameters->limit, call->arena, &chunks, &count, &total, err));
    json_t *answer = json_object(), *array = json_array();
    for (size_t i = 0; i < count; i++) {
        struct text_box *boxes = NULL;
        size_t box_count = 0;
        if (parameters->boxes && chunks[i].origin == CHUNK_EXTRACTED) {
            const ibid_code code =
                revision_boxes(transaction, chunks[i].revision_id, chunks[i].start, chunks[i].end, BOX_LIMIT,
                               call->arena, &boxes, &box_count, err);
            if (code != IBID_OK) {
                json_decref(answer);
                json_decref(array);
                return code;
            }
        }
        json_array_append_new(array, render_chunk(&chunks[i], boxes, box_count));
    }
    json_set_int(answer, "document_id", document.id);
    json_set_str(answer, "document_title", document.document_title);
    json_set(answer, "chunks", array);
    json_set_int(answer, "total", total);
    json_set_int(answer, "offset", parameters->offset);
    reply_json(call, reply, 200, answer);
    return IBID_OK;
}

/* Part of a document's text. */
struct text_part {
    struct str text;
    int64_t start, end; /* bytes of the whole text, which has `size` */
    int64_t size;
};

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* The bytes asked for, both ends moved to the first byte of the character they stand in: parts that follow
 * one another still do. */
static ibid_code read_part(struct rest_call *call, struct transaction *transaction, int64_t revision_id,
                           struct text_part *ret, ibid_error *err)
{
    enum { CHARACTER_REST = 3 }; /* bytes of a character beside one of its own */
    const struct text_parameters *asked = call->parameters;
    struct revision revision;
    struct str around;
    TRY(revision_load(transaction, revision_id, call->arena, &revision, err));
    const int64_t size = revision.text_size, start = clamp(asked->start, 0, size);
    const int64_t end = clamp(asked->end, start, size);
    const int64_t from = clamp(start - CHARACTER_REST, 0, size), to = clamp(end + CHARACTER_REST, 0, size);
    TRY(revision_text(transaction, revision_id, (uint32_t)from, (uint32_t)to, call->arena, &around, err));
    const size_t first = utf8_floor(around, (size_t)(start - from));
    const size_t last = utf8_floor(around, (size_t)(end - from));
    *ret =
        (struct text_part){str_slice(around, first, last), from + (int64_t)first, from + (int64_t)last, size};
    return IBID_OK;
}

ibid_code handle_text(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct scope scope;
    struct document document;
    struct text_part part;
    TRY(call_read(call, &transaction, &scope, err));
    TRY(call_document(call, transaction, &scope, call->id, &document, err));
    if (document.revision_id == 0)
        return fail(err, IBID_ENOTFOUND, "document '%.*s' has no text (yet)", STR_ARG(call->id));
    TRY(read_part(call, transaction, document.revision_id, &part, err));
    reply->text = part.text;
    http_reply_header(call->http, reply, "Content-Type", STR("text/plain; charset=utf-8"));
    http_reply_header(
        call->http, reply, "Text-Range",
        str_from(arena_printf(call->arena, "start=%lld, end=%lld, size=%lld", (long long)part.start,
                              (long long)part.end, (long long)part.size)));
    reply_lock_down(call->http, reply);
    return IBID_OK;
}

/* ---- upload ---- */

static ibid_code find_workspace(struct rest_call *call, int64_t *ret, ibid_error *err)
{
    const struct str name = upload_field(call->upload, "workspace");
    AUTO_TRANSACTION *transaction = NULL;
    struct workspace workspace = {.id = DEFAULT_WORKSPACE_ID};
    ibid_code code = IBID_OK;
    TRY(transaction_begin(instance_metadata(call->instance), TRANSACTION_READ, &transaction, err));
    if (name.size > 0)
        code = workspace_load_by_name(transaction, name, call->arena, &workspace, err);
    if (code == IBID_OK)
        code = access_check_role(transaction, &call->principal, workspace.id, ROLE_EDITOR, err);
    if (code == IBID_ENOTFOUND && name.size > 0) /* one answer, whether it is missing or not for the caller */
        return fail(err, code, "there is no workspace '%.*s'", STR_ARG(str_slice(name, 0, 100)));
    TRY(code);
    *ret = workspace.id;
    return IBID_OK;
}

static ibid_code check_metadata(struct str text, ibid_error *err)
{
    AUTO_JSON *value = NULL;
    if (text.size == 0)
        return IBID_OK;
    const ibid_code code = json_parse(text, &value, err);
    if (code != IBID_OK)
        error_context(err, "the field 'metadata'");
    else if (!json_is_object(value))
        return fail(err, IBID_EINVAL, "the field 'metadata' must be a JSON object");
    return code;
}

struct uploaded {
    int64_t id;
    bool replaced;
};

static ibid_code bring_files(struct rest_call *call, struct uploaded *uploaded, ibid_error *err)
{
    size_t count;
    const struct upload_file *files = upload_files(call->upload, &count);
    struct ingest_upload upload = {
        .title = count == 1 ? upload_field(call->upload, "title") : STR_EMPTY,
        .metadata = upload_field(call->upload, "metadata"),
        .principal = &call->principal,
    };
    TRY(find_workspace(call, &upload.workspace_id, err));
    TRY(check_metadata(upload.metadata, err));
    for (size_t i = 0; i < count; i++) {
        upload.fd = files[i].fd;
        upload.name = files[i].name;
        upload.media_type = files[i].media_type;
        const ibid_code code = ingest_upload(instance_ingest(call->instance), &upload, &uploaded[i].id,
                                             &uploaded[i].replaced, err);
        if (code != IBID_OK) {
            error_context(err, "'%.*s'", STR_ARG(files[i].name));
            return code;
        }
        metric_count(COUNTER_UPLOADS);
        call_changed(call, uploaded[i].replaced ? "replaced document" : "document", uploaded[i].id);
    }
    return IBID_OK;
}

/* Waits for them all together at most so long; one that is not done then is answered as it stands. */
static ibid_code wait_for(struct rest_call *call, const struct uploaded *uploaded, size_t count,
                          ibid_error *err)
{
    const struct upload_parameters *parameters = call->parameters;
    if (parameters->wait == 0)
        return IBID_OK;
    const int64_t deadline = clock_monotonic_us() + parameters->wait;
    for (size_t i = 0; i < count; i++) {
        const ibid_code code =
            ingest_wait_document(instance_ingest(call->instance), uploaded[i].id, deadline, err);
        if (code != IBID_OK && code != IBID_ETIMEOUT)
            return code;
    }
    /* Who searches next finds them; what keeps the index from following is no failure of theirs. */
    const ibid_code ignored = instance_index_settled(call->instance, deadline, NULL);
    (void)ignored;
    return IBID_OK;
}

ibid_code handle_document_upload(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    static const char *const fields[] = {"title", "metadata", "workspace", NULL};
    size_t count;
    upload_files(call->upload, &count);
    TRY(upload_check_fields(call->upload, fields, err));
    if (count == 0)
        return fail(err, IBID_EINVAL, "the upload holds no file: send it as a part with a file name");
    struct uploaded *uploaded = ARENA_ARRAY(call->arena, struct uploaded, count);
    TRY(bring_files(call, uploaded, err));
    TRY(wait_for(call, uploaded, count, err));
    AUTO_TRANSACTION *transaction = NULL;
    struct scope scope;
    TRY(call_read(call, &transaction, &scope, err));
    AUTO_JSON *array = json_array();
    for (size_t i = 0; i < count; i++) {
        struct document document;
        TRY(document_read(transaction, &scope, uploaded[i].id, call->arena, &document, err));
        json_t *object = render_document(&document);
        json_set_bool(object, "replaced", uploaded[i].replaced);
        json_array_append_new(array, object);
    }
    json_t *answer = json_object();
    json_set(answer, "documents", json_incref(array));
    reply_json(call, reply, 201, answer);
    return IBID_OK;
}
