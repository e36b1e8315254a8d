#include "ingest/ingest.h"

#include <stdlib.h>

#include "ingest/engine.h"

/* What a killed process left behind. */
static ibid_code end_interrupted(struct ingest_host *host, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    int64_t count;
    TRY(transaction_begin(host->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(run_end_interrupted(transaction, &count, err));
    TRY(document_reset_interrupted(transaction, &count, err));
    return transaction_commit(transaction_take(&transaction), err);
}

ibid_code ingest_open(struct ingest_host *host, struct ingest **ret, ibid_error *err)
{
    TRY(end_interrupted(host, err));
    struct ingest *ingest = xcalloc(1, sizeof *ingest);
    ingest->host = host;
    pthread_rwlock_init(&ingest->uploading, NULL);
    pthread_mutex_init(&ingest->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&ingest->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    ingest->uploads = uploads_new(ingest);
    const ibid_code code = uploads_resume(ingest->uploads, err);
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
    job_free(ingest->job);
    pthread_rwlock_destroy(&ingest->uploading);
    pthread_mutex_destroy(&ingest->lock);
    pthread_cond_destroy(&ingest->ended);
    free(ingest);
}
