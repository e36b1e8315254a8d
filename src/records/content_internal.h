/* What publishing and deleting share: rows, chunks and revisions that nothing shows any more. */
#pragma once

#include "records/id_list.h"

/* Marks the living rows of a document in a collection (0: in all) as removed, under the transaction's
 * commit_seq, and adds the vectors they used to `released`. */
ibid_code content_remove_rows(struct transaction *transaction, int64_t document_id, int64_t collection_id,
                              struct id_list *released, int64_t *ret_count, ibid_error *err) MUST_CHECK;
/* Lets go of the document's chunk sets that serve no collection, and of the revisions that are neither
 * shown nor have a chunk set. Their chunks wait for the sweep. */
ibid_code content_collect(struct transaction *transaction, int64_t document_id, ibid_error *err) MUST_CHECK;
/* Notes that rows of the collection changed under `seq`. */
ibid_code content_note_change(struct transaction *transaction, int64_t collection_id, int64_t seq,
                              ibid_error *err) MUST_CHECK;
