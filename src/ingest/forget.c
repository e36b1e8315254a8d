#include "ingest/compare.h"
#include "ingest/engine.h"
#include "ingest/run.h"
#include "records/bootstrap.h"
#include "records/source.h"
#include "records/sweep.h"

enum { REMOVE_BATCH = 64 }; /* documents in one transaction: others may write in between */

static ibid_code begin(struct ingest *ingest, ibid_error *err)
{
    pthread_mutex_lock(&ingest->lock);
    const ibid_code code = ingest_check_idle(ingest, err);
    if (code == IBID_OK)
        ingest->removing = true;
    pthread_mutex_unlock(&ingest->lock);
    return code;
}

static void end(struct ingest *ingest)
{
    pthread_mutex_lock(&ingest->lock);
    ingest->removing = false;
    pthread_mutex_unlock(&ingest->lock);
}

/* From here on no run takes the source up by itself, even if what follows does not come to its end. */
static ibid_code disable(struct ingest *ingest, int64_t source_id, const struct ingest_audit *audit,
                         ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = NULL;
    struct source source;
    TRY(transaction_begin(ingest->host->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(source_load(transaction, source_id, &arena, &source, err));
    if (source.connector_id == UPLOAD_CONNECTOR_ID)
        return fail(err, IBID_EINVAL,
                    "the source of uploads cannot be removed: remove its documents instead");
    TRY(source_set_enabled(transaction, source_id, false, err));
    if (audit)
        TRY(audit_append(transaction, &audit->entry, audit->keep_after, err));
    return transaction_commit(transaction_take(&transaction), err);
}

/* Folders keep no bytes here, so that the documents leave no blobs behind. */
static ibid_code remove_batch(struct ingest *ingest, int64_t source_id, struct source_removal *removal,
                              bool *ret_more, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = NULL;
    int64_t *ids, rows = 0;
    size_t count;
    TRY(transaction_begin(ingest->host->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(source_documents(transaction, source_id, REMOVE_BATCH, &arena, &ids, &count, err));
    for (size_t i = 0; i < count; i++) {
        struct removal document;
        TRY(document_remove(transaction, ids[i], REASON_REMOVED_BY_REQUEST, &document, err));
        rows += document.rows;
    }
    if (count == 0)
        TRY(source_remove(transaction, source_id, err));
    TRY(transaction_commit(transaction_take(&transaction), err));
    ingest->host->committed(ingest->host);
    removal->documents += (int64_t)count;
    removal->rows += rows;
    *ret_more = count > 0;
    return IBID_OK;
}

/* As many documents as there are, about: what was listed but has not become one yet counts, too. */
static ibid_code count_documents(struct ingest *ingest, int64_t source_id, int64_t *ret, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    int64_t counts[LEDGER_OUTCOME_COUNT];
    TRY(transaction_begin(ingest->host->metadata, TRANSACTION_READ, &transaction, err));
    TRY(ledger_count(transaction, source_id, counts, err));
    *ret = counts[LEDGER_INDEXED] + counts[LEDGER_FAILED] + counts[LEDGER_SEEN];
    return IBID_OK;
}

static ibid_code remove_all(struct ingest *ingest, int64_t source_id, const struct watch *watch,
                            struct source_removal *removal, ibid_error *err)
{
    int64_t total;
    TRY(count_documents(ingest, source_id, &total, err));
    for (bool more = true; more;) {
        if (watch_step(watch, "documents", removal->documents, total, NULL) != IBID_OK)
            return fail(err, IBID_ECANCELED,
                        "stopped: %lld documents were removed; remove the source again to go on",
                        (long long)removal->documents);
        TRY(remove_batch(ingest, source_id, removal, &more, err));
    }
    return IBID_OK;
}

ibid_code ingest_remove_source(struct ingest *ingest, int64_t source_id, const struct ingest_audit *audit,
                               const struct watch *watch, struct source_removal *ret, ibid_error *err)
{
    struct source_removal removal = {0};
    TRY(begin(ingest, err));
    ibid_code code = disable(ingest, source_id, audit, err);
    if (code == IBID_OK)
        code = remove_all(ingest, source_id, watch, &removal, err);
    end(ingest);
    if (code == IBID_OK)
        *ret = removal;
    return code;
}
