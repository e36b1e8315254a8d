#include "base/clock.h"
#include "records/sql.h"
#include "records/workspace.h"

#define TOKEN_COLUMNS \
    "id, user_id, name, hint, created_at, expires_at, last_used_at, revoked_at, metrics_only"

static struct token_record read_token(struct statement *statement, struct arena *arena)
{
    return (struct token_record){
        .id = statement_int(statement, 0),
        .user_id = statement_int(statement, 1),
        .name = sql_str(statement, 2, arena),
        .hint = sql_str(statement, 3, arena),
        .created_at = statement_int(statement, 4),
        .expires_at = statement_int(statement, 5),
        .last_used_at = statement_int(statement, 6),
        .revoked_at = statement_int(statement, 7),
        .metrics_only = statement_int(statement, 8) != 0,
    };
}

ibid_code token_record_create(struct transaction *transaction, const struct token_record *draft,
                              const unsigned char hash[TOKEN_HASH_SIZE], int64_t *ret_id, ibid_error *err)
{
    struct statement *statement;
    TRY(statement_prepare(transaction,
                          "INSERT INTO tokens (user_id, name, hash, hint, created_at, expires_at)"
                          " VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING id",
                          &statement, err));
    statement_bind_int(statement, 1, draft->user_id);
    sql_bind_str(statement, 2, draft->name);
    statement_bind_blob(statement, 3, hash, TOKEN_HASH_SIZE);
    sql_bind_str(statement, 4, draft->hint);
    statement_bind_int(statement, 5, clock_now_us());
    statement_bind_int(statement, 6, draft->expires_at);
    return sql_insert(statement, ret_id, err);
}

ibid_code token_record_find(struct transaction *transaction, const unsigned char hash[TOKEN_HASH_SIZE],
                            struct arena *arena, struct token_record *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(statement_prepare(transaction, "SELECT " TOKEN_COLUMNS " FROM tokens WHERE hash = ?1", &statement,
                          err));
    statement_bind_blob(statement, 1, hash, TOKEN_HASH_SIZE);
    bool row;
    TRY(statement_step(statement, &row, err));
    if (!row)
        return fail(err, IBID_ENOTFOUND, "there is no such token");
    *ret = read_token(statement, arena);
    statement_reset(statement);
    return IBID_OK;
}

ibid_code token_record_load(struct transaction *transaction, int64_t id, struct arena *arena,
                            struct token_record *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "SELECT " TOKEN_COLUMNS " FROM tokens WHERE id = ?1", &statement, err, id));
    bool row;
    TRY(statement_step(statement, &row, err));
    if (!row)
        return fail(err, IBID_ENOTFOUND, "there is no token %lld", (long long)id);
    *ret = read_token(statement, arena);
    statement_reset(statement);
    return IBID_OK;
}

ibid_code token_record_list(struct transaction *transaction, int64_t user_id, struct arena *arena,
                            struct token_record **ret, size_t *ret_count, ibid_error *err)
{
    int64_t total;
    TRY(SQL_INT(transaction, "SELECT count(*) FROM tokens WHERE ?1 IN (0, user_id)", 0, &total, err,
                user_id));
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "SELECT " TOKEN_COLUMNS " FROM tokens WHERE ?1 IN (0, user_id) ORDER BY id",
                    &statement, err, user_id));
    struct token_record *list = ARENA_ARRAY(arena, struct token_record, (size_t)total);
    size_t count = 0;
    for (bool row; count < (size_t)total;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        list[count++] = read_token(statement, arena);
    }
    statement_reset(statement);
    *ret = list;
    *ret_count = count;
    return IBID_OK;
}

ibid_code token_record_used(struct transaction *transaction, int64_t id, int64_t now, ibid_error *err)
{
    return SQL_RUN(transaction, "UPDATE tokens SET last_used_at = ?2 WHERE id = ?1", err, id, now);
}

ibid_code token_record_keep_to_metrics(struct transaction *transaction, int64_t id, ibid_error *err)
{
    return SQL_RUN(transaction, "UPDATE tokens SET metrics_only = 1 WHERE id = ?1", err, id);
}

ibid_code token_record_revoke(struct transaction *transaction, int64_t id, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "UPDATE tokens SET revoked_at = CASE WHEN revoked_at = 0 THEN ?2 ELSE revoked_at END"
                    " WHERE id = ?1 RETURNING id",
                    &statement, err, id, clock_now_us()));
    bool row;
    int64_t found;
    TRY(sql_first_int(statement, &row, &found, err));
    return row ? IBID_OK : fail(err, IBID_ENOTFOUND, "there is no token %lld", (long long)id);
}
