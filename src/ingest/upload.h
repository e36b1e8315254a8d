/* Single documents: those that users bring themselves, and changes to one document. What the caller may
 * do has been checked before (access/access.h), but which documents they may replace. */
#pragma once

#include "access/access.h"
#include "base/str.h"
#include "ingest/ingest.h"
#include "records/sweep.h"

struct ingest_upload {
    int fd;                /* borrowed; read from its start; see blob_store_ops.put */
    struct str name;       /* file name: names the document in its workspace */
    struct str media_type; /* declared, or empty */
    struct str title;      /* or empty: the document's own, or its name */
    struct str metadata;   /* JSON object, or empty */
    int64_t workspace_id;
    const struct principal *principal; /* who brings it: its owner */
};

/* Keeps the bytes, makes the document (or gives the one of that name in the workspace new bytes, if the
 * caller may change it: one that they may not, or may not even know of, stays beside the new one) and returns
 * once both are durable; it is indexed in the background (ingest_wait_document), sooner or later: what cannot
 * be indexed at the moment is tried again. IBID_ETOOBIG above the size limit; IBID_EBUSY while as many as may
 * (ingest.max_waiting) wait. */
ibid_code ingest_upload(struct ingest *ingest, const struct ingest_upload *upload, int64_t *ret_document_id,
                        bool *ret_replaced, ibid_error *err) MUST_CHECK;

/* Reads, chunks and embeds one document again, in the background. IBID_ENOTFOUND; IBID_EBUSY as above. */
ibid_code ingest_retry(struct ingest *ingest, int64_t document_id, ibid_error *err) MUST_CHECK;

/* Waits until the document is neither pending nor in progress; IBID_ETIMEOUT at clock_monotonic_us() ==
 * deadline_us. */
ibid_code ingest_wait_document(struct ingest *ingest, int64_t document_id, int64_t deadline_us,
                               ibid_error *err) MUST_CHECK;

/* Removes a document for good: see records/sweep.h. Its bytes go, too, if ibid kept them. A document of a
 * folder whose file stays is not indexed again until the file changes or a run is forced. */
ibid_code ingest_remove(struct ingest *ingest, int64_t document_id, struct removal *ret,
                        ibid_error *err) MUST_CHECK;
