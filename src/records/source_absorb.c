#include "base/arena.h"
#include "records/document.h"
#include "records/document_internal.h"
#include "records/ledger.h"
#include "records/row_feed.h"
#include "records/source.h"
#include "records/sql.h"
#include "records/sweep.h"

ibid_code source_is_alike(struct transaction *transaction, int64_t a, int64_t b, bool *ret, ibid_error *err)
{
    int64_t alike;
    TRY(SQL_INT(transaction,
                "SELECT EXISTS (SELECT 1 FROM sources a, sources b WHERE a.id = ?1 AND b.id = ?2"
                " AND a.collection_id = b.collection_id AND a.home_workspace_id = b.home_workspace_id)"
                " AND NOT EXISTS (SELECT 1 FROM source_workspaces m WHERE m.source_id = ?1 AND NOT EXISTS"
                " (SELECT 1 FROM source_workspaces o WHERE o.source_id = ?2"
                " AND o.workspace_id = m.workspace_id AND o.enabled = m.enabled))"
                " AND NOT EXISTS (SELECT 1 FROM source_workspaces m WHERE m.source_id = ?2 AND NOT EXISTS"
                " (SELECT 1 FROM source_workspaces o WHERE o.source_id = ?1"
                " AND o.workspace_id = m.workspace_id AND o.enabled = m.enabled))",
                0, &alike, err, a, b));
    *ret = alike;
    return IBID_OK;
}

struct absorption {
    struct transaction *transaction;
    int64_t from, into;
    struct str prefix;
};

static ibid_code move_line(const struct absorption *self, struct str old, struct str key, ibid_error *err)
{
    TRY(ledger_forget(self->transaction, self->into, key, err));
    struct statement *statement;
    TRY(SQL_PREPARE(self->transaction,
                    "UPDATE ledger SET source_id = ?2, external_key = ?4"
                    " WHERE source_id = ?1 AND external_key = ?3",
                    &statement, err, self->from, self->into));
    sql_bind_str(statement, 3, old);
    sql_bind_str(statement, 4, key);
    return statement_run(statement, err);
}

/* What a mapping of the old source lets see, the same one of the new source does. */
static ibid_code move_workspaces(const struct absorption *self, int64_t id, ibid_error *err)
{
    return SQL_RUN(self->transaction,
                   "UPDATE document_workspaces SET mapping_id = (SELECT m.id FROM source_workspaces m"
                   " WHERE m.source_id = ?3 AND m.workspace_id = document_workspaces.workspace_id)"
                   " WHERE document_id = ?1 AND mapping_id IN"
                   " (SELECT id FROM source_workspaces WHERE source_id = ?2)",
                   err, id, self->from, self->into);
}

static ibid_code absorb_document(const struct absorption *self, int64_t id, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct document document;
    int64_t there;
    TRY(document_load(self->transaction, id, &arena, &document, err));
    const struct str key =
        str_from(arena_printf(&arena, "%.*s%.*s", STR_ARG(self->prefix), STR_ARG(document.external_key)));
    const struct str path =
        str_from(arena_printf(&arena, "%.*s%.*s", STR_ARG(self->prefix), STR_ARG(document.path)));
    TRY(document_find_key(self->transaction, self->into, key, &there, err));
    if (there) {
        struct removal removal;
        return document_remove(self->transaction, id, "twice", &removal, err);
    }
    commit_seq_next_document(self->transaction);
    struct statement *statement;
    TRY(SQL_PREPARE(self->transaction,
                    "UPDATE documents SET source_id = ?2, external_key = ?3, path = ?4 WHERE id = ?1",
                    &statement, err, id, self->into));
    sql_bind_str(statement, 3, key);
    sql_bind_str(statement, 4, path);
    TRY(statement_run(statement, err));
    TRY(move_line(self, document.external_key, key, err));
    TRY(move_workspaces(self, id, err));
    TRY(cached_answers_drop(self->transaction, id, err));
    return rows_touch_document(self->transaction, id, err);
}

/* What was removed by request stays away. Other lines without a document come again with the next listing. */
static ibid_code move_removed(const struct absorption *self, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(self->transaction,
                    "UPDATE ledger SET source_id = ?2, external_key = ?3 || external_key"
                    " WHERE source_id = ?1 AND outcome = 'removed' AND NOT EXISTS (SELECT 1 FROM ledger o"
                    " WHERE o.source_id = ?2 AND o.external_key = ?3 || ledger.external_key)",
                    &statement, err, self->from, self->into));
    sql_bind_str(statement, 3, self->prefix);
    return statement_run(statement, err);
}

ibid_code source_absorb(struct transaction *transaction, int64_t from, int64_t into, struct str prefix,
                        size_t limit, bool *ret_more, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    const struct absorption self = {transaction, from, into, prefix};
    int64_t *ids;
    size_t count;
    TRY(source_documents(transaction, from, limit, &arena, &ids, &count, err));
    for (size_t i = 0; i < count; i++)
        TRY(absorb_document(&self, ids[i], err));
    if (count == 0) {
        TRY(move_removed(&self, err));
        TRY(source_remove(transaction, from, err));
    }
    *ret_more = count > 0;
    return IBID_OK;
}
