/* Whether the blob store holds the bytes of every document that is kept there, and no others. */
#pragma once

#include "base/watch.h"
#include "ingest/ingest.h"

/* Receives one line about what is wrong; `repaired` when it is no more. */
typedef void blob_finding(const char *problem, bool repaired, void *context);

/* Reads all blobs. With `repair`, bytes of no document are removed. Uploads wait meanwhile.
 * IBID_ECANCELED when the watch (may be NULL) says so. */
ibid_code ingest_check_blobs(struct ingest *ingest, bool repair, const struct watch *watch,
                             blob_finding *report, void *context, ibid_error *err) MUST_CHECK;

/* Removes bytes that a document had, unless they are wanted (blob_is_wanted). Waits for uploads that are
 * being stored: theirs may be the same. What became of the document is in the records already, so that bytes
 * which cannot be removed are only warned of: ingest_check_blobs finds them. */
void ingest_drop_blob(struct ingest *ingest, const struct sha256 *sha256);

/* Only removes bytes of no document: what a process left that was killed between putting bytes and naming
 * their document, or between forgetting a document and removing its bytes. */
ibid_code ingest_drop_orphans(struct ingest *ingest, ibid_error *err) MUST_CHECK;
