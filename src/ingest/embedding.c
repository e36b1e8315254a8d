#include "ingest/embedding.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "ingest/pipeline.h"
#include "records/embedding_cache.h"

enum {
    THREADS_MAX = 64,
    TASKS_WAITING = 512,
    RECENT_VECTORS = 4096, /* the last ones, for texts that come again before they are committed */
    BATCH_MAX = 1024,
    FILL_WAIT_US = 20000, /* a batch that is not full waits so long for more */
    ATTEMPTS = 8,
    PAUSE_US = 1000000, /* before the second attempt; doubles with each */
    PAUSE_MAX_US = 60000000,
    LONG_DOCUMENT = 1024, /* chunks from which on vectors are stored ahead of the document */
    STORED_AHEAD = 512,   /* at a time */
};
static const size_t BYTES_WAITING = 64 * 1024 * 1024;

struct waiting {
    struct task *task;
    struct waiting *next;
};

struct embedding {
    struct pipeline *pipeline;
    pthread_t threads[THREADS_MAX];
    unsigned thread_count;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t came, went;
    struct embedder *embedder;
    struct waiting *first, **last; /* tasks with texts that were not handed out yet */
    size_t waiting_count, waiting_texts, waiting_bytes;
    bool closed;
    bool unreachable; /* the last call failed after all its attempts: do not wait so long again */

    size_t dimension;
    struct sha256 *recent_keys;
    float *recent_vectors;
};

/* Texts of several tasks that are embedded together. */
struct batch {
    size_t count;
    struct str texts[BATCH_MAX];
    struct task *tasks[BATCH_MAX];
    size_t places[BATCH_MAX]; /* index of the chunk in its task */
    float *vectors;
};

struct embedding *embedding_new(struct pipeline *pipeline)
{
    struct embedding *embedding = xcalloc(1, sizeof *embedding);
    embedding->pipeline = pipeline;
    embedding->last = &embedding->first;
    pthread_mutex_init(&embedding->lock, NULL);
    condition_init(&embedding->came);
    condition_init(&embedding->went);
    return embedding;
}

/* ---- what is to be embedded ---- */

ibid_code prepare_embedding(struct pipeline *pipeline, struct task *task, const struct recipe *recipe,
                            ibid_error *err)
{
    const size_t count = task->chunk_count;
    const struct embedder_info *info = &recipe->embedder->info;
    task->embeddings = ARENA_ARRAY(&task->arena, struct chunk_embedding, count);
    task->cached = ARENA_ARRAY(&task->arena, bool, count);
    struct sha256 *keys = ARENA_ARRAY(&task->arena, struct sha256, count);
    int64_t *ids = ARENA_ARRAY(&task->arena, int64_t, count);
    for (size_t i = 0; i < count; i++) {
        struct sha256_state *state = sha256_start();
        sha256_feed_field(state, str_from(info->fingerprint));
        sha256_feed_field(state, task->chunks[i].embed_text);
        keys[i] = sha256_finish(state);
        task->embeddings[i] = (struct chunk_embedding){.key = keys[i]};
    }
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(pipeline->host->metadata, TRANSACTION_READ, &transaction, err));
    TRY(embedding_find(transaction, keys, count, ids, err));
    for (size_t i = 0; i < count; i++) {
        task->cached[i] = ids[i] != 0;
        task->unfinished += ids[i] == 0;
    }
    progress_embedded(pipeline->progress, 0, (int64_t)(count - task->unfinished));
    if (task->unfinished)
        task->vectors = ARENA_ARRAY(&task->arena, float, count * info->dimension);
    return IBID_OK;
}

/* ---- vectors of the last texts ---- */

static size_t recent_place(const struct sha256 *key)
{
    uint32_t bits;
    memcpy(&bits, key->bytes, sizeof bits);
    return bits % RECENT_VECTORS;
}

static bool find_recent_locked(const struct embedding *embedding, const struct sha256 *key, float *out)
{
    const size_t place = recent_place(key);
    if (!sha256_equal(&embedding->recent_keys[place], key))
        return false;
    memcpy(out, embedding->recent_vectors + place * embedding->dimension, embedding->dimension * sizeof *out);
    return true;
}

static void keep_recent_locked(struct embedding *embedding, const struct sha256 *key, const float *vector)
{
    const size_t place = recent_place(key);
    embedding->recent_keys[place] = *key;
    memcpy(embedding->recent_vectors + place * embedding->dimension, vector,
           embedding->dimension * sizeof *vector);
}

/* ---- batches ---- */

static float *vector_of(const struct embedding *embedding, struct task *task, size_t place)
{
    return task->vectors + place * embedding->dimension;
}

/* A document counts as done in part as its texts are embedded, for that takes longest. */
static void credit(struct embedding *embedding, struct task *task)
{
    if (!task->work || task->work->size <= 0)
        return;
    const int64_t share = task->work->size / (int64_t)task->chunk_count;
    pthread_mutex_lock(&embedding->lock);
    task->credited += share;
    pthread_mutex_unlock(&embedding->lock);
    progress_worked(embedding->pipeline->progress, share);
}

static void pass_on(struct embedding *embedding, struct task *task)
{
    struct pipeline *pipeline = embedding->pipeline;
    if (pipeline_is_stopping(pipeline) || !queue_put(pipeline->publishing, task))
        pipeline_finish(pipeline, task);
}

static void skip_cached(struct task *task)
{
    while (task->next_text < task->chunk_count && task->cached[task->next_text])
        task->next_text++;
}

/* The next text of the first task; false when no task waits. *ret_done is a task that needs nothing more. */
static bool take_text_locked(struct embedding *embedding, struct batch *batch, struct task **ret_done)
{
    *ret_done = NULL;
    struct waiting *waiting = embedding->first;
    if (!waiting)
        return false;
    struct task *task = waiting->task;
    skip_cached(task);
    if (task->next_text < task->chunk_count) {
        const size_t place = task->next_text++;
        float *vector = vector_of(embedding, task, place);
        embedding->waiting_texts--;
        if (find_recent_locked(embedding, &task->embeddings[place].key, vector)) {
            progress_embedded(embedding->pipeline->progress, 0, 1);
            task->embeddings[place].vector = vector;
            if (--task->unfinished == 0)
                *ret_done = task;
        } else {
            batch->texts[batch->count] = task->chunks[place].embed_text;
            batch->tasks[batch->count] = task;
            batch->places[batch->count++] = place;
        }
    }
    /* Once its last text is handed out another thread may finish the task: nothing here refers to it then. */
    skip_cached(task);
    if (task->next_text == task->chunk_count) {
        embedding->first = waiting->next;
        if (!embedding->first)
            embedding->last = &embedding->first;
        embedding->waiting_count--;
        embedding->waiting_bytes -= task->arena.allocated;
        free(waiting);
        pthread_cond_broadcast(&embedding->went);
    }
    return true;
}

/* Waits for texts; a batch that would not be full waits a little for more. False at the end. */
static bool wait_for_texts_locked(struct embedding *embedding, size_t size)
{
    while (!embedding->first && !embedding->closed)
        pthread_cond_wait(&embedding->came, &embedding->lock);
    if (!embedding->first)
        return false;
    const int64_t until_us = clock_monotonic_us() + FILL_WAIT_US;
    while (embedding->waiting_texts < size && !embedding->closed)
        if (!condition_wait_until(&embedding->came, &embedding->lock, until_us))
            break;
    return true;
}

static bool fill_batch(struct embedding *embedding, struct batch *batch)
{
    size_t size = embedding->embedder->info.batch_size;
    if (size > BATCH_MAX)
        size = BATCH_MAX;
    batch->count = 0;
    pthread_mutex_lock(&embedding->lock);
    const bool more = wait_for_texts_locked(embedding, size);
    struct task *done;
    while (more && batch->count < size && take_text_locked(embedding, batch, &done))
        if (done) {
            pthread_mutex_unlock(&embedding->lock);
            pass_on(embedding, done);
            pthread_mutex_lock(&embedding->lock);
        }
    pthread_mutex_unlock(&embedding->lock);
    return more;
}

/* ---- embedding ---- */

/* False when the pipeline was stopped meanwhile. */
static bool pause_for(struct pipeline *pipeline, int64_t us)
{
    const int64_t end = clock_monotonic_us() + us;
    while (clock_monotonic_us() < end && !pipeline_is_stopping(pipeline))
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    return !pipeline_is_stopping(pipeline);
}

static ibid_code embed_once(struct embedding *embedding, const struct str *texts, size_t count, float *out,
                            ibid_error *err)
{
    struct pipeline *pipeline = embedding->pipeline;
    /* Who waits for another machine needs no permit to compute on this one. */
    const bool remote = strcmp(embedding->embedder->info.precision, "remote") == 0;
    if (!remote)
        slots_acquire(pipeline->host->compute, false);
    const int64_t start = clock_monotonic_us();
    ibid_code code = embedder_embed(embedding->embedder, EMBED_PASSAGE, texts, count, out, err);
    progress_spent(pipeline->progress, STAGE_EMBED, start);
    if (!remote)
        slots_release(pipeline->host->compute);
    return code;
}

/* Backs off and tries again while that may help. */
static ibid_code embed_patiently(struct embedding *embedding, const struct str *texts, size_t count,
                                 float *out)
{
    int64_t pause = PAUSE_US;
    for (int attempt = 1;; attempt++) {
        ibid_error error = {0};
        ibid_code code = embed_once(embedding, texts, count, out, &error);
        if (code == IBID_OK || !ibid_code_is_retryable(code))
            return code;
        pthread_mutex_lock(&embedding->lock);
        const bool give_up = embedding->unreachable || attempt == ATTEMPTS;
        embedding->unreachable = give_up;
        pthread_mutex_unlock(&embedding->lock);
        const int64_t asked = (int64_t)error.retry_after_s * SECOND_US;
        if (give_up || !pause_for(embedding->pipeline, asked > pause ? asked : pause))
            return code;
        pause = pause * 2 < PAUSE_MAX_US ? pause * 2 : PAUSE_MAX_US;
    }
}

/* ok[i]: whether text i got its vector. A text that spoils its batch is found by trying each alone. */
static void embed_batch(struct embedding *embedding, struct batch *batch, bool *ok)
{
    memset(ok, 0, batch->count * sizeof *ok);
    const ibid_code code = embed_patiently(embedding, batch->texts, batch->count, batch->vectors);
    if (code == IBID_OK) {
        memset(ok, 1, batch->count * sizeof *ok);
        pthread_mutex_lock(&embedding->lock);
        embedding->unreachable = false;
        pthread_mutex_unlock(&embedding->lock);
    } else if (!ibid_code_is_retryable(code) && batch->count > 1) {
        for (size_t i = 0; i < batch->count && !pipeline_is_stopping(embedding->pipeline); i++)
            ok[i] = embed_once(embedding, &batch->texts[i], 1, batch->vectors + i * embedding->dimension,
                               NULL) == IBID_OK;
    }
}

/* Vectors of a long document that no transaction has stored yet, marked as stored; NULL when they are few. */
static size_t *take_unstored_locked(struct task *task, size_t *ret_count)
{
    if (task->chunk_count < LONG_DOCUMENT || task->unstored < STORED_AHEAD || task->unfinished == 1)
        return NULL;
    size_t *places = xcalloc(task->unstored, sizeof *places), count = 0;
    for (size_t i = 0; i < task->next_text && count < task->unstored; i++)
        if (task->embeddings[i].vector && !task->cached[i]) {
            task->cached[i] = true;
            places[count++] = i;
        }
    task->unstored = 0;
    *ret_count = count;
    return places;
}

/* So that a long document that is interrupted need not be embedded from its start again. The task is
 * unfinished and stays so meanwhile. */
static ibid_code store_ahead(struct embedding *embedding, const struct task *task, const size_t *places,
                             size_t count, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(embedding->pipeline->host->metadata, TRANSACTION_WRITE, &transaction, err));
    for (size_t i = 0; i < count; i++) {
        const struct chunk_embedding *chunk = &task->embeddings[places[i]];
        int64_t id;
        TRY(embedding_put(transaction, &chunk->key, chunk->vector, (uint32_t)embedding->dimension, &id, err));
    }
    return transaction_commit(transaction_take(&transaction), err);
}

/* Settles one text of a batch. */
static void finish_text(struct embedding *embedding, struct task *task, size_t place, const float *vector)
{
    float *kept = NULL;
    size_t unstored = 0;
    pthread_mutex_lock(&embedding->lock);
    if (vector) {
        kept = vector_of(embedding, task, place);
        memcpy(kept, vector, embedding->dimension * sizeof *kept);
        keep_recent_locked(embedding, &task->embeddings[place].key, vector);
        task->unstored++;
    }
    task->embeddings[place].vector = kept;
    AUTO_FREE size_t *places = take_unstored_locked(task, &unstored);
    pthread_mutex_unlock(&embedding->lock);
    ibid_error error = {0};
    if (places && store_ahead(embedding, task, places, unstored, &error) != IBID_OK)
        pipeline_fail(embedding->pipeline, &error);
    credit(embedding, task);
    pthread_mutex_lock(&embedding->lock);
    const bool last = --task->unfinished == 0;
    pthread_mutex_unlock(&embedding->lock);
    if (last)
        pass_on(embedding, task);
}

static void finish_batch(struct embedding *embedding, struct batch *batch, const bool *ok)
{
    int64_t embedded = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const float *vector = ok[i] ? batch->vectors + i * embedding->dimension : NULL;
        finish_text(embedding, batch->tasks[i], batch->places[i], vector);
        embedded += ok[i];
    }
    progress_embedded(embedding->pipeline->progress, embedded, 0);
}

static void *run_embedding(void *argument)
{
    struct embedding *embedding = argument;
    struct batch *batch = xmalloc(sizeof *batch);
    bool ok[BATCH_MAX];
    batch->vectors = xcalloc(BATCH_MAX, embedding->dimension * sizeof(float));
    while (fill_batch(embedding, batch)) {
        if (batch->count == 0)
            continue;
        if (pipeline_is_stopping(embedding->pipeline))
            memset(ok, 0, sizeof ok);
        else
            embed_batch(embedding, batch, ok);
        finish_batch(embedding, batch, ok);
    }
    free(batch->vectors);
    free(batch);
    return NULL;
}

static void start_locked(struct embedding *embedding, struct embedder *embedder)
{
    embedding->embedder = embedder;
    embedding->dimension = embedder->info.dimension;
    embedding->recent_keys = xcalloc(RECENT_VECTORS, sizeof *embedding->recent_keys);
    embedding->recent_vectors = xcalloc(RECENT_VECTORS, embedding->dimension * sizeof(float));
    embedding->thread_count =
        embedder->info.concurrency < THREADS_MAX ? embedder->info.concurrency : THREADS_MAX;
    for (unsigned i = 0; i < embedding->thread_count; i++)
        thread_start(&embedding->threads[i], "ibid-embed", run_embedding, embedding);
}

void embedding_add(struct embedding *embedding, struct task *task, struct embedder *embedder)
{
    struct waiting *waiting = xmalloc(sizeof *waiting);
    *waiting = (struct waiting){.task = task};
    pthread_mutex_lock(&embedding->lock);
    if (!embedding->embedder)
        start_locked(embedding, embedder);
    while (embedding->waiting_count > 0 &&
           (embedding->waiting_count >= TASKS_WAITING || embedding->waiting_bytes >= BYTES_WAITING))
        pthread_cond_wait(&embedding->went, &embedding->lock);
    *embedding->last = waiting;
    embedding->last = &waiting->next;
    embedding->waiting_count++;
    embedding->waiting_texts += task->unfinished;
    embedding->waiting_bytes += task->arena.allocated;
    pthread_cond_broadcast(&embedding->came);
    pthread_mutex_unlock(&embedding->lock);
}

void embedding_close(struct embedding *embedding)
{
    pthread_mutex_lock(&embedding->lock);
    embedding->closed = true;
    pthread_cond_broadcast(&embedding->came);
    pthread_mutex_unlock(&embedding->lock);
    for (unsigned i = 0; i < embedding->thread_count; i++)
        pthread_join(embedding->threads[i], NULL);
    pthread_mutex_destroy(&embedding->lock);
    pthread_cond_destroy(&embedding->came);
    pthread_cond_destroy(&embedding->went);
    free(embedding->recent_keys);
    free(embedding->recent_vectors);
    free(embedding);
}
