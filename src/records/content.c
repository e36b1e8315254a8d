#include "records/content_internal.h"

#include "records/row_feed.h"
#include "records/sql.h"

ibid_code content_note_change(struct transaction *transaction, int64_t collection_id, int64_t seq,
                              ibid_error *err)
{
    return SQL_RUN(transaction, "UPDATE collections SET seq = ?2 WHERE id = ?1 AND seq <> ?2", err,
                   collection_id, seq);
}

static ibid_code remove_row(struct transaction *transaction, int64_t row_id, int64_t seq, ibid_error *err)
{
    return SQL_RUN(transaction,
                   "UPDATE rows SET removed = 1, embedding_id = NULL, seq = ?2 WHERE row_id = ?1", err,
                   row_id, seq);
}

ibid_code content_remove_rows(struct transaction *transaction, int64_t document_id, int64_t collection_id,
                              struct id_list *released, int64_t *ret_count, ibid_error *err)
{
    AUTO_ID_LIST rows = {0}, collections = {0};
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT row_id, collection_id, embedding_id FROM rows"
                    " WHERE document_id = ?1 AND removed = 0 AND (?2 = 0 OR collection_id = ?2)",
                    &statement, err, document_id, collection_id));
    for (bool row;;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        id_list_add(&rows, statement_int(statement, 0));
        id_list_add(&collections, statement_int(statement, 1));
        id_list_add(released, statement_int(statement, 2));
    }
    statement_reset(statement);
    *ret_count = (int64_t)rows.count;
    if (rows.count == 0)
        return IBID_OK;
    int64_t seq = 0;
    for (size_t i = 0; i < rows.count; i++) {
        TRY(commit_seq_take(transaction, &seq, err));
        TRY(remove_row(transaction, rows.ids[i], seq, err));
    }
    id_list_sort(&collections);
    for (size_t i = 0; i < collections.count; i++)
        TRY(content_note_change(transaction, collections.ids[i], seq, err));
    return IBID_OK;
}

static ibid_code drop_chunk_set(struct transaction *transaction, int64_t chunk_set_id, ibid_error *err)
{
    TRY(SQL_RUN(transaction, "UPDATE chunks SET chunk_set_id = NULL WHERE chunk_set_id = ?1", err,
                chunk_set_id));
    return SQL_RUN(transaction, "DELETE FROM chunk_sets WHERE id = ?1", err, chunk_set_id);
}

ibid_code content_collect(struct transaction *transaction, int64_t document_id, ibid_error *err)
{
    AUTO_ID_LIST sets = {0};
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT s.id FROM revisions r JOIN chunk_sets s ON s.revision_id = r.id"
                    " WHERE r.document_id = ?1 AND NOT EXISTS (SELECT 1 FROM document_collections d"
                    " WHERE d.document_id = ?1 AND d.chunk_set_id = s.id)",
                    &statement, err, document_id));
    TRY(id_list_collect(&sets, statement, err));
    for (size_t i = 0; i < sets.count; i++)
        TRY(drop_chunk_set(transaction, sets.ids[i], err));
    return SQL_RUN(transaction,
                   "DELETE FROM revisions WHERE document_id = ?1"
                   " AND id IS DISTINCT FROM (SELECT revision_id FROM documents WHERE id = ?1)"
                   " AND NOT EXISTS (SELECT 1 FROM chunk_sets s WHERE s.revision_id = revisions.id)",
                   err, document_id);
}
