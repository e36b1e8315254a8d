#include "ingest/backlog.h"

#include "ingest/embedding.h"
#include "records/bootstrap.h"
#include "records/collection.h"
#include "records/row_feed.h"
#include "records/succession.h"

enum {
    ROWS = 64,    /* that get their vectors together: what a stop loses at most of them */
    CARRIED = 64, /* documents in one transaction: others may write in between */
};

/* Rows to be embedded, and what they are to take the place of. */
struct backlog {
    struct pipeline *pipeline;
    const struct recipe *recipe;
    int64_t rows_id;    /* collection that keeps them; 0: there is none for this embedder */
    int64_t serving_id; /* collection that serves meanwhile; 0: that one */
};

static bool is_stopping(const struct backlog *backlog)
{
    return pipeline_is_stopping(backlog->pipeline) || atomic_load(&backlog->pipeline->yield);
}

/* The same for a watch. */
static bool is_stopped(void *backlog)
{
    return is_stopping(backlog);
}

/* ---- what is missing in a successor ---- */

static ibid_code find_rows(struct backlog *backlog, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = NULL;
    struct collection serving, successor;
    bool found;
    const int64_t id = backlog->recipe->collection_id;
    const char *fingerprint = backlog->recipe->embedder_fingerprint;
    TRY(transaction_begin(backlog->pipeline->host->metadata, TRANSACTION_READ, &transaction, err));
    TRY(collection_load_serving(transaction, id, &arena, &serving, err));
    TRY(collection_load_successor(transaction, id, &arena, &successor, &found, err));
    if (str_is(serving.embedder_fingerprint, fingerprint)) {
        backlog->rows_id = serving.id;
    } else if (found && str_is(successor.embedder_fingerprint, fingerprint)) {
        backlog->rows_id = successor.id;
        backlog->serving_id = serving.id;
    }
    return IBID_OK;
}

/* One transaction's worth. *ret_last 0: nothing was missing after `after`. */
static ibid_code carry_some(struct backlog *backlog, int64_t after, int64_t *ret_last, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = NULL;
    int64_t *ids;
    size_t count;
    TRY(transaction_begin(backlog->pipeline->host->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(succession_missing(transaction, backlog->serving_id, backlog->rows_id, after, CARRIED, &arena, &ids,
                           &count, err));
    for (size_t i = 0; i < count; i++)
        TRY(succession_carry(transaction, ids[i], backlog->serving_id, backlog->rows_id, err));
    *ret_last = count ? ids[count - 1] : 0;
    return transaction_commit(transaction_take(&transaction), err);
}

/* Whether the bytes are here and would be cut otherwise today. */
static ibid_code is_cut_otherwise(struct backlog *backlog, struct transaction *transaction,
                                  const struct document *document, struct arena *arena, bool *ret,
                                  ibid_error *err)
{
    struct ledger_line line;
    *ret = false;
    if (document->source_id != UPLOAD_SOURCE_ID)
        return IBID_OK;
    TRY(ledger_find(transaction, UPLOAD_SOURCE_ID, document->external_key, arena, &line, ret, err));
    *ret = *ret && line.outcome == LEDGER_INDEXED &&
           !str_is(line.chunker, backlog->recipe->chunking_fingerprint);
    return IBID_OK;
}

/* Looks through some of the missing documents. *count grows by what is found, also before a failure;
 * *ret_last 0: nothing was missing after `after`. */
static ibid_code find_uploads(struct backlog *backlog, struct origin *origin, int64_t after,
                              struct work *works[CARRIED], size_t *count, int64_t *ret_last, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = NULL;
    int64_t *ids;
    size_t missing;
    TRY(transaction_begin(backlog->pipeline->host->metadata, TRANSACTION_READ, &transaction, err));
    TRY(succession_missing(transaction, backlog->serving_id, backlog->rows_id, after, CARRIED, &arena, &ids,
                           &missing, err));
    for (size_t i = 0; i < missing; i++) {
        struct document document;
        bool otherwise;
        TRY(document_load(transaction, ids[i], &arena, &document, err));
        TRY(is_cut_otherwise(backlog, transaction, &document, &arena, &otherwise, err));
        if (!otherwise)
            continue;
        struct work *work = work_new(origin, document.external_key, document.id);
        work->run_id = backlog->pipeline->run_id;
        work->size = document.size;
        work->force = true;
        works[(*count)++] = work;
    }
    *ret_last = missing ? ids[missing - 1] : 0;
    return IBID_OK;
}

static ibid_code submit_uploads(struct backlog *backlog, struct origin *origin, ibid_error *err)
{
    for (int64_t after = 0; !is_stopping(backlog);) {
        struct work *works[CARRIED];
        size_t count = 0;
        const ibid_code code = find_uploads(backlog, origin, after, works, &count, &after, err);
        for (size_t i = 0; i < count; i++) {
            progress_listed(backlog->pipeline->progress, 0, 0, 1, works[i]->size > 0 ? works[i]->size : 0);
            pipeline_submit(backlog->pipeline, works[i]);
        }
        if (code != IBID_OK || after == 0)
            return code;
    }
    return IBID_OK;
}

/* No run lists uploads. Those that the new embedder would cut otherwise are read again: what is longer than
 * it takes in would lose its end. */
static ibid_code cut_uploads_anew(struct backlog *backlog, ibid_error *err)
{
    struct origin *origin;
    TRY(origin_open(backlog->pipeline->host, UPLOAD_SOURCE_ID, &origin, err));
    ibid_code code = IBID_OK;
    if (origin->recipe.collection_id == backlog->recipe->collection_id)
        code = submit_uploads(backlog, origin, err);
    pipeline_drain(backlog->pipeline);
    origin_close(origin);
    return code;
}

/* Documents that no source has shown anew keep their chunks. */
static ibid_code carry_over(struct backlog *backlog, ibid_error *err)
{
    for (int64_t after = 0; !is_stopping(backlog);) {
        TRY(carry_some(backlog, after, &after, err));
        if (after == 0)
            return IBID_OK;
        backlog->pipeline->host->committed(backlog->pipeline->host);
    }
    return IBID_OK;
}

/* The successor takes over when the index has its rows, which is waited for: the process may end after the
 * run. What keeps the index from it is no failure of the run; its follower tries again and says why. */
static void wait_for_index(struct backlog *backlog)
{
    struct ingest_host *host = backlog->pipeline->host;
    const struct watch watch = {.stopped = is_stopped, .context = backlog};
    const ibid_code ignored = host->settled(host, &watch, NULL);
    (void)ignored;
}

static ibid_code note_complete(struct backlog *backlog, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    bool complete;
    TRY(transaction_begin(backlog->pipeline->host->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(succession_complete(transaction, backlog->recipe->collection_id, &complete, err));
    TRY(transaction_commit(transaction_take(&transaction), err));
    backlog->pipeline->host->committed(backlog->pipeline->host);
    if (complete)
        wait_for_index(backlog);
    return IBID_OK;
}

/* ---- rows without vectors ---- */

/* The next rows after `after` as a task; NULL when there are none. */
static ibid_code next_rows(struct backlog *backlog, int64_t after, struct task **ret, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(backlog->pipeline->host->metadata, TRANSACTION_READ, &transaction, err));
    struct task *task = task_new(NULL);
    struct pending_row *rows;
    size_t count;
    const ibid_code code =
        row_pending(transaction, backlog->rows_id, after, ROWS, &task->arena, &rows, &count, err);
    if (code != IBID_OK || count == 0) {
        task_free(task);
        *ret = NULL;
        return code;
    }
    task->fate = TASK_EMBEDDED;
    task->dimension = (uint32_t)backlog->recipe->embedder->info.dimension;
    task->chunk_count = count;
    task->chunks = ARENA_ARRAY(&task->arena, struct chunk, count);
    task->row_ids = ARENA_ARRAY(&task->arena, int64_t, count);
    for (size_t i = 0; i < count; i++) {
        task->row_ids[i] = rows[i].row_id;
        task->chunks[i].embed_text = rows[i].embed_text;
    }
    *ret = task;
    return IBID_OK;
}

static ibid_code announce(struct backlog *backlog, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    int64_t count;
    TRY(transaction_begin(backlog->pipeline->host->metadata, TRANSACTION_READ, &transaction, err));
    TRY(row_pending_count(transaction, backlog->rows_id, &count, err));
    progress_backlog(backlog->pipeline->progress, count);
    return IBID_OK;
}

static ibid_code embed_rows(struct backlog *backlog, ibid_error *err)
{
    TRY(announce(backlog, err));
    for (int64_t after = 0; !is_stopping(backlog);) {
        struct task *task;
        TRY(next_rows(backlog, after, &task, err));
        if (!task)
            return IBID_OK;
        after = task->row_ids[task->chunk_count - 1];
        const ibid_code code = prepare_embedding(backlog->pipeline, task, backlog->recipe, err);
        if (code != IBID_OK) {
            task_free(task);
            return code;
        }
        pipeline_submit_rows(backlog->pipeline, task, backlog->recipe->embedder);
    }
    return IBID_OK;
}

ibid_code embed_backlog(struct pipeline *pipeline, const struct recipe *recipe, ibid_error *err)
{
    struct backlog backlog = {.pipeline = pipeline, .recipe = recipe};
    if (recipe->embedder)
        TRY(find_rows(&backlog, err));
    if (backlog.rows_id == 0)
        return IBID_OK;
    if (backlog.serving_id) {
        TRY(cut_uploads_anew(&backlog, err));
        TRY(carry_over(&backlog, err));
    }
    TRY(embed_rows(&backlog, err));
    pipeline_drain(pipeline);
    TRY(pipeline_failure(pipeline, err));
    return backlog.serving_id && !is_stopping(&backlog) ? note_complete(&backlog, err) : IBID_OK;
}

ibid_code has_backlog(struct transaction *transaction, int64_t collection_id, bool *ret, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct collection collection;
    struct pending_row *rows;
    size_t count;
    bool changing;
    TRY(collection_load_successor(transaction, collection_id, &arena, &collection, &changing, err));
    if (!changing)
        TRY(collection_load_serving(transaction, collection_id, &arena, &collection, err));
    TRY(row_pending(transaction, collection.id, 0, 1, &arena, &rows, &count, err));
    *ret = count > 0 || (changing && !collection.complete);
    return IBID_OK;
}
