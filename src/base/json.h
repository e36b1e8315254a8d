/* JSON through jansson, with the few things that every door and file reader needs around it.
 * Values are jansson's own (json_t *); json_decref() what you own. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/str.h"

#define AUTO_JSON __attribute__((cleanup(json_auto_decref))) json_t
void json_auto_decref(json_t **value);

/* Parses one value from `text` (strict UTF-8, duplicate keys refused, nesting as jansson's ceiling
 * of 2048). IBID_EINVAL says what is wrong and in which line. The result is owned by the caller. */
ibid_code json_parse(struct str text, json_t **ret, ibid_error *err) MUST_CHECK;

/* Appends the compact form. */
void json_append(struct buffer *out, const json_t *value);

/* A string from borrowed bytes that are UTF-8 (ill-formed ones are repaired). */
json_t *json_str(struct str text) __attribute__((returns_nonnull));
/* Sets a member to one. */
void json_set_str(json_t *object, const char *key, struct str text);
/* The same for the next item of an array. */
void json_append_str(json_t *array, struct str text);
void json_set_string(json_t *object, const char *key, const char *string); /* NULL: null */
void json_set_int(json_t *object, const char *key, int64_t value);
void json_set_real(json_t *object, const char *key, double value);
void json_set_bool(json_t *object, const char *key, bool value);
/* Takes `value` over. */
void json_set(json_t *object, const char *key, json_t *take_value);
/* RFC 3339, or null when the time is unknown (0). */
void json_set_time(json_t *object, const char *key, int64_t time_us);

/* Readers of an optional member: *ret keeps its value when the member is missing or null,
 * IBID_EINVAL names the key when it has another type or is out of range.
 * Strings are borrowed from the object. */
ibid_code json_get_str(const json_t *object, const char *key, struct str *ret, ibid_error *err) MUST_CHECK;
ibid_code json_get_int(const json_t *object, const char *key, int64_t low, int64_t high, int64_t *ret,
                       ibid_error *err) MUST_CHECK;
ibid_code json_get_real(const json_t *object, const char *key, double low, double high, double *ret,
                        ibid_error *err) MUST_CHECK;
ibid_code json_get_bool(const json_t *object, const char *key, bool *ret, ibid_error *err) MUST_CHECK;

/* IBID_EINVAL naming the first member of `object` that is none of `known` (NULL-ended):
 * a misspelt option must not be ignored. */
ibid_code json_check_keys(const json_t *object, const char *const known[], ibid_error *err) MUST_CHECK;
