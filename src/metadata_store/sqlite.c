#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "metadata_store/members.h"
#include "metadata_store/sqlite_internal.h"

enum { IDLE_READER_LIMIT = 16 };

struct sqlite_store {
    struct metadata_store base;
    struct sqlite_options options;
    char *path;
    int lock_fd;

    /* Writers take turns in the order they came: a bulk run must not starve a person. */
    pthread_mutex_t turn_lock;
    pthread_cond_t turn_changed;
    uint64_t next_ticket, serving;
    struct connection *writer; /* of the one whose turn it is */

    pthread_mutex_t pool_lock;
    struct connection *idle[IDLE_READER_LIMIT];
    size_t idle_count;
};

struct sqlite_transaction {
    struct transaction base;
    struct connection *connection;
};

static const struct option sqlite_option_table[] = {
    {.name = "cache_size",
     .type = OPTION_SIZE,
     .offset = offsetof(struct sqlite_options, cache_size),
     .default_text = "64MB",
     .low = 1 << 20,
     .high = 64.0 * (1 << 30),
     .help = "Page cache of the connection that writes."},
    {.name = "read_cache_size",
     .type = OPTION_SIZE,
     .offset = offsetof(struct sqlite_options, read_cache_size),
     .default_text = "4MB",
     .low = 1 << 20,
     .high = 64.0 * (1 << 30),
     .help = "Page cache of each connection that reads."},
    {.name = "mmap_size",
     .type = OPTION_SIZE,
     .offset = offsetof(struct sqlite_options, mmap_size),
     .default_text = "0",
     .low = 0,
     .high = 1024.0 * (1 << 30),
     .help = "How much of the file readers map into memory; the rest is read. Reading is as fast, and what "
             "another program does to the file is then an error and never a signal."},
    {.name = "busy_timeout",
     .type = OPTION_DURATION,
     .offset = offsetof(struct sqlite_options, busy_timeout),
     .default_text = "10s",
     .low = 0,
     .high = 3600e6,
     .help = "How long to wait for another program, such as a backup, that holds the file."},
    OPTION_END,
};

/* ---- the store -------------------------------------------------------------------------------- */

static ibid_code sqlite_open(const struct metadata_store_context *context, const void *options,
                             struct metadata_store **ret, ibid_error *err)
{
    if (context->create)
        TRY(folder_make(context->folder, err));
    else if (!folder_exists(context->folder))
        return fail(err, IBID_ENOTFOUND, "there is no store at '%s'", context->folder);
    int lock_fd;
    TRY(sqlite_lock_folder(context->folder, &lock_fd, err));
    AUTO_FREE char *path = path_join(context->folder, SQLITE_FILE_NAME);
    struct connection *writer;
    const ibid_code code = sqlite_open_writer(path, context->create, options, &writer, err);
    if (code != IBID_OK) {
        close(lock_fd);
        return code;
    }
    struct sqlite_store *store = xcalloc(1, sizeof *store);
    store->base.ops = &metadata_store_sqlite;
    store->options = *(const struct sqlite_options *)options;
    store->path = xstrdup(path);
    store->lock_fd = lock_fd;
    store->writer = writer;
    pthread_mutex_init(&store->turn_lock, NULL);
    pthread_cond_init(&store->turn_changed, NULL);
    pthread_mutex_init(&store->pool_lock, NULL);
    *ret = &store->base;
    return IBID_OK;
}

static void sqlite_close(struct metadata_store *base)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    for (size_t i = 0; i < store->idle_count; i++)
        connection_close(store->idle[i]);
    connection_close(store->writer); /* the last one: empties and removes the log */
    pthread_mutex_destroy(&store->turn_lock);
    pthread_cond_destroy(&store->turn_changed);
    pthread_mutex_destroy(&store->pool_lock);
    close(store->lock_fd);
    free(store->path);
    free(store);
}

/* ---- connections ------------------------------------------------------------------------------ */

static void wait_for_turn(struct sqlite_store *store)
{
    pthread_mutex_lock(&store->turn_lock);
    const uint64_t ticket = store->next_ticket++;
    while (store->serving != ticket)
        pthread_cond_wait(&store->turn_changed, &store->turn_lock);
    pthread_mutex_unlock(&store->turn_lock);
}

static void end_turn(struct sqlite_store *store)
{
    pthread_mutex_lock(&store->turn_lock);
    store->serving++;
    pthread_cond_broadcast(&store->turn_changed);
    pthread_mutex_unlock(&store->turn_lock);
}

static ibid_code open_reader(struct sqlite_store *store, struct connection **ret, ibid_error *err)
{
    struct connection *connection;
    TRY(connection_open(store->path, SQLITE_OPEN_READWRITE, &store->options, &connection, err));
    /* Only the connection that writes may checkpoint, closing included. */
    sqlite3_db_config(connection->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    char pragmas[128];
    snprintf(pragmas, sizeof pragmas,
             "PRAGMA query_only = ON; PRAGMA cache_size = -%lld; PRAGMA mmap_size = %lld;",
             (long long)(store->options.read_cache_size / 1024), (long long)store->options.mmap_size);
    const ibid_code code = connection_execute(connection, pragmas, err);
    if (code != IBID_OK) {
        connection_close(connection);
        return code;
    }
    *ret = connection;
    return IBID_OK;
}

static ibid_code take_reader(struct sqlite_store *store, struct connection **ret, ibid_error *err)
{
    struct connection *connection = NULL;
    pthread_mutex_lock(&store->pool_lock);
    if (store->idle_count)
        connection = store->idle[--store->idle_count];
    pthread_mutex_unlock(&store->pool_lock);
    if (!connection)
        return open_reader(store, ret, err);
    *ret = connection;
    return IBID_OK;
}

static void give_back_reader(struct sqlite_store *store, struct connection *connection)
{
    pthread_mutex_lock(&store->pool_lock);
    if (store->idle_count < IDLE_READER_LIMIT) {
        store->idle[store->idle_count++] = connection;
        connection = NULL;
    }
    pthread_mutex_unlock(&store->pool_lock);
    connection_close(connection);
}

/* ---- transactions ----------------------------------------------------------------------------- */

static void release(struct sqlite_transaction *transaction)
{
    struct sqlite_store *store = (struct sqlite_store *)transaction->base.store;
    if (transaction->base.mode == TRANSACTION_WRITE)
        end_turn(store);
    else
        give_back_reader(store, transaction->connection);
    free(transaction);
}

static ibid_code sqlite_begin(struct metadata_store *base, enum transaction_mode mode,
                              struct transaction **ret, ibid_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct connection *connection;
    if (mode == TRANSACTION_WRITE) {
        wait_for_turn(store);
        connection = store->writer;
    } else {
        TRY(take_reader(store, &connection, err));
    }
    struct sqlite_transaction *transaction = xcalloc(1, sizeof *transaction);
    *transaction =
        (struct sqlite_transaction){{.ops = &metadata_store_sqlite, .store = base, .mode = mode}, connection};
    const ibid_code code =
        connection_execute(connection, mode == TRANSACTION_WRITE ? "BEGIN IMMEDIATE" : "BEGIN", err);
    if (code != IBID_OK) {
        release(transaction);
        return code;
    }
    *ret = &transaction->base;
    return IBID_OK;
}

static void sqlite_rollback(struct transaction *base)
{
    struct sqlite_transaction *transaction = (struct sqlite_transaction *)base;
    connection_reset_statements(transaction->connection);
    if (!sqlite3_get_autocommit(transaction->connection->db))
        sqlite3_exec(transaction->connection->db, "ROLLBACK", NULL, NULL, NULL);
    release(transaction);
}

static ibid_code sqlite_commit(struct transaction *base, ibid_error *err)
{
    struct sqlite_transaction *transaction = (struct sqlite_transaction *)base;
    struct connection *connection = transaction->connection;
    connection_reset_statements(connection);
    ibid_code code;
    /* A full disk or a failed write has rolled everything back already. */
    if (sqlite3_get_autocommit(connection->db))
        code = fail(err, IBID_EIO, "the transaction was rolled back by an earlier failure");
    else
        code = connection_execute(connection, "COMMIT", err);
    if (code == IBID_OK)
        release(transaction);
    else
        sqlite_rollback(base);
    return code;
}

/* ---- statements ------------------------------------------------------------------------------- */

static ibid_code sqlite_prepare(struct transaction *base, const char *sql, struct statement **ret,
                                ibid_error *err)
{
    struct sqlite_transaction *transaction = (struct sqlite_transaction *)base;
    struct sqlite_statement *statement;
    TRY(connection_prepare(transaction->connection, sql, &metadata_store_sqlite, &statement, err));
    *ret = &statement->base;
    return IBID_OK;
}

static void note_bind(struct sqlite_statement *statement, int result)
{
    if (result == SQLITE_RANGE)
        BUG("no such parameter in: %s", statement->sql);
    if (result != SQLITE_OK && statement->failed_bind == SQLITE_OK)
        statement->failed_bind = result;
}

static void sqlite_bind_int(struct statement *base, int parameter, int64_t value)
{
    struct sqlite_statement *statement = (struct sqlite_statement *)base;
    note_bind(statement, sqlite3_bind_int64(statement->stmt, parameter, value));
}

static void sqlite_bind_real(struct statement *base, int parameter, double value)
{
    struct sqlite_statement *statement = (struct sqlite_statement *)base;
    note_bind(statement, sqlite3_bind_double(statement->stmt, parameter, value));
}

static void sqlite_bind_text(struct statement *base, int parameter, struct str value)
{
    struct sqlite_statement *statement = (struct sqlite_statement *)base;
    note_bind(statement, sqlite3_bind_text64(statement->stmt, parameter, value.data, value.size,
                                             SQLITE_STATIC, SQLITE_UTF8));
}

static void sqlite_bind_blob(struct statement *base, int parameter, const void *data, size_t size)
{
    struct sqlite_statement *statement = (struct sqlite_statement *)base;
    note_bind(statement, sqlite3_bind_blob64(statement->stmt, parameter, data, size, SQLITE_STATIC));
}

static ibid_code sqlite_step(struct statement *base, bool *ret_row, ibid_error *err)
{
    struct sqlite_statement *statement = (struct sqlite_statement *)base;
    if (statement->failed_bind == SQLITE_TOOBIG)
        return fail(err, IBID_ETOOBIG, "a value is larger than the store's limit of 1,000,000,000 bytes");
    const int result =
        statement->failed_bind != SQLITE_OK ? statement->failed_bind : sqlite3_step(statement->stmt);
    if (result != SQLITE_ROW && result != SQLITE_DONE)
        return connection_fail(statement->connection, result, err);
    *ret_row = result == SQLITE_ROW;
    return IBID_OK;
}

static int64_t sqlite_column_int(struct statement *base, int column)
{
    return sqlite3_column_int64(((struct sqlite_statement *)base)->stmt, column);
}

static double sqlite_column_real(struct statement *base, int column)
{
    return sqlite3_column_double(((struct sqlite_statement *)base)->stmt, column);
}

static struct str sqlite_column_text(struct statement *base, int column)
{
    sqlite3_stmt *stmt = ((struct sqlite_statement *)base)->stmt;
    const char *data = (const char *)sqlite3_column_text(stmt, column);
    return (struct str){data, data ? (size_t)sqlite3_column_bytes(stmt, column) : 0};
}

static struct str sqlite_column_blob(struct statement *base, int column)
{
    sqlite3_stmt *stmt = ((struct sqlite_statement *)base)->stmt;
    const char *data = sqlite3_column_blob(stmt, column);
    if (!data && sqlite3_column_type(stmt, column) != SQLITE_NULL)
        data = ""; /* an empty blob is not null */
    return (struct str){data, data ? (size_t)sqlite3_column_bytes(stmt, column) : 0};
}

static void sqlite_reset(struct statement *base)
{
    sqlite3_reset(((struct sqlite_statement *)base)->stmt);
}

/* ---- housekeeping ----------------------------------------------------------------------------- */

static ibid_code collect_problems(struct transaction *transaction, const char *sql, struct arena *arena,
                                  const char **problems, size_t limit, size_t *count, ibid_error *err)
{
    struct statement *statement;
    TRY(sqlite_prepare(transaction, sql, &statement, err));
    for (bool row; *count < limit;) {
        TRY(sqlite_step(statement, &row, err));
        if (!row)
            break;
        const struct str problem = sqlite_column_text(statement, 0);
        if (!str_is(problem, "ok"))
            problems[(*count)++] = arena_str(arena, problem).data;
    }
    return IBID_OK;
}

static int interrupt_when_stopped(void *watch)
{
    return watch_stopped(watch);
}

static ibid_code sqlite_check(struct metadata_store *base, const struct watch *watch, struct arena *arena,
                              const char ***ret_problems, size_t *ret_count, ibid_error *err)
{
    enum { PROBLEM_LIMIT = 100, STEPS_BETWEEN_LOOKS = 10000 };
    struct transaction *transaction;
    TRY(watch_step(watch, "database", 0, 0, err));
    TRY(sqlite_begin(base, TRANSACTION_READ, &transaction, err));
    /* Looks closer at each page; in ordinary reading that is most of the time of a look-up. */
    struct connection *connection = ((struct sqlite_transaction *)transaction)->connection;
    sqlite3_exec(connection->db, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
    sqlite3_progress_handler(connection->db, STEPS_BETWEEN_LOOKS, interrupt_when_stopped, (void *)watch);
    const char **problems = ARENA_ARRAY(arena, const char *, PROBLEM_LIMIT);
    size_t count = 0;
    ibid_code code = collect_problems(transaction, "PRAGMA integrity_check(100)", arena, problems,
                                      PROBLEM_LIMIT, &count, err);
    if (code == IBID_OK)
        code = collect_problems(transaction,
                                "SELECT 'row ' || coalesce(rowid, '') || ' of ' || \"table\" || "
                                "' names a missing one of ' || parent FROM pragma_foreign_key_check",
                                arena, problems, PROBLEM_LIMIT, &count, err);
    sqlite3_progress_handler(connection->db, 0, NULL, NULL);
    sqlite3_exec(connection->db, "PRAGMA cell_size_check = OFF", NULL, NULL, NULL);
    sqlite_rollback(transaction);
    TRY(watch_step(watch, "database", 0, 0, err)); /* what was interrupted is no finding */
    TRY(code);
    *ret_problems = problems;
    *ret_count = count;
    return IBID_OK;
}

static ibid_code sqlite_maintain(struct metadata_store *base, ibid_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    wait_for_turn(store);
    ibid_code code = connection_execute(store->writer, "PRAGMA optimize", err);
    if (code == IBID_OK) {
        /* Waits for no reader: one that stays in an old snapshot only puts the rest off. */
        sqlite3_busy_timeout(store->writer->db, 0);
        const int result =
            sqlite3_wal_checkpoint_v2(store->writer->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
        sqlite3_busy_timeout(store->writer->db, (int)(store->options.busy_timeout / 1000));
        if (result != SQLITE_OK && result != SQLITE_BUSY)
            code = connection_fail(store->writer, result, err);
    }
    end_turn(store);
    return code;
}

const struct metadata_store_ops metadata_store_sqlite = {
    .name = "sqlite",
    .help = "One file in the data directory. For one server.",
    .options = sqlite_option_table,
    .options_size = sizeof(struct sqlite_options),
    .open = sqlite_open,
    .close = sqlite_close,
    .begin = sqlite_begin,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .prepare = sqlite_prepare,
    .bind_int = sqlite_bind_int,
    .bind_real = sqlite_bind_real,
    .bind_text = sqlite_bind_text,
    .bind_blob = sqlite_bind_blob,
    .step = sqlite_step,
    .column_int = sqlite_column_int,
    .column_real = sqlite_column_real,
    .column_text = sqlite_column_text,
    .column_blob = sqlite_column_blob,
    .reset = sqlite_reset,
    .check = sqlite_check,
    .maintain = sqlite_maintain,
};
