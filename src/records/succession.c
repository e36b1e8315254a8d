#include "records/succession.h"

#include "base/clock.h"
#include "records/collection.h"
#include "records/content_internal.h"
#include "records/id_list.h"
#include "records/publish.h"
#include "records/row_feed.h"
#include "records/sql.h"

enum { OPTIONS_LIMIT = 64 * 1024 };

/* ---- begin ------------------------------------------------------------------------------------ */

static bool is_same_space(const struct collection *collection, const struct collection_embedder *embedder)
{
    return str_equal(collection->embedder_fingerprint, embedder->fingerprint) &&
           collection->dimension == embedder->dimension;
}

static ibid_code write_embedder(struct transaction *transaction, int64_t id,
                                const struct collection_embedder *embedder, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "UPDATE collections SET dimension = ?2, embedder = ?3, embedder_fingerprint = ?4,"
                    " embedder_options = ?5 WHERE id = ?1",
                    &statement, err, id, embedder->dimension));
    sql_bind_str(statement, 3, embedder->id);
    sql_bind_str(statement, 4, embedder->fingerprint);
    sql_bind_str(statement, 5, embedder->options);
    return statement_run(statement, err);
}

/* The vectors are in the same space; what it is called or opened with may have changed. */
static ibid_code rename_embedder(struct transaction *transaction, const struct collection *collection,
                                 const struct collection_embedder *embedder, ibid_error *err)
{
    const bool same = str_equal(collection->embedder, embedder->id) &&
                      str_equal(collection->embedder_options, embedder->options);
    return same ? IBID_OK : write_embedder(transaction, collection->id, embedder, err);
}

static ibid_code set_successor(struct transaction *transaction, int64_t collection_id, int64_t successor_id,
                               ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(
        transaction,
        "UPDATE collections SET successor_id = ?2 WHERE id = ?1 AND successor_id IS DISTINCT FROM ?2",
        &statement, err, collection_id));
    sql_bind_id(statement, 2, successor_id);
    return statement_run(statement, err);
}

static ibid_code has_vectors(struct transaction *transaction, int64_t id, bool *ret, ibid_error *err)
{
    int64_t any;
    TRY(SQL_INT(transaction,
                "SELECT EXISTS (SELECT 1 FROM rows WHERE collection_id = ?1 AND embedding_id IS NOT NULL)", 0,
                &any, err, id));
    *ret = any != 0;
    return IBID_OK;
}

/* Names have to differ, and nobody reads this one. */
static ibid_code make_successor(struct transaction *transaction, int64_t collection_id,
                                const struct collection_embedder *embedder, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "INSERT INTO collections (parent_id, name, created_at)"
                    " SELECT id, 'successor ' || (SELECT max(id) + 1 FROM collections) || ' of ' || name, ?2"
                    " FROM collections WHERE id = ?1 RETURNING id",
                    &statement, err, collection_id, clock_now_us()));
    int64_t id;
    TRY(sql_insert(statement, &id, err));
    TRY(write_embedder(transaction, id, embedder, err));
    return set_successor(transaction, collection_id, id, err);
}

ibid_code collection_set_embedder(struct transaction *transaction, int64_t collection_id,
                                  const struct collection_embedder *given, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct collection serving, successor;
    struct collection_embedder embedder = *given;
    bool has_successor, has;
    TRY(sql_check_json_object(embedder.options, OPTIONS_LIMIT, "the options of an embedder", err));
    if (embedder.options.size == 0)
        embedder.options = STR("{}");
    TRY(collection_load_serving(transaction, collection_id, &arena, &serving, err));
    if (is_same_space(&serving, &embedder)) {
        TRY(set_successor(transaction, collection_id, 0, err));
        return rename_embedder(transaction, &serving, &embedder, err);
    }
    TRY(collection_load_successor(transaction, collection_id, &arena, &successor, &has_successor, err));
    if (has_successor && is_same_space(&successor, &embedder))
        return rename_embedder(transaction, &successor, &embedder, err);
    TRY(has_vectors(transaction, serving.id, &has, err));
    if (has)
        return make_successor(transaction, collection_id, &embedder, err);
    TRY(set_successor(transaction, collection_id, 0, err));
    return write_embedder(transaction, serving.id, &embedder, err);
}

/* ---- fill ------------------------------------------------------------------------------------- */

#define MISSING_DOCUMENTS                                     \
    " FROM document_collections f WHERE f.collection_id = ?1" \
    " AND NOT EXISTS (SELECT 1 FROM document_collections t"   \
    " WHERE t.document_id = f.document_id AND t.collection_id = ?2)"

ibid_code succession_missing(struct transaction *transaction, int64_t from, int64_t to, int64_t after,
                             size_t limit, struct arena *arena, int64_t **ret, size_t *ret_count,
                             ibid_error *err)
{
    AUTO_ID_LIST ids = {0};
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT f.document_id" MISSING_DOCUMENTS
                    " AND f.document_id > ?3 ORDER BY f.document_id LIMIT ?4",
                    &statement, err, from, to, after, (int64_t)limit));
    TRY(id_list_collect(&ids, statement, err));
    *ret = ARENA_ARRAY(arena, int64_t, ids.count);
    for (size_t i = 0; i < ids.count; i++)
        (*ret)[i] = ids.ids[i];
    *ret_count = ids.count;
    return IBID_OK;
}

ibid_code succession_count_missing(struct transaction *transaction, int64_t from, int64_t to, int64_t *ret,
                                   ibid_error *err)
{
    return SQL_INT(transaction, "SELECT count(*)" MISSING_DOCUMENTS, 0, ret, err, from, to);
}

static ibid_code list_chunks(struct transaction *transaction, int64_t chunk_set_id, struct id_list *chunks,
                             ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "SELECT id FROM chunks WHERE chunk_set_id = ?1 ORDER BY chunk_index",
                    &statement, err, chunk_set_id));
    return id_list_collect(chunks, statement, err);
}

ibid_code succession_carry(struct transaction *transaction, int64_t document_id, int64_t from, int64_t to,
                           ibid_error *err)
{
    AUTO_ID_LIST chunks = {0};
    int64_t chunk_set_id, seq = 0;
    TRY(SQL_INT(transaction, "SELECT f.chunk_set_id" MISSING_DOCUMENTS " AND f.document_id = ?3", 0,
                &chunk_set_id, err, from, to, document_id));
    if (chunk_set_id == 0)
        return IBID_OK;
    commit_seq_next_document(transaction);
    TRY(list_chunks(transaction, chunk_set_id, &chunks, err));
    for (size_t i = 0; i < chunks.count; i++) {
        TRY(commit_seq_take(transaction, &seq, err));
        TRY(SQL_RUN(transaction,
                    "INSERT INTO rows (collection_id, chunk_id, document_id, seq) VALUES (?1, ?2, ?3, ?4)",
                    err, to, chunks.ids[i], document_id, seq));
    }
    TRY(SQL_RUN(transaction,
                "INSERT INTO document_collections (document_id, collection_id, chunk_set_id)"
                " VALUES (?1, ?2, ?3)",
                err, document_id, to, chunk_set_id));
    return content_note_change(transaction, to, seq, err);
}

/* ---- complete and switch ---------------------------------------------------------------------- */

/* A text that the embedder refuses must not stand in the way for ever; an embedder that refuses most must. */
static bool are_few(int64_t pending, int64_t rows)
{
    enum { ROWS_FOR_ONE_PENDING = 100 };
    const int64_t most = rows > ROWS_FOR_ONE_PENDING ? rows / ROWS_FOR_ONE_PENDING : 1;
    return pending == 0 || (pending <= most && pending < rows - pending);
}

/* The successor, if it could serve; else 0. */
static ibid_code find_ready(struct transaction *transaction, int64_t collection_id, int64_t *ret,
                            ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct collection serving, successor;
    struct collection_counts counts;
    int64_t missing = 0;
    bool found;
    TRY(collection_load_serving(transaction, collection_id, &arena, &serving, err));
    TRY(collection_load_successor(transaction, collection_id, &arena, &successor, &found, err));
    if (found)
        TRY(succession_count_missing(transaction, serving.id, successor.id, &missing, err));
    if (!found || missing) {
        *ret = 0;
        return IBID_OK;
    }
    TRY(collection_count(transaction, successor.id, &counts, err));
    *ret = are_few(counts.pending_rows, counts.rows) ? successor.id : 0;
    return IBID_OK;
}

ibid_code succession_complete(struct transaction *transaction, int64_t collection_id, bool *ret,
                              ibid_error *err)
{
    int64_t successor_id;
    TRY(find_ready(transaction, collection_id, &successor_id, err));
    if (successor_id)
        TRY(SQL_RUN(transaction, "UPDATE collections SET complete = 1 WHERE id = ?1 AND complete = 0", err,
                    successor_id));
    *ret = successor_id != 0;
    return IBID_OK;
}

ibid_code succession_switch(struct transaction *transaction, int64_t collection_id, bool *ret,
                            ibid_error *err)
{
    int64_t successor_id, complete = 0;
    TRY(find_ready(transaction, collection_id, &successor_id, err));
    if (successor_id)
        TRY(SQL_INT(transaction, "SELECT complete FROM collections WHERE id = ?1", 0, &complete, err,
                    successor_id));
    if (complete) {
        TRY(SQL_RUN(transaction, "DELETE FROM cached_answers WHERE collection_id = ?1", err, collection_id));
        TRY(SQL_RUN(transaction,
                    "UPDATE collections SET serving_id = successor_id, successor_id = NULL WHERE id = ?1",
                    err, collection_id));
    }
    *ret = complete != 0;
    return IBID_OK;
}

/* ---- retire ----------------------------------------------------------------------------------- */

ibid_code succession_withdraw(struct transaction *transaction, int64_t retired_id, size_t limit,
                              bool *ret_more, ibid_error *err)
{
    AUTO_ID_LIST documents = {0};
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT document_id FROM document_collections WHERE collection_id = ?1"
                    " ORDER BY document_id LIMIT ?2",
                    &statement, err, retired_id, (int64_t)limit));
    TRY(id_list_collect(&documents, statement, err));
    for (size_t i = 0; i < documents.count; i++)
        TRY(document_withdraw(transaction, documents.ids[i], retired_id, err));
    *ret_more = documents.count == limit;
    return IBID_OK;
}

ibid_code succession_forget(struct transaction *transaction, int64_t retired_id, bool *ret, ibid_error *err)
{
    int64_t any;
    TRY(SQL_INT(transaction,
                "SELECT EXISTS (SELECT 1 FROM rows WHERE collection_id = ?1)"
                " OR EXISTS (SELECT 1 FROM document_collections WHERE collection_id = ?1)",
                0, &any, err, retired_id));
    *ret = !any;
    if (any)
        return IBID_OK;
    TRY(SQL_RUN(transaction, "DELETE FROM collections WHERE id = ?1 AND parent_id IS NOT NULL", err,
                retired_id));
    return SQL_RUN(transaction,
                   "UPDATE collections SET embedder = '', embedder_fingerprint = '', embedder_options = '{}',"
                   " dimension = 0 WHERE id = ?1 AND dimension <> 0",
                   err, retired_id);
}
