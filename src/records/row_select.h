/* Which rows pass a filter on a key that no index keeps: answered from the metadata of documents and chunks.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "metadata_store/metadata_store.h"
#include "model/filter.h"

/* Ids, ascending, of the living rows of the collection that pass `leaf`, a comparison on one key. A row has
 * the values of its document and those of its chunk. Numbers match numbers, texts texts (by their bytes),
 * booleans booleans; `contains` finds a part of a text. */
ibid_code row_select(struct transaction *transaction, int64_t collection_id, const struct filter *leaf,
                     struct arena *arena, int64_t **ret_ids, size_t *ret_count, ibid_error *err) MUST_CHECK;
