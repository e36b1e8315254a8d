#include "ingest/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "ingest/backlog.h"
#include "ingest/engine.h"
#include "ingest/listing.h"
#include "records/bootstrap.h"

/* A source of the run. */
struct stop {
    struct origin *origin;
    bool complete;
};

/* ---- the thread of a run ------------------------------------------------------------------------ */

/* The pipeline can be reached by a cancel from now on. */
static void set_pipeline(struct job *job, struct pipeline *pipeline)
{
    struct ingest *ingest = job->ingest;
    pthread_mutex_lock(&ingest->lock);
    ingest->pipeline = pipeline;
    if (pipeline && atomic_load(&job->cancel))
        atomic_store(&pipeline->cancel, true);
    pthread_mutex_unlock(&ingest->lock);
}

static ibid_code visit_source(struct job *job, struct pipeline *pipeline, int64_t source_id,
                              struct stop *stop, ibid_error *err)
{
    TRY(origin_open(job->ingest->host, source_id, &stop->origin, err));
    if (job->kind == INGEST_RETRY)
        return list_failed(pipeline, stop->origin, err);
    const char *missing = stop->origin->recipe.missing_embedder;
    if (job->force && missing)
        return fail(err, IBID_EUNAVAILABLE,
                    "indexing everything anew would lose the vectors made by %s, as there is no embedder now"
                    " to make others ('ibid status' says why)",
                    missing);
    ibid_code code = list_source(pipeline, stop->origin, job->force, &stop->complete, err);
    if (code != IBID_OK)
        error_context(err, "%.*s", STR_ARG(stop->origin->source.location));
    return code;
}

static ibid_code note_source(struct job *job, const struct stop *stop, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(job->ingest->host->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(source_ran(transaction, stop->origin->source.id, stop->complete, err));
    return transaction_commit(transaction_take(&transaction), err);
}

/* What can be done only when all documents are. */
static ibid_code settle_sources(struct job *job, struct pipeline *pipeline, const struct stop *stops,
                                size_t count, ibid_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!stops[i].origin)
            continue;
        if (stops[i].complete)
            TRY(remove_gone(pipeline, stops[i].origin, err));
        if (job->kind == INGEST_INDEX)
            TRY(note_source(job, &stops[i], err));
        bool done = false; /* each collection once */
        for (size_t j = 0; j < i; j++)
            done |= stops[j].origin &&
                    stops[j].origin->recipe.collection_id == stops[i].origin->recipe.collection_id;
        if (!done)
            TRY(embed_backlog(pipeline, &stops[i].origin->recipe, err));
    }
    pipeline_drain(pipeline);
    return IBID_OK;
}

/* Goes through all sources; one that cannot be listed does not stop the others, but is the run's error. */
static ibid_code visit_all(struct job *job, struct pipeline *pipeline, struct stop *stops, ibid_error *err)
{
    ibid_code first = IBID_OK;
    for (size_t i = 0; i < job->source_count && !pipeline_is_stopping(pipeline); i++) {
        ibid_error error = {0};
        const ibid_code code = visit_source(job, pipeline, job->source_ids[i], &stops[i], &error);
        if (code != IBID_OK && first == IBID_OK) {
            first = code;
            *err = error;
        }
    }
    progress_listing_over(&job->progress);
    pipeline_drain(pipeline);
    ibid_error error = {0};
    const ibid_code code = settle_sources(job, pipeline, stops, job->source_count, &error);
    if (code != IBID_OK && first == IBID_OK) {
        first = code;
        *err = error;
    }
    ibid_error failure = {0};
    if (pipeline_failure(pipeline, &failure) != IBID_OK) {
        *err = failure;
        return failure.code;
    }
    return first;
}

static ibid_code work_through(struct job *job, ibid_error *err)
{
    struct pipeline *pipeline;
    if (job->kind == INGEST_INDEX)
        TRY(absorb_sources(job, err));
    TRY(pipeline_open(job->ingest, &job->progress, job->run_id, &pipeline, err));
    set_pipeline(job, pipeline);
    struct stop *stops = xcalloc(job->source_count + 1, sizeof *stops);
    const ibid_code code = visit_all(job, pipeline, stops, err);
    set_pipeline(job, NULL);
    pipeline_close(pipeline);
    for (size_t i = 0; i < job->source_count; i++)
        origin_close(stops[i].origin);
    free(stops);
    return code;
}

static ibid_code note_end(struct job *job, enum run_state state, const char *message, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    const struct run_progress counts = progress_counts(&job->progress);
    TRY(transaction_begin(job->ingest->host->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(run_finish(transaction, job->run_id, state, str_from(message), &counts, err));
    return transaction_commit(transaction_take(&transaction), err);
}

static void *run_job(void *argument)
{
    struct job *job = argument;
    struct ingest *ingest = job->ingest;
    ibid_error error = {0};
    const ibid_code code = work_through(job, &error);
    enum run_state state = RUN_COMPLETED;
    if (atomic_load(&job->cancel))
        state = RUN_CANCELED;
    else if (code != IBID_OK)
        state = RUN_FAILED;
    const bool stopped = state != RUN_COMPLETED;
    const char *message = state == RUN_FAILED ? error.message : "";
    ibid_error end_error = {0};
    if (note_end(job, state, message, &end_error) != IBID_OK && state == RUN_COMPLETED) {
        state = RUN_FAILED;
        message = end_error.message;
    }
    /* Uploads that it was stopped over are pending now, and no other run will come by. */
    if (stopped && uploads_resume(ingest->uploads, &end_error) != IBID_OK)
        log_warning("uploads that wait are taken up at the next start only: %s", end_error.message);
    progress_end(&job->progress, state, message);
    pthread_mutex_lock(&ingest->lock);
    ingest->running = false;
    pthread_cond_broadcast(&ingest->ended);
    pthread_mutex_unlock(&ingest->lock);
    return NULL;
}

/* ---- starting ------------------------------------------------------------------------------------ */

/* Two paths may lie in one source. */
static void add_source(struct job *job, int64_t id)
{
    for (size_t i = 0; i < job->source_count; i++)
        if (job->source_ids[i] == id)
            return;
    job->source_ids[job->source_count++] = id;
}

/* The sources asked for, or all that are enabled and can be listed. */
static ibid_code choose_sources(struct transaction *transaction, const struct ingest_request *request,
                                struct job *job, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct source source, *all = NULL;
    size_t count = 0;
    if (request->source_count == 0)
        TRY(source_list(transaction, &arena, &all, &count, err));
    job->source_ids = xcalloc(request->source_count + count + 1, sizeof *job->source_ids);
    for (size_t i = 0; i < request->source_count; i++) {
        TRY(source_load(transaction, request->source_ids[i], &arena, &source, err));
        if (source.connector_id == UPLOAD_CONNECTOR_ID && request->kind == INGEST_INDEX)
            return fail(err, IBID_EINVAL,
                        "uploads are indexed as they come in: they are no source to be listed");
        add_source(job, request->source_ids[i]);
    }
    for (size_t i = 0; i < count; i++)
        if (all[i].enabled && (all[i].connector_id != UPLOAD_CONNECTOR_ID || request->kind == INGEST_RETRY))
            add_source(job, all[i].id);
    return IBID_OK;
}

static ibid_code note_start(struct ingest *ingest, const struct ingest_request *request, struct job *job,
                            ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct extract_pool *pool;
    TRY(ingest->host->extract_pool(ingest->host, &pool, err));
    TRY(transaction_begin(ingest->host->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(choose_sources(transaction, request, job, err));
    const char *kind = request->kind == INGEST_RETRY ? "retry" : request->force ? "reindex" : "index";
    TRY(run_start(transaction, job->source_count == 1 ? job->source_ids[0] : 0, kind, &job->run_id, err));
    return transaction_commit(transaction_take(&transaction), err);
}

void job_free(struct job *job)
{
    if (!job)
        return;
    progress_release(&job->progress);
    free(job->source_ids);
    free(job);
}

ibid_code ingest_check_idle(const struct ingest *ingest, ibid_error *err)
{
    if (ingest->running)
        return fail(err, IBID_ECONFLICT, "indexing run %lld is under way: wait for it or stop it",
                    (long long)ingest->job->run_id);
    if (ingest->starting)
        return fail(err, IBID_ECONFLICT, "an indexing run is being started");
    return ingest->removing ? fail(err, IBID_ECONFLICT, "a source is being removed") : IBID_OK;
}

/* From here on there is a run: it can be waited for and canceled. */
static ibid_code reserve(struct ingest *ingest, struct job *job, ibid_error *err)
{
    pthread_mutex_lock(&ingest->lock);
    const ibid_code code = ingest_check_idle(ingest, err);
    if (code == IBID_OK)
        ingest->starting = job;
    pthread_mutex_unlock(&ingest->lock);
    return code;
}

static void give_up(struct ingest *ingest)
{
    pthread_mutex_lock(&ingest->lock);
    ingest->starting = NULL;
    pthread_cond_broadcast(&ingest->ended);
    pthread_mutex_unlock(&ingest->lock);
}

static void begin(struct ingest *ingest, struct job *take_job)
{
    pthread_mutex_lock(&ingest->lock);
    if (ingest->joinable)
        pthread_join(ingest->thread, NULL);
    job_free(ingest->job);
    ingest->starting = NULL;
    ingest->job = take_job;
    ingest->running = ingest->joinable = true;
    thread_start(&ingest->thread, "ibid-run", run_job, take_job);
    pthread_mutex_unlock(&ingest->lock);
}

ibid_code ingest_start(struct ingest *ingest, const struct ingest_request *request, int64_t *ret_run_id,
                       ibid_error *err)
{
    struct job *job = xcalloc(1, sizeof *job);
    job->ingest = ingest;
    job->kind = request->kind;
    job->force = request->force;
    progress_init(&job->progress);
    ibid_code code = reserve(ingest, job, err);
    if (code == IBID_OK) {
        /* Others may be writing for long: nobody who asks for the status waits for that. */
        code = note_start(ingest, request, job, err);
        if (code != IBID_OK)
            give_up(ingest);
    }
    if (code != IBID_OK) {
        job_free(job);
        return code;
    }
    *ret_run_id = job->progress.status.run_id = job->run_id;
    begin(ingest, job);
    return IBID_OK;
}

bool ingest_status(struct ingest *ingest, struct ingest_status *ret)
{
    pthread_mutex_lock(&ingest->lock);
    const bool any = ingest->job != NULL;
    if (any)
        progress_read(&ingest->job->progress, ret);
    pthread_mutex_unlock(&ingest->lock);
    return any;
}

static bool has_run(const struct ingest *ingest)
{
    return ingest->starting || ingest->running;
}

bool ingest_wait(struct ingest *ingest, int64_t deadline_us)
{
    pthread_mutex_lock(&ingest->lock);
    while (has_run(ingest) && condition_wait_until(&ingest->ended, &ingest->lock, deadline_us))
        ;
    const bool over = !has_run(ingest);
    pthread_mutex_unlock(&ingest->lock);
    return over;
}

bool ingest_is_running(struct ingest *ingest)
{
    pthread_mutex_lock(&ingest->lock);
    const bool running = has_run(ingest);
    pthread_mutex_unlock(&ingest->lock);
    return running;
}

void ingest_cancel(struct ingest *ingest)
{
    pthread_mutex_lock(&ingest->lock);
    if (ingest->starting)
        atomic_store(&ingest->starting->cancel, true);
    if (ingest->running) {
        atomic_store(&ingest->job->cancel, true);
        if (ingest->pipeline)
            atomic_store(&ingest->pipeline->cancel, true);
    }
    pthread_mutex_unlock(&ingest->lock);
}
