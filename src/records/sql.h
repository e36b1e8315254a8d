/* Small helpers for the statements of records/; nothing outside it includes this. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "metadata_store/metadata_store.h"

/* Prepares `sql`, which has to be a literal, and binds the int64 arguments to ?1, ?2... */
#define SQL_PREPARE(transaction, sql, ret, err, ...)                  \
    sql_prepare((transaction), "" sql, (int64_t[]){0, ##__VA_ARGS__}, \
                sizeof((int64_t[]){0, ##__VA_ARGS__}) / sizeof(int64_t), (ret), (err))
/* The same, run to its end; it returns no rows that matter. */
#define SQL_RUN(transaction, sql, err, ...)                       \
    sql_run((transaction), "" sql, (int64_t[]){0, ##__VA_ARGS__}, \
            sizeof((int64_t[]){0, ##__VA_ARGS__}) / sizeof(int64_t), (err))
/* The first column of the only row, or `otherwise` when there is none. */
#define SQL_INT(transaction, sql, otherwise, ret, err, ...)       \
    sql_int((transaction), "" sql, (int64_t[]){0, ##__VA_ARGS__}, \
            sizeof((int64_t[]){0, ##__VA_ARGS__}) / sizeof(int64_t), (otherwise), (ret), (err))

/* For the macros: `parameters[0]` is not used, so that an empty list is an array, too. */
ibid_code sql_prepare(struct transaction *transaction, const char *sql, const int64_t *parameters,
                      size_t count, struct statement **ret, ibid_error *err) MUST_CHECK;
ibid_code sql_run(struct transaction *transaction, const char *sql, const int64_t *parameters, size_t count,
                  ibid_error *err) MUST_CHECK;
ibid_code sql_int(struct transaction *transaction, const char *sql, const int64_t *parameters, size_t count,
                  int64_t otherwise, int64_t *ret, ibid_error *err) MUST_CHECK;

/* Steps and resets; *ret_row tells whether there was a row, *ret its first column. For RETURNING. */
ibid_code sql_first_int(struct statement *statement, bool *ret_row, int64_t *ret, ibid_error *err) MUST_CHECK;
/* As sql_first_int for an insert that always returns the new id. */
ibid_code sql_insert(struct statement *statement, int64_t *ret_id, ibid_error *err) MUST_CHECK;

/* Text that is never null: no data is empty text. */
void sql_bind_str(struct statement *statement, int parameter, struct str text);
/* Null for 0. */
void sql_bind_id(struct statement *statement, int parameter, int64_t id);
void sql_bind_null(struct statement *statement, int parameter);
/* Null unless `has`. */
void sql_bind_sha256(struct statement *statement, int parameter, bool has, const struct sha256 *hash);

/* A copy in the arena; null is empty. */
struct str sql_str(struct statement *statement, int column, struct arena *arena);
/* False for null, IBID_ECORRUPT when it is no hash. */
ibid_code sql_sha256(struct statement *statement, int column, bool *ret_has, struct sha256 *ret,
                     ibid_error *err) MUST_CHECK;

/* A JSON object as text: empty stands for "{}". IBID_EINVAL when it is none, IBID_ETOOBIG above `limit`. */
ibid_code sql_check_json_object(struct str text, size_t limit, const char *what, ibid_error *err) MUST_CHECK;

/* `text` on one line of at most `limit` bytes of well-formed UTF-8, in `out` (limit + 1 bytes). */
struct str sql_one_line(struct str text, char *out, size_t limit);
