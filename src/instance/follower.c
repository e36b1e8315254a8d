#include "instance/follower.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "records/collection.h"
#include "records/succession.h"
#include "records/sweep.h"

enum {
    MOMENT_US = 200000,   /* that tidying takes before it gives way */
    TIDY_AFTER_S = 30,    /* without a commit: makes the index durable, sweeps */
    TIDY_AT_MOST_S = 900, /* after the first commit since, where there is never so long a quiet */
    SWEEP_ROWS = 5000,    /* in one transaction */
    WITHDRAWN = 64,       /* documents, in one transaction */
    RETRY_AFTER_S = 5,    /* after a failure; twice as long after each further one */
    RETRY_AT_MOST_S = 300,
};

/* A collection as the store was told of it, and what keeps it from following. */
struct attached {
    int64_t collection_id;
    uint32_t dimension;
    char *fingerprint;
    int64_t reported;    /* the watermark in the records; -1: they may not know yet that the store follows */
    int64_t retry_at_us; /* 0 unless it failed the last time */
    int64_t wait_us;     /* until then, from when it failed */
    ibid_error error;    /* of the last attempt: under `lock`, too */
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
    ibid_error records_error; /* what keeps all of them: under `lock`, too */
    bool unfinished;          /* tidying gave way: the thread's own */

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t woken, served_some;
    uint64_t asked, served;                 /* counts of wakes */
    uint64_t compact_asked, compact_served; /* the same for compaction */
    bool insistent;                         /* somebody waits: what failed is tried again at once */
    bool thorough;                          /* somebody waits for a compaction to be over */
    int64_t tidy_at_us, retry_at_us;        /* 0: not needed */
    int64_t untidy_since_us;                /* 0: it is tidy */
    ibid_error error;                       /* the first one of the last round */
};

/* ---- collections ---- */

/* Under `lock`, or in the thread. */
static struct attached *look_up(const struct follower *follower, int64_t collection_id)
{
    for (size_t i = 0; i < follower->attached_count; i++)
        if (follower->attached[i].collection_id == collection_id)
            return &follower->attached[i];
    return NULL;
}

static struct attached *find_attached(struct follower *follower, int64_t collection_id)
{
    struct attached *found = look_up(follower, collection_id);
    if (found)
        return found;
    pthread_mutex_lock(&follower->lock);
    GROW(follower->attached, follower->attached_count, follower->attached_capacity);
    found = &follower->attached[follower->attached_count++];
    *found = (struct attached){.collection_id = collection_id, .reported = -1};
    pthread_mutex_unlock(&follower->lock);
    return found;
}

static ibid_code list_collections(struct follower *follower, struct arena *arena, struct collection **ret,
                                  size_t *ret_count, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(follower->metadata, TRANSACTION_READ, &transaction, err));
    return collection_list(transaction, arena, ret, ret_count, err);
}

/* Tells the store of a collection that is new to it or has another embedder now. */
static ibid_code attach(struct follower *follower, const struct collection *collection,
                        struct attached *attached, ibid_error *err)
{
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

/* Retired, and more is left of it than a name to the outside. */
static bool is_leaving(const struct collection *collection)
{
    return collection->role == COLLECTION_RETIRED &&
           (collection->id != collection->parent_id || collection->dimension != 0);
}

/* ---- following ---- */

static ibid_code note_watermark(struct follower *follower, struct attached *attached, int64_t seq,
                                ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(follower->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(watermark_set(transaction, str_from(follower->vectors->ops->name), attached->collection_id, seq,
                      err));
    TRY(transaction_commit(transaction_take(&transaction), err));
    attached->reported = seq;
    return IBID_OK;
}

/* Before it takes the first row: what is removed from a collection without any watermark goes at once. */
static ibid_code introduce(struct follower *follower, struct attached *attached, ibid_error *err)
{
    return attached->reported < 0 ? note_watermark(follower, attached, 0, err) : IBID_OK;
}

static bool all_are_introduced(const struct follower *follower)
{
    for (size_t i = 0; i < follower->attached_count; i++)
        if (follower->attached[i].reported < 0)
            return false;
    return true;
}

/* Tells the records up to where the store would survive a crash. */
static ibid_code report(struct follower *follower, struct attached *attached, ibid_error *err)
{
    struct vector_store_stats stats;
    TRY(vector_store_stats(follower->vectors, attached->collection_id, &stats, err));
    return stats.durable != attached->reported ? note_watermark(follower, attached, stats.durable, err)
                                               : IBID_OK;
}

static ibid_code serve(struct follower *follower, const struct collection *collection,
                       struct attached *attached, bool compacting, ibid_error *err)
{
    /* A full disk is no reason not to follow: until it is done nothing is swept. */
    (void)introduce(follower, attached, NULL);
    TRY(attach(follower, collection, attached, err));
    TRY(vector_store_follow(follower->vectors, collection->id, &follower->cancel, err));
    if (!compacting)
        return IBID_OK;
    TRY(vector_store_compact(follower->vectors, collection->id, &follower->cancel, err));
    return report(follower, attached, err);
}

/* A collection that fails is left alone for a while, longer each time; the others go on. */
static void note_outcome(struct follower *follower, const struct collection *collection,
                         struct attached *attached, ibid_code code, const ibid_error *error)
{
    const bool failed = code != IBID_OK && code != IBID_ECANCELED;
    if (failed && attached->error.code == IBID_OK)
        log_error("the index does not follow collection '%.*s': %s", STR_ARG(collection->name),
                  error->message);
    if (!failed)
        attached->wait_us = 0;
    else if (attached->wait_us == 0)
        attached->wait_us = RETRY_AFTER_S * SECOND_US;
    else if (attached->wait_us < RETRY_AT_MOST_S * SECOND_US / 2)
        attached->wait_us *= 2;
    else
        attached->wait_us = RETRY_AT_MOST_S * SECOND_US;
    attached->retry_at_us = failed ? clock_monotonic_us() + attached->wait_us : 0;
    pthread_mutex_lock(&follower->lock);
    attached->error = failed ? *error : (ibid_error){0};
    pthread_mutex_unlock(&follower->lock);
}

/* What there is to do in one round. */
struct round {
    uint64_t asked, compact;
    bool compacting, insistent, thorough;
    bool goes_on; /* with the tidying that the last one did not finish */
};

/* Whether tidying that began then is to give way: what is committed meanwhile is to be followed, and the rest
 * is for the next round. Who waits for a compaction waits for all of it. */
static bool gives_way(const struct round *round, int64_t since_us)
{
    return !round->thorough && clock_monotonic_us() - since_us > MOMENT_US;
}

/* ---- a change of embedder: records/succession.h ---- */

/* Whether the store has all that a collection has: nothing is committed beside the write transaction. */
static ibid_code has_followed(struct follower *follower, struct transaction *transaction,
                              int64_t collection_id, bool *ret, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct collection collection;
    struct vector_store_stats stats;
    TRY(collection_load(transaction, collection_id, &arena, &collection, err));
    TRY(vector_store_stats(follower->vectors, collection_id, &stats, err));
    *ret = stats.watermark >= collection.seq;
    return IBID_OK;
}

/* The store has followed the successor. What was committed since is followed first, in the next round. */
static ibid_code switch_to(struct follower *follower, const struct collection *successor, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    bool followed, done;
    TRY(transaction_begin(follower->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(has_followed(follower, transaction, successor->id, &followed, err));
    if (!followed)
        return IBID_OK;
    TRY(succession_switch(transaction, successor->parent_id, &done, err));
    TRY(transaction_commit(transaction_take(&transaction), err));
    if (!done)
        return IBID_OK;
    pthread_mutex_lock(&follower->lock);
    follower->untidy_since_us = clock_monotonic_us(); /* searches have begun with what has served */
    pthread_mutex_unlock(&follower->lock);
    follower_wake(follower); /* to retire it */
    log_info("collection '%.*s' is searched by the vectors of %.*s now", STR_ARG(successor->name),
             STR_ARG(successor->embedder));
    return IBID_OK;
}

static ibid_code forget_watermark(struct follower *follower, int64_t collection_id, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(follower->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(watermark_forget(transaction, str_from(follower->vectors->ops->name), collection_id, err));
    return transaction_commit(transaction_take(&transaction), err);
}

static void detach(struct follower *follower, int64_t collection_id)
{
    pthread_mutex_lock(&follower->lock);
    struct attached *attached = look_up(follower, collection_id);
    if (attached) {
        free(attached->fingerprint);
        *attached = follower->attached[--follower->attached_count];
    }
    pthread_mutex_unlock(&follower->lock);
}

/* Nothing that the store has is wanted any more, so it need not be told of each row. The records lose the
 * rows some at a time; the sweep after it deletes them. */
static ibid_code retire(struct follower *follower, const struct round *round,
                        const struct collection *retired, ibid_error *err)
{
    const int64_t start_us = clock_monotonic_us();
    detach(follower, retired->id);
    TRY(vector_store_drop(follower->vectors, retired->id, err));
    TRY(forget_watermark(follower, retired->id, err));
    bool more = true;
    while (more && !atomic_load(&follower->cancel) && !gives_way(round, start_us)) {
        AUTO_TRANSACTION *transaction = NULL;
        TRY(transaction_begin(follower->metadata, TRANSACTION_WRITE, &transaction, err));
        TRY(succession_withdraw(transaction, retired->id, WITHDRAWN, &more, err));
        TRY(transaction_commit(transaction_take(&transaction), err));
    }
    follower->unfinished |= more;
    return IBID_OK;
}

/* After the sweep. */
static ibid_code forget_retired(struct follower *follower, const struct collection *collections, size_t count,
                                ibid_error *err)
{
    for (size_t i = 0; i < count; i++) {
        AUTO_TRANSACTION *transaction = NULL;
        bool gone;
        if (!is_leaving(&collections[i]))
            continue;
        TRY(transaction_begin(follower->metadata, TRANSACTION_WRITE, &transaction, err));
        TRY(succession_forget(transaction, collections[i].id, &gone, err));
        TRY(transaction_commit(transaction_take(&transaction), err));
    }
    return IBID_OK;
}

/* ---- a round ---- */

/* A collection that retires does so in a quiet round after the one that it was relieved in, so that searches
 * which have begun with it are over. */
static ibid_code serve_one(struct follower *follower, const struct collection *collection,
                           const struct round *round, ibid_error *err)
{
    if (collection->role == COLLECTION_RETIRED) {
        const bool quiet = round->compacting || !look_up(follower, collection->id); /* or begun already */
        return quiet && is_leaving(collection) ? retire(follower, round, collection, err) : IBID_OK;
    }
    struct attached *attached = find_attached(follower, collection->id);
    if (!round->insistent && attached->retry_at_us > clock_monotonic_us())
        return IBID_OK;
    ibid_error error = {0};
    const ibid_code code = serve(follower, collection, attached, round->compacting, &error);
    note_outcome(follower, collection, attached, code, &error);
    return code == IBID_OK && collection->role == COLLECTION_SUCCESSOR && collection->complete
               ? switch_to(follower, collection, err)
               : IBID_OK;
}

static ibid_code sweep_some(struct follower *follower, const struct round *round, ibid_error *err)
{
    const int64_t start_us = clock_monotonic_us();
    struct sweep_result result = {.more = true};
    while (result.more && !atomic_load(&follower->cancel) && !gives_way(round, start_us)) {
        AUTO_TRANSACTION *transaction = NULL;
        TRY(transaction_begin(follower->metadata, TRANSACTION_WRITE, &transaction, err));
        TRY(sweep(transaction, SWEEP_ROWS, &result, err));
        TRY(transaction_commit(transaction_take(&transaction), err));
    }
    follower->unfinished |= result.more;
    return IBID_OK;
}

/* Rows that nobody needs any more leave the records, first those of what has retired. */
static ibid_code tidy(struct follower *follower, const struct round *round,
                      const struct collection *collections, size_t count, ibid_error *err)
{
    if (all_are_introduced(follower) && !follower->unfinished)
        TRY(sweep_some(follower, round, err));
    if (follower->unfinished)
        return IBID_OK;
    TRY(forget_retired(follower, collections, count, err));
    return metadata_store_maintain(follower->metadata, err);
}

static ibid_code run_round(struct follower *follower, const struct round *round, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct collection *collections;
    size_t count;
    TRY(list_collections(follower, &arena, &collections, &count, err));
    ibid_code first = IBID_OK; /* one that fails does not keep the others */
    for (size_t i = 0; i < count && !atomic_load(&follower->cancel); i++) {
        ibid_error error = {0};
        const ibid_code code = serve_one(follower, &collections[i], round, &error);
        if (code != IBID_OK && first == IBID_OK) {
            first = code;
            *err = error;
        }
    }
    TRY(first);
    return round->compacting || round->goes_on ? tidy(follower, round, collections, count, err) : IBID_OK;
}

/* ---- the thread ---- */

static void *run_follower(void *argument);

/* Searching begins with what the store has; a collection that it cannot open is tried again by the thread. No
 * search has begun with one that an earlier process retired: it goes in the first round. */
static ibid_code attach_all(struct follower *follower, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct collection *collections;
    size_t count;
    TRY(list_collections(follower, &arena, &collections, &count, err));
    for (size_t i = 0; i < count; i++) {
        if (is_leaving(&collections[i]))
            follower->compact_asked = 1;
        if (collections[i].role == COLLECTION_RETIRED)
            continue;
        struct attached *attached = find_attached(follower, collections[i].id);
        ibid_error error = {0};
        const ibid_code code = attach(follower, &collections[i], attached, &error);
        if (code != IBID_OK)
            note_outcome(follower, &collections[i], attached, code, &error);
    }
    return IBID_OK;
}

ibid_code follower_open(struct metadata_store *metadata, struct vector_store *vectors, struct follower **ret,
                        ibid_error *err)
{
    struct follower *follower = xcalloc(1, sizeof *follower);
    follower->metadata = metadata;
    follower->vectors = vectors;
    follower->asked = 1; /* what was committed before the last process ended */
    pthread_mutex_init(&follower->work, NULL);
    pthread_mutex_init(&follower->lock, NULL);
    condition_init(&follower->woken);
    condition_init(&follower->served_some);
    const ibid_code code = attach_all(follower, err);
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
    return follower->asked != follower->served || follower->compact_asked != follower->compact_served ||
           follower->unfinished;
}

/* The next moment at which something is due without being asked for; 0: none. Under `lock`. */
static int64_t due_at_us(const struct follower *follower)
{
    const int64_t tidy = follower->tidy_at_us, retry = follower->retry_at_us;
    return !tidy || (retry && retry < tidy) ? retry : tidy;
}

/* Waits for something to do: a commit, a failure to be tried again, a quiet time to tidy up in. False: to
 * end. */
static bool wait_for_work(struct follower *follower, struct round *ret)
{
    pthread_mutex_lock(&follower->lock);
    const int64_t due_us = due_at_us(follower);
    while (!atomic_load(&follower->cancel) && !has_work_locked(follower) &&
           condition_wait_until(&follower->woken, &follower->lock, due_us))
        ;
    if (follower->tidy_at_us && clock_monotonic_us() >= follower->tidy_at_us)
        follower->compact_asked++;
    *ret = (struct round){.asked = follower->asked,
                          .compact = follower->compact_asked,
                          .compacting = follower->compact_asked != follower->compact_served,
                          .insistent = follower->insistent,
                          .thorough = follower->thorough,
                          .goes_on = follower->unfinished};
    follower->insistent = follower->thorough = follower->unfinished = false;
    pthread_mutex_unlock(&follower->lock);
    return !atomic_load(&follower->cancel);
}

/* In the next quiet time; there may be none for long. Under `lock`. */
static void plan_tidying(struct follower *follower, const struct round *round, int64_t now_us)
{
    if (round->compacting && follower->error.code == IBID_OK) {
        follower->tidy_at_us = follower->untidy_since_us = 0;
    } else if (round->compacting || round->asked != follower->served) {
        if (round->compacting || !follower->untidy_since_us)
            follower->untidy_since_us = now_us;
        const int64_t latest_us = follower->untidy_since_us + TIDY_AT_MOST_S * SECOND_US;
        follower->tidy_at_us = now_us + TIDY_AFTER_S * SECOND_US;
        if (follower->tidy_at_us > latest_us)
            follower->tidy_at_us = latest_us;
    }
}

/* What one round came to, for those who wait and for the next round. Under `work`. */
static void end_round(struct follower *follower, const struct round *round, const ibid_error *error)
{
    const int64_t now_us = clock_monotonic_us();
    pthread_mutex_lock(&follower->lock);
    follower->records_error = follower->error = *error;
    follower->retry_at_us = error->code != IBID_OK ? now_us + RETRY_AFTER_S * SECOND_US : 0;
    for (size_t i = 0; i < follower->attached_count; i++) {
        const struct attached *attached = &follower->attached[i];
        if (follower->error.code == IBID_OK)
            follower->error = attached->error;
        if (attached->retry_at_us &&
            (!follower->retry_at_us || attached->retry_at_us < follower->retry_at_us))
            follower->retry_at_us = attached->retry_at_us;
    }
    plan_tidying(follower, round, now_us);
    if (follower->tidy_at_us && follower->tidy_at_us < follower->retry_at_us)
        follower->tidy_at_us = follower->retry_at_us;
    follower->served = round->asked;
    follower->compact_served = round->compact;
    pthread_cond_broadcast(&follower->served_some);
    pthread_mutex_unlock(&follower->lock);
}

static void *run_follower(void *argument)
{
    struct follower *follower = argument;
    struct round round;
    while (wait_for_work(follower, &round)) {
        ibid_error error = {0};
        pthread_mutex_lock(&follower->work);
        const ibid_code code = run_round(follower, &round, &error);
        if (code != IBID_OK && follower->records_error.code == IBID_OK)
            log_error("the index does not follow: %s", error.message);
        end_round(follower, &round, &error);
        pthread_mutex_unlock(&follower->work);
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

struct follower_ticket follower_ask(struct follower *follower, bool compact)
{
    struct follower_ticket ticket = {0};
    pthread_mutex_lock(&follower->lock);
    ticket.asked = ++follower->asked;
    if (compact) {
        ticket.compact_asked = ++follower->compact_asked;
        follower->thorough = true;
    }
    follower->insistent = true;
    pthread_cond_signal(&follower->woken);
    pthread_mutex_unlock(&follower->lock);
    return ticket;
}

ibid_code follower_wait(struct follower *follower, struct follower_ticket ticket, int64_t deadline_us,
                        ibid_error *err)
{
    bool in_time = true;
    pthread_mutex_lock(&follower->lock);
    while (in_time && (follower->served < ticket.asked || follower->compact_served < ticket.compact_asked))
        in_time = condition_wait_until(&follower->served_some, &follower->lock, deadline_us);
    const ibid_error error = follower->error;
    pthread_mutex_unlock(&follower->lock);
    if (!in_time)
        return fail(err, IBID_ETIMEOUT, "the index has not caught up yet");
    if (error.code != IBID_OK && err)
        *err = error;
    return error.code;
}

ibid_code follower_settle(struct follower *follower, bool compact, int64_t deadline_us, ibid_error *err)
{
    return follower_wait(follower, follower_ask(follower, compact), deadline_us, err);
}

ibid_code follower_check(struct follower *follower, int64_t collection_id, ibid_error *err)
{
    pthread_mutex_lock(&follower->lock);
    const struct attached *attached = look_up(follower, collection_id);
    ibid_error error = follower->records_error;
    if (error.code == IBID_OK && attached)
        error = attached->error;
    pthread_mutex_unlock(&follower->lock);
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
