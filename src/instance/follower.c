#include "instance/follower.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "records/collection.h"
#include "records/sweep.h"

enum {
    TIDY_AFTER_S = 30, /* without a commit: makes the index durable, sweeps */
    SWEEP_ROWS = 5000, /* in one transaction */
    RETRY_AFTER_S = 5, /* after a failure */
};

/* A collection as the store was told of it. */
struct attached {
    int64_t collection_id;
    uint32_t dimension;
    char *fingerprint;
    int64_t reported; /* the watermark in the records */
};

struct follower {
    struct metadata_store *metadata;
    struct vector_store *vectors;
    pthread_t thread;
    bool running;
    _Atomic bool cancel;

    pthread_mutex_t work; /* held while the store is being changed; guards `attached` */
    struct attached *attached;
    size_t attached_count, attached_capacity;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t woken, served_some;
    uint64_t asked, served;                 /* counts of wakes */
    uint64_t compact_asked, compact_served; /* the same for compaction */
    bool untidy;                            /* something was applied since the last compaction */
    ibid_error error;                       /* of the last attempt */
};

/* ---- collections ---- */

static struct attached *find_attached(struct follower *follower, int64_t collection_id)
{
    for (size_t i = 0; i < follower->attached_count; i++)
        if (follower->attached[i].collection_id == collection_id)
            return &follower->attached[i];
    GROW(follower->attached, follower->attached_count, follower->attached_capacity);
    struct attached *added = &follower->attached[follower->attached_count++];
    *added = (struct attached){.collection_id = collection_id};
    return added;
}

static ibid_code list_collections(struct follower *follower, struct arena *arena, struct collection **ret,
                                  size_t *ret_count, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(follower->metadata, TRANSACTION_READ, &transaction, err));
    return collection_list(transaction, arena, ret, ret_count, err);
}

/* Tells the store of a collection that is new to it or has another embedder now. */
static ibid_code attach(struct follower *follower, const struct collection *collection, struct arena *arena,
                        ibid_error *err)
{
    struct attached *attached = find_attached(follower, collection->id);
    const struct str fingerprint = collection->embedder_fingerprint;
    if (attached->fingerprint && attached->dimension == collection->dimension &&
        str_is(fingerprint, attached->fingerprint))
        return IBID_OK;
    char *copy = xmemdup0(fingerprint.data, fingerprint.size);
    const struct vector_space space = {
        .collection_id = collection->id,
        .dimension = collection->dimension,
        .fingerprint = copy,
        .shared = true, /* documents of any workspace may be in any collection */
    };
    const ibid_code code = vector_store_attach(follower->vectors, &space, err);
    if (code != IBID_OK) {
        free(copy);
        return code;
    }
    free(attached->fingerprint);
    attached->fingerprint = copy;
    attached->dimension = collection->dimension;
    return IBID_OK;
}

static ibid_code attach_all(struct follower *follower, struct arena *arena, ibid_error *err)
{
    struct collection *collections;
    size_t count;
    TRY(list_collections(follower, arena, &collections, &count, err));
    for (size_t i = 0; i < count; i++)
        TRY(attach(follower, &collections[i], arena, err));
    return IBID_OK;
}

/* ---- following ---- */

static ibid_code follow_all(struct follower *follower, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    TRY(attach_all(follower, &arena, err));
    for (size_t i = 0; i < follower->attached_count; i++)
        TRY(vector_store_follow(follower->vectors, follower->attached[i].collection_id, &follower->cancel,
                                err));
    return IBID_OK;
}

/* Tells the records up to where the store would survive a crash. */
static ibid_code report(struct follower *follower, struct attached *attached, ibid_error *err)
{
    struct vector_store_stats stats;
    TRY(vector_store_stats(follower->vectors, attached->collection_id, &stats, err));
    if (stats.durable == attached->reported)
        return IBID_OK;
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(follower->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(watermark_set(transaction, str_from(follower->vectors->ops->name), attached->collection_id,
                      stats.durable, err));
    TRY(transaction_commit(transaction_take(&transaction), err));
    attached->reported = stats.durable;
    return IBID_OK;
}

static ibid_code sweep_all(struct follower *follower, ibid_error *err)
{
    struct sweep_result result = {.more = true};
    while (result.more && !atomic_load(&follower->cancel)) {
        AUTO_TRANSACTION *transaction = NULL;
        TRY(transaction_begin(follower->metadata, TRANSACTION_WRITE, &transaction, err));
        TRY(sweep(transaction, SWEEP_ROWS, &result, err));
        TRY(transaction_commit(transaction_take(&transaction), err));
    }
    return IBID_OK;
}

static ibid_code tidy(struct follower *follower, ibid_error *err)
{
    for (size_t i = 0; i < follower->attached_count; i++) {
        struct attached *attached = &follower->attached[i];
        TRY(vector_store_compact(follower->vectors, attached->collection_id, &follower->cancel, err));
        TRY(report(follower, attached, err));
    }
    TRY(sweep_all(follower, err));
    return metadata_store_maintain(follower->metadata, err);
}

/* ---- the thread ---- */

static void *run_follower(void *argument);

ibid_code follower_open(struct metadata_store *metadata, struct vector_store *vectors, struct follower **ret,
                        ibid_error *err)
{
    struct follower *follower = xcalloc(1, sizeof *follower);
    follower->metadata = metadata;
    follower->vectors = vectors;
    follower->asked = 1; /* what was committed before the last process ended */
    pthread_mutex_init(&follower->work, NULL);
    pthread_mutex_init(&follower->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&follower->woken, &monotonic);
    pthread_cond_init(&follower->served_some, &monotonic);
    pthread_condattr_destroy(&monotonic);
    AUTO_ARENA arena = ARENA_INIT;
    const ibid_code code = attach_all(follower, &arena, err);
    if (code != IBID_OK) {
        follower_close(follower);
        return code;
    }
    thread_start(&follower->thread, "ibid-follow", run_follower, follower);
    follower->running = true;
    *ret = follower;
    return IBID_OK;
}

static bool has_work_locked(const struct follower *follower)
{
    return follower->asked != follower->served || follower->compact_asked != follower->compact_served;
}

/* Waits for something to do: a commit, a failure to be tried again, a quiet time to tidy up in. */
static bool wait_for_work(struct follower *follower, uint64_t *ret_asked, uint64_t *ret_compact)
{
    pthread_mutex_lock(&follower->lock);
    const bool failed = follower->error.code != IBID_OK;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += failed ? RETRY_AFTER_S : TIDY_AFTER_S;
    while (!atomic_load(&follower->cancel) && !has_work_locked(follower)) {
        if (!failed && !follower->untidy)
            pthread_cond_wait(&follower->woken, &follower->lock);
        else if (pthread_cond_timedwait(&follower->woken, &follower->lock, &until) != 0) {
            follower->compact_asked += !failed;
            break;
        }
    }
    *ret_asked = follower->asked;
    *ret_compact = follower->compact_asked;
    pthread_mutex_unlock(&follower->lock);
    return !atomic_load(&follower->cancel);
}

static void *run_follower(void *argument)
{
    struct follower *follower = argument;
    uint64_t asked, compact;
    while (wait_for_work(follower, &asked, &compact)) {
        ibid_error error = {0};
        const bool compacting = compact != follower->compact_served;
        pthread_mutex_lock(&follower->work);
        ibid_code code = follow_all(follower, &error);
        if (code == IBID_OK && compacting)
            code = tidy(follower, &error);
        pthread_mutex_unlock(&follower->work);
        if (code != IBID_OK && code != IBID_ECANCELED && follower->error.code == IBID_OK)
            log_error("the index does not follow: %s", error.message);
        pthread_mutex_lock(&follower->lock);
        follower->error = error;
        follower->served = asked;
        follower->untidy = !compacting;
        if (compacting)
            follower->compact_served = compact;
        pthread_cond_broadcast(&follower->served_some);
        pthread_mutex_unlock(&follower->lock);
    }
    return NULL;
}

void follower_close(struct follower *follower)
{
    if (!follower)
        return;
    pthread_mutex_lock(&follower->lock);
    atomic_store(&follower->cancel, true);
    pthread_cond_broadcast(&follower->woken);
    pthread_mutex_unlock(&follower->lock);
    if (follower->running)
        pthread_join(follower->thread, NULL);
    for (size_t i = 0; i < follower->attached_count; i++)
        free(follower->attached[i].fingerprint);
    free(follower->attached);
    pthread_mutex_destroy(&follower->work);
    pthread_mutex_destroy(&follower->lock);
    pthread_cond_destroy(&follower->woken);
    pthread_cond_destroy(&follower->served_some);
    free(follower);
}

void follower_wake(struct follower *follower)
{
    pthread_mutex_lock(&follower->lock);
    follower->asked++;
    pthread_cond_signal(&follower->woken);
    pthread_mutex_unlock(&follower->lock);
}

ibid_code follower_settle(struct follower *follower, bool compact, int64_t deadline_us, ibid_error *err)
{
    const struct timespec until = {.tv_sec = deadline_us / SECOND_US,
                                   .tv_nsec = deadline_us % SECOND_US * 1000};
    pthread_mutex_lock(&follower->lock);
    const uint64_t ticket = ++follower->asked;
    const uint64_t compact_ticket = compact ? ++follower->compact_asked : 0;
    pthread_cond_signal(&follower->woken);
    bool in_time = true;
    while (in_time && (follower->served < ticket || follower->compact_served < compact_ticket))
        if (deadline_us == 0)
            pthread_cond_wait(&follower->served_some, &follower->lock);
        else
            in_time = pthread_cond_timedwait(&follower->served_some, &follower->lock, &until) == 0;
    const ibid_error error = follower->error;
    pthread_mutex_unlock(&follower->lock);
    if (!in_time)
        return fail(err, IBID_ETIMEOUT, "the index has not caught up yet");
    if (error.code != IBID_OK && err)
        *err = error;
    return error.code;
}

void follower_pause(struct follower *follower)
{
    pthread_mutex_lock(&follower->work);
}

void follower_resume(struct follower *follower)
{
    pthread_mutex_unlock(&follower->work);
}
