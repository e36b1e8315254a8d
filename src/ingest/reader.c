/* The worker's stage: fetch, compare, extract, cut. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "ingest/compare.h"
#include "ingest/embedding.h"
#include "ingest/fields.h"
#include "ingest/pipeline.h"

enum { SAME_BYTES_LIMIT = 16 }; /* documents with the same bytes that are looked at for a move */

/* Reads what is known of the document. False when it was deleted meanwhile. */
static ibid_code load_known(struct pipeline *pipeline, struct task *task, bool *ret_there, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(pipeline->host->metadata, TRANSACTION_READ, &transaction, err));
    const struct work *work = task->work;
    const ibid_code code = document_load(transaction, work->document_id, &task->arena, &task->document, err);
    *ret_there = code == IBID_OK;
    if (code != IBID_OK)
        return code == IBID_ENOTFOUND ? IBID_OK : code;
    bool found;
    TRY(ledger_find(transaction, work->origin->source.id, str_from(work->external_key), &task->arena,
                    &task->known, &found, err));
    if (!found)
        task->known = (struct ledger_line){.outcome = LEDGER_SEEN};
    return IBID_OK;
}

/* Why a file could not be had decides whether that is the file's failure. */
static void refuse_fetch(struct task *task, const ibid_error *error)
{
    if (error->code == IBID_ETOOBIG)
        task_end(task, TASK_SKIPPED, STAGE_FETCH, "too_large: %s", error->message);
    else if (error->code == IBID_ENOTFOUND)
        task_end(task, TASK_FAILED, STAGE_FETCH, "vanished: %s", error->message);
    else if (error->code == IBID_EDENIED)
        task_end(task, TASK_FAILED, STAGE_FETCH, "not_readable: %s", error->message);
    else
        task_end(task, TASK_FAILED, STAGE_FETCH, "%s: %s", ibid_code_string(error->code), error->message);
}

/* An upload's new bytes are in the ledger before the document has them. */
static ibid_code fetch_kept(struct ingest_host *host, const struct task *task, struct connector_item *item,
                            int *fd, ibid_error *err)
{
    const struct ledger_line *known = &task->known;
    *item = (struct connector_item){.external_key = str_from(task->work->external_key),
                                    .title = STR_EMPTY,
                                    .url = STR_EMPTY,
                                    .media_type = known->has_sha256 ? known->media_type : STR_EMPTY,
                                    .version = STR_EMPTY,
                                    .size = known->has_sha256 ? known->size : task->document.size};
    if (!known->has_sha256 && !task->document.has_sha256)
        return fail(err, IBID_ENOTFOUND, "the bytes of this document were not kept");
    return blob_store_open_blob(host->blobs, known->has_sha256 ? &known->sha256 : &task->document.sha256,
                                false, fd, err);
}

static bool fetch(struct pipeline *pipeline, struct task *task, struct connector_item *item, int *fd)
{
    const int64_t start = clock_monotonic_us();
    struct work *work = task->work;
    ibid_error error = {0};
    ibid_code code = work->origin->connector
                         ? origin_fetch(pipeline->host, work->origin, str_from(work->external_key),
                                        &task->arena, item, fd, &error)
                         : fetch_kept(pipeline->host, task, item, fd, &error);
    if (code == IBID_OK) {
        code = sha256_of_fd(*fd, &task->sha256, &error);
        if (code != IBID_OK)
            close(*fd);
    }
    progress_spent(pipeline->progress, STAGE_FETCH, start);
    if (code != IBID_OK) {
        refuse_fetch(task, &error);
        return false;
    }
    task->has_sha256 = true;
    task->size = item->size >= 0 ? item->size : task->document.size;
    task->modified_at = item->modified_us;
    task->version = item->version;
    return true;
}

/* Loads a document with the same bytes, if it can be moved: it is of the same source, and was read from them
 * as it would be now. If it would be cut otherwise, the next run finds that: it sees it in its place. */
static bool load_movable(struct pipeline *pipeline, struct task *task, int64_t id, const char *extractor,
                         struct document *ret)
{
    const struct origin *origin = task->work->origin;
    AUTO_TRANSACTION *transaction = NULL;
    struct ledger_line line;
    bool found;
    return transaction_begin(pipeline->host->metadata, TRANSACTION_READ, &transaction, NULL) == IBID_OK &&
           document_load(transaction, id, &task->arena, ret, NULL) == IBID_OK &&
           ret->source_id == origin->source.id &&
           ledger_find(transaction, ret->source_id, ret->external_key, &task->arena, &line, &found, NULL) ==
               IBID_OK &&
           found && is_read_alike(&line, &task->sha256, extractor);
}

/* Whether the document `id` is where the task's bytes were before, and its place is empty now. */
static bool has_moved_here(struct pipeline *pipeline, struct task *task, int64_t id, const char *extractor)
{
    struct document other;
    if (id == task->document.id || !load_movable(pipeline, task, id, extractor, &other))
        return false;
    struct connector_item item;
    int fd;
    const ibid_code code =
        origin_fetch(pipeline->host, task->work->origin, other.external_key, &task->arena, &item, &fd, NULL);
    if (code == IBID_OK)
        close(fd);
    return code == IBID_ENOTFOUND && pipeline_claim_move(pipeline, id);
}

static bool find_moved(struct pipeline *pipeline, struct task *task, const char *extractor)
{
    if (task->document.revision_id != 0 || !task->work->origin->connector)
        return false;
    AUTO_TRANSACTION *transaction = NULL;
    int64_t *ids;
    size_t count;
    if (transaction_begin(pipeline->host->metadata, TRANSACTION_READ, &transaction, NULL) != IBID_OK ||
        document_find_sha256(transaction, &task->sha256, SAME_BYTES_LIMIT, &task->arena, &ids, &count,
                             NULL) != IBID_OK)
        return false;
    transaction_rollback(transaction_take(&transaction));
    for (size_t i = 0; i < count; i++)
        if (has_moved_here(pipeline, task, ids[i], extractor)) {
            task->moved_from = ids[i];
            return true;
        }
    return false;
}

static const char *extractor_version(const char *media_type)
{
    const char *version = extract_extractor_version(media_type);
    return version ? version : extract_none_version();
}

static void judge_extraction(struct task *task)
{
    const struct extraction *extraction = &task->extraction;
    if (extraction_is_usable(extraction->status))
        return;
    task_end(task, extraction->status == EXTRACTION_UNSUPPORTED ? TASK_SKIPPED : TASK_FAILED, STAGE_EXTRACT,
             "%s%s%.*s", extraction_status_string(extraction->status), extraction->reason.size ? ": " : "",
             STR_ARG(extraction->reason));
}

static struct extract_request request_of(struct task *task, const struct connector_item *item, int fd)
{
    const struct str name = path_base_name(str_from(task->work->external_key));
    return (struct extract_request){
        .fd = fd,
        .name = arena_memdup0(&task->arena, name.data, name.size),
        .media_type = item->media_type.size
                          ? arena_memdup0(&task->arena, item->media_type.data, item->media_type.size)
                          : NULL,
        .words = true,
    };
}

/* False when it was interrupted. */
static bool extract(struct pipeline *pipeline, struct task *task, const struct extract_request *request,
                    const char *media_type)
{
    const int64_t start = clock_monotonic_us();
    ibid_error error = {0};
    const ibid_code code = extract_document(pipeline->extract_pool, request, &pipeline->cancel, &task->arena,
                                            &task->extraction, &error);
    progress_spent(pipeline->progress, STAGE_EXTRACT, start);
    if (code == IBID_ECANCELED)
        return false;
    task->extractor = extractor_version(media_type);
    if (code != IBID_OK) {
        task_end(task, TASK_FAILED, STAGE_EXTRACT, "%s: %s", ibid_code_string(code), error.message);
        return true;
    }
    if (task->extraction.media_type.size)
        task->extractor = extractor_version(
            arena_memdup0(&task->arena, task->extraction.media_type.data, task->extraction.media_type.size));
    judge_extraction(task);
    return true;
}

static void cut(struct pipeline *pipeline, struct task *task, const struct connector_item *item)
{
    const int64_t start = clock_monotonic_us();
    const struct recipe *recipe = &task->work->origin->recipe;
    fill_fields(task, item);
    struct chunking chunking = recipe->chunking;
    chunking.language = arena_memdup0(&task->arena, task->language.data, task->language.size);
    ibid_error error = {0};
    ibid_code code = chunker_split(recipe->chunker, &task->extraction, task->title, &chunking,
                                   recipe->counter, &task->arena, &task->chunks, &task->chunk_count, &error);
    if (code == IBID_OK && recipe->embedder)
        code = prepare_embedding(pipeline, task, recipe, &error);
    progress_spent(pipeline->progress, STAGE_CHUNK, start);
    if (code == IBID_EFORMAT)
        task_end(task, TASK_FAILED, STAGE_CHUNK, "no_text: %s", error.message);
    else if (code != IBID_OK)
        task_end(task, TASK_FAILED, STAGE_CHUNK, "%s: %s", ibid_code_string(code), error.message);
}

/* With the bytes at hand. False when it was interrupted. */
static bool read_bytes(struct pipeline *pipeline, struct task *task, const struct connector_item *item,
                       int fd)
{
    const struct recipe *recipe = &task->work->origin->recipe;
    const struct extract_request request = request_of(task, item, fd);
    const char *media_type = extract_detect_type(fd, request.name, request.media_type);
    const char *extractor = extract_extractor_version(media_type);
    if (!task->work->force && is_up_to_date(&task->known, &task->sha256, extractor, recipe)) {
        task->fate = TASK_UNCHANGED;
        return true;
    }
    if (!task->work->force && is_refused_still(&task->known, &task->sha256)) {
        task->extractor = arena_memdup0(&task->arena, task->known.extractor.data, task->known.extractor.size);
        task_end(task, task->known.outcome == LEDGER_SKIPPED ? TASK_SKIPPED : TASK_FAILED, STAGE_EXTRACT,
                 "%.*s", STR_ARG(task->known.reason));
        return true;
    }
    if (!task->work->force && find_moved(pipeline, task, extractor)) {
        task->fate = TASK_MOVED;
        return true;
    }
    pipeline_started(pipeline, task);
    if (!extract(pipeline, task, &request, media_type))
        return false;
    if (task->fate == TASK_PUBLISH)
        cut(pipeline, task, item);
    return true;
}

/* What is known of it is loaded. False when it was interrupted. */
static bool read_known(struct pipeline *pipeline, struct task *task)
{
    struct connector_item item;
    int fd = -1;
    if (!fetch(pipeline, task, &item, &fd))
        return true;
    const bool whole = read_bytes(pipeline, task, &item, fd);
    if (whole && task->fate == TASK_PUBLISH && task->work->origin->connector &&
        !connector_item_is_unchanged(task->work->origin->connector, &item, fd))
        task_end(task, TASK_FAILED, STAGE_FETCH, "changing: it was written to while it was read");
    close(fd);
    return whole;
}

bool read_document(struct pipeline *pipeline, struct task *task)
{
    ibid_error error = {0};
    bool there;
    if (load_known(pipeline, task, &there, &error) != IBID_OK) {
        pipeline_fail(pipeline, &error);
        return false;
    }
    if (!there)
        return false;
    struct reading reading;
    progress_reading(pipeline->progress, &reading, task->work->external_key);
    const bool whole = read_known(pipeline, task);
    progress_reading_over(pipeline->progress, &reading);
    return whole;
}
