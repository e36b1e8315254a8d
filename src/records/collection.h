/* Collections: how a set of documents is indexed. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "metadata_store/metadata_store.h"

struct collection {
    int64_t id;
    struct str name;
    struct str embedder; /* provider/model@revision; empty: none yet, or keyword only */
    struct str embedder_fingerprint;
    uint32_t dimension;  /* 0 without embedder */
    struct str chunker;  /* empty: the program's default */
    struct str chunking; /* JSON object: size, overlap_percent, ... */
    struct str language; /* ISO 639-1, or empty */
    int64_t seq;         /* commit_seq of the newest change of its rows */
    int64_t created_at;
};

/* IBID_ENOTFOUND when there is none. Strings live in `arena`. */
ibid_code collection_load(struct transaction *transaction, int64_t id, struct arena *arena,
                          struct collection *ret, ibid_error *err) MUST_CHECK;
/* All of them by id. */
ibid_code collection_list(struct transaction *transaction, struct arena *arena, struct collection **ret,
                          size_t *ret_count, ibid_error *err) MUST_CHECK;
/* `draft`: name, embedder, embedder_fingerprint, dimension, chunker, chunking, language.
 * IBID_ECONFLICT when the name is taken. */
ibid_code collection_create(struct transaction *transaction, const struct collection *draft, int64_t *ret_id,
                            ibid_error *err) MUST_CHECK;

/* Names the embedder whose vectors the collection's rows get from now on. Rows that have vectors
 * of another fingerprint lose them and are pending again (row_pending), so that no index mixes
 * two spaces. Without a change nothing is written. */
ibid_code collection_set_embedder(struct transaction *transaction, int64_t id, struct str embedder,
                                  struct str fingerprint, uint32_t dimension, ibid_error *err) MUST_CHECK;

struct collection_counts {
    int64_t documents, rows, pending_rows, removed_rows;
};
/* Counted at the time; a scan of the collection's index entries. */
ibid_code collection_count(struct transaction *transaction, int64_t id, struct collection_counts *ret,
                           ibid_error *err) MUST_CHECK;
