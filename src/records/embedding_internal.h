/* How vectors are stored together with the rows that use them. */
#pragma once

#include "records/embedding_cache.h"

/* As embedding_put, for a vector that gets its first row in the same transaction. */
ibid_code embedding_store(struct transaction *transaction, const struct sha256 *key, const float *vector,
                          uint32_t dimension, int64_t *ret_id, ibid_error *err) MUST_CHECK;
