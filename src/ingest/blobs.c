#include "ingest/blobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "ingest/engine.h"
#include "records/document.h"
#include "records/sweep.h"
#include "records/workspace.h"

enum { PAGE = 500 };

struct check {
    struct ingest *ingest;
    bool repair;
    const struct watch *watch;
    blob_finding *report;
    void *context;
    struct transaction *transaction;
    struct sha256 *orphans;
    size_t orphan_count, orphan_capacity;
};

/* A scope over all there is: this is about what is stored, not about what someone may read. */
static ibid_code everything(struct transaction *transaction, struct arena *arena, struct scope *ret,
                            ibid_error *err)
{
    struct workspace *workspaces;
    size_t count;
    TRY(workspace_list(transaction, arena, &workspaces, &count, err));
    int64_t *ids = ARENA_ARRAY(arena, int64_t, count);
    for (size_t i = 0; i < count; i++)
        ids[i] = workspaces[i].id;
    *ret = (struct scope){ids, count, ids, count};
    return IBID_OK;
}

static void check_bytes(struct check *check, const struct document *document)
{
    int fd;
    ibid_error error = {0};
    char line[600];
    if (blob_store_open_blob(check->ingest->host->blobs, &document->sha256, true, &fd, &error) == IBID_OK) {
        close(fd);
        return;
    }
    snprintf(line, sizeof line, "document %lld: %s", (long long)document->id, error.message);
    check->report(line, false, check->context);
}

static ibid_code check_documents(struct check *check, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct scope scope;
    TRY(everything(check->transaction, &arena, &scope, err));
    struct document_query query = {.limit = PAGE, .processing_state = -1, .title_contains = STR_EMPTY};
    int64_t done = 0;
    for (bool more = true; more;) {
        AUTO_ARENA page = ARENA_INIT;
        struct document *documents;
        size_t count;
        TRY(document_list(check->transaction, &scope, &query, &page, &documents, &count, &more, err));
        for (size_t i = 0; i < count; i++) {
            query.after_id = documents[i].id;
            TRY(watch_step(check->watch, "kept files", done++, 0, err));
            if (documents[i].blob && documents[i].has_sha256)
                check_bytes(check, &documents[i]);
        }
    }
    return IBID_OK;
}

static ibid_code note_orphan(const struct sha256 *hash, int64_t size, void *context, ibid_error *err)
{
    struct check *check = context;
    bool wanted;
    TRY(blob_is_wanted(check->transaction, hash, &wanted, err));
    if (wanted)
        return IBID_OK;
    GROW(check->orphans, check->orphan_count, check->orphan_capacity);
    check->orphans[check->orphan_count++] = *hash;
    return IBID_OK;
}

static ibid_code check_orphans(struct check *check, ibid_error *err)
{
    struct blob_store *blobs = check->ingest->host->blobs;
    TRY(blob_store_list(blobs, note_orphan, check, err));
    for (size_t i = 0; i < check->orphan_count; i++) {
        char hex[SHA256_HEX_SIZE], line[160];
        sha256_to_hex(&check->orphans[i], hex);
        if (check->repair)
            TRY(blob_store_remove(blobs, &check->orphans[i], err));
        snprintf(line, sizeof line, "%s: bytes of no document", hex);
        if (check->report)
            check->report(line, check->repair, check->context);
    }
    return IBID_OK;
}

/* Nobody puts bytes meanwhile. */
static ibid_code check_all(struct check *check, bool documents, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    pthread_rwlock_wrlock(&check->ingest->uploading);
    ibid_code code = transaction_begin(check->ingest->host->metadata, TRANSACTION_READ, &transaction, err);
    check->transaction = transaction;
    if (code == IBID_OK && documents)
        code = check_documents(check, err);
    if (code == IBID_OK)
        code = check_orphans(check, err);
    pthread_rwlock_unlock(&check->ingest->uploading);
    free(check->orphans);
    return code;
}

ibid_code ingest_check_blobs(struct ingest *ingest, bool repair, const struct watch *watch,
                             blob_finding *report, void *context, ibid_error *err)
{
    struct check check = {
        .ingest = ingest, .repair = repair, .watch = watch, .report = report, .context = context};
    return check_all(&check, true, err);
}

ibid_code ingest_drop_orphans(struct ingest *ingest, ibid_error *err)
{
    struct check check = {.ingest = ingest, .repair = true};
    return check_all(&check, false, err);
}

static ibid_code drop_unwanted(struct ingest_host *host, const struct sha256 *sha256, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    bool wanted;
    TRY(transaction_begin(host->metadata, TRANSACTION_READ, &transaction, err));
    TRY(blob_is_wanted(transaction, sha256, &wanted, err));
    return wanted ? IBID_OK : blob_store_remove(host->blobs, sha256, err);
}

void ingest_drop_blob(struct ingest *ingest, const struct sha256 *sha256)
{
    ibid_error error;
    pthread_rwlock_wrlock(&ingest->uploading);
    if (drop_unwanted(ingest->host, sha256, &error) != IBID_OK)
        log_warning("bytes of no document stay until 'ibid verify --repair': %s", error.message);
    pthread_rwlock_unlock(&ingest->uploading);
}
