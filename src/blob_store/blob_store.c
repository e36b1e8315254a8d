#include "blob_store/blob_store.h"

const struct blob_store_ops *blob_store_find(const char *name)
{
    for (size_t i = 0; blob_store_registry[i]; i++)
        if (strcmp(blob_store_registry[i]->name, name) == 0)
            return blob_store_registry[i];
    return NULL;
}

ibid_code blob_store_open(const struct blob_store_ops *ops, const char *folder, const void *options,
                          struct blob_store **ret, ibid_error *err)
{
    struct blob_store *store;
    TRY(ops->open(folder, options, &store, err));
    ASSERT(store->ops == ops);
    *ret = store;
    return IBID_OK;
}

void blob_store_close(struct blob_store *store)
{
    if (store)
        store->ops->close(store);
}

ibid_code blob_store_put(struct blob_store *store, int fd, int64_t limit, struct sha256 *ret_hash,
                         int64_t *ret_size, ibid_error *err)
{
    return store->ops->put(store, fd, limit, ret_hash, ret_size, err);
}

ibid_code blob_store_open_blob(struct blob_store *store, const struct sha256 *hash, bool verify, int *ret_fd,
                               ibid_error *err)
{
    return store->ops->open_blob(store, hash, verify, ret_fd, err);
}

ibid_code blob_store_remove(struct blob_store *store, const struct sha256 *hash, ibid_error *err)
{
    return store->ops->remove(store, hash, err);
}

ibid_code blob_store_list(struct blob_store *store,
                          ibid_code (*each)(const struct sha256 *hash, int64_t size, void *context,
                                            ibid_error *err),
                          void *context, ibid_error *err)
{
    return store->ops->list(store, each, context, err);
}
