/* Documents: what is known of each thing that is indexed, and what state it is in.
 *
 * A document is (source, external key). Its id is never reused. Its content is replaced by
 * publish.h and taken away by removal.h.
 *
 * Functions with a `scope` are for doors: what the scope may not read is as good as missing, in
 * codes, counts and messages alike. Functions named _load are for the product's own use. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "metadata_store/metadata_store.h"
#include "model/row.h"
#include "model/scope.h"

/* name, stable string */
#define PROCESSING_STATE_MAP(X)   \
    X(PENDING, "pending")         \
    X(IN_PROGRESS, "in_progress") \
    X(COMPLETED, "completed")     \
    X(FAILED, "failed")           \
    X(SKIPPED, "skipped")

enum processing_state {
#define X(name, string) PROCESSING_##name,
    PROCESSING_STATE_MAP(X)
#undef X
        PROCESSING_STATE_COUNT
};

/* Bytes. */
enum { DOCUMENT_REASON_LIMIT = 500, DOCUMENT_METADATA_LIMIT = 64 * 1024 };

struct document {
    int64_t id;
    struct str file_id; /* stable, for the outside */
    int64_t source_id;
    struct str source;      /* its location: "/home/me/notes", "uploads" */
    struct str source_type; /* "folder", "user_upload", ... */
    struct str external_key;
    struct str document_title;
    struct str source_url;
    struct str path; /* for display and filters: relative path at the source */
    struct str author;
    struct str media_type;
    struct str language;
    int64_t size; /* bytes; -1 unknown */
    bool has_sha256;
    struct sha256 sha256; /* of its bytes */
    bool blob;            /* the blob store keeps its bytes */
    struct str version;   /* etag or revision number at the source */
    int64_t owner_id;     /* 0: none */
    struct str owner;     /* user name */
    int64_t home_workspace_id;
    int64_t home_collection_id;
    enum document_state state;
    enum processing_state processing_state;
    struct str processing_stage, processing_reason;
    int64_t attempts;
    struct str metadata;             /* JSON object */
    struct str warnings;             /* JSON array of {code, message, count} */
    int64_t revision_id;             /* 0: nothing was extracted yet */
    int64_t created_at, modified_at; /* of the document itself; 0 unknown */
    int64_t added_at;                /* first seen here */
    int64_t indexed_at;              /* last published; 0 never */
    int64_t updates;                 /* how often its content has changed since */
    const int64_t *workspace_ids;    /* ascending: where it can be found now; read by scope: as far as that
                                        knows of them */
    size_t workspace_count;
};

const char *processing_state_string(enum processing_state state);
bool processing_state_from_string(struct str string, enum processing_state *ret);

/* ---- finding ---------------------------------------------------------------------------------- */

/* IBID_ENOTFOUND when there is none. */
ibid_code document_load(struct transaction *transaction, int64_t id, struct arena *arena,
                        struct document *ret, ibid_error *err) MUST_CHECK;
/* *ret_id 0 when there is none. */
ibid_code document_find_key(struct transaction *transaction, int64_t source_id, struct str external_key,
                            int64_t *ret_id, ibid_error *err) MUST_CHECK;
ibid_code document_find_file_id(struct transaction *transaction, struct str file_id, int64_t *ret_id,
                                ibid_error *err) MUST_CHECK;
/* Documents with these bytes, at most `limit`, by id: to follow a move or to tell of a duplicate. */
ibid_code document_find_sha256(struct transaction *transaction, const struct sha256 *sha256, size_t limit,
                               struct arena *arena, int64_t **ret_ids, size_t *ret_count,
                               ibid_error *err) MUST_CHECK;

/* As document_load, but IBID_ENOTFOUND also when `scope` may not read it. Expired documents can be
 * read (they are kept for audit), but no search finds them. */
ibid_code document_read(struct transaction *transaction, const struct scope *scope, int64_t id,
                        struct arena *arena, struct document *ret, ibid_error *err) MUST_CHECK;
/* Whether the scope may read it; false for one that is not there. */
ibid_code document_is_readable(struct transaction *transaction, const struct scope *scope, int64_t id,
                               bool *ret, ibid_error *err) MUST_CHECK;

struct document_query {
    int64_t after_id;          /* the page's cursor: the last id of the page before, or 0 */
    size_t limit;              /* 1..1000 */
    int64_t source_id;         /* 0: any */
    int64_t collection_id;     /* 0: any */
    int processing_state;      /* enum processing_state, or -1: any */
    struct str title_contains; /* title or path, ASCII without case; empty: any */
};
/* A page of the documents that the scope may read, by id. *ret_more: whether another follows. */
ibid_code document_list(struct transaction *transaction, const struct scope *scope,
                        const struct document_query *query, struct arena *arena, struct document **ret,
                        size_t *ret_count, bool *ret_more, ibid_error *err) MUST_CHECK;
/* How many there are in each processing state, among what the scope may read. */
ibid_code document_count(struct transaction *transaction, const struct scope *scope,
                         int64_t ret_counts[PROCESSING_STATE_COUNT], ibid_error *err) MUST_CHECK;

/* ---- changing --------------------------------------------------------------------------------- */

/* Makes a pending document. Used of `draft`: source_id, external_key, document_title, source_url,
 * path, author, media_type, language, size, version, sha256, blob, owner_id (0: none), created_at,
 * modified_at, metadata, state, file_id (empty: made from source and key), home_collection_id (0: that of
 * the source), and home_workspace_id. Its workspaces are those its source is mapped to, and the home one
 * if the draft names it (as for an upload); 0 stands for the home of the source, and the mapping decides.
 * IBID_ECONFLICT when (source, key) or file_id exists. */
ibid_code document_create(struct transaction *transaction, const struct document *draft, int64_t *ret_id,
                          ibid_error *err) MUST_CHECK;

/* Sets processing to in_progress at `stage` and counts the attempt. */
ibid_code document_start(struct transaction *transaction, int64_t id, const char *stage,
                         ibid_error *err) MUST_CHECK;
/* Ends an attempt as failed or skipped. What was published before stays searchable. The reason is cut
 * to DOCUMENT_REASON_LIMIT bytes and one line. */
ibid_code document_end(struct transaction *transaction, int64_t id, enum processing_state state,
                       const char *stage, struct str reason, ibid_error *err) MUST_CHECK;
/* After a kill: every document in_progress is pending again, and to be looked into by the next run whatever
 * its ledger line says of the content before. Returns how many there were. */
ibid_code document_reset_interrupted(struct transaction *transaction, int64_t *ret_count,
                                     ibid_error *err) MUST_CHECK;

/* The same for some documents, which a run began and did not finish; of those that are not in_progress any
 * more nothing changes. */
ibid_code document_reset(struct transaction *transaction, const int64_t *ids, size_t count,
                         ibid_error *err) MUST_CHECK;

/* The same bytes now live under another key of the same source. IBID_ECONFLICT when that is taken. */
ibid_code document_move(struct transaction *transaction, int64_t id, struct str external_key,
                        struct str document_title, struct str source_url, struct str path,
                        ibid_error *err) MUST_CHECK;
/* What the source says of unchanged content (size, modified time, version). Rows are sent to the
 * vector stores again only if something they filter on differs. */
ibid_code document_touch(struct transaction *transaction, int64_t id, int64_t size, int64_t modified_at,
                         struct str version, ibid_error *err) MUST_CHECK;
ibid_code document_set_state(struct transaction *transaction, int64_t id, enum document_state state,
                             ibid_error *err) MUST_CHECK;
/* Replaces the metadata: a JSON object, at most 64 KiB, taken apart for filters. */
ibid_code document_set_metadata(struct transaction *transaction, int64_t id, struct str metadata,
                                ibid_error *err) MUST_CHECK;
/* Shares a document into a workspace by hand, or takes that back. Neither touches source mappings. */
ibid_code document_share(struct transaction *transaction, int64_t id, int64_t workspace_id,
                         ibid_error *err) MUST_CHECK;
ibid_code document_unshare(struct transaction *transaction, int64_t id, int64_t workspace_id,
                           ibid_error *err) MUST_CHECK;
