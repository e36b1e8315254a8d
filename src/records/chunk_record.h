/* Chunks as stored, and the only way from a search's row ids to something a person may read. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "metadata_store/metadata_store.h"
#include "model/scope.h"
#include "records/document.h"

enum chunk_origin { CHUNK_EXTRACTED, CHUNK_EXTERNAL };

enum { CHUNK_ID_SIZE = 33 }; /* 128 bits in hexadecimal, and NUL */

struct chunk_record {
    int64_t id;          /* never reused; its text never changes */
    struct str chunk_id; /* for the outside; unique in its document and chunk set */
    int64_t document_id;
    int64_t revision_id;  /* the one its range lies in */
    uint32_t chunk_index; /* position in the document, from 0: `order` of the chunk interface */
    enum chunk_origin origin;
    uint32_t start, end, own_start; /* bytes in the canonical text; 0 when external */
    uint32_t page_first, page_last; /* 0: no pages */
    struct str heading_path;
    struct str structure;
    uint32_t tokens;
    struct str metadata;   /* JSON object, or empty */
    struct str text;       /* what is shown */
    struct str embed_text; /* what was embedded and indexed */
};

/* The chunk_id of an extracted chunk: hash of file_id, heading path, shown text, and how many chunks
 * before it in the document had the same three. An edit changes only the ids of what it touched. */
void chunk_id_make(struct str file_id, struct str heading_path, struct str text, uint32_t occurrence,
                   char out[CHUNK_ID_SIZE]);

/* Collections are named here as the outside knows them: what serves them is looked up.
 *
 * A page of a document's chunks under a collection, in order. *ret_total counts them all. A document
 * without chunks there gives none. The caller has checked that the document may be read. */
ibid_code chunk_record_list(struct transaction *transaction, int64_t document_id, int64_t collection_id,
                            int64_t offset, size_t limit, struct arena *arena, struct chunk_record **ret,
                            size_t *ret_count, int64_t *ret_total, ibid_error *err) MUST_CHECK;
/* The chunk at `chunk_index`; IBID_ENOTFOUND. For neighbours of a hit. */
ibid_code chunk_record_at(struct transaction *transaction, int64_t document_id, int64_t collection_id,
                          uint32_t chunk_index, struct arena *arena, struct chunk_record *ret,
                          ibid_error *err) MUST_CHECK;
ibid_code chunk_record_find(struct transaction *transaction, int64_t document_id, int64_t collection_id,
                            struct str chunk_id, struct arena *arena, struct chunk_record *ret,
                            ibid_error *err) MUST_CHECK;

/* A row of a search, read in the caller's transaction. */
struct row_record {
    int64_t row_id;
    int64_t collection_id; /* that keeps the row: the one that serves, records/collection.h */
    struct chunk_record chunk;
    const struct document *document; /* shared by the rows of one document */
};
/* Checks every row again as of this transaction, and reads those that `scope` may read: not removed,
 * in a workspace of the scope, document neither expired nor sensitive beyond the scope. `ret` (arena)
 * keeps the order of `row_ids`; what may not be read is left out without a trace. `count` at most 10,000. */
ibid_code row_record_read(struct transaction *transaction, const struct scope *scope, const int64_t *row_ids,
                          size_t count, struct arena *arena, struct row_record **ret, size_t *ret_count,
                          ibid_error *err) MUST_CHECK;
