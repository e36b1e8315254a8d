#include "ingest/backlog.h"

#include "records/row_feed.h"

enum { ROWS = 512 };

/* The next rows after `after` as a task; NULL when there are none. */
static ibid_code next_rows(struct pipeline *pipeline, const struct recipe *recipe, int64_t after,
                           struct task **ret, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(pipeline->host->metadata, TRANSACTION_READ, &transaction, err));
    struct task *task = task_new(NULL);
    struct pending_row *rows;
    size_t count;
    const ibid_code code =
        row_pending(transaction, recipe->collection_id, after, ROWS, &task->arena, &rows, &count, err);
    if (code != IBID_OK || count == 0) {
        task_free(task);
        *ret = NULL;
        return code;
    }
    task->fate = TASK_EMBEDDED;
    task->dimension = (uint32_t)recipe->embedder->info.dimension;
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

ibid_code embed_backlog(struct pipeline *pipeline, const struct recipe *recipe, ibid_error *err)
{
    int64_t after = 0;
    while (recipe->embedder && !pipeline_is_stopping(pipeline)) {
        struct task *task;
        TRY(next_rows(pipeline, recipe, after, &task, err));
        if (!task)
            return IBID_OK;
        after = task->row_ids[task->chunk_count - 1];
        const ibid_code code = prepare_embedding(pipeline, task, recipe, err);
        if (code != IBID_OK) {
            task_free(task);
            return code;
        }
        pipeline_submit_rows(pipeline, task);
    }
    return IBID_OK;
}
