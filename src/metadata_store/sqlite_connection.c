#include "metadata_store/sqlite_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* ---- errors ----------------------------------------------------------------------------------- */

static ibid_code code_of_io_error(int os_errno)
{
    switch (os_errno) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return IBID_ENOSPACE;
    case EACCES:
    case EPERM:
    case EROFS:
        return IBID_EDENIED;
    default:
        return IBID_EIO;
    }
}

static ibid_code code_of_result(int result, int os_errno)
{
    switch (result & 0xff) {
    case SQLITE_CONSTRAINT:
        return IBID_ECONFLICT;
    case SQLITE_FULL:
        return IBID_ENOSPACE;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return IBID_EBUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
        return IBID_ECORRUPT;
    case SQLITE_IOERR:
        return code_of_io_error(os_errno);
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return IBID_EDENIED;
    case SQLITE_TOOBIG:
        return IBID_ETOOBIG;
    case SQLITE_INTERRUPT:
        return IBID_ECANCELED;
    case SQLITE_NOMEM:
        return IBID_EUNAVAILABLE;
    default:
        return IBID_EBUG;
    }
}

ibid_code connection_fail(struct connection *connection, int result, ibid_error *err)
{
    const int last_errno = errno; /* a failing COMMIT leaves it there alone */
    int os_errno = sqlite3_system_errno(connection->db);
    if (os_errno == 0 && (result & 0xff) == SQLITE_IOERR)
        os_errno = last_errno;
    const ibid_code code = code_of_result(result, os_errno);
    const char *file = sqlite3_db_filename(connection->db, "main");
    const char *what = sqlite3_errmsg(connection->db);
    switch (code) {
    case IBID_ENOSPACE:
        return fail(err, code, "no space left to write '%s': free some and try again", file);
    case IBID_ECORRUPT:
        return fail(err, code, "'%s' is damaged or is no store of ibid (%s): put a backup in its place", file,
                    what);
    case IBID_EBUSY:
        return fail(err, code, "'%s' is held by another program (%s)", file, what);
    case IBID_EIO:
    case IBID_EDENIED:
        (void)fail(err, code, "'%s': %s%s%s", file, what, os_errno ? ": " : "",
                   os_errno ? strerror(os_errno) : "");
        if (err)
            err->os_errno = os_errno;
        return code;
    default:
        return fail(err, code, "store: %s", what);
    }
}

/* ---- opening ---------------------------------------------------------------------------------- */

static ibid_code connection_configure(struct connection *connection, const struct sqlite_options *options,
                                      ibid_error *err)
{
    sqlite3_extended_result_codes(connection->db, 1);
    sqlite3_busy_timeout(connection->db, (int)(options->busy_timeout / 1000));
    sqlite3_db_config(connection->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(connection->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return connection_execute(
        connection,
        "PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA synchronous = FULL;"
        "PRAGMA temp_store = MEMORY;"
        "PRAGMA wal_autocheckpoint = 0;",
        err);
}

ibid_code connection_open(const char *path, int flags, const struct sqlite_options *options,
                          struct connection **ret, ibid_error *err)
{
    struct connection *connection = xcalloc(1, sizeof *connection);
    const int result = sqlite3_open_v2(path, &connection->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    ibid_code code = IBID_OK;
    if (!connection->db)
        code = fail(err, IBID_EUNAVAILABLE, "cannot open '%s': out of memory", path);
    else if (result != SQLITE_OK)
        code = connection_fail(connection, result, err);
    else
        code = connection_configure(connection, options, err);
    if (code != IBID_OK) {
        connection_close(connection);
        return code;
    }
    *ret = connection;
    return IBID_OK;
}

void connection_close(struct connection *connection)
{
    if (!connection)
        return;
    for (size_t i = 0; i < connection->slot_count; i++)
        if (connection->slots[i]) {
            sqlite3_finalize(connection->slots[i]->stmt);
            free(connection->slots[i]);
        }
    free(connection->slots);
    if (sqlite3_close(connection->db) != SQLITE_OK)
        BUG("a statement outlives its connection");
    free(connection);
}

ibid_code connection_execute(struct connection *connection, const char *sql, ibid_error *err)
{
    const int result = sqlite3_exec(connection->db, sql, NULL, NULL, NULL);
    return result == SQLITE_OK ? IBID_OK : connection_fail(connection, result, err);
}

ibid_code connection_query_int(struct connection *connection, const char *sql, int64_t *ret, ibid_error *err)
{
    sqlite3_stmt *stmt;
    int result = sqlite3_prepare_v2(connection->db, sql, -1, &stmt, NULL);
    if (result != SQLITE_OK)
        return connection_fail(connection, result, err);
    result = sqlite3_step(stmt);
    ibid_code code = IBID_OK;
    if (result == SQLITE_ROW)
        *ret = sqlite3_column_int64(stmt, 0);
    else
        code = connection_fail(connection, result == SQLITE_DONE ? SQLITE_CORRUPT : result, err);
    sqlite3_finalize(stmt);
    return code;
}

/* ---- prepared statements ---------------------------------------------------------------------- */

static size_t slot_of(const struct connection *connection, const char *sql)
{
    size_t slot = ((uintptr_t)sql * UINT64_C(0x9E3779B97F4A7C15)) >> 32;
    for (slot %= connection->slot_count; connection->slots[slot] && connection->slots[slot]->sql != sql;)
        slot = (slot + 1) % connection->slot_count;
    return slot;
}

static void grow_slots(struct connection *connection)
{
    struct sqlite_statement **old = connection->slots;
    const size_t old_count = connection->slot_count;
    connection->slot_count = old_count ? old_count * 2 : 128;
    connection->slots = xcalloc(connection->slot_count, sizeof *connection->slots);
    for (size_t i = 0; i < old_count; i++)
        if (old[i])
            connection->slots[slot_of(connection, old[i]->sql)] = old[i];
    free(old);
}

ibid_code connection_prepare(struct connection *connection, const char *sql,
                             const struct metadata_store_ops *ops, struct sqlite_statement **ret,
                             ibid_error *err)
{
    if (connection->statement_count * 2 >= connection->slot_count)
        grow_slots(connection);
    const size_t slot = slot_of(connection, sql);
    struct sqlite_statement *statement = connection->slots[slot];
    if (statement) {
        if (strcmp(sqlite3_sql(statement->stmt), sql) != 0)
            BUG("the text of a statement changed; it has to be a literal: %s", sql);
        sqlite3_reset(statement->stmt);
        sqlite3_clear_bindings(statement->stmt);
        statement->failed_bind = SQLITE_OK;
        *ret = statement;
        return IBID_OK;
    }
    sqlite3_stmt *stmt;
    const int result = sqlite3_prepare_v3(connection->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL);
    if (result != SQLITE_OK)
        return connection_fail(connection, result, err);
    statement = xcalloc(1, sizeof *statement);
    *statement = (struct sqlite_statement){{ops}, stmt, connection, sql, SQLITE_OK};
    connection->slots[slot] = statement;
    connection->statement_count++;
    *ret = statement;
    return IBID_OK;
}

void connection_reset_statements(struct connection *connection)
{
    for (size_t i = 0; i < connection->slot_count; i++)
        if (connection->slots[i] && sqlite3_stmt_busy(connection->slots[i]->stmt))
            sqlite3_reset(connection->slots[i]->stmt);
}
