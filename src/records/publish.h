/* Putting a document's content in place: the one way that chunks become searchable.
 *
 * One call inside one write transaction
 *   - stores the revision (canonical text, page layouts) unless the document has it already;
 *   - stores the chunk set. A chunk whose id and embedded text were there before keeps its row in
 *     `chunks`, so that it keeps its vector and its row_id; only what changed is new;
 *   - stores the vectors that are new, and finds the others by key;
 *   - adds, keeps or marks removed the rows of each collection named, under the transaction's commit_seq;
 *   - points the document and the collections at the new revision, sets processing to completed, and
 *     drops the old revision with its text and chunk sets once no collection shows it;
 *   - drops cached answers that cite the document.
 * A reader sees all of it or nothing: the old content until commit, the new from then on. Publishing
 * the same content again changes no row.
 *
 * A document in collections with different chunkings is published once for each chunking, in one
 * transaction. Several documents share one transaction in bulk work: one fsync for all of them. */
#pragma once

#include "base/error.h"
#include "base/hash.h"
#include "metadata_store/metadata_store.h"
#include "model/chunk.h"
#include "model/extraction.h"

/* The vector of one chunk under a collection's embedder. */
struct chunk_embedding {
    struct sha256 key;   /* embedding_cache.h */
    const float *vector; /* NULL: it should be in the cache; when it is not, the row is pending */
};

struct placement {
    int64_t collection_id;
    const struct chunk_embedding *embeddings; /* one for each chunk; NULL: keyword only for now */
    bool unless_shown; /* leave the collection alone if it shows this revision, cut in whatever way */
};

struct publication {
    int64_t document_id;
    const struct extraction *extraction; /* usable; text, pages, words, extractor, warnings are stored */
    bool has_sha256;
    struct sha256 sha256;      /* of the bytes it was made from */
    int64_t size;              /* of the bytes; -1 leaves the document's */
    struct str document_title; /* empty leaves the document's */
    struct str author, media_type, language;
    struct str version;              /* etag or revision number at the source; empty leaves the document's */
    int64_t created_at, modified_at; /* 0 leaves the document's */
    struct str metadata;             /* JSON object; empty leaves the document's */
    struct str chunking;             /* fingerprint: chunker_fingerprint() */
    const struct chunk *chunks;      /* in order; at least one */
    size_t chunk_count;
    const struct placement *placements; /* at least one */
    size_t placement_count;
};

struct publication_result {
    int64_t revision_id;
    size_t rows_added, rows_kept, rows_removed; /* over all placements */
    size_t rows_pending;                        /* living rows without a vector though one was asked for;
                                                   not counted where a placement is `unless_shown` */
};

/* IBID_ENOTFOUND when the document is gone (deleted meanwhile): nothing was written then. */
ibid_code document_publish(struct transaction *transaction, const struct publication *publication,
                           struct publication_result *ret, ibid_error *err) MUST_CHECK;

/* Takes a document out of one collection: its rows there are marked removed. */
ibid_code document_withdraw(struct transaction *transaction, int64_t document_id, int64_t collection_id,
                            ibid_error *err) MUST_CHECK;
