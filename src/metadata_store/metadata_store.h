/* The metadata store seam: transactions over one relational schema. It is the only truth.
 *
 * A member gives connections, transactions and statements; the schema (migrations/NNNN_*.sql) and
 * every statement are the same for all members and live in records/, the only place with SQL. The
 * dialect is what SQLite 3.40 and PostgreSQL 15 share: `?1` parameters, RETURNING, ON CONFLICT, CTEs,
 * json as text, int64 and text and blob columns; migrations may use the words {id} (a primary key never
 * reused), {int} (64 bits), {real} (double), {blob}, {now} (microseconds since 1970), {strict} (ends a
 * table) and {clustered} (ends a table kept in the order of its primary key), which the member spells
 * its way. Migrations run in order, all in the one transaction that creates or upgrades the store.
 *
 * To add a metadata store:
 *   1. src/metadata_store/<name>.c with one `const struct metadata_store_ops`
 *   2. its line in src/metadata_store/members.h and a row in src/metadata_store/registry.c
 *   3. a line in src/metadata_store/meson.build
 *   4. a row of fixtures in tests/contract/metadata_store.c, which then tests it */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/option.h"
#include "base/str.h"
#include "base/watch.h"

enum transaction_mode {
    TRANSACTION_READ,  /* one snapshot from its first statement on; any number at a time */
    TRANSACTION_WRITE, /* one at a time per store: beginning waits for its turn */
};

struct metadata_store_context {
    const char *folder; /* the data directory, for members that keep files */
    bool create;        /* make a new store when there is none */
};

struct metadata_store; /* shared by all threads */
struct transaction;    /* used by one thread; holds a connection until commit or rollback */
struct statement;      /* a prepared statement of one transaction */

struct metadata_store_ops {
    const char *name; /* "sqlite" */
    const char *help;
    const struct option *options;
    size_t options_size;

    /* Opens or (context->create) makes the store. IBID_ECORRUPT when the file is damaged or is none of ours,
     * IBID_EUNSUPPORTED when a newer ibid made it, IBID_EBUSY when another process owns it. */
    ibid_code (*open)(const struct metadata_store_context *context, const void *options,
                      struct metadata_store **ret, ibid_error *err);
    void (*close)(struct metadata_store *take_store);

    ibid_code (*begin)(struct metadata_store *store, enum transaction_mode mode, struct transaction **ret,
                       ibid_error *err);
    /* Durable on return (a write transaction survives power loss). Ends the transaction also on failure. */
    ibid_code (*commit)(struct transaction *take_transaction, ibid_error *err);
    void (*rollback)(struct transaction *take_transaction);

    /* A statement from the transaction's connection cache, reset and without bindings. `sql` is a literal:
     * its address may serve as the cache's key. Valid until the transaction ends. */
    ibid_code (*prepare)(struct transaction *transaction, const char *sql, struct statement **ret,
                         ibid_error *err);
    /* Parameters count from 1. Bytes are borrowed until the statement is stepped to its end or reset. */
    void (*bind_int)(struct statement *statement, int parameter, int64_t value);
    void (*bind_real)(struct statement *statement, int parameter, double value);
    void (*bind_text)(struct statement *statement, int parameter, struct str value); /* data NULL: null */
    void (*bind_blob)(struct statement *statement, int parameter, const void *data, size_t size);
    /* *ret_row: whether there is a row to read. IBID_ECONFLICT when a constraint is broken, IBID_ENOSPACE
     * when the disk is full. */
    ibid_code (*step)(struct statement *statement, bool *ret_row, ibid_error *err);
    /* Columns count from 0; bytes are borrowed until the next step. Null reads as 0 or as data NULL. */
    int64_t (*column_int)(struct statement *statement, int column);
    double (*column_real)(struct statement *statement, int column);
    struct str (*column_text)(struct statement *statement, int column);
    struct str (*column_blob)(struct statement *statement, int column);
    void (*reset)(struct statement *statement);

    /* Checks the store itself (not the meaning of its rows). Findings as lines in `arena`; none: clean.
     * IBID_ECANCELED when the watch (may be NULL) says so. */
    ibid_code (*check)(struct metadata_store *store, const struct watch *watch, struct arena *arena,
                       const char ***ret_problems, size_t *ret_count, ibid_error *err);
    /* Housekeeping when idle: checkpoint, statistics. */
    ibid_code (*maintain)(struct metadata_store *store, ibid_error *err);
};

/* First member of each member's own structs. */
struct metadata_store {
    const struct metadata_store_ops *ops;
};
struct transaction {
    const struct metadata_store_ops *ops;
    struct metadata_store *store;
    enum transaction_mode mode;
    /* Kept here by records/row_feed: the number at hand, 0 for none, and how many rows have it already. */
    int64_t commit_seq, commit_rows;
};
struct statement {
    const struct metadata_store_ops *ops;
};

extern const struct metadata_store_ops
    *const metadata_store_registry[]; /* NULL-ended; first is the default */
const struct metadata_store_ops *metadata_store_find(const char *name);

ibid_code metadata_store_open(const struct metadata_store_ops *ops,
                              const struct metadata_store_context *context, const void *options,
                              struct metadata_store **ret, ibid_error *err) MUST_CHECK;
void metadata_store_close(struct metadata_store *take_store); /* NULL is fine */
ibid_code metadata_store_check(struct metadata_store *store, const struct watch *watch, struct arena *arena,
                               const char ***ret_problems, size_t *ret_count, ibid_error *err) MUST_CHECK;
ibid_code metadata_store_maintain(struct metadata_store *store, ibid_error *err) MUST_CHECK;

ibid_code transaction_begin(struct metadata_store *store, enum transaction_mode mode,
                            struct transaction **ret, ibid_error *err) MUST_CHECK;
ibid_code transaction_commit(struct transaction *take_transaction, ibid_error *err) MUST_CHECK;
void transaction_rollback(struct transaction *take_transaction); /* NULL is fine */

/* AUTO_TRANSACTION *t = NULL;  rolls back at the end of its block unless it was committed (set it
 * to NULL with transaction_commit's argument: `code = transaction_commit(transaction_take(&t), err)`). */
void transaction_auto_rollback(struct transaction **transaction);
#define AUTO_TRANSACTION __attribute__((cleanup(transaction_auto_rollback))) struct transaction
static inline struct transaction *transaction_take(struct transaction **transaction)
{
    struct transaction *taken = *transaction;
    *transaction = NULL;
    return taken;
}

ibid_code statement_prepare(struct transaction *transaction, const char *sql, struct statement **ret,
                            ibid_error *err) MUST_CHECK;
void statement_bind_int(struct statement *statement, int parameter, int64_t value);
void statement_bind_real(struct statement *statement, int parameter, double value);
void statement_bind_text(struct statement *statement, int parameter, struct str value);
void statement_bind_blob(struct statement *statement, int parameter, const void *data, size_t size);
ibid_code statement_step(struct statement *statement, bool *ret_row, ibid_error *err) MUST_CHECK;
/* For a statement that returns no row: step to its end and reset. */
ibid_code statement_run(struct statement *statement, ibid_error *err) MUST_CHECK;
int64_t statement_int(struct statement *statement, int column);
double statement_real(struct statement *statement, int column);
struct str statement_text(struct statement *statement, int column);
struct str statement_blob(struct statement *statement, int column);
void statement_reset(struct statement *statement);
