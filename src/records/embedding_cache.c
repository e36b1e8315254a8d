#include "records/embedding_cache.h"

#include "base/clock.h"
#include "model/vector.h"
#include "records/embedding_internal.h"
#include "records/sql.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "vectors are stored in little-endian order");

static int64_t key_start(const struct sha256 *key)
{
    int64_t start = 0;
    for (size_t i = 0; i < 6; i++)
        start = start << 8 | key->bytes[i];
    return start;
}

static ibid_code find_one(struct transaction *transaction, const struct sha256 *key, int64_t *ret,
                          ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "SELECT id, key FROM embeddings WHERE key_start = ?1", &statement, err,
                    key_start(key)));
    const struct str wanted = {(const char *)key->bytes, SHA256_SIZE};
    int64_t id = 0;
    for (bool row; id == 0;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        if (str_equal(statement_blob(statement, 1), wanted))
            id = statement_int(statement, 0);
    }
    statement_reset(statement);
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
    if (dimension == 0 || dimension > VECTOR_DIMENSION_MAX)
        return fail(err, IBID_EINVAL, "a vector has 1 to %d dimensions, not %u", VECTOR_DIMENSION_MAX,
                    dimension);
    int64_t id;
    TRY(find_one(transaction, key, &id, err));
    if (id) {
        *ret_id = id;
        return IBID_OK;
    }
    struct statement *statement;
    TRY(statement_prepare(transaction,
                          "INSERT INTO embeddings (key_start, key, dimension, created_at, vector)"
                          " VALUES (?1, ?2, ?3, ?4, ?5) RETURNING id",
                          &statement, err));
    statement_bind_int(statement, 1, key_start(key));
    statement_bind_blob(statement, 2, key->bytes, SHA256_SIZE);
    statement_bind_int(statement, 3, dimension);
    statement_bind_int(statement, 4, clock_now_us());
    statement_bind_blob(statement, 5, vector, dimension * sizeof *vector);
    return sql_insert(statement, ret_id, err);
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
