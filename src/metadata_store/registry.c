#include "metadata_store/members.h"
#include "metadata_store/metadata_store.h"

const struct metadata_store_ops *const metadata_store_registry[] = {
    &metadata_store_sqlite,
    NULL,
};
