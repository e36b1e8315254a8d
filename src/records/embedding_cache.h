/* Vectors by the hash of everything that decides them (the exact input bytes, model hash, window,
 * pooling, precision): the same text under the same embedder is embedded once.
 *
 * The rows that use a vector are its references: there is no counter that could drift. When the last
 * row goes, publish.h and removal.h delete the vector in the same transaction. Vectors stored ahead of
 * their rows (a long document, interrupted) are kept for an hour and then swept (sweep.h). */
#pragma once

#include "base/error.h"
#include "base/hash.h"
#include "metadata_store/metadata_store.h"

/* `ids[i]` becomes the vector's id, or 0 when there is none for `keys[i]`. */
ibid_code embedding_find(struct transaction *transaction, const struct sha256 *keys, size_t count,
                         int64_t *ids, ibid_error *err) MUST_CHECK;
/* Stores a vector (dimension 1..65,536), or finds the one that is there. */
ibid_code embedding_put(struct transaction *transaction, const struct sha256 *key, const float *vector,
                        uint32_t dimension, int64_t *ret_id, ibid_error *err) MUST_CHECK;
/* IBID_ENOTFOUND; IBID_ECONFLICT when it has another dimension. */
ibid_code embedding_read(struct transaction *transaction, int64_t id, uint32_t dimension, float *out,
                         ibid_error *err) MUST_CHECK;
/* Deletes those of `ids` that no row uses (0 is passed over). */
ibid_code embedding_release(struct transaction *transaction, const int64_t *ids, size_t count,
                            ibid_error *err) MUST_CHECK;
