/* Whether the blob store holds the bytes of every document that is kept there, and no others. */
#pragma once

#include "ingest/ingest.h"

/* Receives one line about what is wrong; `repaired` when it is no more. */
typedef void blob_finding(const char *problem, bool repaired, void *context);

/* Reads all blobs. With `repair`, bytes of no document are removed. Uploads wait meanwhile. */
ibid_code ingest_check_blobs(struct ingest *ingest, bool repair, blob_finding *report, void *context,
                             ibid_error *err) MUST_CHECK;
