#include "instance/instance.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "instance/estimate.h"
#include "instance/parts.h"
#include "instance/settings.h"
#include "records/row_feed.h"

enum {
    EMBEDDER_RETRY_S = 5,
    PART_US = 100000, /* of waiting for the index, between looks at whether to stop */
};

static struct instance *instance_of(struct ingest_host *host)
{
    return (struct instance *)((char *)host - offsetof(struct instance, host));
}

/* ---- members ---- */

/* The member called `name` in a registry, or its first; its settings go to *ret_options. The registries
 * differ in type, not in shape. */
#define CHOOSE_MEMBER(registry, wanted, values, what, ret_ops, ret_options, err)                          \
    do {                                                                                                  \
        const char *wanted_ = (wanted);                                                                   \
        size_t at_ = 0;                                                                                   \
        while (wanted_ && (registry)[at_] && strcmp((registry)[at_]->name, wanted_) != 0)                 \
            at_++;                                                                                        \
        if (!(registry)[at_])                                                                             \
            return fail((err), IBID_EINVAL, "there is no %s '%s'", (what), wanted_ ? wanted_ : "at all"); \
        *(ret_ops) = (registry)[at_];                                                                     \
        *(ret_options) = (values)[at_];                                                                   \
    } while (0)

static ibid_code open_metadata(struct instance *instance, enum instance_mode mode, ibid_error *err)
{
    const struct instance_settings *settings = instance->settings;
    const struct metadata_store_ops *ops;
    const void *options;
    CHOOSE_MEMBER(metadata_store_registry, settings->members.metadata_store, settings->metadata_stores,
                  "metadata store", &ops, &options, err);
    const struct metadata_store_context context = {.folder = instance->folder,
                                                   .create = mode == INSTANCE_CREATE};
    return metadata_store_open(ops, &context, options, &instance->metadata, err);
}

static ibid_code open_blobs(struct instance *instance, ibid_error *err)
{
    const struct instance_settings *settings = instance->settings;
    const struct blob_store_ops *ops;
    const void *options;
    CHOOSE_MEMBER(blob_store_registry, settings->members.blob_store, settings->blob_stores, "blob store",
                  &ops, &options, err);
    AUTO_FREE char *folder = path_join(instance->folder, "blobs");
    return blob_store_open(ops, folder, options, &instance->blobs, err);
}

static ibid_code open_vectors(struct instance *instance, ibid_error *err)
{
    const struct instance_settings *settings = instance->settings;
    const struct vector_store_ops *ops;
    const void *options;
    CHOOSE_MEMBER(vector_store_registry, settings->members.index, settings->vector_stores, "index", &ops,
                  &options, err);
    AUTO_FREE char *folder = path_join(instance->folder, "index");
    const struct vector_store_context context = {.folder = folder, .rows = instance->rows};
    return vector_store_open(ops, &context, options, &instance->vectors, err);
}

ibid_code instance_settings_open_embedder(const struct instance_settings *settings, struct embedder **ret,
                                          ibid_error *err)
{
    const struct embedder_ops *ops;
    const void *options;
    CHOOSE_MEMBER(embedder_registry, settings->members.embedder, settings->embedders, "embedder", &ops,
                  &options, err);
    return embedder_open(ops, &(struct embedder_context){.net = &settings->net}, options, ret, err);
}

static ibid_code open_embedder(void *context, struct embedder **ret, ibid_error *err)
{
    const struct instance *instance = context;
    return instance_settings_open_embedder(instance->settings, ret, err);
}

ibid_code instance_embedder(struct instance *instance, struct embedder **ret, ibid_error *err)
{
    return late_embedder_get(&instance->embedder, EMBEDDER_RETRY_S * SECOND_US, open_embedder, instance, ret,
                             err);
}

ibid_code instance_extract_pool(struct instance *instance, struct extract_pool **ret, ibid_error *err)
{
    pthread_mutex_lock(&instance->lock);
    ibid_code code = IBID_OK;
    if (!instance->extract_pool)
        code = extract_pool_open(&instance->settings->extract, &instance->extract_pool, err);
    if (code == IBID_OK)
        *ret = instance->extract_pool;
    pthread_mutex_unlock(&instance->lock);
    return code;
}

/* ---- what ingest asks of its host ---- */

static ibid_code host_extract_pool(struct ingest_host *host, struct extract_pool **ret, ibid_error *err)
{
    return instance_extract_pool(instance_of(host), ret, err);
}

static struct embedder *host_embedder(struct ingest_host *host)
{
    struct embedder *embedder = NULL;
    return instance_embedder(instance_of(host), &embedder, NULL) == IBID_OK ? embedder : NULL;
}

static const struct token_counter *host_counter(struct ingest_host *host)
{
    const struct embedder *embedder = host_embedder(host);
    return embedder ? &embedder->token_counter : &token_estimate;
}

static void host_committed(struct ingest_host *host)
{
    instance_committed(instance_of(host));
}

static ibid_code host_settled(struct ingest_host *host, const struct watch *watch, ibid_error *err)
{
    return instance_index_await(instance_of(host), watch, err);
}

static ibid_code open_ingest(struct instance *instance, ibid_error *err)
{
    instance->host = (struct ingest_host){
        .metadata = instance->metadata,
        .blobs = instance->blobs,
        .compute = instance->compute,
        .settings = &instance->settings->ingest,
        .max_file_size = instance->settings->extract.max_file_size,
        .extract_pool = host_extract_pool,
        .embedder = host_embedder,
        .counter = host_counter,
        .committed = host_committed,
        .settled = host_settled,
    };
    return ingest_open(&instance->host, &instance->ingest, err);
}

/* ---- life ---- */

static ibid_code open_parts(struct instance *instance, enum instance_mode mode, ibid_error *err)
{
    if (mode == INSTANCE_CREATE)
        TRY(folder_make(instance->folder, err));
    else if (!folder_exists(instance->folder))
        return fail(err, IBID_ENOTFOUND, "there is no data folder '%s': index something first",
                    instance->folder);
    TRY(open_metadata(instance, mode, err));
    TRY(open_blobs(instance, err));
    instance->rows = row_source_new(instance->metadata);
    TRY(open_vectors(instance, err));
    TRY(follower_open(instance->metadata, instance->vectors, &instance->follower, err));
    return open_ingest(instance, err);
}

ibid_code instance_open(const char *folder, const struct instance_settings *settings, enum instance_mode mode,
                        struct instance **ret, ibid_error *err)
{
    struct instance *instance = xcalloc(1, sizeof *instance);
    instance->folder = xstrdup(folder);
    instance->settings = settings;
    instance->compute = slots_new(thread_core_count());
    pthread_mutex_init(&instance->lock, NULL);
    late_embedder_init(&instance->embedder);
    const ibid_code code = open_parts(instance, mode, err);
    if (code != IBID_OK) {
        instance_close(instance);
        return code;
    }
    *ret = instance;
    return IBID_OK;
}

void instance_close(struct instance *instance)
{
    if (!instance)
        return;
    ingest_close(instance->ingest);
    follower_close(instance->follower);
    extract_pool_close(instance->extract_pool);
    late_embedder_release(&instance->embedder);
    formers_close(instance->formers);
    vector_store_close(instance->vectors);
    row_source_free(instance->rows);
    blob_store_close(instance->blobs);
    metadata_store_close(instance->metadata);
    slots_free(instance->compute);
    pthread_mutex_destroy(&instance->lock);
    free(instance->folder);
    free(instance);
}

const char *instance_folder(const struct instance *instance)
{
    return instance->folder;
}

struct metadata_store *instance_metadata(struct instance *instance)
{
    return instance->metadata;
}

struct vector_store *instance_vectors(struct instance *instance)
{
    return instance->vectors;
}

struct blob_store *instance_blobs(struct instance *instance)
{
    return instance->blobs;
}

struct ingest *instance_ingest(struct instance *instance)
{
    return instance->ingest;
}

struct slots *instance_compute(struct instance *instance)
{
    return instance->compute;
}

const struct extract_settings *instance_extract_settings(const struct instance *instance)
{
    return &instance->settings->extract;
}

/* ---- keeping in step ---- */

void instance_committed(struct instance *instance)
{
    follower_wake(instance->follower);
}

ibid_code instance_index_settled(struct instance *instance, int64_t deadline_us, ibid_error *err)
{
    return follower_settle(instance->follower, false, deadline_us, err);
}

/* In parts, so that the watch is asked in between. */
static ibid_code await(struct instance *instance, bool compact, const struct watch *watch,
                       int64_t deadline_us, ibid_error *err)
{
    const struct follower_ticket ticket = follower_ask(instance->follower, compact);
    for (;;) {
        TRY(watch_step(watch, "index", 0, 0, err));
        const int64_t part_us = clock_monotonic_us() + PART_US;
        const bool last = deadline_us && deadline_us <= part_us;
        const ibid_code code = follower_wait(instance->follower, ticket, last ? deadline_us : part_us, err);
        if (code != IBID_ETIMEOUT || last)
            return code;
    }
}

ibid_code instance_index_await(struct instance *instance, const struct watch *watch, ibid_error *err)
{
    return await(instance, false, watch, 0, err);
}

ibid_code instance_index_check(struct instance *instance, int64_t collection_id, ibid_error *err)
{
    return follower_check(instance->follower, collection_id, err);
}

static bool is_raised(void *flag)
{
    return atomic_load((const _Atomic bool *)flag);
}

ibid_code instance_compact(struct instance *instance, const _Atomic bool *cancel, int64_t deadline_us,
                           ibid_error *err)
{
    const struct watch watch = {.stopped = is_raised, .context = (void *)(uintptr_t)cancel};
    return await(instance, true, cancel ? &watch : NULL, deadline_us, err);
}
