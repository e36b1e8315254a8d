#include "ingest/upload.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/utf8.h"
#include "ingest/compare.h"
#include "ingest/engine.h"
#include "records/bootstrap.h"

enum {
    NAME_LIMIT = 255,
    RESUME_BATCH = 256,
};

/* Documents that wait to be read one by one, and the thread that does it. */
struct uploads {
    struct ingest *ingest;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t came;
    int64_t *waiting; /* document ids */
    size_t count, capacity;
    bool closed;
    struct pipeline *pipeline; /* while there is work */
};

/* ---- the thread -------------------------------------------------------------------------------------- */

static int64_t *take_waiting(struct uploads *uploads, bool wait, size_t *ret_count)
{
    pthread_mutex_lock(&uploads->lock);
    while (wait && uploads->count == 0 && !uploads->closed)
        pthread_cond_wait(&uploads->came, &uploads->lock);
    int64_t *ids = uploads->closed ? NULL : uploads->waiting;
    *ret_count = uploads->closed ? 0 : uploads->count;
    if (ids) {
        uploads->waiting = NULL;
        uploads->count = uploads->capacity = 0;
    }
    pthread_mutex_unlock(&uploads->lock);
    return ids;
}

/* The sources of the documents in one round. */
struct origins {
    struct origin **items;
    size_t count, capacity;
};

static ibid_code find_origin(struct ingest_host *host, struct origins *origins, int64_t source_id,
                             struct origin **ret, ibid_error *err)
{
    for (size_t i = 0; i < origins->count; i++)
        if (origins->items[i]->source.id == source_id) {
            *ret = origins->items[i];
            return IBID_OK;
        }
    TRY(origin_open(host, source_id, ret, err));
    GROW(origins->items, origins->count, origins->capacity);
    origins->items[origins->count++] = *ret;
    return IBID_OK;
}

static ibid_code submit(struct pipeline *pipeline, struct origins *origins, int64_t document_id,
                        ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = NULL;
    struct document document;
    TRY(transaction_begin(pipeline->host->metadata, TRANSACTION_READ, &transaction, err));
    const ibid_code code = document_load(transaction, document_id, &arena, &document, err);
    transaction_rollback(transaction_take(&transaction));
    if (code != IBID_OK)
        return code == IBID_ENOTFOUND ? IBID_OK : code;
    struct origin *origin;
    TRY(find_origin(pipeline->host, origins, document.source_id, &origin, err));
    struct work *work = work_new(origin, document.external_key, document_id);
    work->size = document.size;
    work->force = true;
    pipeline_submit(pipeline, work);
    return IBID_OK;
}

static ibid_code work_off(struct uploads *uploads, struct pipeline *pipeline, int64_t *take_ids, size_t count,
                          ibid_error *err)
{
    struct origins origins = {0};
    ibid_code code = IBID_OK;
    while (take_ids && code == IBID_OK) {
        for (size_t i = 0; i < count && code == IBID_OK; i++)
            code = submit(pipeline, &origins, take_ids[i], err);
        free(take_ids);
        pipeline_drain(pipeline);
        take_ids = code == IBID_OK ? take_waiting(uploads, false, &count) : NULL;
    }
    pipeline_drain(pipeline);
    for (size_t i = 0; i < origins.count; i++)
        origin_close(origins.items[i]);
    free(origins.items);
    return code == IBID_OK ? pipeline_failure(pipeline, err) : code;
}

static void set_pipeline(struct uploads *uploads, struct pipeline *pipeline)
{
    pthread_mutex_lock(&uploads->lock);
    uploads->pipeline = pipeline;
    if (pipeline && uploads->closed)
        atomic_store(&pipeline->cancel, true);
    pthread_mutex_unlock(&uploads->lock);
}

/* Threads of the pipeline live only while there is work. */
static void *run_uploads(void *argument)
{
    struct uploads *uploads = argument;
    size_t count;
    int64_t *ids;
    while ((ids = take_waiting(uploads, true, &count))) {
        struct progress progress;
        struct pipeline *pipeline;
        ibid_error error = {0};
        progress_init(&progress);
        ibid_code code = pipeline_open(uploads->ingest->host, &progress, 0, &pipeline, &error);
        if (code == IBID_OK) {
            set_pipeline(uploads, pipeline);
            code = work_off(uploads, pipeline, ids, count, &error);
            set_pipeline(uploads, NULL);
            pipeline_close(pipeline);
        } else {
            free(ids);
        }
        progress_release(&progress);
        if (code != IBID_OK)
            log_error("uploads cannot be indexed now, they stay pending: %s", error.message);
    }
    return NULL;
}

static void enqueue(struct uploads *uploads, int64_t document_id)
{
    pthread_mutex_lock(&uploads->lock);
    GROW(uploads->waiting, uploads->count, uploads->capacity);
    uploads->waiting[uploads->count++] = document_id;
    if (!uploads->started) {
        thread_start(&uploads->thread, "ibid-uploads", run_uploads, uploads);
        uploads->started = true;
    }
    pthread_cond_signal(&uploads->came);
    pthread_mutex_unlock(&uploads->lock);
}

struct uploads *uploads_new(struct ingest *ingest)
{
    struct uploads *uploads = xcalloc(1, sizeof *uploads);
    uploads->ingest = ingest;
    pthread_mutex_init(&uploads->lock, NULL);
    pthread_cond_init(&uploads->came, NULL);
    return uploads;
}

void uploads_free(struct uploads *uploads)
{
    if (!uploads)
        return;
    pthread_mutex_lock(&uploads->lock);
    uploads->closed = true;
    if (uploads->pipeline)
        atomic_store(&uploads->pipeline->cancel, true);
    pthread_cond_signal(&uploads->came);
    pthread_mutex_unlock(&uploads->lock);
    if (uploads->started)
        pthread_join(uploads->thread, NULL);
    free(uploads->waiting);
    pthread_mutex_destroy(&uploads->lock);
    pthread_cond_destroy(&uploads->came);
    free(uploads);
}

ibid_code uploads_resume(struct uploads *uploads, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(uploads->ingest->host->metadata, TRANSACTION_READ, &transaction, err));
    struct str after = STR_EMPTY;
    for (;;) {
        struct ledger_line *lines;
        size_t count;
        TRY(ledger_list(transaction, UPLOAD_SOURCE_ID, LEDGER_SEEN, after, RESUME_BATCH, &arena, &lines,
                        &count, err));
        for (size_t i = 0; i < count; i++)
            enqueue(uploads, lines[i].document_id);
        if (count < RESUME_BATCH)
            return IBID_OK;
        after = lines[count - 1].external_key;
    }
}

/* ---- upload ------------------------------------------------------------------------------------------- */

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

static ibid_code note_upload(struct ingest *ingest, const struct ingest_upload *upload,
                             const struct sha256 *sha256, int64_t size, int64_t *ret_id, bool *ret_replaced,
                             ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = NULL;
    const struct str key =
        str_from(arena_printf(&arena, "%lld/%.*s", (long long)upload->workspace_id, STR_ARG(upload->name)));
    struct document draft = {
        .file_id = STR_EMPTY,
        .source_id = UPLOAD_SOURCE_ID,
        .external_key = key,
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
        .owner_id = upload->owner_id,
        .home_workspace_id = upload->workspace_id,
    };
    TRY(collect_metadata(upload, &arena, &draft.metadata, err));
    TRY(transaction_begin(ingest->host->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(document_find_key(transaction, UPLOAD_SOURCE_ID, key, ret_id, err));
    *ret_replaced = *ret_id != 0;
    if (*ret_replaced)
        TRY(document_set_metadata(transaction, *ret_id, draft.metadata, err));
    else
        TRY(document_create(transaction, &draft, ret_id, err));
    TRY(document_end(transaction, *ret_id, PROCESSING_PENDING, "", STR_EMPTY, err));
    const struct ledger_line line = {.source_id = UPLOAD_SOURCE_ID,
                                     .external_key = key,
                                     .document_id = *ret_id,
                                     .outcome = LEDGER_SEEN,
                                     .stage = STR_EMPTY,
                                     .reason = STR_EMPTY,
                                     .size = size,
                                     .modified_at = clock_now_us(),
                                     .version = STR_EMPTY,
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
    TRY(check_name(upload->name, err));
    pthread_rwlock_rdlock(&ingest->uploading);
    ibid_code code =
        blob_store_put(ingest->host->blobs, upload->fd, ingest->host->max_file_size, &sha256, &size, err);
    if (code == IBID_OK)
        code = note_upload(ingest, upload, &sha256, size, ret_document_id, ret_replaced, err);
    pthread_rwlock_unlock(&ingest->uploading);
    TRY(code);
    enqueue(ingest->uploads, *ret_document_id);
    return IBID_OK;
}

/* ---- one document ----------------------------------------------------------------------------------------
 */

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
    TRY(transaction_begin(ingest->host->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(note_retry(transaction, document_id, err));
    TRY(transaction_commit(transaction_take(&transaction), err));
    enqueue(ingest->uploads, document_id);
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
    if (removal.blob_orphaned)
        TRY(blob_store_remove(ingest->host->blobs, &removal.sha256, err));
    *ret = removal;
    return IBID_OK;
}
