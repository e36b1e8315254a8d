/* Pages of documents under a scope. A page is drawn from the narrowest ascending run of ids that the
 * query offers (a processing state, a source, a collection, else the scope's workspaces); each candidate is
 * then checked on its own. */
#include "records/collection_internal.h"
#include "records/document.h"
#include "records/document_internal.h"
#include "records/id_list.h"
#include "records/sql.h"

enum { BATCH = 256, PAGE_LIMIT = 1000 };

/* Ids above `after` in any workspace of the scope, ascending; the first `limit` have no gap. */
static ibid_code ids_of_scope(struct transaction *transaction, const struct scope *scope, int64_t after,
                              int64_t limit, struct id_list *ids, ibid_error *err)
{
    for (size_t i = 0; i < scope->workspace_count; i++) {
        struct statement *statement;
        TRY(SQL_PREPARE(
            transaction,
            "SELECT DISTINCT w.document_id FROM document_workspaces w"
            " LEFT JOIN source_workspaces m ON m.id = w.mapping_id"
            " WHERE w.workspace_id = ?1 AND w.document_id > ?2 AND (w.mapping_id = 0 OR m.enabled = 1)"
            " ORDER BY w.document_id LIMIT ?3",
            &statement, err, scope->workspaces[i], after, limit));
        TRY(id_list_collect(ids, statement, err));
    }
    id_list_sort(ids);
    return IBID_OK;
}

/* The same for the narrowest condition of the query. */
static ibid_code ids_of_query(struct transaction *transaction, const struct document_query *query,
                              int64_t after, struct id_list *ids, ibid_error *err)
{
    struct statement *statement;
    if (query->processing_state >= 0) {
        TRY(statement_prepare(
            transaction,
            "SELECT id FROM documents WHERE processing_state = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
            &statement, err));
        statement_bind_text(
            statement, 1, str_from(processing_state_string((enum processing_state)query->processing_state)));
    } else if (query->source_id) {
        TRY(statement_prepare(
            transaction, "SELECT id FROM documents WHERE source_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
            &statement, err));
        statement_bind_int(statement, 1, query->source_id);
    } else {
        TRY(statement_prepare(
            transaction,
            "SELECT document_id FROM document_collections WHERE collection_id = " SERVING_ID(
                "?1") " AND document_id > ?2 ORDER BY document_id LIMIT ?3",
            &statement, err));
        statement_bind_int(statement, 1, query->collection_id);
    }
    statement_bind_int(statement, 2, after);
    statement_bind_int(statement, 3, BATCH);
    return id_list_collect(ids, statement, err);
}

static bool contains_nocase(struct str text, struct str part)
{
    for (size_t at = 0; at + part.size <= text.size; at++)
        if (str_equal_nocase(str_slice(text, at, at + part.size), part))
            return true;
    return false;
}

static ibid_code is_in_collection(struct transaction *transaction, int64_t document_id, int64_t collection_id,
                                  bool *ret, ibid_error *err)
{
    int64_t found;
    TRY(SQL_INT(
        transaction,
        "SELECT 1 FROM document_collections WHERE document_id = ?1 AND collection_id = " SERVING_ID("?2"), 0,
        &found, err, document_id, collection_id));
    *ret = found != 0;
    return IBID_OK;
}

static ibid_code matches(struct transaction *transaction, const struct scope *scope,
                         const struct document_query *query, const struct document *document, bool *ret,
                         ibid_error *err)
{
    *ret = document_scope_reads(scope, document->state, document->workspace_ids, document->workspace_count) &&
           (!query->source_id || document->source_id == query->source_id) &&
           (query->processing_state < 0 || (int)document->processing_state == query->processing_state) &&
           (query->title_contains.size == 0 ||
            contains_nocase(document->document_title, query->title_contains) ||
            contains_nocase(document->path, query->title_contains));
    if (*ret && query->collection_id)
        TRY(is_in_collection(transaction, document->id, query->collection_id, ret, err));
    return IBID_OK;
}

struct page {
    struct document *documents;
    size_t count, limit; /* one more than asked for: it tells whether another page follows */
};

/* What does not fit is looked at in memory of its own: a list keeps only what it shows. */
static ibid_code fill_page(struct transaction *transaction, const struct scope *scope,
                           const struct document_query *query, const int64_t *ids, size_t count,
                           struct arena *arena, struct page *page, ibid_error *err)
{
    AUTO_ARENA scratch = ARENA_INIT;
    for (size_t i = 0; i < count && page->count < page->limit; i++) {
        struct document document;
        bool fits;
        TRY(document_load(transaction, ids[i], &scratch, &document, err));
        TRY(matches(transaction, scope, query, &document, &fits, err));
        if (fits)
            TRY(document_read(transaction, scope, ids[i], arena, &page->documents[page->count++], err));
    }
    return IBID_OK;
}

ibid_code document_list(struct transaction *transaction, const struct scope *scope,
                        const struct document_query *query, struct arena *arena, struct document **ret,
                        size_t *ret_count, bool *ret_more, ibid_error *err)
{
    if (query->limit < 1 || query->limit > PAGE_LIMIT)
        return fail(err, IBID_EINVAL, "a page has 1 to %d documents, not %zu", PAGE_LIMIT, query->limit);
    const bool by_scope = query->processing_state < 0 && !query->source_id && !query->collection_id;
    struct page page = {ARENA_ARRAY(arena, struct document, query->limit + 1), 0, query->limit + 1};
    int64_t after = query->after_id;
    for (size_t count = BATCH; count == BATCH && page.count < page.limit && !scope_is_empty(scope);) {
        AUTO_ID_LIST ids = {0};
        if (by_scope)
            TRY(ids_of_scope(transaction, scope, after, BATCH, &ids, err));
        else
            TRY(ids_of_query(transaction, query, after, &ids, err));
        count = ids.count < BATCH ? ids.count : BATCH;
        TRY(fill_page(transaction, scope, query, ids.ids, count, arena, &page, err));
        if (count)
            after = ids.ids[count - 1];
    }
    *ret_more = page.count > query->limit;
    *ret_count = *ret_more ? query->limit : page.count;
    *ret = page.documents;
    return IBID_OK;
}

/* ---- counting --------------------------------------------------------------------------------- */

/* Takes the sensitive documents that the scope may not read out of `ids`. */
static ibid_code drop_sensitive(struct transaction *transaction, const struct scope *scope,
                                struct id_list *ids, ibid_error *err)
{
    AUTO_ID_LIST sensitive = {0};
    struct statement *statement;
    TRY(statement_prepare(transaction, "SELECT id FROM documents WHERE state = 'sensitive'", &statement,
                          err));
    TRY(id_list_collect(&sensitive, statement, err));
    for (size_t i = 0; i < sensitive.count; i++) {
        bool readable;
        TRY(document_is_readable(transaction, scope, sensitive.ids[i], &readable, err));
        const size_t at = readable ? SIZE_MAX : id_list_find(ids, sensitive.ids[i]);
        if (at != SIZE_MAX) {
            ids->count--;
            memmove(ids->ids + at, ids->ids + at + 1, (ids->count - at) * sizeof *ids->ids);
        }
    }
    return IBID_OK;
}

ibid_code document_count(struct transaction *transaction, const struct scope *scope,
                         int64_t ret_counts[PROCESSING_STATE_COUNT], ibid_error *err)
{
    int64_t counts[PROCESSING_STATE_COUNT] = {0};
    AUTO_ID_LIST ids = {0};
    TRY(ids_of_scope(transaction, scope, 0, INT64_MAX, &ids, err));
    TRY(drop_sensitive(transaction, scope, &ids, err));
    for (int state = 0; state < PROCESSING_STATE_COUNT && ids.count; state++) {
        struct statement *statement;
        TRY(statement_prepare(transaction, "SELECT id FROM documents WHERE processing_state = ?1", &statement,
                              err));
        statement_bind_text(statement, 1, str_from(processing_state_string((enum processing_state)state)));
        for (bool row;;) {
            TRY(statement_step(statement, &row, err));
            if (!row)
                break;
            counts[state] += id_list_find(&ids, statement_int(statement, 0)) != SIZE_MAX;
        }
    }
    memcpy(ret_counts, counts, sizeof counts);
    return IBID_OK;
}
