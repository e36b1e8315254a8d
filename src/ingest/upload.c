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
#include "ingest/backlog.h"
#include "ingest/blobs.h"
#include "ingest/compare.h"
#include "ingest/engine.h"
#include "records/bootstrap.h"

enum {
    NAME_LIMIT = 255,
    NAMESAKE_LIMIT = 1000,
    RESUME_BATCH = 256,
    PAUSE_US = 1000000, /* before what failed is tried again; doubles with each failure */
    PAUSE_MAX_US = 60000000,
};

/* Documents that wait to be read one by one, and the thread that does it in rounds: it takes all that wait,
 * and while it works on them takes those that come in. */
struct uploads {
    struct ingest *ingest;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t came;
    int64_t *waiting; /* document ids; one that waits for several reasons is there several times */
    size_t count, capacity;
    size_t taken; /* ids in the thread's hands */
    bool closed;
    struct pipeline *pipeline;          /* while there is work */
    int64_t not_before_us;              /* after a failed round: no other one until then */
    int64_t vectors_at_us;              /* when to try embedding what was published without; 0: nothing was */
    int64_t round_pause, vectors_pause; /* after the next failure */
};

/* ---- the thread -------------------------------------------------------------------------------------- */

/* What one round is about. */
struct round {
    int64_t *ids;
    size_t count;
    bool vectors; /* embed what was published without vectors */
};

static int compare_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Ascending, each once: what waits for several reasons is read once, and never by two threads at a time. */
static size_t sort_ids(int64_t *ids, size_t count)
{
    size_t kept = 0;
    if (count)
        qsort(ids, count, sizeof *ids, compare_ids);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || ids[i] != ids[kept - 1])
            ids[kept++] = ids[i];
    return kept;
}

static void take_waiting_locked(struct uploads *uploads, struct round *round)
{
    free(round->ids);
    round->ids = uploads->waiting;
    round->count = uploads->taken = sort_ids(uploads->waiting, uploads->count);
    uploads->waiting = NULL;
    uploads->count = uploads->capacity = 0;
}

/* Waits for something to do; false once that is over. */
static bool take_round(struct uploads *uploads, struct round *ret)
{
    *ret = (struct round){0};
    pthread_mutex_lock(&uploads->lock);
    while (!uploads->closed) {
        const int64_t now = clock_monotonic_us();
        const int64_t begin = uploads->count ? uploads->not_before_us : INT64_MAX;
        const int64_t vectors = uploads->vectors_at_us ? uploads->vectors_at_us : INT64_MAX;
        if (now >= begin || now >= vectors) {
            ret->vectors = now >= vectors;
            if (now >= begin)
                take_waiting_locked(uploads, ret);
            break;
        }
        const int64_t next = begin < vectors ? begin : vectors;
        condition_wait_until(&uploads->came, &uploads->lock, next == INT64_MAX ? 0 : next);
    }
    const bool more = !uploads->closed;
    pthread_mutex_unlock(&uploads->lock);
    return more;
}

static int64_t doubled(int64_t pause)
{
    return pause * 2 < PAUSE_MAX_US ? pause * 2 : PAUSE_MAX_US;
}

/* What a failed round was about waits again; those of its documents that are done will be passed over. */
static void end_round(struct uploads *uploads, struct round *round, bool failed, bool vectors_missing)
{
    pthread_mutex_lock(&uploads->lock);
    uploads->taken = 0;
    for (size_t i = 0; i < round->count && failed; i++) {
        GROW(uploads->waiting, uploads->count, uploads->capacity);
        uploads->waiting[uploads->count++] = round->ids[i];
    }
    const int64_t now = clock_monotonic_us();
    uploads->not_before_us = failed ? now + uploads->round_pause : 0;
    uploads->round_pause = failed ? doubled(uploads->round_pause) : PAUSE_US;
    if (!vectors_missing) {
        uploads->vectors_at_us = 0;
        uploads->vectors_pause = PAUSE_US;
    } else if (uploads->vectors_at_us == 0 || round->vectors) {
        uploads->vectors_at_us = now + uploads->vectors_pause;
        uploads->vectors_pause = doubled(uploads->vectors_pause);
    }
    pthread_mutex_unlock(&uploads->lock);
    free(round->ids);
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

/* A document whose source cannot be opened must not keep the others waiting. */
static ibid_code refuse(struct ingest_host *host, int64_t document_id, const ibid_error *error,
                        ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(host->metadata, TRANSACTION_WRITE, &transaction, err));
    const ibid_code code = document_end(transaction, document_id, PROCESSING_FAILED,
                                        ingest_stage_string(STAGE_FETCH), str_from(error->message), err);
    if (code != IBID_OK)
        return code == IBID_ENOTFOUND ? IBID_OK : code;
    return transaction_commit(transaction_take(&transaction), err);
}

static ibid_code submit(struct pipeline *pipeline, struct origins *origins, int64_t document_id,
                        ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = NULL;
    struct document document;
    TRY(transaction_begin(pipeline->host->metadata, TRANSACTION_READ, &transaction, err));
    ibid_code code = document_load(transaction, document_id, &arena, &document, err);
    transaction_rollback(transaction_take(&transaction));
    if (code != IBID_OK)
        return code == IBID_ENOTFOUND ? IBID_OK : code;
    if (document.processing_state != PROCESSING_PENDING &&
        document.processing_state != PROCESSING_IN_PROGRESS)
        return IBID_OK;
    struct origin *origin;
    ibid_error error = {0};
    code = find_origin(pipeline->host, origins, document.source_id, &origin, &error);
    if (code != IBID_OK && !ibid_code_is_retryable(code))
        return refuse(pipeline->host, document_id, &error, err);
    if (code != IBID_OK)
        return fail(err, code, "%s", error.message);
    struct work *work = work_new(origin, document.external_key, document_id);
    work->size = document.size;
    work->force = true;
    pipeline_submit(pipeline, work);
    return IBID_OK;
}

static ibid_code read_documents(struct uploads *uploads, struct pipeline *pipeline, struct origins *origins,
                                struct round *round, ibid_error *err)
{
    while (round->count > 0) {
        for (size_t i = 0; i < round->count; i++)
            TRY(submit(pipeline, origins, round->ids[i], err));
        pipeline_drain(pipeline);
        TRY(pipeline_failure(pipeline, err));
        pthread_mutex_lock(&uploads->lock);
        take_waiting_locked(uploads, round);
        pthread_mutex_unlock(&uploads->lock);
    }
    return IBID_OK;
}

static ibid_code embed_rest(struct uploads *uploads, struct pipeline *pipeline, struct origins *origins,
                            ibid_error *err)
{
    struct origin *origin;
    pthread_mutex_lock(&uploads->lock);
    atomic_store(&pipeline->yield, uploads->count > 0);
    pthread_mutex_unlock(&uploads->lock);
    TRY(find_origin(pipeline->host, origins, UPLOAD_SOURCE_ID, &origin, err));
    TRY(embed_backlog(pipeline, &origin->recipe, err));
    pipeline_drain(pipeline);
    return pipeline_failure(pipeline, err);
}

static ibid_code work_off(struct uploads *uploads, struct pipeline *pipeline, struct round *round, bool embed,
                          ibid_error *err)
{
    struct origins origins = {0};
    ibid_code code = read_documents(uploads, pipeline, &origins, round, err);
    pipeline_drain(pipeline);
    if (code == IBID_OK && embed)
        code = embed_rest(uploads, pipeline, &origins, err);
    for (size_t i = 0; i < origins.count; i++)
        origin_close(origins.items[i]);
    free(origins.items);
    return code;
}

static void set_pipeline(struct uploads *uploads, struct pipeline *pipeline)
{
    pthread_mutex_lock(&uploads->lock);
    uploads->pipeline = pipeline;
    if (pipeline && uploads->closed)
        atomic_store(&pipeline->cancel, true);
    pthread_mutex_unlock(&uploads->lock);
}

static ibid_code work_round(struct uploads *uploads, struct round *round, bool embed, ibid_error *err)
{
    struct progress progress;
    struct pipeline *pipeline;
    progress_init(&progress);
    ibid_code code = pipeline_open(uploads->ingest, &progress, 0, &pipeline, err);
    if (code == IBID_OK) {
        set_pipeline(uploads, pipeline);
        code = work_off(uploads, pipeline, round, embed, err);
        set_pipeline(uploads, NULL);
        pipeline_close(pipeline);
    }
    progress_release(&progress);
    return code;
}

/* Whether rows of the uploads' collection wait for a vector. */
static bool lack_vectors(struct ingest_host *host)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = NULL;
    struct source source;
    bool lack = false;
    return transaction_begin(host->metadata, TRANSACTION_READ, &transaction, NULL) == IBID_OK &&
           source_load(transaction, UPLOAD_SOURCE_ID, &arena, &source, NULL) == IBID_OK &&
           has_backlog(transaction, source.collection_id, &lack, NULL) == IBID_OK && lack;
}

/* Threads of the pipeline live only while there is work. A run embeds what lacks vectors at its own end. */
static void *run_uploads(void *argument)
{
    struct uploads *uploads = argument;
    struct ingest_host *host = uploads->ingest->host;
    struct round round;
    while (take_round(uploads, &round)) {
        ibid_error error = {0};
        ibid_code code = IBID_OK;
        const bool embed = round.vectors && !ingest_is_running(uploads->ingest) && host->embedder(host);
        if (round.count || embed)
            code = work_round(uploads, &round, embed, &error);
        if (code != IBID_OK)
            log_error("uploads cannot be indexed now, they are tried again: %s", error.message);
        end_round(uploads, &round, code != IBID_OK, lack_vectors(host));
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
    if (uploads->pipeline)
        atomic_store(&uploads->pipeline->yield, true);
    pthread_cond_signal(&uploads->came);
    pthread_mutex_unlock(&uploads->lock);
}

/* Those that are let in at the same time may go over the limit by as many as they are. */
static ibid_code check_room(struct uploads *uploads, ibid_error *err)
{
    enum { RETRY_S = 10 };
    const int64_t limit = uploads->ingest->host->settings->max_waiting;
    pthread_mutex_lock(&uploads->lock);
    const size_t count = uploads->count + uploads->taken;
    pthread_mutex_unlock(&uploads->lock);
    if ((int64_t)count < limit)
        return IBID_OK;
    const ibid_code code =
        fail(err, IBID_EBUSY,
             "%zu documents wait to be indexed, the limit is %lld (ingest.max_waiting): try again later",
             count, (long long)limit);
    if (err)
        err->retry_after_s = RETRY_S;
    return code;
}

struct uploads *uploads_new(struct ingest *ingest)
{
    struct uploads *uploads = xcalloc(1, sizeof *uploads);
    uploads->ingest = ingest;
    pthread_mutex_init(&uploads->lock, NULL);
    condition_init(&uploads->came);
    uploads->round_pause = uploads->vectors_pause = PAUSE_US;
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

/* The key of the first document of that name in the workspace that the caller may change, else the first key
 * that is free: "7/notes.txt", "7/2/notes.txt", ... *ret_id 0: a new document. */
static ibid_code choose_key(struct transaction *transaction, const struct ingest_upload *upload,
                            struct arena *arena, struct str *ret, int64_t *ret_id, ibid_error *err)
{
    const long long workspace = (long long)upload->workspace_id;
    for (unsigned number = 1; number <= NAMESAKE_LIMIT; number++) {
        const char *key = number == 1
                              ? arena_printf(arena, "%lld/%.*s", workspace, STR_ARG(upload->name))
                              : arena_printf(arena, "%lld/%u/%.*s", workspace, number, STR_ARG(upload->name));
        int64_t id;
        bool chosen = true;
        TRY(document_find_key(transaction, UPLOAD_SOURCE_ID, str_from(key), &id, err));
        if (id != 0)
            TRY(may_replace(transaction, upload->principal, id, arena, &chosen, err));
        if (chosen) {
            *ret = str_from(key);
            *ret_id = id;
            return IBID_OK;
        }
    }
    return fail(err, IBID_ETOOBIG, "a workspace holds at most %d documents of one name", NAMESAKE_LIMIT);
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
    TRY(check_room(ingest->uploads, err));
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
    enqueue(ingest->uploads, noted.id);
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
    TRY(check_room(ingest->uploads, err));
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
    for (size_t i = 0; i < removal.blob_count; i++)
        ingest_drop_blob(ingest, &removal.blobs[i]);
    *ret = removal;
    return IBID_OK;
}
