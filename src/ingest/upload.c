#include "ingest/upload.h"

#include <time.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"
#include "ingest/blobs.h"
#include "ingest/compare.h"
#include "ingest/engine.h"
#include "records/bootstrap.h"

enum {
    NAME_LIMIT = 255,
    NAMESAKE_LIMIT = 1000,
};

static ibid_code check_name(struct str name, ibid_error *err)
{
    if (name.size == 0 || name.size > NAME_LIMIT)
        return fail(err, IBID_EINVAL, "a document's name has 1 to %d bytes", NAME_LIMIT);
    bool plain = utf8_is_valid(name) && !str_is(name, ".") && !str_is(name, "..");
    for (size_t i = 0; i < name.size; i++)
        plain &= (unsigned char)name.data[i] >= ' ' && name.data[i] != '/' && name.data[i] != 0x7F;
    return plain ? IBID_OK : fail(err, IBID_EINVAL, "this is not the name of a file");
}

/* The metadata with the title, which is kept there: what a person says goes before what the document says. */
static ibid_code collect_metadata(const struct ingest_upload *upload, struct arena *arena, struct str *ret,
                                  ibid_error *err)
{
    AUTO_JSON *object = NULL;
    TRY(json_parse(upload->metadata.size ? upload->metadata : STR("{}"), &object, err));
    if (!json_is_object(object))
        return fail(err, IBID_EINVAL, "metadata is a JSON object");
    if (upload->title.size)
        json_set_str(object, "title", upload->title);
    AUTO_BUFFER text = BUFFER(1024 * 1024);
    json_append(&text, object);
    TRY(buffer_check(&text, "metadata", err));
    *ret = arena_str(arena, buffer_str(&text));
    return IBID_OK;
}

/* What an upload came to. */
struct noted {
    int64_t id;
    bool replaced;
    struct ledger_line before; /* without its texts; all zero when there was none */
};

/* Whether the document is one of those that the caller may change; as if it were not there if not. */
static ibid_code may_replace(struct transaction *transaction, const struct principal *principal, int64_t id,
                             struct arena *arena, bool *ret, ibid_error *err)
{
    struct document document;
    TRY(document_load(transaction, id, arena, &document, err));
    const ibid_code code = access_check_change(transaction, principal, &document, err);
    *ret = code == IBID_OK;
    return code == IBID_ENOTFOUND || code == IBID_EDENIED ? IBID_OK : code;
}

/* "7/notes.txt", "7/2/notes.txt", "7/3/notes.txt"... */
static struct str upload_key(const struct ingest_upload *upload, unsigned number, struct arena *arena)
{
    const long long workspace = (long long)upload->workspace_id;
    return str_from(number == 1
                        ? arena_printf(arena, "%lld/%.*s", workspace, STR_ARG(upload->name))
                        : arena_printf(arena, "%lld/%u/%.*s", workspace, number, STR_ARG(upload->name)));
}

/* The key of the first document of that name in the workspace that the caller may change, else the first key
 * that is free: whether documents that the caller may not see are there, or were, changes nothing. Keys are
 * given in order and the ledger keeps those of deleted documents, so beyond one that it does not know there
 * are none. *ret_id 0: a new document. */
static ibid_code choose_key(struct transaction *transaction, const struct ingest_upload *upload,
                            struct arena *arena, struct str *ret, int64_t *ret_id, ibid_error *err)
{
    struct str free_key = STR_EMPTY;
    bool used = true;
    for (unsigned number = 1; number <= NAMESAKE_LIMIT && used; number++) {
        const struct str key = upload_key(upload, number, arena);
        struct ledger_line line;
        int64_t id;
        bool may = false;
        TRY(document_find_key(transaction, UPLOAD_SOURCE_ID, key, &id, err));
        if (id != 0)
            TRY(may_replace(transaction, upload->principal, id, arena, &may, err));
        else
            TRY(ledger_find(transaction, UPLOAD_SOURCE_ID, key, arena, &line, &used, err));
        if (may) {
            *ret = key;
            *ret_id = id;
            return IBID_OK;
        }
        if (id == 0 && free_key.size == 0)
            free_key = key;
    }
    if (free_key.size == 0)
        return fail(err, IBID_ETOOBIG, "a workspace holds at most %d documents of one name", NAMESAKE_LIMIT);
    *ret = free_key;
    *ret_id = 0;
    return IBID_OK;
}

static ibid_code note_upload(struct ingest *ingest, const struct ingest_upload *upload,
                             const struct sha256 *sha256, int64_t size, struct noted *noted, ibid_error *err)
{
    bool known;
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = NULL;
    struct document draft = {
        .file_id = STR_EMPTY,
        .source_id = UPLOAD_SOURCE_ID,
        .document_title = upload->title.size ? upload->title : upload->name,
        .source_url = STR_EMPTY,
        .path = upload->name,
        .author = STR_EMPTY,
        .media_type = upload->media_type,
        .language = STR_EMPTY,
        .size = size,
        .has_sha256 = true,
        .sha256 = *sha256,
        .blob = true,
        .version = STR_EMPTY,
        .owner_id = upload->principal->user_id,
        .home_workspace_id = upload->workspace_id,
    };
    TRY(collect_metadata(upload, &arena, &draft.metadata, err));
    TRY(transaction_begin(ingest->host->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(choose_key(transaction, upload, &arena, &draft.external_key, &noted->id, err));
    TRY(ledger_find(transaction, UPLOAD_SOURCE_ID, draft.external_key, &arena, &noted->before, &known, err));
    noted->replaced = noted->id != 0;
    if (noted->replaced)
        TRY(document_set_metadata(transaction, noted->id, draft.metadata, err));
    else
        TRY(document_create(transaction, &draft, &noted->id, err));
    TRY(document_end(transaction, noted->id, PROCESSING_PENDING, "", STR_EMPTY, err));
    const struct ledger_line line = {.source_id = UPLOAD_SOURCE_ID,
                                     .external_key = draft.external_key,
                                     .document_id = noted->id,
                                     .outcome = LEDGER_SEEN,
                                     .stage = STR_EMPTY,
                                     .reason = STR_EMPTY,
                                     .size = size,
                                     .modified_at = clock_now_us(),
                                     .version = STR_EMPTY,
                                     .media_type = upload->media_type,
                                     .has_sha256 = true,
                                     .sha256 = *sha256,
                                     .extractor = STR_EMPTY,
                                     .chunker = STR_EMPTY,
                                     .embedder = STR_EMPTY};
    TRY(ledger_put(transaction, &line, err));
    return transaction_commit(transaction_take(&transaction), err);
}

ibid_code ingest_upload(struct ingest *ingest, const struct ingest_upload *upload, int64_t *ret_document_id,
                        bool *ret_replaced, ibid_error *err)
{
    struct sha256 sha256;
    int64_t size;
    struct noted noted = {0};
    TRY(check_name(upload->name, err));
    TRY(uploads_check_room(ingest->uploads, err));
    pthread_rwlock_rdlock(&ingest->uploading);
    ibid_code code =
        blob_store_put(ingest->host->blobs, upload->fd, ingest->host->max_file_size, &sha256, &size, err);
    const bool kept = code == IBID_OK;
    if (kept)
        code = note_upload(ingest, upload, &sha256, size, &noted, err);
    pthread_rwlock_unlock(&ingest->uploading);
    if (kept && code != IBID_OK)
        ingest_drop_blob(ingest, &sha256);
    TRY(code);
    uploads_add(ingest->uploads, noted.id);
    /* Other bytes may have been waiting, which nobody looks at any more. */
    if (noted.before.has_sha256)
        ingest_drop_blob(ingest, &noted.before.sha256);
    *ret_document_id = noted.id;
    *ret_replaced = noted.replaced;
    return IBID_OK;
}

/* ---- one document ------------------------------------------------------------------------------------- */

/* The ledger remembers that there is something to do, whatever happens to this process. */
static ibid_code note_retry(struct transaction *transaction, int64_t document_id, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct document document;
    struct ledger_line line;
    bool found;
    TRY(document_load(transaction, document_id, &arena, &document, err));
    TRY(ledger_find(transaction, document.source_id, document.external_key, &arena, &line, &found, err));
    if (found) {
        line.outcome = LEDGER_SEEN;
        TRY(ledger_put(transaction, &line, err));
    }
    return document_end(transaction, document_id, PROCESSING_PENDING, "", STR_EMPTY, err);
}

ibid_code ingest_retry(struct ingest *ingest, int64_t document_id, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    TRY(uploads_check_room(ingest->uploads, err));
    TRY(transaction_begin(ingest->host->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(note_retry(transaction, document_id, err));
    TRY(transaction_commit(transaction_take(&transaction), err));
    uploads_add(ingest->uploads, document_id);
    return IBID_OK;
}

ibid_code ingest_wait_document(struct ingest *ingest, int64_t document_id, int64_t deadline_us,
                               ibid_error *err)
{
    for (int64_t pause_us = 2000;; pause_us = pause_us < 50000 ? pause_us * 2 : pause_us) {
        AUTO_ARENA arena = ARENA_INIT;
        AUTO_TRANSACTION *transaction = NULL;
        struct document document;
        TRY(transaction_begin(ingest->host->metadata, TRANSACTION_READ, &transaction, err));
        TRY(document_load(transaction, document_id, &arena, &document, err));
        transaction_rollback(transaction_take(&transaction));
        if (document.processing_state != PROCESSING_PENDING &&
            document.processing_state != PROCESSING_IN_PROGRESS)
            return IBID_OK;
        if (clock_monotonic_us() >= deadline_us)
            return fail(err, IBID_ETIMEOUT, "document %lld is still %s", (long long)document_id,
                        processing_state_string(document.processing_state));
        nanosleep(&(struct timespec){.tv_nsec = pause_us * 1000}, NULL);
    }
}

ibid_code ingest_remove(struct ingest *ingest, int64_t document_id, struct removal *ret, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct removal removal;
    TRY(transaction_begin(ingest->host->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(document_remove(transaction, document_id, REASON_REMOVED_BY_REQUEST, &removal, err));
    TRY(transaction_commit(transaction_take(&transaction), err));
    ingest->host->committed(ingest->host);
    for (size_t i = 0; i < removal.blob_count; i++)
        ingest_drop_blob(ingest, &removal.blobs[i]);
    *ret = removal;
    return IBID_OK;
}
