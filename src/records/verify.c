#include "records/verify.h"

#include "records/content_internal.h"
#include "records/document.h"
#include "records/embedding_cache.h"
#include "records/row_feed.h"
#include "records/sql.h"

struct verifier {
    struct transaction *transaction;
    bool repair;
    const struct watch *watch;
    struct arena *arena;
    struct record_finding *findings;
    size_t count;
};

typedef ibid_code repair_one(struct verifier *verifier, int64_t id, ibid_error *err);

static void note(struct verifier *verifier, const char *place, int64_t id, const char *problem)
{
    if (verifier->count < RECORD_FINDING_LIMIT)
        verifier->findings[verifier->count++] = (struct record_finding){
            arena_printf(verifier->arena, "%s %lld", place, (long long)id), problem, verifier->repair};
}

/* ---- repairs ---------------------------------------------------------------------------------- */

/* The document is read from its source again, and its content replaced as a whole. */
static ibid_code read_again(struct verifier *verifier, int64_t id, ibid_error *err)
{
    TRY(SQL_RUN(
        verifier->transaction,
        "UPDATE documents SET processing_state = 'pending', processing_stage = '', processing_reason = ''"
        " WHERE id = ?1",
        err, id));
    return SQL_RUN(verifier->transaction,
                   "UPDATE ledger SET outcome = 'seen', sha256 = NULL, extractor = '' WHERE document_id = ?1",
                   err, id);
}

static ibid_code remove_row(struct verifier *verifier, int64_t id, ibid_error *err)
{
    int64_t document_id, seq;
    TRY(SQL_INT(verifier->transaction, "SELECT document_id FROM rows WHERE row_id = ?1", 0, &document_id, err,
                id));
    TRY(commit_seq_take(verifier->transaction, &seq, err));
    TRY(SQL_RUN(verifier->transaction,
                "UPDATE rows SET removed = 1, embedding_id = NULL, seq = ?2 WHERE row_id = ?1", err, id,
                seq));
    return read_again(verifier, document_id, err);
}

static ibid_code drop_vector_of_row(struct verifier *verifier, int64_t id, ibid_error *err)
{
    int64_t seq;
    TRY(commit_seq_take(verifier->transaction, &seq, err));
    return SQL_RUN(verifier->transaction, "UPDATE rows SET embedding_id = NULL, seq = ?2 WHERE row_id = ?1",
                   err, id, seq);
}

static ibid_code drop_chunk(struct verifier *verifier, int64_t id, ibid_error *err)
{
    return SQL_RUN(verifier->transaction, "DELETE FROM chunks WHERE id = ?1", err, id);
}

static ibid_code drop_vector(struct verifier *verifier, int64_t id, ibid_error *err)
{
    return embedding_release(verifier->transaction, &id, 1, err);
}

static ibid_code collect_content(struct verifier *verifier, int64_t id, ibid_error *err)
{
    return content_collect(verifier->transaction, id, err);
}

static ibid_code raise_collection_seq(struct verifier *verifier, int64_t id, ibid_error *err)
{
    return SQL_RUN(
        verifier->transaction,
        "UPDATE collections SET seq = (SELECT max(seq) FROM rows WHERE collection_id = ?1) WHERE id = ?1",
        err, id);
}

static ibid_code raise_commit_seq(struct verifier *verifier, int64_t id, ibid_error *err)
{
    return SQL_RUN(verifier->transaction,
                   "UPDATE counters SET value = (SELECT max(seq) FROM rows) WHERE name = 'commit_seq'", err);
}

/* ---- what is checked by a query ----------------------------------------------------------------- */

/* Each query gives the ids of what is wrong. The order matters: a repair may cause what a later one finds. */
static const struct check {
    const char *place;
    const char *problem;
    const char *sql;
    repair_one *repair;
} checks[] = {
    {"collection", "has rows that are newer than it knows", /* first: repairs take numbers */
     "SELECT c.id FROM collections c WHERE c.seq < (SELECT coalesce(max(r.seq), 0) FROM rows r"
     " WHERE r.collection_id = c.id)",
     raise_collection_seq},
    {"commit_seq of", "is below the number of a row",
     "SELECT c.value FROM counters c WHERE c.name = 'commit_seq'"
     " AND c.value < (SELECT coalesce(max(seq), 0) FROM rows)",
     raise_commit_seq},
    {"document", "has a chunk set that serves no collection",
     "SELECT r.document_id FROM chunk_sets s JOIN revisions r ON r.id = s.revision_id"
     " WHERE NOT EXISTS (SELECT 1 FROM document_collections d WHERE d.chunk_set_id = s.id)",
     collect_content},
    {"row", "belongs to a document that is not there",
     "SELECT r.row_id FROM rows r WHERE r.removed = 0"
     " AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.id = r.document_id)",
     remove_row},
    {"row", "has no chunk",
     "SELECT r.row_id FROM rows r WHERE r.removed = 0"
     " AND NOT EXISTS (SELECT 1 FROM chunks c WHERE c.id = r.chunk_id)",
     remove_row},
    {"row", "shows a chunk that its document does not have in that collection",
     "SELECT r.row_id FROM rows r JOIN chunks c ON c.id = r.chunk_id"
     " LEFT JOIN document_collections d ON d.document_id = r.document_id AND d.collection_id = "
     "r.collection_id"
     " WHERE r.removed = 0 AND c.chunk_set_id IS DISTINCT FROM d.chunk_set_id",
     remove_row},
    {"row", "names a vector that is not there",
     "SELECT r.row_id FROM rows r WHERE r.embedding_id IS NOT NULL"
     " AND NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.id = r.embedding_id)",
     drop_vector_of_row},
    {"row", "has a vector of another dimension than its collection",
     "SELECT r.row_id FROM rows r JOIN embeddings e ON e.id = r.embedding_id"
     " JOIN collections c ON c.id = r.collection_id"
     " WHERE e.dimension <> c.dimension OR length(e.vector) <> 4 * e.dimension",
     drop_vector_of_row},
    {"document", "has chunks without rows in a collection",
     "SELECT d.document_id FROM document_collections d WHERE"
     " (SELECT count(*) FROM chunks c WHERE c.chunk_set_id = d.chunk_set_id) <>"
     " (SELECT count(*) FROM rows r WHERE r.document_id = d.document_id AND r.collection_id = d.collection_id"
     " AND r.removed = 0)",
     read_again},
    {"document", "is completed but has no chunks",
     "SELECT d.id FROM documents d WHERE d.processing_state = 'completed'"
     " AND NOT EXISTS (SELECT 1 FROM document_collections c WHERE c.document_id = d.id)",
     read_again},
    {"document", "shows a revision that it does not have",
     "SELECT d.id FROM documents d WHERE d.revision_id IS NOT NULL AND NOT EXISTS"
     " (SELECT 1 FROM revisions r WHERE r.id = d.revision_id AND r.document_id = d.id)",
     read_again},
    {"chunk", "is used by no row",
     "SELECT c.id FROM chunks c WHERE c.chunk_set_id IS NULL"
     " AND NOT EXISTS (SELECT 1 FROM rows r WHERE r.chunk_id = c.id)",
     drop_chunk},
    {"vector", "is used by no row",
     "SELECT e.id FROM embeddings e WHERE NOT EXISTS (SELECT 1 FROM rows r WHERE r.embedding_id = e.id)"
     " AND NOT EXISTS (SELECT 1 FROM embeddings_ahead a WHERE a.embedding_id = e.id)",
     drop_vector},
};

static ibid_code run_check(struct verifier *verifier, const struct check *check, ibid_error *err)
{
    AUTO_ID_LIST wrong = {0};
    struct statement *statement;
    TRY(statement_prepare(verifier->transaction, check->sql, &statement, err));
    TRY(id_list_collect(&wrong, statement, err));
    for (size_t i = 0; i < wrong.count; i++) {
        note(verifier, check->place, wrong.ids[i], check->problem);
        if (verifier->repair)
            TRY(check->repair(verifier, wrong.ids[i], err));
    }
    return IBID_OK;
}

/* ---- texts ------------------------------------------------------------------------------------ */

/* The pieces of one text, put together. */
static ibid_code text_is_whole(struct verifier *verifier, int64_t revision_id, int64_t size, int64_t checksum,
                               struct buffer *text, bool *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(verifier->transaction,
                    "SELECT start, text FROM canonical_texts WHERE revision_id = ?1 ORDER BY start",
                    &statement, err, revision_id));
    buffer_clear(text);
    bool whole = true;
    for (bool row;;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        whole &= statement_int(statement, 0) == (int64_t)text->size;
        buffer_append_str(text, statement_text(statement, 1));
    }
    *ret = whole && !text->overflowed && (int64_t)text->size == size &&
           (int64_t)checksum64(text->data, text->size, 0) == checksum;
    return IBID_OK;
}

static ibid_code check_texts(struct verifier *verifier, ibid_error *err)
{
    enum { TEXT_LIMIT = 65 * 1024 * 1024 };
    AUTO_ID_LIST revisions = {0}, documents = {0};
    AUTO_BUFFER text = BUFFER(TEXT_LIMIT);
    struct statement *statement;
    int64_t done = 0, total;
    TRY(SQL_INT(verifier->transaction, "SELECT count(*) FROM revisions", 0, &total, err));
    TRY(statement_prepare(verifier->transaction,
                          "SELECT id, document_id, text_size, text_checksum FROM revisions ORDER BY id",
                          &statement, err));
    for (bool row;;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        bool whole;
        TRY(watch_step(verifier->watch, "texts", done++, total, err));
        TRY(text_is_whole(verifier, statement_int(statement, 0), statement_int(statement, 2),
                          statement_int(statement, 3), &text, &whole, err));
        if (whole)
            continue;
        id_list_add(&revisions, statement_int(statement, 0));
        id_list_add(&documents, statement_int(statement, 1));
    }
    for (size_t i = 0; i < documents.count; i++) {
        note(verifier, "document", documents.ids[i], "has a text that is not what was stored");
        if (!verifier->repair)
            continue;
        /* What is read again must not be taken for the revision that is there. */
        TRY(SQL_RUN(verifier->transaction, "UPDATE revisions SET extractor = '' WHERE id = ?1", err,
                    revisions.ids[i]));
        TRY(read_again(verifier, documents.ids[i], err));
    }
    return IBID_OK;
}

ibid_code records_verify(struct transaction *transaction, bool repair, const struct watch *watch,
                         struct arena *arena, struct record_finding **ret, size_t *ret_count, ibid_error *err)
{
    ASSERT(!repair || transaction->mode == TRANSACTION_WRITE);
    struct verifier verifier = {.transaction = transaction,
                                .repair = repair,
                                .watch = watch,
                                .arena = arena,
                                .findings = ARENA_ARRAY(arena, struct record_finding, RECORD_FINDING_LIMIT)};
    for (size_t i = 0; i < COUNT_OF(checks); i++) {
        TRY(watch_step(watch, "records", (int64_t)i, COUNT_OF(checks), err));
        TRY(run_check(&verifier, &checks[i], err));
    }
    TRY(check_texts(&verifier, err));
    if (repair && transaction->commit_seq)
        TRY(SQL_RUN(transaction, "UPDATE collections SET seq = ?1", err, transaction->commit_seq));
    *ret = verifier.findings;
    *ret_count = verifier.count;
    return IBID_OK;
}
