#include "records/collection.h"

#include "base/clock.h"
#include "records/content_internal.h"
#include "records/row_feed.h"
#include "records/sql.h"

enum { NAME_LIMIT = 256, CHUNKING_LIMIT = 16 * 1024 };

#define COLLECTION_COLUMNS \
    "id, name, embedder, embedder_fingerprint, dimension, chunker, chunking, language, seq, created_at"

static struct collection read_collection(struct statement *statement, struct arena *arena)
{
    return (struct collection){
        .id = statement_int(statement, 0),
        .name = sql_str(statement, 1, arena),
        .embedder = sql_str(statement, 2, arena),
        .embedder_fingerprint = sql_str(statement, 3, arena),
        .dimension = (uint32_t)statement_int(statement, 4),
        .chunker = sql_str(statement, 5, arena),
        .chunking = sql_str(statement, 6, arena),
        .language = sql_str(statement, 7, arena),
        .seq = statement_int(statement, 8),
        .created_at = statement_int(statement, 9),
    };
}

ibid_code collection_load(struct transaction *transaction, int64_t id, struct arena *arena,
                          struct collection *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "SELECT " COLLECTION_COLUMNS " FROM collections WHERE id = ?1", &statement,
                    err, id));
    bool row;
    TRY(statement_step(statement, &row, err));
    if (!row)
        return fail(err, IBID_ENOTFOUND, "there is no collection %lld", (long long)id);
    *ret = read_collection(statement, arena);
    statement_reset(statement);
    return IBID_OK;
}

ibid_code collection_list(struct transaction *transaction, struct arena *arena, struct collection **ret,
                          size_t *ret_count, ibid_error *err)
{
    int64_t total;
    TRY(SQL_INT(transaction, "SELECT count(*) FROM collections", 0, &total, err));
    struct statement *statement;
    TRY(statement_prepare(transaction, "SELECT " COLLECTION_COLUMNS " FROM collections ORDER BY id",
                          &statement, err));
    struct collection *list = ARENA_ARRAY(arena, struct collection, (size_t)total);
    size_t count = 0;
    for (bool row; count < (size_t)total;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        list[count++] = read_collection(statement, arena);
    }
    statement_reset(statement);
    *ret = list;
    *ret_count = count;
    return IBID_OK;
}

ibid_code collection_create(struct transaction *transaction, const struct collection *draft, int64_t *ret_id,
                            ibid_error *err)
{
    if (draft->name.size == 0 || draft->name.size > NAME_LIMIT)
        return fail(err, IBID_EINVAL, "a collection's name has 1 to %d bytes", NAME_LIMIT);
    TRY(sql_check_json_object(draft->chunking, CHUNKING_LIMIT, "the chunking of a collection", err));
    struct statement *statement;
    TRY(statement_prepare(
        transaction,
        "INSERT INTO collections (name, embedder, embedder_fingerprint, dimension, chunker, chunking,"
        " language, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
        " ON CONFLICT (name) DO NOTHING RETURNING id",
        &statement, err));
    sql_bind_str(statement, 1, draft->name);
    sql_bind_str(statement, 2, draft->embedder);
    sql_bind_str(statement, 3, draft->embedder_fingerprint);
    statement_bind_int(statement, 4, draft->dimension);
    sql_bind_str(statement, 5, draft->chunker);
    sql_bind_str(statement, 6, draft->chunking.size ? draft->chunking : STR("{}"));
    sql_bind_str(statement, 7, draft->language);
    statement_bind_int(statement, 8, clock_now_us());
    bool row;
    TRY(sql_first_int(statement, &row, ret_id, err));
    return row ? IBID_OK
               : fail(err, IBID_ECONFLICT, "there is a collection '%.*s' already", STR_ARG(draft->name));
}

/* ---- changing --------------------------------------------------------------------------------- */

/* Takes the vectors off every row of the collection. There may be very many: the sweep deletes those that
 * nothing uses any more, some at a time. */
static ibid_code drop_vectors(struct transaction *transaction, int64_t id, ibid_error *err)
{
    AUTO_ID_LIST rows = {0};
    struct statement *statement;
    TRY(SQL_RUN(
        transaction,
        "INSERT INTO embeddings_ahead (embedding_id, created_at) SELECT DISTINCT embedding_id, 0 FROM rows"
        " WHERE collection_id = ?1 AND embedding_id IS NOT NULL ON CONFLICT DO NOTHING",
        err, id));
    TRY(SQL_PREPARE(
        transaction,
        "SELECT row_id FROM rows WHERE collection_id = ?1 AND embedding_id IS NOT NULL ORDER BY seq",
        &statement, err, id));
    TRY(id_list_collect(&rows, statement, err));
    int64_t seq = 0;
    for (size_t i = 0; i < rows.count; i++) {
        TRY(commit_seq_take(transaction, &seq, err));
        TRY(SQL_RUN(transaction, "UPDATE rows SET embedding_id = NULL, seq = ?2 WHERE row_id = ?1", err,
                    rows.ids[i], seq));
    }
    return rows.count ? content_note_change(transaction, id, seq, err) : IBID_OK;
}

ibid_code collection_set_embedder(struct transaction *transaction, int64_t id, struct str embedder,
                                  struct str fingerprint, uint32_t dimension, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct collection old;
    TRY(collection_load(transaction, id, &arena, &old, err));
    const bool same_space = str_equal(old.embedder_fingerprint, fingerprint) && old.dimension == dimension;
    if (same_space && str_equal(old.embedder, embedder))
        return IBID_OK;
    if (!same_space)
        TRY(drop_vectors(transaction, id, err));
    struct statement *statement;
    TRY(SQL_PREPARE(
        transaction,
        "UPDATE collections SET dimension = ?2, embedder = ?3, embedder_fingerprint = ?4 WHERE id = ?1",
        &statement, err, id, dimension));
    sql_bind_str(statement, 3, embedder);
    sql_bind_str(statement, 4, fingerprint);
    return statement_run(statement, err);
}

ibid_code collection_count(struct transaction *transaction, int64_t id, struct collection_counts *ret,
                           ibid_error *err)
{
    struct collection_counts counts;
    TRY(SQL_INT(transaction, "SELECT count(*) FROM document_collections WHERE collection_id = ?1", 0,
                &counts.documents, err, id));
    TRY(SQL_INT(transaction, "SELECT count(*) FROM rows WHERE collection_id = ?1", 0, &counts.rows, err, id));
    TRY(SQL_INT(transaction, "SELECT count(*) FROM rows WHERE collection_id = ?1 AND removed = 1", 0,
                &counts.removed_rows, err, id));
    TRY(SQL_INT(transaction,
                "SELECT count(*) FROM rows WHERE collection_id = ?1 AND embedding_id IS NULL AND removed = 0",
                0, &counts.pending_rows, err, id));
    counts.rows -= counts.removed_rows;
    *ret = counts;
    return IBID_OK;
}
