/* Rows for the vector stores: the records' side of struct row_source (model/row.h), and the commit_seq
 * that it goes by.
 *
 * Every write transaction that changes what a search can see takes a number, higher than all before, and
 * gives it to each row concerned. Write transactions run one at a time, so the numbers rise in the order
 * of the commits, and a reader that has seen `seq` has seen everything up to it. A transaction that changes
 * very many rows goes on to further numbers, so that no reader has to take them all at once: it parts them
 * between documents, and inside a document only when that alone has thousands of rows.
 *
 * The words of a row never change while it lives: other text is another row. Its vector, attributes,
 * workspaces and state may. */
#pragma once

#include "base/error.h"
#include "metadata_store/metadata_store.h"
#include "model/row.h"

enum {
    COMMIT_SEQ_ROWS = 4096,          /* that share a number at most */
    COMMIT_SEQ_DOCUMENT_ROWS = 1024, /* after which the next document takes a number of its own */
};

/* The transaction's number for one more row. It is at or above the number of every row before. */
ibid_code commit_seq_take(struct transaction *transaction, int64_t *ret, ibid_error *err) MUST_CHECK;
/* Before the rows of another document. */
void commit_seq_next_document(struct transaction *transaction);

/* Marks every living row of a document as changed under the transaction's commit_seq: call it after a
 * change of anything a filter or the scope looks at. */
ibid_code rows_touch_document(struct transaction *transaction, int64_t document_id,
                              ibid_error *err) MUST_CHECK;

/* Living rows without a vector, by row_id: their text is embedded next. */
struct pending_row {
    int64_t row_id;
    int64_t document_id;
    struct str embed_text;
};
ibid_code row_pending(struct transaction *transaction, int64_t collection_id, int64_t after_row, size_t limit,
                      struct arena *arena, struct pending_row **ret, size_t *ret_count,
                      ibid_error *err) MUST_CHECK;
/* How many there are: reads these rows alone. */
ibid_code row_pending_count(struct transaction *transaction, int64_t collection_id, int64_t *ret,
                            ibid_error *err) MUST_CHECK;
/* Gives a row its vector. Fine (nothing happens) when the row was removed meanwhile. */
ibid_code row_set_embedding(struct transaction *transaction, int64_t row_id, int64_t embedding_id,
                            ibid_error *err) MUST_CHECK;

/* The source that vector stores read. `store` is borrowed for its life. Each call is a read transaction
 * of its own. */
struct row_source *row_source_new(struct metadata_store *store) __attribute__((returns_nonnull));
void row_source_free(struct row_source *take_source);
