/* Collections: how a set of documents is indexed. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "metadata_store/metadata_store.h"

/* What the rows of a collection are for: records/succession.h. */
enum collection_role {
    COLLECTION_SERVING,   /* searches see them */
    COLLECTION_SUCCESSOR, /* they are being made under another embedder */
    COLLECTION_RETIRED,   /* another's serve instead: they go */
};

struct collection {
    int64_t id;          /* that its rows have */
    int64_t parent_id;   /* that it has to the outside: another one for a successor and for what was one */
    struct str name;     /* this and how documents are cut are the parent's */
    struct str embedder; /* provider/model@revision; empty: none yet, or keyword only */
    struct str embedder_fingerprint;
    struct str embedder_options; /* JSON object: what it was opened with, without secrets */
    uint32_t dimension;          /* 0 without embedder */
    struct str chunker;          /* empty: the program's default */
    struct str chunking;         /* JSON object: size, overlap_percent, ... */
    struct str language;         /* ISO 639-1, or empty */
    int64_t seq;                 /* commit_seq of the newest change of its rows */
    int64_t created_at;
    bool complete; /* a successor that may take over */
    enum collection_role role;
};

/* The collection whose rows have that id. IBID_ENOTFOUND when there is none. Strings live in `arena`. */
ibid_code collection_load(struct transaction *transaction, int64_t id, struct arena *arena,
                          struct collection *ret, ibid_error *err) MUST_CHECK;
/* The one whose rows serve the collection that the outside knows by `id`. IBID_ENOTFOUND also for the id of a
 * successor. */
ibid_code collection_load_serving(struct transaction *transaction, int64_t id, struct arena *arena,
                                  struct collection *ret, ibid_error *err) MUST_CHECK;
/* The one that is being filled to serve it. */
ibid_code collection_load_successor(struct transaction *transaction, int64_t id, struct arena *arena,
                                    struct collection *ret, bool *ret_found, ibid_error *err) MUST_CHECK;
/* All of them in every role, by id. */
ibid_code collection_list(struct transaction *transaction, struct arena *arena, struct collection **ret,
                          size_t *ret_count, ibid_error *err) MUST_CHECK;
/* `draft`: name, embedder, embedder_fingerprint, dimension, chunker, chunking, language.
 * IBID_ECONFLICT when the name is taken. */
ibid_code collection_create(struct transaction *transaction, const struct collection *draft, int64_t *ret_id,
                            ibid_error *err) MUST_CHECK;

struct collection_counts {
    int64_t documents, rows, pending_rows, removed_rows;
};
/* Of the rows that have that id. Counted at the time; a scan of the collection's index entries. */
ibid_code collection_count(struct transaction *transaction, int64_t id, struct collection_counts *ret,
                           ibid_error *err) MUST_CHECK;
