#include "api/rest/models.h"

#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/rest/handlers.h"
#include "api/rest/parameter_tables.h"
#include "api/rest/state.h"
#include "base/memory.h"
#include "base/thread.h"
#include "embedder/model_catalog.h"

/* ---- fetching, one model at a time ---- */

enum job_state { JOB_IDLE, JOB_RUNNING, JOB_DONE, JOB_FAILED };

struct model_job {
    const struct net_policy *policy;
    pthread_mutex_t lock;
    pthread_t thread;
    bool has_thread; /* to be joined */
    atomic_bool cancel;

    enum job_state state; /* under lock from here on */
    const struct model_entry *entry;
    char *from, *mirror, *cache_folder;
    bool force;
    int64_t done, total;
    char source[128];
    ibid_error error;
};

struct model_job *model_job_new(const struct net_policy *policy)
{
    struct model_job *job = xcalloc(1, sizeof *job);
    job->policy = policy;
    pthread_mutex_init(&job->lock, NULL);
    return job;
}

static void join_finished(struct model_job *job)
{
    if (job->has_thread)
        pthread_join(job->thread, NULL);
    job->has_thread = false;
    free(job->from);
    free(job->mirror);
    free(job->cache_folder);
    job->from = job->mirror = job->cache_folder = NULL;
}

void model_job_free(struct model_job *job)
{
    if (!job)
        return;
    atomic_store(&job->cancel, true);
    join_finished(job);
    pthread_mutex_destroy(&job->lock);
    free(job);
}

static void note_progress(const char *source, int64_t done, int64_t total, void *context)
{
    struct model_job *job = context;
    pthread_mutex_lock(&job->lock);
    job->done = done;
    job->total = total;
    snprintf(job->source, sizeof job->source, "%s", source);
    pthread_mutex_unlock(&job->lock);
}

static void *pull(void *argument)
{
    struct model_job *job = argument;
    AUTO_ARENA arena = ARENA_INIT;
    const char *source = "";
    ibid_error error = {0};
    const struct model_pull request = {
        .cache_folder = job->cache_folder,
        .from_folder = job->from,
        .mirror = job->mirror,
        .policy = job->policy,
        .cancel = &job->cancel,
        .progress = note_progress,
        .context = job,
        .force = job->force,
    };
    const ibid_code code = model_pull(job->entry, &request, &arena, &source, &error);
    pthread_mutex_lock(&job->lock);
    job->state = code == IBID_OK ? JOB_DONE : JOB_FAILED;
    job->error = error;
    snprintf(job->source, sizeof job->source, "%s", source);
    pthread_mutex_unlock(&job->lock);
    return NULL;
}

static char *copy_or_null(const char *text)
{
    return text && *text ? xstrdup(text) : NULL;
}

static json_t *render_job(struct model_job *job)
{
    static const char *const states[] = {"idle", "running", "done", "failed"};
    json_t *object = json_object();
    pthread_mutex_lock(&job->lock);
    json_set_string(object, "state", states[job->state]);
    json_set_string(object, "name", job->entry ? job->entry->name : NULL);
    json_set_int(object, "done_bytes", job->done);
    json_set_int(object, "total_bytes", job->total);
    json_set_string(object, "source", job->source);
    if (job->state == JOB_FAILED) {
        json_set_string(object, "code", ibid_code_string(job->error.code));
        json_set_string(object, "message", job->error.message);
    }
    pthread_mutex_unlock(&job->lock);
    return object;
}

/* ---- routes ---- */

struct wanted_setting {
    const char *section, *name;
    struct arena *arena;
    const char *value; /* NULL: not set */
};

static void note_setting(const struct option_section *section, const struct option *option, const char *value,
                         const char *origin, void *context)
{
    struct wanted_setting *wanted = context;
    if (strcmp(section->name, wanted->section) == 0 && strcmp(option->name, wanted->name) == 0 && *value)
        wanted->value = arena_strdup(wanted->arena, value);
}

/* A setting of the local embedder, which is a member among others to the rest of the program. */
static const char *local_setting(const struct rest_call *call, const char *name)
{
    struct wanted_setting wanted = {.section = "embedder.local", .name = name, .arena = call->arena};
    settings_explain(instance_settings_table(call_settings(call)->instance), note_setting, &wanted);
    return wanted.value;
}

/* free() it. */
static char *models_folder(const struct rest_call *call)
{
    return model_cache_folder(local_setting(call, "models_folder"));
}

static ibid_code find_model(const struct rest_call *call, const struct model_entry **ret, ibid_error *err)
{
    const struct model_parameters *parameters = call->parameters;
    const char *name =
        parameters->name && *parameters->name ? parameters->name : local_setting(call, "model");
    const struct model_entry *entry = name ? model_catalog_find(name) : &model_catalog[0];
    if (!entry)
        return fail(err, IBID_ENOTFOUND,
                    "no model is called '%s': see GET /api/v1/models or 'ibid model list'", name);
    *ret = entry;
    return IBID_OK;
}

static json_t *render_languages(const char *const *languages)
{
    json_t *array = json_array();
    for (; *languages; languages++)
        json_array_append_new(array, json_string(*languages));
    return array;
}

static json_t *render_model(const struct model_entry *entry, const char *cache_folder)
{
    static const char *const states[] = {
        [MODEL_MISSING] = "missing", [MODEL_PRESENT] = "present", [MODEL_DAMAGED] = "damaged"};
    json_t *object = json_object();
    json_set_string(object, "name", entry->name);
    json_set_string(object, "state", states[model_look(entry, cache_folder)]);
    json_set_string(object, "description", entry->description);
    json_set_string(object, "licence", entry->licence);
    json_set_string(object, "repository", entry->repository);
    json_set_int(object, "dimension", (int64_t)entry->dimension);
    json_set_int(object, "size", entry->size);
    json_set(object, "languages", render_languages(entry->languages));
    json_set_bool(object, "default", entry == &model_catalog[0]);
    return object;
}

ibid_code handle_models(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    AUTO_FREE char *folder = models_folder(call);
    json_t *answer = json_object(), *array = json_array();
    for (size_t i = 0; i < model_catalog_count; i++)
        json_array_append_new(array, render_model(&model_catalog[i], folder));
    json_set(answer, "models", array);
    json_set_string(answer, "folder", folder);
    reply_json(call, reply, 200, answer);
    return IBID_OK;
}

ibid_code handle_model_pull(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    const struct model_parameters *parameters = call->parameters;
    struct model_job *job = call->rest->model_job;
    const struct model_entry *entry;
    TRY(find_model(call, &entry, err));
    const bool names_place =
        (parameters->from && *parameters->from) || (parameters->mirror && *parameters->mirror);
    if (names_place && !call->is_owner) /* a mirror is asked whatever net.allow says */
        return fail(err, IBID_EDENIED,
                    "only the person at the server's machine may name a folder or a mirror, through its unix "
                    "socket (as the command line does)");
    pthread_mutex_lock(&job->lock);
    if (job->state == JOB_RUNNING) {
        const char *name = job->entry->name;
        pthread_mutex_unlock(&job->lock);
        return fail(err, IBID_ECONFLICT, "the model %s is being fetched", name);
    }
    join_finished(job);
    job->entry = entry;
    job->from = copy_or_null(parameters->from);
    job->mirror = copy_or_null(parameters->mirror);
    job->cache_folder = models_folder(call);
    job->force = parameters->force;
    job->done = 0;
    job->total = entry->size;
    job->source[0] = '\0';
    job->state = JOB_RUNNING;
    atomic_store(&job->cancel, false);
    job->has_thread = true;
    thread_start(&job->thread, "model pull", pull, job);
    pthread_mutex_unlock(&job->lock);
    reply_json(call, reply, 202, render_job(job));
    return IBID_OK;
}

ibid_code handle_model_pull_status(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    reply_json(call, reply, 200, render_job(call->rest->model_job));
    return IBID_OK;
}

ibid_code handle_model_pull_cancel(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    struct model_job *job = call->rest->model_job;
    atomic_store(&job->cancel, true);
    reply_json(call, reply, 202, render_job(job));
    return IBID_OK;
}

ibid_code handle_model_check(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    AUTO_FREE char *folder = models_folder(call);
    const struct model_entry *entry;
    TRY(find_model(call, &entry, err));
    TRY(model_check(entry, folder, err));
    json_t *answer = render_model(entry, folder);
    json_set_bool(answer, "checked", true);
    reply_json(call, reply, 200, answer);
    return IBID_OK;
}

/* ---- embedding ---- */

static json_t *vector_to_json(const float *vector, size_t dimension, bool base64, struct arena *arena)
{
    if (base64) {
        const size_t bytes = dimension * sizeof *vector;
        const size_t size = sodium_base64_encoded_len(bytes, sodium_base64_VARIANT_ORIGINAL);
        char *text = arena_alloc(arena, size);
        sodium_bin2base64(text, size, (const unsigned char *)vector, bytes, sodium_base64_VARIANT_ORIGINAL);
        return json_string(text);
    }
    json_t *array = json_array();
    for (size_t i = 0; i < dimension; i++)
        json_array_append_new(array, json_real((double)vector[i]));
    return array;
}

static void set_info(json_t *answer, const struct embedder_info *info)
{
    json_set_string(answer, "model", info->id);
    json_set_string(answer, "precision", info->precision);
    json_set_int(answer, "dimension", (int64_t)info->dimension);
    json_set_int(answer, "max_tokens", (int64_t)info->max_tokens);
    json_set_int(answer, "batch_size", (int64_t)info->batch_size);
    json_set_int(answer, "concurrency", info->concurrency);
}

/* In slices, between which a caller who has gone is noticed. */
static ibid_code embed_all(struct rest_call *call, struct embedder *embedder, enum embed_purpose purpose,
                           const struct str *texts, size_t count, float *vectors, ibid_error *err)
{
    enum { SLICE_AT_LEAST = 64 };
    const size_t best = embedder->info.batch_size, slice = best > SLICE_AT_LEAST ? best : SLICE_AT_LEAST;
    for (size_t done = 0; done < count; done += slice) {
        const size_t now = count - done < slice ? count - done : slice;
        if (atomic_load(call->http->cancel))
            return fail(err, IBID_ECANCELED, "stopped after %zu of %zu texts", done, count);
        TRY(embedder_embed(embedder, purpose, texts + done, now, vectors + done * embedder->info.dimension,
                           err));
    }
    return IBID_OK;
}

ibid_code handle_embed(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    enum { TEXT_LIMIT = 4096 };
    const struct embed_parameters *parameters = call->parameters;
    const size_t count = parameters->texts.count;
    struct embedder *embedder;
    if (count > TEXT_LIMIT)
        return fail(err, IBID_ETOOBIG, "%zu texts are over the limit of %d for one request", count,
                    TEXT_LIMIT);
    TRY(rest_embedder(call, &embedder, err));
    const size_t dimension = embedder->info.dimension;
    float *vectors = ARENA_ARRAY(call->arena, float, count *dimension + 1);
    struct str *texts = ARENA_ARRAY(call->arena, struct str, count + 1);
    for (size_t i = 0; i < count; i++)
        texts[i] = str_from(parameters->texts.items[i]);
    TRY(embed_all(call, embedder, (enum embed_purpose)parameters->purpose, texts, count, vectors, err));
    json_t *answer = json_object(), *array = json_array();
    set_info(answer, &embedder->info);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, vector_to_json(vectors + i * dimension, dimension,
                                                    parameters->encoding == 1, call->arena));
    json_set(answer, "vectors", array);
    reply_json(call, reply, 200, answer);
    return IBID_OK;
}
