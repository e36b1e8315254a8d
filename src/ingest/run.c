#include "ingest/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/utf8.h"
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
    const char *message = state == RUN_FAILED ? error.message : "";
    ibid_error end_error = {0};
    if (note_end(job, state, message, &end_error) != IBID_OK && state == RUN_COMPLETED) {
        state = RUN_FAILED;
        message = end_error.message;
    }
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

static ibid_code start_locked(struct ingest *ingest, const struct ingest_request *request, ibid_error *err)
{
    if (ingest->running)
        return fail(err, IBID_ECONFLICT, "indexing run %lld is under way", (long long)ingest->job->run_id);
    if (ingest->removing)
        return fail(err, IBID_ECONFLICT, "a source is being removed");
    struct job *job = xcalloc(1, sizeof *job);
    job->ingest = ingest;
    job->kind = request->kind;
    job->force = request->force;
    progress_init(&job->progress);
    const ibid_code code = note_start(ingest, request, job, err);
    if (code != IBID_OK) {
        job_free(job);
        return code;
    }
    job->progress.status.run_id = job->run_id;
    if (ingest->joinable)
        pthread_join(ingest->thread, NULL);
    job_free(ingest->job);
    ingest->job = job;
    ingest->running = ingest->joinable = true;
    thread_start(&ingest->thread, "ibid-run", run_job, job);
    return IBID_OK;
}

ibid_code ingest_start(struct ingest *ingest, const struct ingest_request *request, int64_t *ret_run_id,
                       ibid_error *err)
{
    pthread_mutex_lock(&ingest->lock);
    const ibid_code code = start_locked(ingest, request, err);
    if (code == IBID_OK)
        *ret_run_id = ingest->job->run_id;
    pthread_mutex_unlock(&ingest->lock);
    return code;
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

bool ingest_wait(struct ingest *ingest, int64_t deadline_us)
{
    const struct timespec until = {.tv_sec = deadline_us / SECOND_US,
                                   .tv_nsec = deadline_us % SECOND_US * 1000};
    pthread_mutex_lock(&ingest->lock);
    while (ingest->running)
        if (deadline_us == 0)
            pthread_cond_wait(&ingest->ended, &ingest->lock);
        else if (pthread_cond_timedwait(&ingest->ended, &ingest->lock, &until) != 0)
            break;
    const bool over = !ingest->running;
    pthread_mutex_unlock(&ingest->lock);
    return over;
}

bool ingest_is_running(struct ingest *ingest)
{
    pthread_mutex_lock(&ingest->lock);
    const bool running = ingest->running;
    pthread_mutex_unlock(&ingest->lock);
    return running;
}

void ingest_cancel(struct ingest *ingest)
{
    pthread_mutex_lock(&ingest->lock);
    if (ingest->running) {
        atomic_store(&ingest->job->cancel, true);
        if (ingest->pipeline)
            atomic_store(&ingest->pipeline->cancel, true);
    }
    pthread_mutex_unlock(&ingest->lock);
}

/* ---- folders --------------------------------------------------------------------------------------- */

/* Whether a run over the source would list the path anyway. */
static bool covers(const struct source *source, struct str location)
{
    if (source->connector_id != FOLDER_CONNECTOR_ID || !source->enabled || !str_is(source->options, "{}") ||
        source->location.size >= location.size ||
        memcmp(source->location.data, location.data, source->location.size) != 0)
        return false;
    const struct str below = str_slice(location, source->location.size, location.size);
    bool hidden = false;
    for (size_t i = 0; i + 1 < below.size; i++)
        hidden |= below.data[i] == '/' && below.data[i + 1] == '.';
    return (below.data[0] == '/' || str_ends_with(source->location, "/")) && !hidden;
}

/* The source of the folder that the path lies in; 0 when there is none. */
static ibid_code find_covering(struct transaction *transaction, struct str location, int64_t *ret_id,
                               ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct source *sources;
    size_t count;
    TRY(source_list(transaction, &arena, &sources, &count, err));
    *ret_id = 0;
    for (size_t i = 0; i < count && *ret_id == 0; i++)
        if (covers(&sources[i], location))
            *ret_id = sources[i].id;
    return IBID_OK;
}

/* What a source keeps, changed by what was given now: null takes a member away. */
static ibid_code change_options(struct str kept, const json_t *changes, struct buffer *out, ibid_error *err)
{
    AUTO_JSON *options = NULL;
    const char *name;
    json_t *value;
    TRY(json_parse(kept, &options, err));
    json_object_foreach((json_t *)(uintptr_t)changes, name, value)
    {
        if (json_is_null(value))
            json_object_del(options, name);
        else
            json_set(options, name, json_incref(value));
    }
    json_append(out, options);
    return buffer_check(out, "the options of a folder", err);
}

static ibid_code find_or_create(struct transaction *transaction, struct str location, const json_t *changes,
                                int64_t *ret_id, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_BUFFER options = BUFFER(64 * 1024);
    struct source source = {.options = STR("{}")};
    TRY(source_find(transaction, FOLDER_CONNECTOR_ID, location, ret_id, err));
    if (*ret_id) {
        TRY(source_load(transaction, *ret_id, &arena, &source, err));
        TRY(source_set_enabled(transaction, *ret_id, true,
                               err)); /* its removal may have been stopped midway */
    }
    TRY(change_options(source.options, changes, &options, err));
    if (*ret_id)
        return source_set_options(transaction, *ret_id, buffer_str(&options), err);
    if (str_is(buffer_str(&options), "{}"))
        TRY(find_covering(transaction, location, ret_id, err));
    if (*ret_id)
        return IBID_OK;
    const struct source draft = {
        .connector_id = FOLDER_CONNECTOR_ID, .location = location, .options = buffer_str(&options)};
    return source_create(transaction, &draft, ret_id, err);
}

ibid_code ingest_folder_source(struct ingest *ingest, const char *path, const json_t *options,
                               int64_t *ret_source_id, ibid_error *err)
{
    AUTO_FREE char *location = path_resolve(path, err);
    if (!location)
        return err ? err->code : IBID_ENOTFOUND;
    if (!utf8_is_valid(str_from(location)))
        return fail(err, IBID_EINVAL, "the folder's name is not UTF-8");
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(ingest->host->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(find_or_create(transaction, str_from(location), options, ret_source_id, err));
    return transaction_commit(transaction_take(&transaction), err);
}
