/* The stages and what lies between them:
 *
 *     work -> workers (fetch, extract, chunk) -> embedding -> publisher
 *
 * A document that ends early (unchanged, moved, skipped, failed) goes from its worker straight to the
 * publisher, so that every outcome is committed in one place. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "ingest/progress.h"
#include "ingest/task.h"

struct embedding;

struct pipeline {
    struct ingest *ingest;
    struct ingest_host *host; /* of ingest */
    struct progress *progress;
    int64_t run_id; /* 0: not a run over sources */
    struct extract_pool *extract_pool;
    _Atomic bool cancel;
    _Atomic bool closing; /* nothing more comes in */
    _Atomic bool yield;   /* single documents wait: long work that can be taken up again breaks off */

    struct queue *work;       /* struct work * */
    struct queue *publishing; /* struct task * */
    struct embedding *embedding;

    pthread_t *workers;
    unsigned worker_count;
    pthread_t publisher;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t idle;
    int64_t in_flight;  /* works and tasks not finished */
    ibid_error failure; /* what stopped everything: code IBID_OK while nothing did */
    int64_t *started;   /* documents that workers have begun and no transaction has noted yet */
    size_t started_count, started_capacity;
    int64_t *interrupted; /* documents that workers have begun and that were dropped */
    size_t interrupted_count, interrupted_capacity;
    int64_t *moving; /* documents that a task is about to move */
    size_t moving_count, moving_capacity;
};

/* Starts the threads. `ingest` and `progress` are borrowed. IBID_EUNAVAILABLE without an extract pool. */
ibid_code pipeline_open(struct ingest *ingest, struct progress *progress, int64_t run_id,
                        struct pipeline **ret, ibid_error *err) MUST_CHECK;
/* Waits for what is in flight (which ends soon after a cancel), then for the threads. Documents that were
 * begun and then dropped are pending again; where that cannot be noted, the next opening of the data does it.
 * NULL is fine. */
void pipeline_close(struct pipeline *take_pipeline);

/* Waits for room. What comes in after a cancel is dropped. */
void pipeline_submit(struct pipeline *pipeline, struct work *take_work);
/* The same for texts of rows that have no vector, prepared for the embedder (embedding.h). */
void pipeline_submit_rows(struct pipeline *pipeline, struct task *take_task, struct embedder *embedder);
/* Waits until everything submitted is finished. */
void pipeline_drain(struct pipeline *pipeline);
/* IBID_OK, or what stopped the pipeline. */
ibid_code pipeline_failure(struct pipeline *pipeline, ibid_error *err) MUST_CHECK;

/* ---- for the stages --------------------------------------------------------------------------- */

/* Stops everything: the disk is full, the store is broken. The first one counts. */
void pipeline_fail(struct pipeline *pipeline, const ibid_error *error);
/* Works and tasks that are not finished. */
int64_t pipeline_in_flight(struct pipeline *pipeline);
bool pipeline_is_stopping(struct pipeline *pipeline);
/* The task is committed, or dropped for good. Frees it. */
void pipeline_finish(struct pipeline *pipeline, struct task *take_task);
/* Extraction begins: the document is shown as in progress with the next commit. */
void pipeline_started(struct pipeline *pipeline, struct task *task);
bool pipeline_has_started(struct pipeline *pipeline);
/* Takes the ids noted since the last call; free() them. */
int64_t *pipeline_take_started(struct pipeline *pipeline, size_t *ret_count);
/* Only one task moves a document: false when another one does. */
bool pipeline_claim_move(struct pipeline *pipeline, int64_t document_id);

/* reader.c: fetches, compares, extracts and cuts one document; task->fate says what came of it. False
 * when it was interrupted and is to be dropped. */
bool read_document(struct pipeline *pipeline, struct task *task);
/* publisher.c: commits tasks in groups until the queue is closed. */
void *publish_tasks(void *pipeline);
