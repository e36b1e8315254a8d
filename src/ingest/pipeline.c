#include "ingest/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ingest/embedding.h"
#include "ingest/engine.h"

enum {
    WORK_WAITING = 16384, /* lines of work that may wait, each a hundred bytes and its key */
    TASKS_WAITING = 64,   /* tasks that wait to be published */
};

/* ---- what is in flight ---- */

static void enter(struct pipeline *pipeline)
{
    pthread_mutex_lock(&pipeline->lock);
    pipeline->in_flight++;
    pthread_mutex_unlock(&pipeline->lock);
}

static void leave(struct pipeline *pipeline)
{
    pthread_mutex_lock(&pipeline->lock);
    if (--pipeline->in_flight == 0)
        pthread_cond_broadcast(&pipeline->idle);
    pthread_mutex_unlock(&pipeline->lock);
}

void pipeline_drain(struct pipeline *pipeline)
{
    pthread_mutex_lock(&pipeline->lock);
    while (pipeline->in_flight > 0)
        pthread_cond_wait(&pipeline->idle, &pipeline->lock);
    pthread_mutex_unlock(&pipeline->lock);
}

void pipeline_finish(struct pipeline *pipeline, struct task *task)
{
    if (task->started && !task->committed) {
        pthread_mutex_lock(&pipeline->lock);
        GROW(pipeline->interrupted, pipeline->interrupted_count, pipeline->interrupted_capacity);
        pipeline->interrupted[pipeline->interrupted_count++] = task->work->document_id;
        pthread_mutex_unlock(&pipeline->lock);
    }
    task_free(task);
    leave(pipeline);
}

int64_t pipeline_in_flight(struct pipeline *pipeline)
{
    pthread_mutex_lock(&pipeline->lock);
    const int64_t count = pipeline->in_flight;
    pthread_mutex_unlock(&pipeline->lock);
    return count;
}

bool pipeline_is_stopping(struct pipeline *pipeline)
{
    return atomic_load(&pipeline->cancel);
}

void pipeline_fail(struct pipeline *pipeline, const ibid_error *error)
{
    pthread_mutex_lock(&pipeline->lock);
    if (pipeline->failure.code == IBID_OK)
        pipeline->failure = *error;
    pthread_mutex_unlock(&pipeline->lock);
    atomic_store(&pipeline->cancel, true);
}

ibid_code pipeline_failure(struct pipeline *pipeline, ibid_error *err)
{
    pthread_mutex_lock(&pipeline->lock);
    const ibid_error failure = pipeline->failure;
    pthread_mutex_unlock(&pipeline->lock);
    if (failure.code != IBID_OK && err)
        *err = failure;
    return failure.code;
}

/* ---- notes between the stages ---- */

static bool contains(const int64_t *ids, size_t count, int64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

void pipeline_started(struct pipeline *pipeline, struct task *task)
{
    task->started = true;
    pthread_mutex_lock(&pipeline->lock);
    GROW(pipeline->started, pipeline->started_count, pipeline->started_capacity);
    pipeline->started[pipeline->started_count++] = task->work->document_id;
    pthread_mutex_unlock(&pipeline->lock);
}

bool pipeline_has_started(struct pipeline *pipeline)
{
    pthread_mutex_lock(&pipeline->lock);
    const bool any = pipeline->started_count > 0;
    pthread_mutex_unlock(&pipeline->lock);
    return any;
}

int64_t *pipeline_take_started(struct pipeline *pipeline, size_t *ret_count)
{
    pthread_mutex_lock(&pipeline->lock);
    int64_t *ids = pipeline->started;
    *ret_count = pipeline->started_count;
    pipeline->started = NULL;
    pipeline->started_count = pipeline->started_capacity = 0;
    pthread_mutex_unlock(&pipeline->lock);
    return ids;
}

bool pipeline_claim_move(struct pipeline *pipeline, int64_t document_id)
{
    pthread_mutex_lock(&pipeline->lock);
    const bool claimed = !contains(pipeline->moving, pipeline->moving_count, document_id);
    if (claimed) {
        GROW(pipeline->moving, pipeline->moving_count, pipeline->moving_capacity);
        pipeline->moving[pipeline->moving_count++] = document_id;
    }
    pthread_mutex_unlock(&pipeline->lock);
    return claimed;
}

/* ---- workers ---- */

/* Hands a task on to the stage it needs. */
static void pass_on(struct pipeline *pipeline, struct task *task, struct embedder *embedder)
{
    const bool has_texts = task->fate == TASK_PUBLISH || task->fate == TASK_EMBEDDED;
    if (has_texts && task->unfinished > 0)
        embedding_add(pipeline->embedding, task, embedder);
    else if (!queue_put(pipeline->publishing, task))
        pipeline_finish(pipeline, task);
}

static void *run_worker(void *argument)
{
    struct pipeline *pipeline = argument;
    struct work *work;
    while ((work = queue_take(pipeline->work))) {
        struct task *task = task_new(work);
        if (pipeline_is_stopping(pipeline) || !read_document(pipeline, task))
            pipeline_finish(pipeline, task);
        else
            pass_on(pipeline, task, work->origin->recipe.embedder);
    }
    return NULL;
}

void pipeline_submit(struct pipeline *pipeline, struct work *work)
{
    enter(pipeline);
    if (pipeline_is_stopping(pipeline) || !queue_put(pipeline->work, work)) {
        free(work);
        leave(pipeline);
    }
}

void pipeline_submit_rows(struct pipeline *pipeline, struct task *task, struct embedder *embedder)
{
    enter(pipeline);
    if (pipeline_is_stopping(pipeline))
        pipeline_finish(pipeline, task);
    else
        pass_on(pipeline, task, embedder);
}

/* ---- life ---- */

ibid_code pipeline_open(struct ingest *ingest, struct progress *progress, int64_t run_id,
                        struct pipeline **ret, ibid_error *err)
{
    struct ingest_host *host = ingest->host;
    struct extract_pool *pool;
    TRY(host->extract_pool(host, &pool, err));
    struct pipeline *pipeline = xcalloc(1, sizeof *pipeline);
    pipeline->ingest = ingest;
    pipeline->host = host;
    pipeline->progress = progress;
    pipeline->run_id = run_id;
    pipeline->extract_pool = pool;
    pthread_mutex_init(&pipeline->lock, NULL);
    pthread_cond_init(&pipeline->idle, NULL);
    pipeline->work = queue_new(WORK_WAITING);
    pipeline->publishing = queue_new(TASKS_WAITING);
    pipeline->embedding = embedding_new(pipeline);
    pipeline->worker_count =
        host->settings->workers ? (unsigned)host->settings->workers : thread_core_count();
    pipeline->workers = xcalloc(pipeline->worker_count, sizeof *pipeline->workers);
    for (unsigned i = 0; i < pipeline->worker_count; i++)
        thread_start(&pipeline->workers[i], "ibid-read", run_worker, pipeline);
    thread_start(&pipeline->publisher, "ibid-publish", publish_tasks, pipeline);
    *ret = pipeline;
    return IBID_OK;
}

static ibid_code reset_interrupted(struct pipeline *pipeline)
{
    if (pipeline->interrupted_count == 0)
        return IBID_OK;
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(pipeline->host->metadata, TRANSACTION_WRITE, &transaction, NULL));
    TRY(document_reset(transaction, pipeline->interrupted, pipeline->interrupted_count, NULL));
    return transaction_commit(transaction_take(&transaction), NULL);
}

void pipeline_close(struct pipeline *pipeline)
{
    if (!pipeline)
        return;
    pipeline_drain(pipeline);
    queue_close(pipeline->work);
    for (unsigned i = 0; i < pipeline->worker_count; i++)
        pthread_join(pipeline->workers[i], NULL);
    embedding_close(pipeline->embedding);
    atomic_store(&pipeline->closing, true);
    queue_close(pipeline->publishing);
    pthread_join(pipeline->publisher, NULL);
    (void)reset_interrupted(pipeline);
    queue_free(pipeline->work);
    queue_free(pipeline->publishing);
    free(pipeline->workers);
    free(pipeline->started);
    free(pipeline->interrupted);
    free(pipeline->moving);
    pthread_mutex_destroy(&pipeline->lock);
    pthread_cond_destroy(&pipeline->idle);
    free(pipeline);
}
