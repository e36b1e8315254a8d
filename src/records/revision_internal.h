/* How a revision is stored; publish.c is the only one to do it. */
#pragma once

#include "records/revision.h"

/* Finds the document's revision with this text made from these bytes by this extractor, or stores it. */
ibid_code revision_store(struct transaction *transaction, int64_t document_id, bool has_sha256,
                         const struct sha256 *sha256, const struct extraction *extraction, int64_t *ret_id,
                         ibid_error *err) MUST_CHECK;
