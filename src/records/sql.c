#include "records/sql.h"

#include "base/json.h"
#include "base/utf8.h"

ibid_code sql_prepare(struct transaction *transaction, const char *sql, const int64_t *parameters,
                      size_t count, struct statement **ret, ibid_error *err)
{
    TRY(statement_prepare(transaction, sql, ret, err));
    for (size_t i = 1; i < count; i++)
        statement_bind_int(*ret, (int)i, parameters[i]);
    return IBID_OK;
}

ibid_code sql_run(struct transaction *transaction, const char *sql, const int64_t *parameters, size_t count,
                  ibid_error *err)
{
    struct statement *statement;
    TRY(sql_prepare(transaction, sql, parameters, count, &statement, err));
    return statement_run(statement, err);
}

ibid_code sql_int(struct transaction *transaction, const char *sql, const int64_t *parameters, size_t count,
                  int64_t otherwise, int64_t *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(sql_prepare(transaction, sql, parameters, count, &statement, err));
    bool row;
    int64_t value = 0;
    TRY(sql_first_int(statement, &row, &value, err));
    *ret = row ? value : otherwise;
    return IBID_OK;
}

ibid_code sql_first_int(struct statement *statement, bool *ret_row, int64_t *ret, ibid_error *err)
{
    bool row;
    const ibid_code code = statement_step(statement, &row, err);
    if (code == IBID_OK) {
        *ret_row = row;
        if (row)
            *ret = statement_int(statement, 0);
    }
    statement_reset(statement);
    return code;
}

ibid_code sql_insert(struct statement *statement, int64_t *ret_id, ibid_error *err)
{
    bool row;
    TRY(sql_first_int(statement, &row, ret_id, err));
    return row ? IBID_OK : fail(err, IBID_EBUG, "an insert returned no id");
}

void sql_bind_str(struct statement *statement, int parameter, struct str text)
{
    statement_bind_text(statement, parameter, text.data ? text : STR_EMPTY);
}

void sql_bind_null(struct statement *statement, int parameter)
{
    statement_bind_text(statement, parameter, (struct str){NULL, 0});
}

void sql_bind_id(struct statement *statement, int parameter, int64_t id)
{
    if (id)
        statement_bind_int(statement, parameter, id);
    else
        sql_bind_null(statement, parameter);
}

void sql_bind_sha256(struct statement *statement, int parameter, bool has, const struct sha256 *hash)
{
    statement_bind_blob(statement, parameter, has ? hash->bytes : NULL, has ? SHA256_SIZE : 0);
}

struct str sql_str(struct statement *statement, int column, struct arena *arena)
{
    const struct str text = statement_text(statement, column);
    return text.size ? arena_str(arena, text) : STR_EMPTY;
}

ibid_code sql_sha256(struct statement *statement, int column, bool *ret_has, struct sha256 *ret,
                     ibid_error *err)
{
    const struct str blob = statement_blob(statement, column);
    *ret_has = blob.data != NULL;
    if (!blob.data)
        return IBID_OK;
    if (blob.size != SHA256_SIZE)
        return fail(err, IBID_ECORRUPT, "a stored hash has %zu bytes: the store is damaged", blob.size);
    memcpy(ret->bytes, blob.data, SHA256_SIZE);
    return IBID_OK;
}

ibid_code sql_check_json_object(struct str text, size_t limit, const char *what, ibid_error *err)
{
    if (text.size == 0)
        return IBID_OK;
    if (text.size > limit)
        return fail(err, IBID_ETOOBIG, "%s has %zu bytes; the limit is %zu", what, text.size, limit);
    AUTO_JSON *json = NULL;
    const ibid_code code = json_parse(text, &json, err);
    if (code != IBID_OK) {
        error_context(err, "%s", what);
        return code;
    }
    return json_is_object(json) ? IBID_OK : fail(err, IBID_EINVAL, "%s has to be a JSON object", what);
}

struct str sql_one_line(struct str text, char *out, size_t limit)
{
    size_t size = 0;
    for (size_t at = 0; at < text.size;) {
        char encoded[4];
        uint32_t code_point = utf8_next(text, &at);
        if (code_point < 0x20 || code_point == 0x7F)
            code_point = ' ';
        const size_t length = utf8_encode(code_point, encoded);
        if (size + length > limit)
            break;
        memcpy(out + size, encoded, length);
        size += length;
    }
    out[size] = '\0';
    return (struct str){out, size};
}
