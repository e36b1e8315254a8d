/* Inside the SQLite member: a connection with its prepared statements, and how a store file is opened. */
#pragma once

#include <sqlite3.h>

#include "metadata_store/metadata_store.h"

/* The file and the lock beside it, inside the data directory. */
#define SQLITE_FILE_NAME "records.db"
#define SQLITE_LOCK_NAME "lock"
/* "ibid" in ASCII, in the header of the file. */
#define SQLITE_APPLICATION_ID 0x69626964

struct sqlite_options {
    int64_t cache_size;      /* bytes of page cache of the connection that writes */
    int64_t read_cache_size; /* of each that reads */
    int64_t mmap_size;       /* bytes of the file that readers map */
    int64_t busy_timeout;    /* microseconds to wait for another program that holds the file */
};

struct connection;

struct sqlite_statement {
    struct statement base;
    sqlite3_stmt *stmt;
    struct connection *connection;
    const char *sql; /* its address is the cache's key */
    int failed_bind; /* result of the first bind that failed, else SQLITE_OK */
};

/* One open handle; used by one thread at a time. */
struct connection {
    sqlite3 *db;
    struct sqlite_statement **slots; /* open addressing by the address of the SQL text */
    size_t slot_count, statement_count;
};

/* Opens the file at `path`. `flags` as for sqlite3_open_v2. */
ibid_code connection_open(const char *path, int flags, const struct sqlite_options *options,
                          struct connection **ret, ibid_error *err) MUST_CHECK;
void connection_close(struct connection *take_connection);
/* Runs statements that give no rows. */
ibid_code connection_execute(struct connection *connection, const char *sql, ibid_error *err) MUST_CHECK;
/* The first column of the first row. */
ibid_code connection_query_int(struct connection *connection, const char *sql, int64_t *ret,
                               ibid_error *err) MUST_CHECK;
ibid_code connection_prepare(struct connection *connection, const char *sql,
                             const struct metadata_store_ops *ops, struct sqlite_statement **ret,
                             ibid_error *err) MUST_CHECK;
/* Ends every statement that is still running, so that a transaction can end. */
void connection_reset_statements(struct connection *connection);
/* Fills `err` from the connection's last failure. */
ibid_code connection_fail(struct connection *connection, int result, ibid_error *err);

/* Locks the data directory for this process: *ret_fd holds the lock until it is closed. */
ibid_code sqlite_lock_folder(const char *folder, int *ret_fd, ibid_error *err) MUST_CHECK;
/* Opens the connection that writes: makes the store, checks that it is one of ours, and brings its schema up
 * to date. */
ibid_code sqlite_open_writer(const char *path, bool create, const struct sqlite_options *options,
                             struct connection **ret, ibid_error *err) MUST_CHECK;
