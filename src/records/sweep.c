#include "records/sweep.h"

#include "base/clock.h"
#include "records/content_internal.h"
#include "records/document.h"
#include "records/document_internal.h"
#include "records/embedding_cache.h"
#include "records/row_feed.h"
#include "records/sql.h"

/* ---- deleting --------------------------------------------------------------------------------- */

ibid_code blob_is_wanted(struct transaction *transaction, const struct sha256 *sha256, bool *ret,
                         ibid_error *err)
{
    struct statement *statement;
    TRY(statement_prepare(transaction,
                          "SELECT EXISTS (SELECT 1 FROM documents WHERE sha256 = ?1 AND blob = 1)"
                          " OR EXISTS (SELECT 1 FROM ledger l JOIN documents d ON d.id = l.document_id"
                          " WHERE l.sha256 = ?1 AND l.outcome <> 'removed' AND d.blob = 1)",
                          &statement, err));
    sql_bind_sha256(statement, 1, true, sha256);
    bool row;
    int64_t wanted = 0;
    TRY(sql_first_int(statement, &row, &wanted, err));
    *ret = wanted;
    return IBID_OK;
}

/* The bytes that the document has in the blob store, and those that the ledger says it is to have. */
static ibid_code load_blobs(struct transaction *transaction, int64_t document_id, struct removal *removal,
                            ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT d.blob, d.sha256, l.sha256 FROM documents d"
                    " LEFT JOIN ledger l ON l.document_id = d.id WHERE d.id = ?1",
                    &statement, err, document_id));
    bool row, has_sha256;
    TRY(statement_step(statement, &row, err));
    if (!row)
        return fail(err, IBID_ENOTFOUND, "there is no document %lld", (long long)document_id);
    for (int column = 1; column <= 2 && statement_int(statement, 0); column++) {
        struct sha256 *blob = &removal->blobs[removal->blob_count];
        TRY(sql_sha256(statement, column, &has_sha256, blob, err));
        removal->blob_count += has_sha256 && !(removal->blob_count && sha256_equal(&removal->blobs[0], blob));
    }
    statement_reset(statement);
    return IBID_OK;
}

static ibid_code keep_orphaned_blobs(struct transaction *transaction, struct removal *removal,
                                     ibid_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < removal->blob_count; i++) {
        bool wanted;
        TRY(blob_is_wanted(transaction, &removal->blobs[i], &wanted, err));
        if (!wanted)
            removal->blobs[count++] = removal->blobs[i];
    }
    removal->blob_count = count;
    return IBID_OK;
}

static ibid_code note_in_ledger(struct transaction *transaction, int64_t document_id, const char *reason,
                                ibid_error *err)
{
    char line[DOCUMENT_REASON_LIMIT + 1];
    struct statement *statement;
    TRY(statement_prepare(transaction,
                          "UPDATE ledger SET outcome = 'removed', stage = '', reason = ?2, attempts = 0,"
                          " updated_at = ?3 WHERE document_id = ?1",
                          &statement, err));
    statement_bind_int(statement, 1, document_id);
    statement_bind_text(statement, 2, sql_one_line(str_from(reason), line, DOCUMENT_REASON_LIMIT));
    statement_bind_int(statement, 3, clock_now_us());
    return statement_run(statement, err);
}

ibid_code document_remove(struct transaction *transaction, int64_t document_id, const char *reason,
                          struct removal *ret, ibid_error *err)
{
    struct removal removal = {0};
    commit_seq_next_document(transaction);
    TRY(load_blobs(transaction, document_id, &removal, err));
    AUTO_ID_LIST released = {0};
    TRY(content_remove_rows(transaction, document_id, 0, &released, &removal.rows, err));
    TRY(SQL_RUN(transaction, "DELETE FROM document_collections WHERE document_id = ?1", err, document_id));
    TRY(SQL_RUN(transaction, "UPDATE documents SET revision_id = NULL WHERE id = ?1", err, document_id));
    TRY(content_collect(transaction, document_id, err));
    TRY(cached_answers_drop(transaction, document_id, err));
    TRY(note_in_ledger(transaction, document_id, reason, err));
    TRY(SQL_RUN(transaction, "DELETE FROM documents WHERE id = ?1", err, document_id));
    TRY(keep_orphaned_blobs(transaction, &removal, err));
    TRY(embedding_release(transaction, released.ids, released.count, err));
    TRY(commit_seq_take(transaction, &removal.seq, err));
    *ret = removal;
    return IBID_OK;
}

ibid_code document_is_gone(struct transaction *transaction, int64_t document_id, bool *ret, ibid_error *err)
{
    int64_t left;
    TRY(SQL_INT(transaction,
                "SELECT EXISTS (SELECT 1 FROM documents WHERE id = ?1)"
                " OR EXISTS (SELECT 1 FROM rows WHERE document_id = ?1)"
                " OR EXISTS (SELECT 1 FROM revisions WHERE document_id = ?1)"
                " OR EXISTS (SELECT 1 FROM document_collections WHERE document_id = ?1)"
                " OR EXISTS (SELECT 1 FROM document_workspaces WHERE document_id = ?1)"
                " OR EXISTS (SELECT 1 FROM document_metadata WHERE document_id = ?1)"
                " OR EXISTS (SELECT 1 FROM cached_answer_documents WHERE document_id = ?1)",
                0, &left, err, document_id));
    *ret = !left;
    return IBID_OK;
}

/* ---- watermarks ------------------------------------------------------------------------------- */

ibid_code watermark_set(struct transaction *transaction, struct str vector_store, int64_t collection_id,
                        int64_t seq, ibid_error *err)
{
    struct statement *statement;
    TRY(statement_prepare(
        transaction,
        "INSERT INTO watermarks (vector_store, collection_id, seq, updated_at) VALUES (?1, ?2, ?3, ?4)"
        " ON CONFLICT (vector_store, collection_id) DO UPDATE SET seq = excluded.seq,"
        " updated_at = excluded.updated_at WHERE watermarks.seq < excluded.seq",
        &statement, err));
    sql_bind_str(statement, 1, vector_store);
    statement_bind_int(statement, 2, collection_id);
    statement_bind_int(statement, 3, seq);
    statement_bind_int(statement, 4, clock_now_us());
    return statement_run(statement, err);
}

ibid_code watermark_forget(struct transaction *transaction, struct str vector_store, int64_t collection_id,
                           ibid_error *err)
{
    struct statement *statement;
    TRY(statement_prepare(transaction,
                          "DELETE FROM watermarks WHERE vector_store = ?1 AND collection_id = ?2", &statement,
                          err));
    sql_bind_str(statement, 1, vector_store);
    statement_bind_int(statement, 2, collection_id);
    return statement_run(statement, err);
}

/* ---- sweeping --------------------------------------------------------------------------------- */

struct sweeper {
    struct transaction *transaction;
    int64_t left; /* of the limit */
    struct sweep_result result;
};

static ibid_code drop_chunk(struct sweeper *sweeper, int64_t chunk_id, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(sweeper->transaction,
                    "DELETE FROM chunks WHERE id = ?1 AND chunk_set_id IS NULL"
                    " AND NOT EXISTS (SELECT 1 FROM rows WHERE rows.chunk_id = ?1) RETURNING id",
                    &statement, err, chunk_id));
    bool row;
    int64_t id;
    TRY(sql_first_int(statement, &row, &id, err));
    sweeper->result.chunks += row;
    return IBID_OK;
}

static ibid_code sweep_collection(struct sweeper *sweeper, int64_t collection_id, ibid_error *err)
{
    int64_t passed;
    TRY(SQL_INT(sweeper->transaction,
                "SELECT coalesce(min(seq), ?2) FROM watermarks WHERE collection_id = ?1", 0, &passed, err,
                collection_id, INT64_MAX));
    AUTO_ID_LIST rows = {0}, chunks = {0};
    struct statement *statement;
    TRY(SQL_PREPARE(sweeper->transaction,
                    "SELECT row_id, chunk_id FROM rows WHERE collection_id = ?1 AND removed = 1 AND seq <= ?2"
                    " ORDER BY seq LIMIT ?3",
                    &statement, err, collection_id, passed, sweeper->left));
    for (bool row;;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        id_list_add(&rows, statement_int(statement, 0));
        id_list_add(&chunks, statement_int(statement, 1));
    }
    statement_reset(statement);
    for (size_t i = 0; i < rows.count; i++)
        TRY(SQL_RUN(sweeper->transaction, "DELETE FROM rows WHERE row_id = ?1", err, rows.ids[i]));
    for (size_t i = 0; i < chunks.count; i++)
        TRY(drop_chunk(sweeper, chunks.ids[i], err));
    sweeper->result.rows += (int64_t)rows.count;
    sweeper->left -= (int64_t)rows.count;
    return IBID_OK;
}

/* Vectors whose rows never came, and those that a change of embedder left. */
static ibid_code sweep_embeddings(struct sweeper *sweeper, ibid_error *err)
{
    const int64_t before = clock_now_us() - 3600 * SECOND_US;
    AUTO_ID_LIST ahead = {0};
    struct statement *statement;
    TRY(SQL_PREPARE(
        sweeper->transaction,
        "SELECT embedding_id FROM embeddings_ahead WHERE created_at < ?1 ORDER BY created_at LIMIT ?2",
        &statement, err, before, sweeper->left));
    TRY(id_list_collect(&ahead, statement, err));
    for (size_t i = 0; i < ahead.count; i++)
        TRY(SQL_RUN(sweeper->transaction, "DELETE FROM embeddings_ahead WHERE embedding_id = ?1", err,
                    ahead.ids[i]));
    sweeper->result.embeddings += (int64_t)ahead.count;
    sweeper->left -= (int64_t)ahead.count;
    return embedding_release(sweeper->transaction, ahead.ids, ahead.count, err);
}

ibid_code sweep(struct transaction *transaction, size_t limit, struct sweep_result *ret, ibid_error *err)
{
    struct sweeper sweeper = {.transaction = transaction, .left = (int64_t)limit};
    AUTO_ID_LIST collections = {0};
    struct statement *statement;
    TRY(statement_prepare(transaction, "SELECT id FROM collections ORDER BY id", &statement, err));
    TRY(id_list_collect(&collections, statement, err));
    for (size_t i = 0; i < collections.count && sweeper.left > 0; i++)
        TRY(sweep_collection(&sweeper, collections.ids[i], err));
    if (sweeper.left > 0)
        TRY(sweep_embeddings(&sweeper, err));
    sweeper.result.more = sweeper.left == 0;
    *ret = sweeper.result;
    return IBID_OK;
}
