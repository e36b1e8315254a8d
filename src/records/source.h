/* Connectors, their sources, and the workspaces that sources are mapped to. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "metadata_store/metadata_store.h"

struct source {
    int64_t id;
    int64_t connector_id;
    struct str connector_type; /* a member of the connector seam: "folder" */
    struct str connector_name;
    struct str connector_options; /* JSON object, without secrets */
    struct str location;          /* what the connector gets as `source` */
    struct str options;           /* JSON object: the connector's source options */
    int64_t home_workspace_id;
    int64_t collection_id; /* home collection of its documents */
    bool enabled;
    int64_t failures; /* failed runs in a row */
    int64_t last_run_at, last_complete_at, created_at;
};

/* IBID_ENOTFOUND when there is none. */
ibid_code source_load(struct transaction *transaction, int64_t id, struct arena *arena, struct source *ret,
                      ibid_error *err) MUST_CHECK;
/* *ret_id 0 when there is none. */
ibid_code source_find(struct transaction *transaction, int64_t connector_id, struct str location,
                      int64_t *ret_id, ibid_error *err) MUST_CHECK;
ibid_code source_list(struct transaction *transaction, struct arena *arena, struct source **ret,
                      size_t *ret_count, ibid_error *err) MUST_CHECK;
/* `draft`: connector_id, location, options (empty: {}), home_workspace_id, collection_id (0: the default
 * ones). Maps the source to its home workspace. IBID_ECONFLICT when it exists. */
ibid_code source_create(struct transaction *transaction, const struct source *draft, int64_t *ret_id,
                        ibid_error *err) MUST_CHECK;
ibid_code source_set_options(struct transaction *transaction, int64_t id, struct str options,
                             ibid_error *err) MUST_CHECK;
/* A source that is not enabled is left out by runs over all of them. */
ibid_code source_set_enabled(struct transaction *transaction, int64_t id, bool enabled,
                             ibid_error *err) MUST_CHECK;
/* Some of its documents, at most `limit`; none: it has none. */
ibid_code source_documents(struct transaction *transaction, int64_t id, size_t limit, struct arena *arena,
                           int64_t **ret, size_t *ret_count, ibid_error *err) MUST_CHECK;
/* Deletes a source that has no documents any more, with its ledger, runs and mappings. IBID_ENOTFOUND;
 * IBID_ECONFLICT when there are documents. */
ibid_code source_remove(struct transaction *transaction, int64_t id, ibid_error *err) MUST_CHECK;
/* The connector of that type; made when there is none. */
ibid_code source_connector(struct transaction *transaction, struct str type, int64_t *ret_id,
                           ibid_error *err) MUST_CHECK;
/* Whether the documents of both lie in the same collection and can be found in the same workspaces. */
ibid_code source_is_alike(struct transaction *transaction, int64_t a, int64_t b, bool *ret,
                          ibid_error *err) MUST_CHECK;
/* Moves at most `limit` documents of a source to another one that is alike, with their ids, contents and
 * ledger lines, `prefix` before keys and paths. One that is there under that key already is removed instead.
 * *ret_more: call again, in a transaction of its own; else `from` had none left and is gone. */
ibid_code source_absorb(struct transaction *transaction, int64_t from, int64_t into, struct str prefix,
                        size_t limit, bool *ret_more, ibid_error *err) MUST_CHECK;
/* A run over the source has ended. */
ibid_code source_ran(struct transaction *transaction, int64_t id, bool complete, ibid_error *err) MUST_CHECK;

/* Maps a source to a workspace, or takes that back. Search follows at once in what it lets through; the
 * rows of the documents are brought up to date by source_mapping_apply. */
ibid_code source_map(struct transaction *transaction, int64_t source_id, int64_t workspace_id,
                     ibid_error *err) MUST_CHECK;
ibid_code source_unmap(struct transaction *transaction, int64_t source_id, int64_t workspace_id,
                       ibid_error *err) MUST_CHECK;
/* Brings document_workspaces of at most `limit` documents after `*after_id` in line with the mappings, and
 * touches the rows of those that changed. *after_id moves on; 0 when done. One call a transaction. */
ibid_code source_mapping_apply(struct transaction *transaction, int64_t source_id, size_t limit,
                               int64_t *after_id, ibid_error *err) MUST_CHECK;
/* Ids, ascending. */
ibid_code source_workspaces(struct transaction *transaction, int64_t source_id, struct arena *arena,
                            int64_t **ret, size_t *ret_count, ibid_error *err) MUST_CHECK;

/* Where an incremental listing goes on; empty when not set. */
ibid_code cursor_get(struct transaction *transaction, int64_t source_id, struct str name, struct arena *arena,
                     struct str *ret, ibid_error *err) MUST_CHECK;
ibid_code cursor_set(struct transaction *transaction, int64_t source_id, struct str name, struct str value,
                     ibid_error *err) MUST_CHECK;
