/* struct ingest itself, for the files of ingest/ alone. */
#pragma once

#include <pthread.h>

#include "ingest/pipeline.h"

/* A run under way or over. */
struct job {
    struct progress progress;
    struct ingest *ingest;
    int64_t run_id;
    enum ingest_kind kind;
    bool force;
    int64_t *source_ids;
    size_t source_count;
    _Atomic bool cancel;
};

struct uploads;

struct ingest {
    struct ingest_host *host;
    /* Read: bytes are put that no document names yet; write: such bytes are looked for. Nobody takes it
     * within a transaction or under `lock`. */
    pthread_rwlock_t uploading;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t ended;
    struct job *job;      /* the last run; NULL before the first */
    struct job *starting; /* a run that is not in the records yet: no other one may start */
    bool running;
    bool removing; /* a source: no run may start */
    bool joinable; /* `thread` has not been joined */
    pthread_t thread;
    struct pipeline *pipeline; /* of the run under way, for a cancel to reach it; NULL between */
    struct uploads *uploads;
    bool marked; /* the records say that the data is open */
};

/* run.c; NULL is fine. */
void job_free(struct job *take_job);

/* run.c: whether a run is under way. */
bool ingest_is_running(struct ingest *ingest);

/* run.c; under the lock: IBID_ECONFLICT while there is a run, or a source is being removed. */
ibid_code ingest_check_idle(const struct ingest *ingest, ibid_error *err) MUST_CHECK;

/* source_find.c: a source that lies in one of the job's goes into it, so that no file is two documents. The
 * job loses those that are gone then. */
ibid_code absorb_sources(struct job *job, ibid_error *err) MUST_CHECK;

/* upload_thread.c: single documents that wait, and the thread that reads them. */
struct uploads *uploads_new(struct ingest *ingest) __attribute__((returns_nonnull));
/* Takes up the uploads that wait in the ledger. */
ibid_code uploads_resume(struct uploads *uploads, ibid_error *err) MUST_CHECK;
/* A document, noted as pending in the records, is to be read. */
void uploads_add(struct uploads *uploads, int64_t document_id);
/* IBID_EBUSY while as many as may wait. Those that are let in at the same time may go over the limit by as
 * many as they are. */
ibid_code uploads_check_room(struct uploads *uploads, ibid_error *err) MUST_CHECK;
/* Cancels what is under way. NULL is fine. */
void uploads_free(struct uploads *take_uploads);
