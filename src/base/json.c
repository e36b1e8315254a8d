#include "base/json.h"

#include "base/clock.h"
#include "base/utf8.h"

void json_auto_decref(json_t **value)
{
    json_decref(*value);
}

ibid_code json_parse(struct str text, json_t **ret, ibid_error *err)
{
    json_error_t where;
    json_t *value =
        json_loadb(text.data ? text.data : "", text.size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
    if (!value)
        return fail(err, IBID_EINVAL, "not valid JSON: %s (line %d, column %d)", where.text, where.line,
                    where.column);
    *ret = value;
    return IBID_OK;
}

static int append_piece(const char *data, size_t size, void *out)
{
    buffer_append(out, data, size);
    return 0;
}

void json_append(struct buffer *out, const json_t *value)
{
    if (json_dump_callback(value, append_piece, out, JSON_COMPACT | JSON_ENCODE_ANY) != 0)
        BUG("a JSON value cannot be written");
}

void json_set(json_t *object, const char *key, json_t *take_value)
{
    if (json_object_set_new(object, key, take_value) != 0)
        BUG("cannot set JSON member '%s'", key);
}

json_t *json_str(struct str text)
{
    json_t *value = json_stringn(text.data ? text.data : "", text.size);
    if (value)
        return value;
    AUTO_BUFFER repaired = BUFFER(text.size * 3);
    utf8_append_repaired(&repaired, text);
    return json_stringn(buffer_str(&repaired).data, repaired.size);
}

void json_set_str(json_t *object, const char *key, struct str text)
{
    json_set(object, key, json_str(text));
}

void json_append_str(json_t *array, struct str text)
{
    json_array_append_new(array, json_str(text));
}

void json_set_string(json_t *object, const char *key, const char *string)
{
    if (string)
        json_set_str(object, key, str_from(string));
    else
        json_set(object, key, json_null());
}

void json_set_int(json_t *object, const char *key, int64_t value)
{
    json_set(object, key, json_integer(value));
}

void json_set_real(json_t *object, const char *key, double value)
{
    json_t *real = json_real(value); /* NULL for NaN and infinity, which JSON has not */
    json_set(object, key, real ? real : json_null());
}

void json_set_bool(json_t *object, const char *key, bool value)
{
    json_set(object, key, json_boolean(value));
}

void json_set_time(json_t *object, const char *key, int64_t time_us)
{
    char text[CLOCK_TEXT_SIZE];
    json_set_string(object, key, time_us ? clock_format(time_us, text) : NULL);
}

static const json_t *member(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

ibid_code json_get_str(const json_t *object, const char *key, struct str *ret, ibid_error *err)
{
    const json_t *value = member(object, key);
    if (!value)
        return IBID_OK;
    if (!json_is_string(value))
        return fail(err, IBID_EINVAL, "'%s' is to be a string", key);
    *ret = (struct str){json_string_value(value), json_string_length(value)};
    return IBID_OK;
}

ibid_code json_get_int(const json_t *object, const char *key, int64_t low, int64_t high, int64_t *ret,
                       ibid_error *err)
{
    const json_t *value = member(object, key);
    if (!value)
        return IBID_OK;
    if (!json_is_integer(value))
        return fail(err, IBID_EINVAL, "'%s' is to be a whole number", key);
    int64_t number = json_integer_value(value);
    if (number < low || number > high)
        return fail(err, IBID_EINVAL, "'%s' is to be from %lld to %lld", key, (long long)low,
                    (long long)high);
    *ret = number;
    return IBID_OK;
}

ibid_code json_get_real(const json_t *object, const char *key, double low, double high, double *ret,
                        ibid_error *err)
{
    const json_t *value = member(object, key);
    if (!value)
        return IBID_OK;
    if (!json_is_number(value))
        return fail(err, IBID_EINVAL, "'%s' is to be a number", key);
    double number = json_number_value(value);
    if (!(number >= low && number <= high))
        return fail(err, IBID_EINVAL, "'%s' is to be from %g to %g", key, low, high);
    *ret = number;
    return IBID_OK;
}

ibid_code json_get_bool(const json_t *object, const char *key, bool *ret, ibid_error *err)
{
    const json_t *value = member(object, key);
    if (!value)
        return IBID_OK;
    if (!json_is_boolean(value))
        return fail(err, IBID_EINVAL, "'%s' is to be true or false", key);
    *ret = json_is_true(value);
    return IBID_OK;
}

ibid_code json_check_keys(const json_t *object, const char *const known[], ibid_error *err)
{
    if (!json_is_object(object))
        return fail(err, IBID_EINVAL, "a JSON object is expected");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        size_t i = 0;
        while (known[i] && strcmp(known[i], key) != 0)
            i++;
        if (!known[i])
            return fail(err, IBID_EINVAL, "'%s' is not a known field", key);
    }
    return IBID_OK;
}
