/* JSON metadata taken apart into rows, one for each value, for filters on keys that no index keeps. */
#include "base/json.h"
#include "records/document_internal.h"
#include "records/sql.h"

enum { KEY_LIMIT = 256, DEPTH_LIMIT = 8, VALUE_COUNT_LIMIT = 4096 };

struct writer {
    struct transaction *transaction;
    const char *insert; /* ?1 id, ?2 key, ?3 position, ?4 text, ?5 number, ?6 boolean */
    int64_t id;
    size_t values;
    ibid_error *err;
};

static ibid_code write_scalar(struct writer *writer, struct str key, size_t position, const json_t *value)
{
    if (json_is_null(value))
        return IBID_OK; /* null is a missing key */
    if (++writer->values > VALUE_COUNT_LIMIT)
        return fail(writer->err, IBID_ETOOBIG, "metadata has more than %d values", VALUE_COUNT_LIMIT);
    struct statement *statement;
    TRY(statement_prepare(writer->transaction, writer->insert, &statement, writer->err));
    statement_bind_int(statement, 1, writer->id);
    sql_bind_str(statement, 2, key);
    statement_bind_int(statement, 3, (int64_t)position);
    sql_bind_null(statement, 4);
    sql_bind_null(statement, 5);
    sql_bind_null(statement, 6);
    if (json_is_string(value))
        sql_bind_str(statement, 4, (struct str){json_string_value(value), json_string_length(value)});
    else if (json_is_number(value))
        statement_bind_real(statement, 5, json_number_value(value));
    else
        statement_bind_int(statement, 6, json_is_true(value));
    return statement_run(statement, writer->err);
}

static ibid_code write_object(struct writer *writer, struct str prefix, const json_t *object, unsigned depth);

static ibid_code write_value(struct writer *writer, struct str key, const json_t *value, unsigned depth)
{
    if (json_is_object(value))
        return write_object(writer, key, value, depth + 1);
    if (!json_is_array(value))
        return write_scalar(writer, key, 0, value);
    size_t i;
    json_t *item;
    json_array_foreach(value, i, item)
    {
        if (!json_is_array(item) && !json_is_object(item)) /* lists of lists have no place in a filter */
            TRY(write_scalar(writer, key, i, item));
    }
    return IBID_OK;
}

static ibid_code write_object(struct writer *writer, struct str prefix, const json_t *object, unsigned depth)
{
    if (depth > DEPTH_LIMIT)
        return fail(writer->err, IBID_ETOOBIG, "metadata is nested deeper than %d", DEPTH_LIMIT);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        AUTO_BUFFER key = BUFFER(KEY_LIMIT);
        buffer_append_str(&key, prefix);
        if (prefix.size)
            buffer_append_byte(&key, '.');
        buffer_append_string(&key, name);
        TRY(buffer_check(&key, "a key of the metadata", writer->err));
        TRY(write_value(writer, buffer_str(&key), value, depth));
    }
    return IBID_OK;
}

static ibid_code store(struct writer *writer, struct str text)
{
    if (text.size == 0)
        return IBID_OK;
    if (text.size > DOCUMENT_METADATA_LIMIT)
        return fail(writer->err, IBID_ETOOBIG, "metadata has %zu bytes; the limit is %d", text.size,
                    DOCUMENT_METADATA_LIMIT);
    AUTO_JSON *json = NULL;
    const ibid_code code = json_parse(text, &json, writer->err);
    if (code != IBID_OK) {
        error_context(writer->err, "metadata");
        return code;
    }
    if (!json_is_object(json))
        return fail(writer->err, IBID_EINVAL, "metadata has to be a JSON object");
    return write_object(writer, STR_EMPTY, json, 0);
}

ibid_code document_metadata_store(struct transaction *transaction, int64_t document_id, struct str json,
                                  ibid_error *err)
{
    TRY(SQL_RUN(transaction, "DELETE FROM document_metadata WHERE document_id = ?1", err, document_id));
    struct writer writer = {
        transaction,
        "INSERT INTO document_metadata (document_id, key, position, text, number, boolean)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        document_id, 0, err};
    return store(&writer, json);
}
