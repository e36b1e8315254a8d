/* The pipeline that turns what sources hold into searchable chunks:
 *
 *     discover -> compare -> fetch -> extract -> chunk -> embed -> publish
 *
 * Every stage is a set of threads with a bounded queue before it, so that memory follows the documents
 * in flight and not the folder. What was published stays, whatever happens to the run; what was not is
 * done by the next one.
 *
 *   run.h      runs over sources, one at a time
 *   upload.h   single documents: upload, retry, remove */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/option.h"
#include "base/thread.h"
#include "base/watch.h"
#include "blob_store/blob_store.h"
#include "embedder/embedder.h"
#include "extract/extract.h"
#include "metadata_store/metadata_store.h"

struct ingest_settings {
    int64_t workers;          /* documents read at a time; 0: as many as cores */
    int64_t commit_documents; /* published together in one transaction */
    int64_t commit_interval;  /* microseconds after which fewer are published */
    const char *chunker;      /* a member of the chunker seam */
    int64_t chunk_size;       /* tokens */
    int64_t chunk_overlap;    /* percent */
    int64_t heading_tokens;
    int64_t max_waiting; /* single documents (ingest/upload.h) accepted and not indexed yet */
};
extern const struct option_section ingest_section; /* "ingest" */

/* What ingest works with: lent by the instance, outlives it. Functions are thread-safe. */
struct ingest_host {
    struct metadata_store *metadata;
    struct blob_store *blobs;
    struct slots *compute; /* taken for each bulk call of the embedder */
    const struct ingest_settings *settings;
    int64_t max_file_size; /* bytes of one document */

    /* IBID_EUNAVAILABLE when documents cannot be read here. */
    ibid_code (*extract_pool)(struct ingest_host *host, struct extract_pool **ret, ibid_error *err);
    /* NULL when there is none: chunks are found by keyword only and embedded by a later run. */
    struct embedder *(*embedder)(struct ingest_host *host);
    /* Sizes the chunks: the embedder's, or what comes nearest to it. */
    const struct token_counter *(*counter)(struct ingest_host *host);
    /* Rows have been committed: the vector stores may follow. */
    void (*committed)(struct ingest_host *host);
    /* Waits until they have followed everything committed before the call. IBID_ECANCELED when the watch
     * stops it; else what keeps them from it. */
    ibid_code (*settled)(struct ingest_host *host, const struct watch *watch, ibid_error *err);
};

struct ingest;

/* Ends what a killed process left behind: its runs become `interrupted`, its documents `pending`;
 * uploads that wait are taken up. `host` is borrowed. */
ibid_code ingest_open(struct ingest_host *host, struct ingest **ret, ibid_error *err) MUST_CHECK;
/* Cancels what is under way and waits for it to end. NULL is fine. */
void ingest_close(struct ingest *take_ingest);
