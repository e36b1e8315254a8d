/* Checking a collection against its checksums and against the truth. */
#pragma once

#include "vector_store/embedded/collection.h"

/* See verify in struct vector_store_ops. Searches and following go on meanwhile; changes that come in while
 * it runs are not held against the store. */
ibid_code collection_verify(struct collection *collection, bool repair, const struct watch *watch,
                            struct arena *arena, struct vector_store_finding **ret, size_t *ret_count,
                            ibid_error *err) MUST_CHECK;
