#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "ingest/backlog.h"
#include "ingest/engine.h"
#include "records/bootstrap.h"

enum {
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

void uploads_add(struct uploads *uploads, int64_t document_id)
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

ibid_code uploads_check_room(struct uploads *uploads, ibid_error *err)
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
            uploads_add(uploads, lines[i].document_id);
        if (count < RESUME_BATCH)
            return IBID_OK;
        after = lines[count - 1].external_key;
    }
}
