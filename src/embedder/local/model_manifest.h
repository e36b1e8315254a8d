/* What is known of the files in a model's folder, so that hundreds of megabytes need not be hashed at every
 * start: a small JSON file beside them with each one's size, time of change and SHA-256. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/hash.h"

#define MODEL_MANIFEST_NAME ".ibid-model.json"

/* SHA-256 of a file of the folder: the one noted if size and time of change are still the same, else
 * computed, and noted when `note` is set and the folder can be written. */
ibid_code model_manifest_hash(const char *folder, const char *file, bool note, struct sha256 *ret,
                              ibid_error *err) MUST_CHECK;

/* Hashes the file whatever is noted of it. *ret_noted says whether a hash was noted, and *ret_same
 * whether it was this one. */
ibid_code model_manifest_verify(const char *folder, const char *file, struct sha256 *ret, bool *ret_noted,
                                bool *ret_same, ibid_error *err) MUST_CHECK;
