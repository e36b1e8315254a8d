/* Deleting, completely.
 *
 * document_remove, in the caller's write transaction, takes away what nothing else needs: the document,
 * its texts, layouts, metadata, workspaces, chunk sets, cached answers, and the vectors no other row
 * uses. From the commit on no reader can see it. What stays for a while are its rows, marked removed
 * under the transaction's commit_seq, each with the chunk it was indexed from: a vector store that
 * keeps words needs the old text to take them out. The line in the ledger stays as record of the deletion,
 * without text. (Replaced chunks wait in the same way.)
 *
 * sweep finishes once every vector store in use has passed that seq (watermark_set): it deletes those
 * rows and chunks, for good. SQLite overwrites deleted content (secure_delete), and metadata_store_maintain
 * empties the write-ahead log, after which no byte of the text is left in the store's files. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/hash.h"
#include "metadata_store/metadata_store.h"

struct removal {
    int64_t seq;  /* complete once every vector store has passed it and a sweep has run */
    int64_t rows; /* marked removed */
    struct sha256
        blobs[2];      /* bytes in the blob store that it alone had: after commit, and if they are still */
    size_t blob_count; /* not wanted (blob_is_wanted), the caller removes them */
};
/* IBID_ENOTFOUND when there is none. */
ibid_code document_remove(struct transaction *transaction, int64_t document_id, const char *reason,
                          struct removal *ret, ibid_error *err) MUST_CHECK;
/* Whether anything of the document is left anywhere in the store but its ledger line and audit. */
ibid_code document_is_gone(struct transaction *transaction, int64_t document_id, bool *ret,
                           ibid_error *err) MUST_CHECK;

/* Whether the blob store has to keep these bytes: a document has them there, or the ledger names them as new
 * bytes of one, which wait to be indexed or could not be. */
ibid_code blob_is_wanted(struct transaction *transaction, const struct sha256 *sha256, bool *ret,
                         ibid_error *err) MUST_CHECK;

/* A vector store tells what it has applied (and made durable). Never goes back, but for a store that
 * was dropped: watermark_forget. */
ibid_code watermark_set(struct transaction *transaction, struct str vector_store, int64_t collection_id,
                        int64_t seq, ibid_error *err) MUST_CHECK;
ibid_code watermark_forget(struct transaction *transaction, struct str vector_store, int64_t collection_id,
                           ibid_error *err) MUST_CHECK;

struct sweep_result {
    int64_t rows, chunks, embeddings;
    bool more; /* the limit was reached: call again, in a transaction of its own */
};
/* Deletes at most `limit` removed rows that every vector store with a watermark in their collection has
 * passed, and chunks and vectors no row needs any more. A collection without any watermark is followed by
 * nothing: its removed rows go at once. */
ibid_code sweep(struct transaction *transaction, size_t limit, struct sweep_result *ret,
                ibid_error *err) MUST_CHECK;
