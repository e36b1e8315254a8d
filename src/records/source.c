#include "records/source.h"

#include "base/clock.h"
#include "records/bootstrap.h"
#include "records/document_internal.h"
#include "records/id_list.h"
#include "records/row_feed.h"
#include "records/sql.h"

enum { LOCATION_LIMIT = 8192, OPTIONS_LIMIT = 256 * 1024, CURSOR_LIMIT = 64 * 1024 };

#define SOURCE_QUERY                                                                                      \
    "SELECT s.id, s.connector_id, c.type, c.name, c.options, s.location, s.options, s.home_workspace_id," \
    " s.collection_id, s.enabled, s.failures, s.last_run_at, s.last_complete_at, s.created_at"            \
    " FROM sources s JOIN connectors c ON c.id = s.connector_id"

static struct source read_source(struct statement *statement, struct arena *arena)
{
    return (struct source){
        .id = statement_int(statement, 0),
        .connector_id = statement_int(statement, 1),
        .connector_type = sql_str(statement, 2, arena),
        .connector_name = sql_str(statement, 3, arena),
        .connector_options = sql_str(statement, 4, arena),
        .location = sql_str(statement, 5, arena),
        .options = sql_str(statement, 6, arena),
        .home_workspace_id = statement_int(statement, 7),
        .collection_id = statement_int(statement, 8),
        .enabled = statement_int(statement, 9),
        .failures = statement_int(statement, 10),
        .last_run_at = statement_int(statement, 11),
        .last_complete_at = statement_int(statement, 12),
        .created_at = statement_int(statement, 13),
    };
}

static ibid_code no_source(int64_t id, ibid_error *err)
{
    return fail(err, IBID_ENOTFOUND, "there is no source %lld", (long long)id);
}

ibid_code source_load(struct transaction *transaction, int64_t id, struct arena *arena, struct source *ret,
                      ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, SOURCE_QUERY " WHERE s.id = ?1", &statement, err, id));
    bool row;
    TRY(statement_step(statement, &row, err));
    if (!row)
        return no_source(id, err);
    *ret = read_source(statement, arena);
    statement_reset(statement);
    return IBID_OK;
}

ibid_code source_find(struct transaction *transaction, int64_t connector_id, struct str location,
                      int64_t *ret_id, ibid_error *err)
{
    struct statement *statement;
    TRY(statement_prepare(transaction, "SELECT id FROM sources WHERE connector_id = ?1 AND location = ?2",
                          &statement, err));
    statement_bind_int(statement, 1, connector_id);
    sql_bind_str(statement, 2, location);
    bool row;
    int64_t id = 0;
    TRY(sql_first_int(statement, &row, &id, err));
    *ret_id = id;
    return IBID_OK;
}

ibid_code source_list(struct transaction *transaction, struct arena *arena, struct source **ret,
                      size_t *ret_count, ibid_error *err)
{
    int64_t total;
    TRY(SQL_INT(transaction, "SELECT count(*) FROM sources", 0, &total, err));
    struct statement *statement;
    TRY(statement_prepare(transaction, SOURCE_QUERY " ORDER BY s.id", &statement, err));
    struct source *list = ARENA_ARRAY(arena, struct source, (size_t)total);
    size_t count = 0;
    for (bool row; count < (size_t)total;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        list[count++] = read_source(statement, arena);
    }
    statement_reset(statement);
    *ret = list;
    *ret_count = count;
    return IBID_OK;
}

/* ---- changing --------------------------------------------------------------------------------- */

ibid_code source_create(struct transaction *transaction, const struct source *draft, int64_t *ret_id,
                        ibid_error *err)
{
    if (draft->location.size == 0 || draft->location.size > LOCATION_LIMIT)
        return fail(err, IBID_EINVAL, "the location of a source has 1 to %d bytes", LOCATION_LIMIT);
    TRY(sql_check_json_object(draft->options, OPTIONS_LIMIT, "the options of a source", err));
    const int64_t workspace = draft->home_workspace_id ? draft->home_workspace_id : DEFAULT_WORKSPACE_ID;
    struct statement *statement;
    TRY(statement_prepare(
        transaction,
        "INSERT INTO sources (connector_id, location, options, home_workspace_id, collection_id,"
        " created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        " ON CONFLICT (connector_id, location) DO NOTHING RETURNING id",
        &statement, err));
    statement_bind_int(statement, 1, draft->connector_id);
    sql_bind_str(statement, 2, draft->location);
    sql_bind_str(statement, 3, draft->options.size ? draft->options : STR("{}"));
    statement_bind_int(statement, 4, workspace);
    statement_bind_int(statement, 5, draft->collection_id ? draft->collection_id : DEFAULT_COLLECTION_ID);
    statement_bind_int(statement, 6, clock_now_us());
    bool row;
    int64_t id = 0;
    TRY(sql_first_int(statement, &row, &id, err));
    if (!row)
        return fail(err, IBID_ECONFLICT, "there is a source '%.*s' already",
                    STR_ARG(str_slice(draft->location, 0, 200)));
    TRY(source_map(transaction, id, workspace, err));
    *ret_id = id;
    return IBID_OK;
}

ibid_code source_set_options(struct transaction *transaction, int64_t id, struct str options, ibid_error *err)
{
    TRY(sql_check_json_object(options, OPTIONS_LIMIT, "the options of a source", err));
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "UPDATE sources SET options = ?2 WHERE id = ?1 RETURNING id", &statement,
                    err, id));
    sql_bind_str(statement, 2, options.size ? options : STR("{}"));
    bool row;
    int64_t found;
    TRY(sql_first_int(statement, &row, &found, err));
    return row ? IBID_OK : no_source(id, err);
}

ibid_code source_set_enabled(struct transaction *transaction, int64_t id, bool enabled, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "UPDATE sources SET enabled = ?2 WHERE id = ?1 RETURNING id", &statement,
                    err, id, enabled));
    bool row;
    int64_t found;
    TRY(sql_first_int(statement, &row, &found, err));
    return row ? IBID_OK : no_source(id, err);
}

ibid_code source_documents(struct transaction *transaction, int64_t id, size_t limit, struct arena *arena,
                           int64_t **ret, size_t *ret_count, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "SELECT id FROM documents WHERE source_id = ?1 LIMIT ?2", &statement, err,
                    id, (int64_t)limit));
    int64_t *ids = ARENA_ARRAY(arena, int64_t, limit);
    size_t count = 0;
    for (bool row; count < limit;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        ids[count++] = statement_int(statement, 0);
    }
    statement_reset(statement);
    *ret = ids;
    *ret_count = count;
    return IBID_OK;
}

ibid_code source_remove(struct transaction *transaction, int64_t id, ibid_error *err)
{
    int64_t documents;
    TRY(SQL_INT(transaction, "SELECT count(*) FROM documents WHERE source_id = ?1", 0, &documents, err, id));
    if (documents > 0)
        return fail(err, IBID_ECONFLICT, "source %lld still has %lld documents", (long long)id,
                    (long long)documents);
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "DELETE FROM sources WHERE id = ?1 RETURNING id", &statement, err, id));
    bool row;
    int64_t found;
    TRY(sql_first_int(statement, &row, &found, err));
    return row ? IBID_OK : no_source(id, err);
}

ibid_code source_connector(struct transaction *transaction, struct str type, int64_t *ret_id, ibid_error *err)
{
    struct statement *statement;
    bool row;
    TRY(statement_prepare(transaction, "SELECT id FROM connectors WHERE type = ?1 ORDER BY id LIMIT 1",
                          &statement, err));
    sql_bind_str(statement, 1, type);
    TRY(sql_first_int(statement, &row, ret_id, err));
    if (row)
        return IBID_OK;
    TRY(statement_prepare(transaction,
                          "INSERT INTO connectors (type, name, created_at) VALUES (?1, ?1, ?2) RETURNING id",
                          &statement, err));
    sql_bind_str(statement, 1, type);
    statement_bind_int(statement, 2, clock_now_us());
    return sql_insert(statement, ret_id, err);
}

ibid_code source_ran(struct transaction *transaction, int64_t id, bool complete, ibid_error *err)
{
    return SQL_RUN(
        transaction,
        "UPDATE sources SET last_run_at = ?2, failures = CASE WHEN ?3 = 1 THEN 0 ELSE failures + 1 END,"
        " last_complete_at = CASE WHEN ?3 = 1 THEN ?2 ELSE last_complete_at END WHERE id = ?1",
        err, id, clock_now_us(), complete);
}

/* ---- mapping to workspaces -------------------------------------------------------------------- */

ibid_code source_map(struct transaction *transaction, int64_t source_id, int64_t workspace_id,
                     ibid_error *err)
{
    return SQL_RUN(transaction,
                   "INSERT INTO source_workspaces (source_id, workspace_id, created_at) VALUES (?1, ?2, ?3)"
                   " ON CONFLICT (source_id, workspace_id) DO NOTHING",
                   err, source_id, workspace_id, clock_now_us());
}

ibid_code source_unmap(struct transaction *transaction, int64_t source_id, int64_t workspace_id,
                       ibid_error *err)
{
    return SQL_RUN(transaction, "DELETE FROM source_workspaces WHERE source_id = ?1 AND workspace_id = ?2",
                   err, source_id, workspace_id);
}

static ibid_code apply_to_document(struct transaction *transaction, int64_t source_id, int64_t document_id,
                                   ibid_error *err)
{
    int64_t gone, added;
    TRY(SQL_INT(transaction,
                "SELECT count(*) FROM document_workspaces w WHERE w.document_id = ?1 AND w.mapping_id <> 0"
                " AND NOT EXISTS (SELECT 1 FROM source_workspaces m WHERE m.id = w.mapping_id)",
                0, &gone, err, document_id));
    if (gone)
        TRY(SQL_RUN(
            transaction,
            "DELETE FROM document_workspaces WHERE document_id = ?1 AND mapping_id <> 0 AND NOT EXISTS"
            " (SELECT 1 FROM source_workspaces m WHERE m.id = document_workspaces.mapping_id)",
            err, document_id));
    TRY(SQL_INT(
        transaction,
        "SELECT count(*) FROM source_workspaces m WHERE m.source_id = ?2 AND NOT EXISTS"
        " (SELECT 1 FROM document_workspaces w WHERE w.document_id = ?1 AND w.workspace_id = m.workspace_id"
        " AND w.mapping_id = m.id)",
        0, &added, err, document_id, source_id));
    if (added)
        TRY(SQL_RUN(
            transaction,
            "INSERT INTO document_workspaces (document_id, workspace_id, mapping_id)"
            " SELECT ?1, workspace_id, id FROM source_workspaces WHERE source_id = ?2 ON CONFLICT DO NOTHING",
            err, document_id, source_id));
    if (!gone && !added)
        return IBID_OK;
    commit_seq_next_document(transaction);
    TRY(cached_answers_drop(transaction, document_id, err));
    return rows_touch_document(transaction, document_id, err);
}

ibid_code source_mapping_apply(struct transaction *transaction, int64_t source_id, size_t limit,
                               int64_t *after_id, ibid_error *err)
{
    AUTO_ID_LIST documents = {0};
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT id FROM documents WHERE source_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
                    &statement, err, source_id, *after_id, (int64_t)limit));
    TRY(id_list_collect(&documents, statement, err));
    for (size_t i = 0; i < documents.count; i++)
        TRY(apply_to_document(transaction, source_id, documents.ids[i], err));
    *after_id = documents.count == limit && limit ? documents.ids[limit - 1] : 0;
    return IBID_OK;
}

ibid_code source_workspaces(struct transaction *transaction, int64_t source_id, struct arena *arena,
                            int64_t **ret, size_t *ret_count, ibid_error *err)
{
    AUTO_ID_LIST list = {0};
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT workspace_id FROM source_workspaces WHERE source_id = ?1 ORDER BY workspace_id",
                    &statement, err, source_id));
    TRY(id_list_collect(&list, statement, err));
    *ret = ARENA_ARRAY(arena, int64_t, list.count);
    if (list.count)
        memcpy(*ret, list.ids, list.count * sizeof *list.ids);
    *ret_count = list.count;
    return IBID_OK;
}

/* ---- cursors ---------------------------------------------------------------------------------- */

ibid_code cursor_get(struct transaction *transaction, int64_t source_id, struct str name, struct arena *arena,
                     struct str *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "SELECT value FROM cursors WHERE source_id = ?1 AND name = ?2", &statement,
                    err, source_id));
    sql_bind_str(statement, 2, name);
    bool row;
    TRY(statement_step(statement, &row, err));
    *ret = row ? sql_str(statement, 0, arena) : STR_EMPTY;
    statement_reset(statement);
    return IBID_OK;
}

ibid_code cursor_set(struct transaction *transaction, int64_t source_id, struct str name, struct str value,
                     ibid_error *err)
{
    if (value.size > CURSOR_LIMIT)
        return fail(err, IBID_ETOOBIG, "a cursor has at most %d bytes", CURSOR_LIMIT);
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "INSERT INTO cursors (source_id, name, value, updated_at) VALUES (?1, ?3, ?4, ?2)"
                    " ON CONFLICT (source_id, name) DO UPDATE SET value = excluded.value,"
                    " updated_at = excluded.updated_at",
                    &statement, err, source_id, clock_now_us()));
    sql_bind_str(statement, 3, name);
    sql_bind_str(statement, 4, value);
    return statement_run(statement, err);
}
