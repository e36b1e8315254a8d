/* Changing a collection's embedder while it serves.
 *
 * Vectors of two embedders cannot be compared, and two embedders may cut documents differently, so the new
 * ones get rows of their own, in a successor: a collection with an index of its own that the outside does not
 * see.
 *
 *   begin      collection_set_embedder() makes the successor
 *   fill       documents that are read meanwhile are published to both (publish.h, placement.unless_shown);
 *              the others are carried over, their chunks as they are, and their rows embedded like any that
 *              have no vector yet
 *   complete   succession_complete(), once nothing is missing
 *   switch     succession_switch(), once the index has the rows: from this commit on the successor serves
 *   retire     succession_withdraw() and succession_forget() take the old rows away, some at a time
 *
 * Every step is a transaction and can be repeated: whatever ends the process, the next one goes on where the
 * records say it was. Another change half-way gives up the successor that was begun; it is retired. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "metadata_store/metadata_store.h"

struct collection_embedder {
    struct str id;          /* provider/model@revision */
    struct str fingerprint; /* of everything that decides a vector */
    struct str options;     /* JSON object; empty: "{}" */
    uint32_t dimension;
};

/* Names the embedder whose vectors the rows of a collection get from now on. One that has vectors of another
 * goes on serving them and gets a successor, unless it has one for this embedder already. Without a change
 * nothing is written. IBID_ENOTFOUND. */
ibid_code collection_set_embedder(struct transaction *transaction, int64_t collection_id,
                                  const struct collection_embedder *embedder, ibid_error *err) MUST_CHECK;

/* Documents that the collection `from` shows and `to` does not, by id, after `after`; at most `limit`. */
ibid_code succession_missing(struct transaction *transaction, int64_t from, int64_t to, int64_t after,
                             size_t limit, struct arena *arena, int64_t **ret, size_t *ret_count,
                             ibid_error *err) MUST_CHECK;
/* How many there are: compares all documents of both. */
ibid_code succession_count_missing(struct transaction *transaction, int64_t from, int64_t to, int64_t *ret,
                                   ibid_error *err) MUST_CHECK;
/* Gives a document the same chunks in `to` as in `from`, in rows without vectors. Nothing happens when it is
 * not in `from` any more or in `to` already. */
ibid_code succession_carry(struct transaction *transaction, int64_t document_id, int64_t from, int64_t to,
                           ibid_error *err) MUST_CHECK;

/* Notes that the successor of a collection may take over. *ret false, and nothing noted: documents are
 * missing, or more than one row and more than a hundredth of them have no vector, or there is none. */
ibid_code succession_complete(struct transaction *transaction, int64_t collection_id, bool *ret,
                              ibid_error *err) MUST_CHECK;
/* Lets the complete successor serve; answers kept of the collection are dropped. *ret false, and nothing
 * done, where it is not complete, or not any more. */
ibid_code succession_switch(struct transaction *transaction, int64_t collection_id, bool *ret,
                            ibid_error *err) MUST_CHECK;

/* Withdraws at most `limit` documents from a retired collection. *ret_more: documents are left. */
ibid_code succession_withdraw(struct transaction *transaction, int64_t retired_id, size_t limit,
                              bool *ret_more, ibid_error *err) MUST_CHECK;
/* The end of a retired collection that has no rows left; one that has the name to the outside stays without
 * embedder. *ret false: it has rows. */
ibid_code succession_forget(struct transaction *transaction, int64_t retired_id, bool *ret,
                            ibid_error *err) MUST_CHECK;
