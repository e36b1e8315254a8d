#include "base/clock.h"
#include "records/document.h"
#include "records/document_internal.h"
#include "records/row_feed.h"
#include "records/sql.h"

/* ---- making ----------------------------------------------------------------------------------- */

enum { KEY_LIMIT = 8192, FILE_ID_LIMIT = 512 };

/* Half a SHA-256 of source and key in hexadecimal: the same document gets the same file_id when an index
 * is built anew. A moved document keeps its own, so that its old key may come with another one. */
static ibid_code make_file_id(struct transaction *transaction, int64_t source_id, struct str external_key,
                              struct arena *arena, struct str *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT c.type, s.location FROM sources s JOIN connectors c ON c.id = s.connector_id"
                    " WHERE s.id = ?1",
                    &statement, err, source_id));
    bool row;
    TRY(statement_step(statement, &row, err));
    if (!row)
        return fail(err, IBID_ENOTFOUND, "there is no source %lld", (long long)source_id);
    const struct str type = sql_str(statement, 0, arena), location = sql_str(statement, 1, arena);
    statement_reset(statement);
    for (unsigned attempt = 0;; attempt++) {
        struct sha256_state *state = sha256_start();
        sha256_feed_field(state, type);
        sha256_feed_field(state, location);
        sha256_feed_field(state, external_key);
        if (attempt)
            sha256_feed(state, &attempt, sizeof attempt);
        char hex[SHA256_HEX_SIZE];
        const struct sha256 hash = sha256_finish(state);
        sha256_to_hex(&hash, hex);
        *ret = arena_str(arena, (struct str){hex, 32});
        int64_t taken;
        TRY(document_find_file_id(transaction, *ret, &taken, err));
        if (!taken)
            return IBID_OK;
    }
}

static ibid_code insert_workspaces(struct transaction *transaction, int64_t id, int64_t source_id,
                                   int64_t home_workspace_id, ibid_error *err)
{
    if (home_workspace_id)
        TRY(SQL_RUN(transaction,
                    "INSERT INTO document_workspaces (document_id, workspace_id) VALUES (?1, ?2)", err, id,
                    home_workspace_id));
    return SQL_RUN(transaction,
                   "INSERT INTO document_workspaces (document_id, workspace_id, mapping_id)"
                   " SELECT ?1, workspace_id, id FROM source_workspaces WHERE source_id = ?2",
                   err, id, source_id);
}

static ibid_code check_draft(const struct document *draft, ibid_error *err)
{
    if (draft->external_key.size == 0 || draft->external_key.size > KEY_LIMIT)
        return fail(err, IBID_EINVAL, "a document's key has 1 to %d bytes", KEY_LIMIT);
    if (draft->file_id.size > FILE_ID_LIMIT)
        return fail(err, IBID_ETOOBIG, "a file_id has at most %d bytes", FILE_ID_LIMIT);
    return IBID_OK;
}

static void bind_draft(struct statement *statement, const struct document *draft, struct str file_id)
{
    sql_bind_str(statement, 1, file_id);
    statement_bind_int(statement, 2, draft->source_id);
    sql_bind_str(statement, 3, draft->external_key);
    sql_bind_str(statement, 4, draft->document_title);
    sql_bind_str(statement, 5, draft->source_url);
    sql_bind_str(statement, 6, draft->path);
    sql_bind_str(statement, 7, draft->author);
    sql_bind_str(statement, 8, draft->media_type);
    sql_bind_str(statement, 9, draft->language);
    statement_bind_int(statement, 10, draft->size);
    sql_bind_sha256(statement, 11, draft->has_sha256, &draft->sha256);
    statement_bind_int(statement, 12, draft->blob);
    sql_bind_str(statement, 13, draft->version);
    sql_bind_id(statement, 14, draft->owner_id);
    sql_bind_id(statement, 15, draft->home_workspace_id);
    sql_bind_id(statement, 16, draft->home_collection_id);
    statement_bind_text(statement, 17, str_from(document_state_string(draft->state)));
    sql_bind_str(statement, 18, draft->metadata.size ? draft->metadata : STR("{}"));
    statement_bind_int(statement, 19, draft->created_at);
    statement_bind_int(statement, 20, draft->modified_at);
    statement_bind_int(statement, 21, clock_now_us());
}

ibid_code document_create(struct transaction *transaction, const struct document *draft, int64_t *ret_id,
                          ibid_error *err)
{
    TRY(check_draft(draft, err));
    AUTO_ARENA arena = ARENA_INIT;
    struct str file_id = draft->file_id;
    if (file_id.size == 0)
        TRY(make_file_id(transaction, draft->source_id, draft->external_key, &arena, &file_id, err));
    struct statement *statement;
    TRY(statement_prepare(
        transaction,
        "INSERT INTO documents (file_id, source_id, external_key, document_title, source_url, path,"
        " author, media_type, language, size, sha256, blob, version, owner_id, home_workspace_id,"
        " home_collection_id, state, metadata, created_at, modified_at, added_at)"
        " SELECT ?1, s.id, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
        " coalesce(?15, s.home_workspace_id), coalesce(?16, s.collection_id), ?17, ?18, ?19, ?20, ?21"
        " FROM sources s WHERE s.id = ?2 RETURNING id",
        &statement, err));
    bind_draft(statement, draft, file_id);
    bool row;
    int64_t id = 0;
    TRY(sql_first_int(statement, &row, &id, err));
    if (!row)
        return fail(err, IBID_ENOTFOUND, "there is no source %lld", (long long)draft->source_id);
    TRY(insert_workspaces(transaction, id, draft->source_id, draft->home_workspace_id, err));
    TRY(document_metadata_store(transaction, id, draft->metadata, err));
    *ret_id = id;
    return IBID_OK;
}

/* ---- processing ------------------------------------------------------------------------------- */

/* Tells a change of a document that is there from one that is not. */
static ibid_code run_on_document(struct statement *statement, int64_t id, ibid_error *err)
{
    bool row;
    int64_t found;
    TRY(sql_first_int(statement, &row, &found, err));
    return row ? IBID_OK : fail(err, IBID_ENOTFOUND, "there is no document %lld", (long long)id);
}

ibid_code document_start(struct transaction *transaction, int64_t id, const char *stage, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "UPDATE documents SET processing_state = 'in_progress', processing_stage = ?2,"
                    " processing_reason = '', attempts = attempts + 1 WHERE id = ?1 RETURNING id",
                    &statement, err, id));
    statement_bind_text(statement, 2, str_from(stage));
    return run_on_document(statement, id, err);
}

ibid_code document_end(struct transaction *transaction, int64_t id, enum processing_state state,
                       const char *stage, struct str reason, ibid_error *err)
{
    char line[DOCUMENT_REASON_LIMIT + 1];
    struct statement *statement;
    TRY(SQL_PREPARE(
        transaction,
        "UPDATE documents SET processing_state = ?2, processing_stage = ?3, processing_reason = ?4"
        " WHERE id = ?1 RETURNING id",
        &statement, err, id));
    statement_bind_text(statement, 2, str_from(processing_state_string(state)));
    statement_bind_text(statement, 3, str_from(stage));
    statement_bind_text(statement, 4, sql_one_line(reason, line, DOCUMENT_REASON_LIMIT));
    return run_on_document(statement, id, err);
}

/* An upload is found by its ledger line alone. What a source lists is found by its next run; until then the
 * line says what is known of its failure. */
ibid_code document_reset_interrupted(struct transaction *transaction, int64_t *ret_count, ibid_error *err)
{
    TRY(SQL_INT(transaction, "SELECT count(*) FROM documents WHERE processing_state = 'in_progress'", 0,
                ret_count, err));
    TRY(SQL_RUN(transaction,
                "UPDATE ledger SET outcome = 'seen' WHERE outcome = 'indexed' AND document_id IN"
                " (SELECT id FROM documents WHERE processing_state = 'in_progress')",
                err));
    TRY(SQL_RUN(transaction,
                "UPDATE ledger SET outcome = 'seen' WHERE outcome IN ('failed', 'skipped') AND document_id IN"
                " (SELECT id FROM documents WHERE processing_state = 'in_progress' AND blob = 1)",
                err));
    return SQL_RUN(transaction,
                   "UPDATE documents SET processing_state = 'pending', processing_stage = ''"
                   " WHERE processing_state = 'in_progress'",
                   err);
}

ibid_code document_reset(struct transaction *transaction, const int64_t *ids, size_t count, ibid_error *err)
{
    for (size_t i = 0; i < count; i++) {
        TRY(SQL_RUN(transaction,
                    "UPDATE ledger SET outcome = 'seen' WHERE outcome = 'indexed' AND document_id IN"
                    " (SELECT id FROM documents WHERE id = ?1 AND processing_state = 'in_progress')",
                    err, ids[i]));
        TRY(SQL_RUN(transaction,
                    "UPDATE ledger SET outcome = 'seen' WHERE outcome IN ('failed', 'skipped')"
                    " AND document_id IN (SELECT id FROM documents WHERE id = ?1"
                    " AND processing_state = 'in_progress' AND blob = 1)",
                    err, ids[i]));
        TRY(SQL_RUN(transaction,
                    "UPDATE documents SET processing_state = 'pending', processing_stage = ''"
                    " WHERE id = ?1 AND processing_state = 'in_progress'",
                    err, ids[i]));
    }
    return IBID_OK;
}

/* ---- where it is and what it is called ---------------------------------------------------------- */

ibid_code document_move(struct transaction *transaction, int64_t id, struct str external_key,
                        struct str document_title, struct str source_url, struct str path, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "UPDATE documents SET external_key = ?2, document_title = ?3, source_url = ?4, path = ?5"
                    " WHERE id = ?1 RETURNING id",
                    &statement, err, id));
    sql_bind_str(statement, 2, external_key);
    sql_bind_str(statement, 3, document_title);
    sql_bind_str(statement, 4, source_url);
    sql_bind_str(statement, 5, path);
    TRY(run_on_document(statement, id, err));
    return rows_touch_document(transaction, id, err);
}

ibid_code document_touch(struct transaction *transaction, int64_t id, int64_t size, int64_t modified_at,
                         struct str version, ibid_error *err)
{
    int64_t differs;
    TRY(SQL_INT(transaction, "SELECT size <> ?2 OR modified_at <> ?3 FROM documents WHERE id = ?1", 0,
                &differs, err, id, size, modified_at));
    struct statement *statement;
    TRY(SQL_PREPARE(
        transaction,
        "UPDATE documents SET size = ?2, modified_at = ?3, version = ?4 WHERE id = ?1 RETURNING id",
        &statement, err, id, size, modified_at));
    sql_bind_str(statement, 4, version);
    TRY(run_on_document(statement, id, err));
    return differs ? rows_touch_document(transaction, id, err) : IBID_OK;
}

/* ---- who may find it -------------------------------------------------------------------------- */

ibid_code document_set_state(struct transaction *transaction, int64_t id, enum document_state state,
                             ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "UPDATE documents SET state = ?2 WHERE id = ?1 RETURNING id", &statement,
                    err, id));
    statement_bind_text(statement, 2, str_from(document_state_string(state)));
    TRY(run_on_document(statement, id, err));
    TRY(cached_answers_drop(transaction, id, err));
    return rows_touch_document(transaction, id, err);
}

ibid_code document_set_metadata(struct transaction *transaction, int64_t id, struct str metadata,
                                ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "UPDATE documents SET metadata = ?2 WHERE id = ?1 RETURNING id", &statement,
                    err, id));
    statement_bind_text(statement, 2, metadata.size ? metadata : STR("{}"));
    TRY(run_on_document(statement, id, err));
    TRY(document_metadata_store(transaction, id, metadata, err));
    return rows_touch_document(transaction, id, err);
}

ibid_code document_share(struct transaction *transaction, int64_t id, int64_t workspace_id, ibid_error *err)
{
    TRY(SQL_RUN(
        transaction,
        "INSERT INTO document_workspaces (document_id, workspace_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        err, id, workspace_id));
    return rows_touch_document(transaction, id, err);
}

ibid_code document_unshare(struct transaction *transaction, int64_t id, int64_t workspace_id, ibid_error *err)
{
    TRY(SQL_RUN(
        transaction,
        "DELETE FROM document_workspaces WHERE document_id = ?1 AND workspace_id = ?2 AND mapping_id = 0",
        err, id, workspace_id));
    TRY(cached_answers_drop(transaction, id, err));
    return rows_touch_document(transaction, id, err);
}

ibid_code cached_answers_drop(struct transaction *transaction, int64_t document_id, ibid_error *err)
{
    return SQL_RUN(transaction,
                   "DELETE FROM cached_answers WHERE id IN"
                   " (SELECT answer_id FROM cached_answer_documents WHERE document_id = ?1)",
                   err, document_id);
}
