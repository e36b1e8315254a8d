#include "metadata_store/metadata_store.h"

#include <string.h>

const struct metadata_store_ops *metadata_store_find(const char *name)
{
    for (size_t i = 0; metadata_store_registry[i]; i++)
        if (strcmp(metadata_store_registry[i]->name, name) == 0)
            return metadata_store_registry[i];
    return NULL;
}

ibid_code metadata_store_open(const struct metadata_store_ops *ops,
                              const struct metadata_store_context *context, const void *options,
                              struct metadata_store **ret, ibid_error *err)
{
    struct metadata_store *store;
    TRY(ops->open(context, options, &store, err));
    ASSERT(store->ops == ops);
    *ret = store;
    return IBID_OK;
}

void metadata_store_close(struct metadata_store *store)
{
    if (store)
        store->ops->close(store);
}

ibid_code metadata_store_check(struct metadata_store *store, const struct watch *watch, struct arena *arena,
                               const char ***ret_problems, size_t *ret_count, ibid_error *err)
{
    return store->ops->check(store, watch, arena, ret_problems, ret_count, err);
}

ibid_code metadata_store_maintain(struct metadata_store *store, ibid_error *err)
{
    return store->ops->maintain(store, err);
}

ibid_code transaction_begin(struct metadata_store *store, enum transaction_mode mode,
                            struct transaction **ret, ibid_error *err)
{
    struct transaction *transaction;
    TRY(store->ops->begin(store, mode, &transaction, err));
    ASSERT(transaction->store == store && transaction->mode == mode && transaction->commit_seq == 0);
    *ret = transaction;
    return IBID_OK;
}

ibid_code transaction_commit(struct transaction *transaction, ibid_error *err)
{
    return transaction->ops->commit(transaction, err);
}

void transaction_rollback(struct transaction *transaction)
{
    if (transaction)
        transaction->ops->rollback(transaction);
}

void transaction_auto_rollback(struct transaction **transaction)
{
    transaction_rollback(*transaction);
}

ibid_code statement_prepare(struct transaction *transaction, const char *sql, struct statement **ret,
                            ibid_error *err)
{
    return transaction->ops->prepare(transaction, sql, ret, err);
}

void statement_bind_int(struct statement *statement, int parameter, int64_t value)
{
    statement->ops->bind_int(statement, parameter, value);
}

void statement_bind_real(struct statement *statement, int parameter, double value)
{
    statement->ops->bind_real(statement, parameter, value);
}

void statement_bind_text(struct statement *statement, int parameter, struct str value)
{
    statement->ops->bind_text(statement, parameter, value);
}

void statement_bind_blob(struct statement *statement, int parameter, const void *data, size_t size)
{
    statement->ops->bind_blob(statement, parameter, data, size);
}

ibid_code statement_step(struct statement *statement, bool *ret_row, ibid_error *err)
{
    return statement->ops->step(statement, ret_row, err);
}

ibid_code statement_run(struct statement *statement, ibid_error *err)
{
    bool row;
    ibid_code code;
    do
        code = statement_step(statement, &row, err);
    while (code == IBID_OK && row);
    statement_reset(statement);
    return code;
}

int64_t statement_int(struct statement *statement, int column)
{
    return statement->ops->column_int(statement, column);
}

double statement_real(struct statement *statement, int column)
{
    return statement->ops->column_real(statement, column);
}

struct str statement_text(struct statement *statement, int column)
{
    return statement->ops->column_text(statement, column);
}

struct str statement_blob(struct statement *statement, int column)
{
    return statement->ops->column_blob(statement, column);
}

void statement_reset(struct statement *statement)
{
    statement->ops->reset(statement);
}
