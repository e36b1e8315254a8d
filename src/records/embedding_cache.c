#include "records/embedding_cache.h"

#include "base/clock.h"
#include "records/embedding_internal.h"
#include "records/sql.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "vectors are stored in little-endian order");

enum { DIMENSION_LIMIT = 65536 };

static ibid_code find_one(struct transaction *transaction, const struct sha256 *key, int64_t *ret,
                          ibid_error *err)
{
    struct statement *statement;
    TRY(statement_prepare(transaction, "SELECT id FROM embeddings WHERE key = ?1", &statement, err));
    statement_bind_blob(statement, 1, key->bytes, SHA256_SIZE);
    bool row;
    int64_t id = 0;
    TRY(sql_first_int(statement, &row, &id, err));
    *ret = id;
    return IBID_OK;
}

ibid_code embedding_find(struct transaction *transaction, const struct sha256 *keys, size_t count,
                         int64_t *ids, ibid_error *err)
{
    for (size_t i = 0; i < count; i++)
        TRY(find_one(transaction, &keys[i], &ids[i], err));
    return IBID_OK;
}

ibid_code embedding_store(struct transaction *transaction, const struct sha256 *key, const float *vector,
                          uint32_t dimension, int64_t *ret_id, ibid_error *err)
{
    if (dimension == 0 || dimension > DIMENSION_LIMIT)
        return fail(err, IBID_EINVAL, "a vector has 1 to %d dimensions, not %u", DIMENSION_LIMIT, dimension);
    struct statement *statement;
    TRY(statement_prepare(
        transaction,
        "INSERT INTO embeddings (key, dimension, created_at, vector) VALUES (?1, ?2, ?3, ?4)"
        " ON CONFLICT (key) DO NOTHING RETURNING id",
        &statement, err));
    statement_bind_blob(statement, 1, key->bytes, SHA256_SIZE);
    statement_bind_int(statement, 2, dimension);
    statement_bind_int(statement, 3, clock_now_us());
    statement_bind_blob(statement, 4, vector, dimension * sizeof *vector);
    bool row;
    TRY(sql_first_int(statement, &row, ret_id, err));
    return row ? IBID_OK : find_one(transaction, key, ret_id, err);
}

ibid_code embedding_put(struct transaction *transaction, const struct sha256 *key, const float *vector,
                        uint32_t dimension, int64_t *ret_id, ibid_error *err)
{
    TRY(embedding_store(transaction, key, vector, dimension, ret_id, err));
    return SQL_RUN(transaction,
                   "INSERT INTO embeddings_ahead (embedding_id, created_at) VALUES (?1, ?2)"
                   " ON CONFLICT (embedding_id) DO UPDATE SET created_at = excluded.created_at",
                   err, *ret_id, clock_now_us());
}

ibid_code embedding_read(struct transaction *transaction, int64_t id, uint32_t dimension, float *out,
                         ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "SELECT vector FROM embeddings WHERE id = ?1", &statement, err, id));
    bool row;
    TRY(statement_step(statement, &row, err));
    if (!row)
        return fail(err, IBID_ENOTFOUND, "there is no vector %lld", (long long)id);
    const struct str blob = statement_blob(statement, 0);
    if (blob.size != dimension * sizeof *out)
        return fail(err, IBID_ECONFLICT, "vector %lld has %zu dimensions, not %u", (long long)id,
                    blob.size / sizeof *out, dimension);
    memcpy(out, blob.data, blob.size);
    statement_reset(statement);
    return IBID_OK;
}

ibid_code embedding_release(struct transaction *transaction, const int64_t *ids, size_t count,
                            ibid_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i])
            TRY(SQL_RUN(transaction,
                        "DELETE FROM embeddings WHERE id = ?1 AND NOT EXISTS"
                        " (SELECT 1 FROM rows WHERE rows.embedding_id = ?1)",
                        err, ids[i]));
    return IBID_OK;
}
