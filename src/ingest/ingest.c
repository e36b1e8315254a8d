#include "ingest/ingest.h"

#include <stdlib.h>

#include "base/log.h"
#include "ingest/blobs.h"
#include "ingest/engine.h"
#include "records/bootstrap.h"
#include "records/source.h"

/* Set while a process has the data open: found set at opening, it tells of one that was killed. */
#define OPEN_MARK "open"

static ibid_code set_mark(struct ingest_host *host, const char *value, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(host->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(cursor_set(transaction, UPLOAD_SOURCE_ID, STR(OPEN_MARK), str_from(value), err));
    return transaction_commit(transaction_take(&transaction), err);
}

/* What a killed process left behind. */
static ibid_code end_interrupted(struct ingest_host *host, bool *ret_killed, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = NULL;
    int64_t count;
    struct str mark;
    TRY(transaction_begin(host->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(cursor_get(transaction, UPLOAD_SOURCE_ID, STR(OPEN_MARK), &arena, &mark, err));
    TRY(run_end_interrupted(transaction, &count, err));
    TRY(document_reset_interrupted(transaction, &count, err));
    *ret_killed = mark.size > 0;
    return transaction_commit(transaction_take(&transaction), err);
}

static ibid_code start(struct ingest *ingest, bool killed, ibid_error *err)
{
    if (killed)
        TRY(ingest_drop_orphans(ingest, err));
    TRY(set_mark(ingest->host, "1", err));
    ingest->marked = true;
    return uploads_resume(ingest->uploads, err);
}

ibid_code ingest_open(struct ingest_host *host, struct ingest **ret, ibid_error *err)
{
    bool killed;
    TRY(end_interrupted(host, &killed, err));
    struct ingest *ingest = xcalloc(1, sizeof *ingest);
    ingest->host = host;
    /* One upload after the other must not keep those waiting who look for bytes of no document. */
    pthread_rwlockattr_t writers_first;
    pthread_rwlockattr_init(&writers_first);
    pthread_rwlockattr_setkind_np(&writers_first, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&ingest->uploading, &writers_first);
    pthread_rwlockattr_destroy(&writers_first);
    pthread_mutex_init(&ingest->lock, NULL);
    condition_init(&ingest->ended);
    ingest->uploads = uploads_new(ingest);
    const ibid_code code = start(ingest, killed, err);
    if (code != IBID_OK) {
        ingest_close(ingest);
        return code;
    }
    *ret = ingest;
    return IBID_OK;
}

void ingest_close(struct ingest *ingest)
{
    if (!ingest)
        return;
    ingest_cancel(ingest);
    ingest_wait(ingest, 0);
    uploads_free(ingest->uploads);
    if (ingest->joinable)
        pthread_join(ingest->thread, NULL);
    /* Where the mark cannot be taken away, the next opening looks in vain. */
    ibid_error error;
    if (ingest->marked && set_mark(ingest->host, "", &error) != IBID_OK)
        log_warning("the data folder was not closed in order: %s", error.message);
    job_free(ingest->job);
    pthread_rwlock_destroy(&ingest->uploading);
    pthread_mutex_destroy(&ingest->lock);
    pthread_cond_destroy(&ingest->ended);
    free(ingest);
}
