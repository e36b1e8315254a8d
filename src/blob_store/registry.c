#include "blob_store/blob_store.h"
#include "blob_store/members.h"

const struct blob_store_ops *const blob_store_registry[] = {
    &blob_store_local,
    NULL,
};
