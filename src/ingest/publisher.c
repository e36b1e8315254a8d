/* The last stage: commits what has become of documents, many in one transaction. */
#include <stdlib.h>

#include "base/clock.h"
#include "ingest/blobs.h"
#include "ingest/pipeline.h"
#include "records/collection.h"
#include "records/embedding_cache.h"
#include "records/row_feed.h"
#include "records/sweep.h"

enum {
    GROUP_BYTES = 64 * 1024 * 1024,
    GROUP_CHUNKS = 4096, /* so that others need not wait for long to write */
};

struct group {
    struct task **tasks;
    int64_t *pending; /* rows of each that were published without vector */
    size_t count;
    size_t bytes, chunks;
};

/* Its bytes are in the blob store. */
static bool is_upload(const struct task *task)
{
    return task->work && !task->work->origin->connector;
}

static void put_line(const struct task *task, enum ledger_outcome outcome, struct ledger_line *line)
{
    const struct recipe *recipe = &task->work->origin->recipe;
    *line = (struct ledger_line){
        .source_id = task->work->origin->source.id,
        .external_key = str_from(task->work->external_key),
        .document_id = task->document.id,
        .outcome = outcome,
        .stage = outcome == LEDGER_INDEXED ? STR_EMPTY : str_from(ingest_stage_string(task->stage)),
        .reason = task->reason,
        .size = task->size >= 0 ? task->size : task->work->size,
        .modified_at = is_upload(task) ? task->known.modified_at : task->modified_at,
        .version = task->version,
        .media_type = task->known.media_type,
        .has_sha256 = task->has_sha256,
        .sha256 = task->sha256,
        .extractor = str_from(task->extractor),
        .chunker = STR_EMPTY,
        .embedder = STR_EMPTY,
        .seen_run = task->work->run_id,
    };
    if (outcome == LEDGER_INDEXED) {
        line->chunker = str_from(recipe->chunking_fingerprint);
        line->embedder = str_from(recipe->embedder_fingerprint);
    }
}

/* ---- one function a fate ---- */

/* Where the chunks go: with their vectors to the rows of their embedder. While the embedder is being changed
 * there are others, whose searches must not show what is no longer so, nor miss what is new: those get words
 * alone. */
static ibid_code choose_placements(struct transaction *transaction, struct task *task,
                                   struct placement placements[2], size_t *ret_count, ibid_error *err)
{
    const struct recipe *recipe = &task->work->origin->recipe;
    struct collection collections[2];
    bool changing;
    TRY(collection_load_serving(transaction, recipe->collection_id, &task->arena, &collections[0], err));
    TRY(collection_load_successor(transaction, recipe->collection_id, &task->arena, &collections[1],
                                  &changing, err));
    *ret_count = changing ? 2 : 1;
    bool embedded = false;
    for (size_t i = 0; i < *ret_count; i++) {
        const bool fits =
            task->embeddings && str_is(collections[i].embedder_fingerprint, recipe->embedder_fingerprint);
        placements[i] = (struct placement){.collection_id = collections[i].id,
                                           .embeddings = fits ? task->embeddings : NULL,
                                           .unless_shown = !fits};
        embedded |= fits;
    }
    if (!embedded)
        placements[0].unless_shown = false;
    return IBID_OK;
}

static ibid_code commit_publish(struct transaction *transaction, struct task *task, int64_t *ret_pending,
                                ibid_error *err)
{
    const struct recipe *recipe = &task->work->origin->recipe;
    struct placement placements[2];
    size_t placement_count;
    TRY(choose_placements(transaction, task, placements, &placement_count, err));
    const struct publication publication = {
        .document_id = task->document.id,
        .extraction = &task->extraction,
        .has_sha256 = task->has_sha256,
        .sha256 = task->sha256,
        .size = task->size,
        .document_title = task->title,
        .author = task->author,
        .media_type = task->extraction.media_type,
        .language = task->language,
        .version = task->version,
        .created_at = task->created_at,
        .modified_at = task->document_modified_at,
        .metadata = task->metadata,
        .chunking = str_from(recipe->chunking_fingerprint),
        .chunks = task->chunks,
        .chunk_count = task->chunk_count,
        .placements = placements,
        .placement_count = placement_count,
    };
    struct publication_result result;
    TRY(document_publish(transaction, &publication, &result, err));
    *ret_pending = (int64_t)result.rows_pending;
    struct ledger_line line;
    put_line(task, LEDGER_INDEXED, &line);
    return ledger_put(transaction, &line, err);
}

static ibid_code commit_unchanged(struct transaction *transaction, struct task *task, ibid_error *err)
{
    TRY(document_touch(transaction, task->document.id, task->size, task->modified_at, task->version, err));
    struct ledger_line line = task->known;
    line.size = task->size;
    line.modified_at = task->modified_at;
    line.version = task->version;
    line.seen_run = task->work->run_id;
    return ledger_put(transaction, &line, err);
}

/* The document that was made for the new place gives way to the one that has moved there. */
static ibid_code commit_moved(struct transaction *transaction, struct task *task, ibid_error *err)
{
    struct document moved;
    TRY(document_load(transaction, task->moved_from, &task->arena, &moved, err));
    const struct str key = str_from(task->work->external_key);
    struct removal removal;
    TRY(document_remove(transaction, task->document.id, "moved", &removal, err));
    TRY(document_move(transaction, moved.id, key, task->document.document_title, task->document.source_url,
                      task->document.path, err));
    TRY(ledger_move(transaction, moved.source_id, moved.external_key, key, err));
    TRY(document_touch(transaction, moved.id, task->size, task->modified_at, task->version, err));
    bool found;
    struct ledger_line line;
    TRY(ledger_find(transaction, moved.source_id, key, &task->arena, &line, &found, err));
    if (!found)
        return fail(err, IBID_EBUG, "the ledger lost '%.*s'", STR_ARG(key));
    line.size = task->size;
    line.modified_at = task->modified_at;
    line.version = task->version;
    line.seen_run = task->work->run_id;
    return ledger_put(transaction, &line, err);
}

static ibid_code commit_refused(struct transaction *transaction, struct task *task, ibid_error *err)
{
    const bool skipped = task->fate == TASK_SKIPPED;
    TRY(document_end(transaction, task->document.id, skipped ? PROCESSING_SKIPPED : PROCESSING_FAILED,
                     ingest_stage_string(task->stage), task->reason, err));
    struct ledger_line line;
    put_line(task, skipped ? LEDGER_SKIPPED : LEDGER_FAILED, &line);
    if (!line.has_sha256 && line.modified_at == 0)
        line.modified_at = task->known.modified_at;
    line.attempts = task->known.attempts;
    return ledger_put(transaction, &line, err);
}

/* Whether an upload has got new bytes since the task read which ones to work on. */
static ibid_code is_replaced(struct transaction *transaction, struct task *task, bool *ret, ibid_error *err)
{
    struct ledger_line line;
    const struct ledger_line *known = &task->known;
    bool found = false;
    if (is_upload(task))
        TRY(ledger_find(transaction, task->work->origin->source.id, str_from(task->work->external_key),
                        &task->arena, &line, &found, err));
    *ret = found && (line.modified_at != known->modified_at || line.has_sha256 != known->has_sha256 ||
                     (line.has_sha256 && !sha256_equal(&line.sha256, &known->sha256)));
    return IBID_OK;
}

/* The new bytes are another task's; if that one was quicker, what came of them counts. */
static ibid_code commit_replaced(struct transaction *transaction, struct task *task, ibid_error *err)
{
    struct ledger_line line;
    bool found;
    TRY(ledger_find(transaction, task->work->origin->source.id, str_from(task->work->external_key),
                    &task->arena, &line, &found, err));
    enum processing_state state = PROCESSING_PENDING;
    if (found && line.outcome == LEDGER_INDEXED)
        state = PROCESSING_COMPLETED;
    else if (found && line.outcome == LEDGER_SKIPPED)
        state = PROCESSING_SKIPPED;
    else if (found && line.outcome == LEDGER_FAILED)
        state = PROCESSING_FAILED;
    if (state == PROCESSING_PENDING)
        return document_end(transaction, task->document.id, state, "", STR_EMPTY, err);
    const char *stage = arena_memdup0(&task->arena, line.stage.data, line.stage.size);
    return document_end(transaction, task->document.id, state, stage, line.reason, err);
}

static ibid_code commit_embedded(struct transaction *transaction, struct task *task, int64_t *ret_pending,
                                 ibid_error *err)
{
    for (size_t i = 0; i < task->chunk_count; i++) {
        const struct chunk_embedding *embedding = &task->embeddings[i];
        int64_t id;
        if (embedding->vector)
            TRY(embedding_put(transaction, &embedding->key, embedding->vector, task->dimension, &id, err));
        else
            TRY(embedding_find(transaction, &embedding->key, 1, &id, err));
        if (id)
            TRY(row_set_embedding(transaction, task->row_ids[i], id, err));
        else
            (*ret_pending)++;
    }
    return IBID_OK;
}

static ibid_code commit_task(struct transaction *transaction, struct task *task, int64_t *ret_pending,
                             ibid_error *err)
{
    bool replaced;
    TRY(is_replaced(transaction, task, &replaced, err));
    if (replaced)
        task->fate = TASK_REPLACED;
    switch (task->fate) {
    case TASK_PUBLISH:
        return commit_publish(transaction, task, ret_pending, err);
    case TASK_UNCHANGED:
        return commit_unchanged(transaction, task, err);
    case TASK_MOVED:
        return commit_moved(transaction, task, err);
    case TASK_SKIPPED:
    case TASK_FAILED:
        return commit_refused(transaction, task, err);
    case TASK_REPLACED:
        return commit_replaced(transaction, task, err);
    case TASK_GONE:
        return IBID_OK;
    case TASK_EMBEDDED:
        return commit_embedded(transaction, task, ret_pending, err);
    }
    BUG("fate %d", task->fate);
}

/* ---- one transaction ---- */

/* Documents that workers have begun since the last commit. */
static ibid_code note_started(struct transaction *transaction, const int64_t *ids, size_t count,
                              ibid_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const ibid_code code = document_start(transaction, ids[i], ingest_stage_string(STAGE_EXTRACT), err);
        if (code != IBID_OK && code != IBID_ENOTFOUND)
            return code;
    }
    return IBID_OK;
}

static ibid_code commit_group(struct pipeline *pipeline, struct group *group, const int64_t *started,
                              size_t started_count, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(pipeline->host->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(note_started(transaction, started, started_count, err));
    for (size_t i = 0; i < group->count; i++) {
        group->pending[i] = 0;
        const ibid_code code = commit_task(transaction, group->tasks[i], &group->pending[i], err);
        if (code == IBID_ENOTFOUND) {
            group->tasks[i]->fate = TASK_GONE;
        } else if (code != IBID_OK) {
            if (group->tasks[i]->work)
                error_context(err, "%s", group->tasks[i]->work->external_key);
            return code;
        }
    }
    if (pipeline->run_id) {
        const struct run_progress counts = progress_counts(pipeline->progress);
        TRY(run_beat(transaction, pipeline->run_id, &counts, err));
    }
    return transaction_commit(transaction_take(&transaction), err);
}

/* The disk or the store is at fault, not a document. */
static bool is_fatal(ibid_code code)
{
    return code == IBID_EIO || code == IBID_ENOSPACE || code == IBID_ECORRUPT || code == IBID_EUNAVAILABLE ||
           code == IBID_EBUSY || code == IBID_ETIMEOUT;
}

static void count_task(struct progress *progress, const struct task *task, int64_t pending)
{
    progress_pending(progress, pending);
    if (!task->work) {
        progress_backlog_done(progress, (int64_t)task->chunk_count);
        return;
    }
    int64_t tokens = 0;
    for (size_t i = 0; i < task->chunk_count; i++)
        tokens += task->chunks[i].tokens;
    switch (task->fate) {
    case TASK_PUBLISH:
        progress_indexed(progress, (int64_t)task->chunk_count, task->size, tokens);
        break;
    case TASK_SKIPPED:
    case TASK_FAILED:
        progress_refused(progress, task->fate == TASK_SKIPPED ? LEDGER_SKIPPED : LEDGER_FAILED, task->stage,
                         task->reason);
        break;
    case TASK_REPLACED:
    case TASK_GONE:
        break;
    default:
        progress_unchanged(progress, task->fate == TASK_MOVED);
    }
    progress_done(progress, (task->work->size > 0 ? task->work->size : 0) - task->credited);
}

/* The bytes that an upload had before. */
static void drop_old_bytes(struct pipeline *pipeline, const struct task *task)
{
    if (task->fate == TASK_PUBLISH && is_upload(task) && task->document.has_sha256 &&
        !sha256_equal(&task->document.sha256, &task->sha256))
        ingest_drop_blob(pipeline->ingest, &task->document.sha256);
}

/* A group fails as a whole; then each of its tasks is tried alone, and the one that spoils it is the failure
 * of its document. */
static ibid_code commit_alone(struct pipeline *pipeline, struct group *group, size_t index, ibid_error *err)
{
    struct group single = {.tasks = &group->tasks[index], .pending = &group->pending[index], .count = 1};
    ibid_code code = commit_group(pipeline, &single, NULL, 0, err);
    if (code == IBID_OK || is_fatal(code) || !group->tasks[index]->work)
        return code;
    task_end(group->tasks[index], TASK_FAILED, STAGE_PUBLISH, "%s: %s", ibid_code_string(code), err->message);
    return commit_group(pipeline, &single, NULL, 0, err);
}

static void publish_group(struct pipeline *pipeline, struct group *group)
{
    const int64_t start = clock_monotonic_us();
    size_t started_count;
    int64_t *started = pipeline_take_started(pipeline, &started_count);
    ibid_error error = {0};
    ibid_code code = commit_group(pipeline, group, started, started_count, &error);
    if (code != IBID_OK && !is_fatal(code) && group->count > 0) {
        code = IBID_OK;
        for (size_t i = 0; i < group->count && code == IBID_OK; i++)
            code = commit_alone(pipeline, group, i, &error);
    }
    free(started);
    progress_spent(pipeline->progress, STAGE_PUBLISH, start);
    if (code != IBID_OK)
        pipeline_fail(pipeline, &error);
    else if (group->count > 0)
        pipeline->host->committed(pipeline->host);
    for (size_t i = 0; i < group->count; i++) {
        if (code == IBID_OK) {
            group->tasks[i]->committed = true;
            count_task(pipeline->progress, group->tasks[i], group->pending[i]);
            drop_old_bytes(pipeline, group->tasks[i]);
        }
        pipeline_finish(pipeline, group->tasks[i]);
    }
    group->count = group->bytes = group->chunks = 0;
}

/* ---- the thread ---- */

static void add_task(struct group *group, struct task *task)
{
    group->tasks[group->count++] = task;
    group->bytes += task->arena.allocated;
    group->chunks += task->chunk_count;
}

/* Takes what comes within the interval; no longer once nothing else is under way. */
static void gather(struct pipeline *pipeline, struct group *group, size_t limit)
{
    enum { LOOK_US = 10000 };
    const int64_t deadline = clock_monotonic_us() + pipeline->host->settings->commit_interval;
    while (group->count < limit && group->bytes < GROUP_BYTES && group->chunks < GROUP_CHUNKS) {
        const int64_t now = clock_monotonic_us();
        struct task *task = now < deadline ? queue_take_until(pipeline->publishing, now + LOOK_US) : NULL;
        if (task)
            add_task(group, task);
        else if (now >= deadline || pipeline_in_flight(pipeline) <= (int64_t)group->count)
            return;
    }
}

void *publish_tasks(void *argument)
{
    struct pipeline *pipeline = argument;
    const size_t limit = (size_t)pipeline->host->settings->commit_documents;
    struct group group = {.tasks = xcalloc(limit, sizeof *group.tasks),
                          .pending = xcalloc(limit, sizeof(int64_t))};
    for (;;) {
        struct task *task = queue_take_until(
            pipeline->publishing, clock_monotonic_us() + pipeline->host->settings->commit_interval);
        if (task) {
            add_task(&group, task);
            gather(pipeline, &group, limit);
        } else if (atomic_load(&pipeline->closing) && queue_size(pipeline->publishing) == 0) {
            break;
        }
        if (task || pipeline_has_started(pipeline))
            publish_group(pipeline, &group);
    }
    free(group.tasks);
    free(group.pending);
    return NULL;
}
