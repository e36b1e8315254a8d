#include "records/collection.h"

#include "base/clock.h"
#include "records/collection_internal.h"
#include "records/row_feed.h"
#include "records/sql.h"

enum { NAME_LIMIT = 256, CHUNKING_LIMIT = 16 * 1024 };

/* Every row of collections with its parent, which is itself unless it is a successor or was one. */
#define COLLECTION_SELECT                                                                       \
    "SELECT c.id, p.id, p.name, c.embedder, c.embedder_fingerprint, c.embedder_options,"        \
    " c.dimension, p.chunker, p.chunking, p.language, c.seq, c.created_at, c.complete,"         \
    " CASE c.id WHEN coalesce(p.serving_id, p.id) THEN 0 WHEN p.successor_id THEN 1 ELSE 2 END" \
    " FROM collections c JOIN collections p ON p.id = coalesce(c.parent_id, c.id)"

static struct collection read_collection(struct statement *statement, struct arena *arena)
{
    return (struct collection){
        .id = statement_int(statement, 0),
        .parent_id = statement_int(statement, 1),
        .name = sql_str(statement, 2, arena),
        .embedder = sql_str(statement, 3, arena),
        .embedder_fingerprint = sql_str(statement, 4, arena),
        .embedder_options = sql_str(statement, 5, arena),
        .dimension = (uint32_t)statement_int(statement, 6),
        .chunker = sql_str(statement, 7, arena),
        .chunking = sql_str(statement, 8, arena),
        .language = sql_str(statement, 9, arena),
        .seq = statement_int(statement, 10),
        .created_at = statement_int(statement, 11),
        .complete = statement_int(statement, 12) != 0,
        .role = (enum collection_role)statement_int(statement, 13),
    };
}

/* The only row of the statement. */
static ibid_code read_one(struct statement *statement, int64_t id, struct arena *arena,
                          struct collection *ret, ibid_error *err)
{
    bool row;
    TRY(statement_step(statement, &row, err));
    if (!row)
        return fail(err, IBID_ENOTFOUND, "there is no collection %lld", (long long)id);
    *ret = read_collection(statement, arena);
    statement_reset(statement);
    return IBID_OK;
}

ibid_code collection_load(struct transaction *transaction, int64_t id, struct arena *arena,
                          struct collection *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, COLLECTION_SELECT " WHERE c.id = ?1", &statement, err, id));
    return read_one(statement, id, arena, ret, err);
}

ibid_code collection_load_serving(struct transaction *transaction, int64_t id, struct arena *arena,
                                  struct collection *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, COLLECTION_SELECT " WHERE c.id = " SERVING_ID("?1"), &statement, err, id));
    return read_one(statement, id, arena, ret, err);
}

ibid_code collection_load_successor(struct transaction *transaction, int64_t id, struct arena *arena,
                                    struct collection *ret, bool *ret_found, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    COLLECTION_SELECT " WHERE c.id = (SELECT successor_id FROM collections WHERE id = ?1)",
                    &statement, err, id));
    TRY(statement_step(statement, ret_found, err));
    if (*ret_found)
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
    TRY(statement_prepare(transaction, COLLECTION_SELECT " ORDER BY c.id", &statement, err));
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

ibid_code collection_count(struct transaction *transaction, int64_t id, struct collection_counts *ret,
                           ibid_error *err)
{
    struct collection_counts counts;
    TRY(SQL_INT(transaction, "SELECT count(*) FROM document_collections WHERE collection_id = ?1", 0,
                &counts.documents, err, id));
    TRY(SQL_INT(transaction, "SELECT count(*) FROM rows WHERE collection_id = ?1", 0, &counts.rows, err, id));
    TRY(SQL_INT(transaction, "SELECT count(*) FROM rows WHERE collection_id = ?1 AND removed = 1", 0,
                &counts.removed_rows, err, id));
    TRY(row_pending_count(transaction, id, &counts.pending_rows, err));
    counts.rows -= counts.removed_rows;
    *ret = counts;
    return IBID_OK;
}
