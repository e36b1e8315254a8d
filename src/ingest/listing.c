#include "ingest/listing.h"

#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "ingest/compare.h"
#include "records/sweep.h"

enum { BATCH = 256 };

struct listing {
    struct pipeline *pipeline;
    struct origin *origin;
    bool force;
    struct arena arena; /* of the batch */
    struct connector_item items[BATCH];
    size_t count;
    int64_t busy_us; /* spent on comparing, to be told from listing */
};

/* What one batch came to; told to the progress once it is committed. */
struct tally {
    struct work *works[BATCH];
    size_t work_count;
    int64_t work_bytes, unchanged;
    struct {
        enum ledger_outcome outcome;
        enum ingest_stage stage;
        struct str reason;
    } refused[BATCH];
    size_t refused_count;
};

static void refuse(struct tally *tally, enum ledger_outcome outcome, enum ingest_stage stage,
                   struct str reason)
{
    const size_t i = tally->refused_count++;
    tally->refused[i].outcome = outcome;
    tally->refused[i].stage = stage;
    tally->refused[i].reason = reason;
}

static void add_work(struct listing *listing, struct tally *tally, const struct connector_item *item,
                     int64_t document_id)
{
    struct work *work = work_new(listing->origin, item->external_key, document_id);
    work->run_id = listing->pipeline->run_id;
    work->size = item->size;
    work->force = listing->force;
    tally->works[tally->work_count++] = work;
    tally->work_bytes += item->size > 0 ? item->size : 0;
}

static struct ledger_line line_of(const struct listing *listing, const struct connector_item *item,
                                  enum ledger_outcome outcome)
{
    return (struct ledger_line){.source_id = listing->origin->source.id,
                                .external_key = item->external_key,
                                .outcome = outcome,
                                .stage = STR_EMPTY,
                                .reason = STR_EMPTY,
                                .size = item->size,
                                .modified_at = item->modified_us,
                                .version = item->version,
                                .extractor = STR_EMPTY,
                                .chunker = STR_EMPTY,
                                .embedder = STR_EMPTY,
                                .seen_run = listing->pipeline->run_id};
}

static ibid_code see(struct transaction *transaction, const struct listing *listing,
                     const struct connector_item *item, ibid_error *err)
{
    bool found;
    return ledger_see(transaction, listing->origin->source.id, item->external_key, listing->pipeline->run_id,
                      &found, err);
}

/* What was indexed and is not to be any more goes; but what cannot be read at the moment stays. */
static ibid_code skip_item(struct transaction *transaction, struct listing *listing,
                           const struct connector_item *item, const struct ledger_line *line, ibid_error *err)
{
    const struct str reason = str_from(item->skip);
    if (line && line->outcome == LEDGER_SKIPPED && str_equal(line->reason, reason))
        return see(transaction, listing, item, err);
    const bool there = line && line->document_id && line->outcome != LEDGER_REMOVED;
    if (there && str_starts_with(reason, "unreadable"))
        return see(transaction, listing, item, err);
    if (there) {
        struct removal removal;
        const ibid_code code = document_remove(transaction, line->document_id, item->skip, &removal, err);
        if (code != IBID_OK && code != IBID_ENOTFOUND)
            return code;
    }
    struct ledger_line skipped = line_of(listing, item, LEDGER_SKIPPED);
    skipped.stage = str_from(ingest_stage_string(STAGE_DISCOVER));
    skipped.reason = reason;
    return ledger_put(transaction, &skipped, err);
}

static ibid_code make_document(struct transaction *transaction, struct listing *listing,
                               const struct connector_item *item, int64_t *ret_id, ibid_error *err)
{
    const int64_t source_id = listing->origin->source.id;
    TRY(document_find_key(transaction, source_id, item->external_key, ret_id, err));
    if (*ret_id == 0) {
        const struct document draft = {
            .file_id = STR_EMPTY,
            .source_id = source_id,
            .external_key = item->external_key,
            .document_title = item->title.size ? item->title : path_base_name(item->external_key),
            .source_url = item->url,
            .path = item->external_key,
            .author = STR_EMPTY,
            .media_type = item->media_type,
            .language = STR_EMPTY,
            .size = item->size,
            .version = item->version,
            .modified_at = item->modified_us,
            .metadata = STR_EMPTY,
        };
        TRY(document_create(transaction, &draft, ret_id, err));
    }
    struct ledger_line line = line_of(listing, item, LEDGER_SEEN);
    line.document_id = *ret_id;
    return ledger_put(transaction, &line, err);
}

static ibid_code judge_item(struct transaction *transaction, struct listing *listing,
                            const struct connector_item *item, struct tally *tally, ibid_error *err)
{
    struct ledger_line line;
    bool found;
    TRY(ledger_find(transaction, listing->origin->source.id, item->external_key, &listing->arena, &line,
                    &found, err));
    const struct ledger_line *known = found ? &line : NULL;
    int64_t document_id = found ? line.document_id : 0;
    switch (compare_item(item, known, &listing->origin->recipe, listing->force)) {
    case VERDICT_SKIP:
        refuse(tally, LEDGER_SKIPPED, STAGE_DISCOVER, str_from(item->skip));
        return skip_item(transaction, listing, item, known, err);
    case VERDICT_UNCHANGED:
        tally->unchanged++;
        return see(transaction, listing, item, err);
    case VERDICT_REFUSED:
        refuse(tally, line.outcome == LEDGER_FAILED ? LEDGER_FAILED : LEDGER_SKIPPED,
               line.outcome == LEDGER_REMOVED ? STAGE_DISCOVER : STAGE_EXTRACT, line.reason);
        return see(transaction, listing, item, err);
    case VERDICT_NEW:
        TRY(make_document(transaction, listing, item, &document_id, err));
        break;
    case VERDICT_WORK:
        TRY(see(transaction, listing, item, err));
        break;
    }
    add_work(listing, tally, item, document_id);
    return IBID_OK;
}

static ibid_code judge_batch(struct listing *listing, struct tally *tally, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(listing->pipeline->host->metadata, TRANSACTION_WRITE, &transaction, err));
    for (size_t i = 0; i < listing->count; i++)
        TRY(judge_item(transaction, listing, &listing->items[i], tally, err));
    return transaction_commit(transaction_take(&transaction), err);
}

static ibid_code flush(struct listing *listing, ibid_error *err)
{
    const int64_t start = clock_monotonic_us();
    struct tally tally = {0};
    const ibid_code code = judge_batch(listing, &tally, err);
    struct progress *progress = listing->pipeline->progress;
    if (code == IBID_OK) {
        progress_listed(progress, (int64_t)listing->count, tally.unchanged, (int64_t)tally.work_count,
                        tally.work_bytes);
        for (size_t i = 0; i < tally.refused_count; i++)
            progress_refused(progress, tally.refused[i].outcome, tally.refused[i].stage,
                             tally.refused[i].reason);
    }
    for (size_t i = 0; i < tally.work_count; i++) {
        if (code == IBID_OK)
            pipeline_submit(listing->pipeline, tally.works[i]);
        else
            free(tally.works[i]);
    }
    arena_release(&listing->arena);
    listing->count = 0;
    listing->busy_us += clock_monotonic_us() - start;
    return code;
}

static ibid_code receive(const struct connector_item *item, void *context, ibid_error *err)
{
    struct listing *listing = context;
    struct arena *arena = &listing->arena;
    listing->items[listing->count++] = (struct connector_item){
        .external_key = arena_str(arena, item->external_key),
        .title = arena_str(arena, item->title),
        .url = arena_str(arena, item->url),
        .media_type = arena_str(arena, item->media_type),
        .version = arena_str(arena, item->version),
        .size = item->size,
        .modified_us = item->modified_us,
        .skip = item->skip ? arena_strdup(arena, item->skip) : NULL,
    };
    if (pipeline_is_stopping(listing->pipeline))
        return fail(err, IBID_ECANCELED, "canceled");
    return listing->count == BATCH ? flush(listing, err) : IBID_OK;
}

ibid_code list_source(struct pipeline *pipeline, struct origin *origin, bool force, bool *ret_complete,
                      ibid_error *err)
{
    const int64_t start = clock_monotonic_us();
    struct listing *listing = xcalloc(1, sizeof *listing);
    *listing = (struct listing){.pipeline = pipeline, .origin = origin, .force = force};
    bool complete = false;
    ibid_code code = connector_discover(origin->connector, origin->location, origin->source_options,
                                        &pipeline->cancel, receive, listing, &complete, err);
    if (code == IBID_OK && listing->count > 0)
        code = flush(listing, err);
    progress_spent(pipeline->progress, STAGE_DISCOVER, start + listing->busy_us);
    arena_release(&listing->arena);
    free(listing);
    *ret_complete = code == IBID_OK && complete && !pipeline_is_stopping(pipeline);
    return code;
}

ibid_code list_failed(struct pipeline *pipeline, struct origin *origin, ibid_error *err)
{
    AUTO_ARENA keys = ARENA_INIT;
    struct str after = STR_EMPTY;
    for (;;) {
        AUTO_TRANSACTION *transaction = NULL;
        AUTO_ARENA arena = ARENA_INIT;
        struct ledger_line *lines;
        size_t count;
        TRY(transaction_begin(pipeline->host->metadata, TRANSACTION_READ, &transaction, err));
        TRY(ledger_list(transaction, origin->source.id, LEDGER_FAILED, after, BATCH, &arena, &lines, &count,
                        err));
        transaction_rollback(transaction_take(&transaction));
        if (count == 0 || pipeline_is_stopping(pipeline))
            return IBID_OK;
        for (size_t i = 0; i < count; i++) {
            struct work *work = work_new(origin, lines[i].external_key, lines[i].document_id);
            work->run_id = pipeline->run_id;
            work->size = lines[i].size;
            work->force = true;
            progress_listed(pipeline->progress, 1, 0, 1, work->size > 0 ? work->size : 0);
            pipeline_submit(pipeline, work);
        }
        after = arena_str(&keys, lines[count - 1].external_key);
    }
}

/* One transaction's worth. *ret_count 0: nothing is left. */
static ibid_code remove_some(struct pipeline *pipeline, struct origin *origin, struct str after,
                             struct arena *arena, struct str *ret_last, size_t *ret_count,
                             int64_t *ret_removed, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct ledger_line *lines;
    size_t count;
    *ret_removed = 0;
    TRY(transaction_begin(pipeline->host->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(ledger_unseen(transaction, origin->source.id, pipeline->run_id, after, BATCH, arena, &lines, &count,
                      err));
    for (size_t i = 0; i < count; i++) {
        struct removal removal;
        ibid_code code = lines[i].document_id ? document_remove(transaction, lines[i].document_id,
                                                                "gone from the source", &removal, err)
                                              : IBID_ENOTFOUND;
        if (code == IBID_OK)
            (*ret_removed)++;
        else if (code == IBID_ENOTFOUND)
            code = ledger_forget(transaction, origin->source.id, lines[i].external_key, err);
        TRY(code);
    }
    *ret_count = count;
    if (count)
        *ret_last = lines[count - 1].external_key;
    return transaction_commit(transaction_take(&transaction), err);
}

ibid_code remove_gone(struct pipeline *pipeline, struct origin *origin, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct str after = STR_EMPTY;
    for (;;) {
        size_t count;
        int64_t removed;
        if (pipeline_is_stopping(pipeline))
            return IBID_OK;
        TRY(remove_some(pipeline, origin, after, &arena, &after, &count, &removed, err));
        progress_removed(pipeline->progress, removed);
        if (count == 0)
            return IBID_OK;
        pipeline->host->committed(pipeline->host);
    }
}
