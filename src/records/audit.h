/* The audit log: who did what. Append-only; never holds the text of a query or of a document. */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "metadata_store/metadata_store.h"

/* `action` is a stable word ("document.remove"), `object` what it was done to ("document 17"), `details` a
 * JSON object or empty. user_id 0: the program itself. */
ibid_code audit_append(struct transaction *transaction, int64_t user_id, const char *action,
                       struct str object, struct str details, ibid_error *err) MUST_CHECK;
