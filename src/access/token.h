/* Access tokens: 256 random bits, shown once, stored as a hash. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "metadata_store/metadata_store.h"
#include "records/workspace.h"

enum { TOKEN_TEXT_SIZE = 49 }; /* "ibid_" and 43 characters of base64url, and NUL */

/* Makes a token for a user. `ret_text` is the only copy of it; wipe it after showing. `expires_at` 0: never.
 */
ibid_code token_issue(struct transaction *transaction, int64_t user_id, struct str name, int64_t expires_at,
                      char ret_text[TOKEN_TEXT_SIZE], int64_t *ret_id, ibid_error *err) MUST_CHECK;
/* The stored form of a token as sent: false when it has not the form of one. */
bool token_hash(struct str text, unsigned char ret[TOKEN_HASH_SIZE]);
