#include "records/content_internal.h"
#include "records/embedding_cache.h"
#include "records/row_feed.h"
#include "records/sql.h"

ibid_code commit_seq_take(struct transaction *transaction, int64_t *ret, ibid_error *err)
{
    ASSERT(transaction->mode == TRANSACTION_WRITE);
    if (transaction->commit_seq == 0 || transaction->commit_rows == COMMIT_SEQ_ROWS) {
        struct statement *statement;
        TRY(statement_prepare(
            transaction, "UPDATE counters SET value = value + 1 WHERE name = 'commit_seq' RETURNING value",
            &statement, err));
        TRY(sql_insert(statement, &transaction->commit_seq, err));
        transaction->commit_rows = 0;
    }
    transaction->commit_rows++;
    *ret = transaction->commit_seq;
    return IBID_OK;
}

void commit_seq_next_document(struct transaction *transaction)
{
    if (transaction->commit_rows >= COMMIT_SEQ_DOCUMENT_ROWS)
        transaction->commit_rows = COMMIT_SEQ_ROWS;
}

/* Gives the rows the transaction's number; their collections note it. Both lists are of the same length. */
static ibid_code stamp_rows(struct transaction *transaction, const struct id_list *rows,
                            struct id_list *collections, ibid_error *err)
{
    int64_t seq = 0;
    for (size_t i = 0; i < rows->count; i++) {
        TRY(commit_seq_take(transaction, &seq, err));
        TRY(SQL_RUN(transaction, "UPDATE rows SET seq = ?2 WHERE row_id = ?1", err, rows->ids[i], seq));
    }
    id_list_sort(collections);
    for (size_t i = 0; i < collections->count; i++)
        TRY(content_note_change(transaction, collections->ids[i], seq, err));
    return IBID_OK;
}

ibid_code rows_touch_document(struct transaction *transaction, int64_t document_id, ibid_error *err)
{
    AUTO_ID_LIST rows = {0}, collections = {0};
    struct statement *statement;
    TRY(SQL_PREPARE(
        transaction,
        "SELECT row_id, collection_id FROM rows WHERE document_id = ?1 AND removed = 0 ORDER BY row_id",
        &statement, err, document_id));
    for (bool row;;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        id_list_add(&rows, statement_int(statement, 0));
        id_list_add(&collections, statement_int(statement, 1));
    }
    statement_reset(statement);
    return stamp_rows(transaction, &rows, &collections, err);
}

ibid_code row_pending(struct transaction *transaction, int64_t collection_id, int64_t after_row, size_t limit,
                      struct arena *arena, struct pending_row **ret, size_t *ret_count, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(
        transaction,
        "SELECT r.row_id, r.document_id, c.embed_text FROM rows r JOIN chunks c ON c.id = r.chunk_id"
        " WHERE r.collection_id = ?1 AND r.embedding_id IS NULL AND r.removed = 0 AND r.row_id > ?2"
        " ORDER BY r.row_id LIMIT ?3",
        &statement, err, collection_id, after_row, (int64_t)limit));
    struct pending_row *rows = ARENA_ARRAY(arena, struct pending_row, limit);
    size_t count = 0;
    for (bool row;;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        rows[count++] = (struct pending_row){statement_int(statement, 0), statement_int(statement, 1),
                                             sql_str(statement, 2, arena)};
    }
    *ret = rows;
    *ret_count = count;
    return IBID_OK;
}

ibid_code row_pending_count(struct transaction *transaction, int64_t collection_id, int64_t *ret,
                            ibid_error *err)
{
    return SQL_INT(
        transaction,
        "SELECT count(*) FROM rows WHERE collection_id = ?1 AND embedding_id IS NULL AND removed = 0", 0, ret,
        err, collection_id);
}

ibid_code row_set_embedding(struct transaction *transaction, int64_t row_id, int64_t embedding_id,
                            ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT collection_id, embedding_id FROM rows WHERE row_id = ?1 AND removed = 0"
                    " AND embedding_id IS DISTINCT FROM ?2",
                    &statement, err, row_id, embedding_id));
    bool row;
    TRY(statement_step(statement, &row, err));
    if (!row)
        return IBID_OK;
    const int64_t collection_id = statement_int(statement, 0), replaced = statement_int(statement, 1);
    statement_reset(statement);
    int64_t seq;
    TRY(commit_seq_take(transaction, &seq, err));
    TRY(SQL_RUN(transaction, "UPDATE rows SET embedding_id = ?2, seq = ?3 WHERE row_id = ?1", err, row_id,
                embedding_id, seq));
    TRY(content_note_change(transaction, collection_id, seq, err));
    return embedding_release(transaction, &replaced, 1, err);
}
