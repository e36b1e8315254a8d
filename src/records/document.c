#include "records/document.h"

#include "records/document_internal.h"
#include "records/sql.h"

static const char *const processing_states[] = {
#define X(name, string) string,
    PROCESSING_STATE_MAP(X)
#undef X
};

const char *processing_state_string(enum processing_state state)
{
    ASSERT(state < PROCESSING_STATE_COUNT);
    return processing_states[state];
}

bool processing_state_from_string(struct str string, enum processing_state *ret)
{
    for (size_t i = 0; i < PROCESSING_STATE_COUNT; i++)
        if (str_is(string, processing_states[i])) {
            *ret = (enum processing_state)i;
            return true;
        }
    return false;
}

/* ---- reading one ------------------------------------------------------------------------------ */

ibid_code document_workspaces_load(struct transaction *transaction, int64_t document_id, struct arena *arena,
                                   const int64_t **ret, size_t *ret_count, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(
        transaction,
        "SELECT DISTINCT w.workspace_id FROM document_workspaces w"
        " LEFT JOIN source_workspaces m ON m.id = w.mapping_id"
        " WHERE w.document_id = ?1 AND (w.mapping_id = 0 OR m.enabled = 1) ORDER BY w.workspace_id",
        &statement, err, document_id));
    int64_t *ids = NULL;
    size_t count = 0, capacity = 0;
    for (bool row;;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        if (count == capacity) {
            const size_t more = capacity ? capacity * 2 : 4;
            int64_t *grown = ARENA_ARRAY(arena, int64_t, more);
            if (count)
                memcpy(grown, ids, count * sizeof *ids);
            ids = grown;
            capacity = more;
        }
        ids[count++] = statement_int(statement, 0);
    }
    statement_reset(statement);
    *ret = ids;
    *ret_count = count;
    return IBID_OK;
}

static ibid_code read_states(struct statement *statement, struct document *document, ibid_error *err)
{
    if (!document_state_from_string(statement_text(statement, 17), &document->state) ||
        !processing_state_from_string(statement_text(statement, 18), &document->processing_state))
        return fail(err, IBID_ECORRUPT, "document %lld is in a state this ibid does not know",
                    (long long)document->id);
    return IBID_OK;
}

static ibid_code read_document(struct statement *statement, struct arena *arena, struct document *ret,
                               ibid_error *err)
{
    struct document document = {
        .id = statement_int(statement, 0),
        .file_id = sql_str(statement, 1, arena),
        .source_id = statement_int(statement, 2),
        .source = sql_str(statement, 3, arena),
        .source_type = sql_str(statement, 4, arena),
        .external_key = sql_str(statement, 5, arena),
        .document_title = sql_str(statement, 6, arena),
        .source_url = sql_str(statement, 7, arena),
        .path = sql_str(statement, 8, arena),
        .author = sql_str(statement, 9, arena),
        .media_type = sql_str(statement, 10, arena),
        .language = sql_str(statement, 11, arena),
        .size = statement_int(statement, 12),
        .blob = statement_int(statement, 14),
        .version = sql_str(statement, 15, arena),
        .owner_id = statement_int(statement, 16),
        .processing_stage = sql_str(statement, 19, arena),
        .processing_reason = sql_str(statement, 20, arena),
        .attempts = statement_int(statement, 21),
        .metadata = sql_str(statement, 22, arena),
        .warnings = sql_str(statement, 23, arena),
        .revision_id = statement_int(statement, 24),
        .created_at = statement_int(statement, 25),
        .modified_at = statement_int(statement, 26),
        .added_at = statement_int(statement, 27),
        .indexed_at = statement_int(statement, 28),
        .updates = statement_int(statement, 29),
        .home_workspace_id = statement_int(statement, 30),
        .home_collection_id = statement_int(statement, 31),
        .owner = sql_str(statement, 32, arena),
    };
    TRY(sql_sha256(statement, 13, &document.has_sha256, &document.sha256, err));
    TRY(read_states(statement, &document, err));
    *ret = document;
    return IBID_OK;
}

ibid_code document_load(struct transaction *transaction, int64_t id, struct arena *arena,
                        struct document *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(
        transaction,
        "SELECT d.id, d.file_id, d.source_id, s.location, c.type, d.external_key, d.document_title,"
        " d.source_url, d.path, d.author, d.media_type, d.language, d.size, d.sha256, d.blob, d.version,"
        " d.owner_id, d.state, d.processing_state, d.processing_stage, d.processing_reason, d.attempts,"
        " d.metadata, d.warnings, d.revision_id, d.created_at, d.modified_at, d.added_at, d.indexed_at,"
        " d.updates, d.home_workspace_id, d.home_collection_id, u.name"
        " FROM documents d JOIN sources s ON s.id = d.source_id JOIN connectors c ON c.id = s.connector_id"
        " LEFT JOIN users u ON u.id = d.owner_id WHERE d.id = ?1",
        &statement, err, id));
    bool row;
    TRY(statement_step(statement, &row, err));
    if (!row)
        return fail(err, IBID_ENOTFOUND, "there is no document %lld", (long long)id);
    struct document document;
    TRY(read_document(statement, arena, &document, err));
    statement_reset(statement);
    TRY(document_workspaces_load(transaction, id, arena, &document.workspace_ids, &document.workspace_count,
                                 err));
    *ret = document;
    return IBID_OK;
}

/* ---- finding ---------------------------------------------------------------------------------- */

ibid_code document_find_key(struct transaction *transaction, int64_t source_id, struct str external_key,
                            int64_t *ret_id, ibid_error *err)
{
    struct statement *statement;
    TRY(statement_prepare(transaction, "SELECT id FROM documents WHERE source_id = ?1 AND external_key = ?2",
                          &statement, err));
    statement_bind_int(statement, 1, source_id);
    sql_bind_str(statement, 2, external_key);
    bool row;
    int64_t id = 0;
    TRY(sql_first_int(statement, &row, &id, err));
    *ret_id = id;
    return IBID_OK;
}

ibid_code document_find_file_id(struct transaction *transaction, struct str file_id, int64_t *ret_id,
                                ibid_error *err)
{
    struct statement *statement;
    TRY(statement_prepare(transaction, "SELECT id FROM documents WHERE file_id = ?1", &statement, err));
    sql_bind_str(statement, 1, file_id);
    bool row;
    int64_t id = 0;
    TRY(sql_first_int(statement, &row, &id, err));
    *ret_id = id;
    return IBID_OK;
}

ibid_code document_find_sha256(struct transaction *transaction, const struct sha256 *sha256, size_t limit,
                               struct arena *arena, int64_t **ret_ids, size_t *ret_count, ibid_error *err)
{
    struct statement *statement;
    TRY(statement_prepare(transaction, "SELECT id FROM documents WHERE sha256 = ?1 ORDER BY id LIMIT ?2",
                          &statement, err));
    statement_bind_blob(statement, 1, sha256->bytes, SHA256_SIZE);
    statement_bind_int(statement, 2, (int64_t)limit);
    int64_t *ids = ARENA_ARRAY(arena, int64_t, limit);
    size_t count = 0;
    for (bool row;;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        ids[count++] = statement_int(statement, 0);
    }
    *ret_ids = ids;
    *ret_count = count;
    return IBID_OK;
}

/* ---- by scope --------------------------------------------------------------------------------- */

static bool among(const int64_t *ids, size_t count, int64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

bool document_scope_reads(const struct scope *scope, enum document_state state, const int64_t *workspaces,
                          size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (scope_has_workspace(scope, workspaces[i]) &&
            (state != DOCUMENT_SENSITIVE ||
             among(scope->sensitive_workspaces, scope->sensitive_workspace_count, workspaces[i])))
            return true;
    return false;
}

/* Takes the workspaces that the scope has not out of what is known of a document. */
static void keep_to_scope(struct document *document, const struct scope *scope, struct arena *arena)
{
    int64_t *ids = ARENA_ARRAY(arena, int64_t, document->workspace_count);
    size_t count = 0;
    for (size_t i = 0; i < document->workspace_count; i++)
        if (scope_has_workspace(scope, document->workspace_ids[i]))
            ids[count++] = document->workspace_ids[i];
    document->workspace_ids = ids;
    document->workspace_count = count;
}

ibid_code document_read(struct transaction *transaction, const struct scope *scope, int64_t id,
                        struct arena *arena, struct document *ret, ibid_error *err)
{
    struct document document;
    TRY(document_load(transaction, id, arena, &document, err));
    if (!document_scope_reads(scope, document.state, document.workspace_ids, document.workspace_count))
        return fail(err, IBID_ENOTFOUND, "there is no document %lld", (long long)id);
    keep_to_scope(&document, scope, arena);
    *ret = document;
    return IBID_OK;
}

ibid_code document_is_readable(struct transaction *transaction, const struct scope *scope, int64_t id,
                               bool *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "SELECT state FROM documents WHERE id = ?1", &statement, err, id));
    bool row;
    TRY(statement_step(statement, &row, err));
    enum document_state state;
    if (!row || !document_state_from_string(statement_text(statement, 0), &state)) {
        *ret = false;
        return IBID_OK;
    }
    statement_reset(statement);
    AUTO_ARENA arena = ARENA_INIT;
    const int64_t *workspaces;
    size_t count;
    TRY(document_workspaces_load(transaction, id, &arena, &workspaces, &count, err));
    *ret = document_scope_reads(scope, state, workspaces, count);
    return IBID_OK;
}
