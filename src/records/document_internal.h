/* What the files of the documents' records share; nothing outside records/ includes this. */
#pragma once

#include "records/document.h"

/* The values of a declared or free key, from a JSON object, into document_metadata
 * (its text is in the schema): old ones are replaced. Nested objects give keys joined by '.'. */
ibid_code document_metadata_store(struct transaction *transaction, int64_t document_id, struct str json,
                                  ibid_error *err) MUST_CHECK;

/* Whether a scope may read a document in that state and those workspaces. */
bool document_scope_reads(const struct scope *scope, enum document_state state, const int64_t *workspaces,
                          size_t count);

/* The workspaces a document can be found in now, ascending. */
ibid_code document_workspaces_load(struct transaction *transaction, int64_t document_id, struct arena *arena,
                                   const int64_t **ret, size_t *ret_count, ibid_error *err) MUST_CHECK;

/* Drops cached answers that cite the document. */
ibid_code cached_answers_drop(struct transaction *transaction, int64_t document_id,
                              ibid_error *err) MUST_CHECK;
