/* What travels through the pipeline: first a line of work, light enough to wait in great numbers; then,
 * in a worker's hands, a task with everything that is read and made. */
#pragma once

#include <stdatomic.h>

#include "base/arena.h"
#include "chunker/chunker.h"
#include "ingest/origin.h"
#include "ingest/run.h"
#include "model/extraction.h"
#include "records/document.h"
#include "records/ledger.h"
#include "records/publish.h"

/* One document to be looked into. */
struct work {
    struct origin *origin; /* borrowed */
    int64_t document_id;
    int64_t run_id;
    int64_t size; /* as listed; -1 unknown */
    bool force;   /* also when its bytes are known */
    char external_key[];
};

struct work *work_new(struct origin *origin, struct str external_key, int64_t document_id)
    __attribute__((returns_nonnull));

enum task_fate {
    TASK_PUBLISH,   /* has chunks */
    TASK_UNCHANGED, /* the bytes are those that were indexed */
    TASK_MOVED,     /* the bytes are those of moved_from, whose place is empty now */
    TASK_SKIPPED,   /* see stage and reason */
    TASK_FAILED,    /* likewise */
    TASK_REPLACED,  /* its bytes are an upload's that has got other ones meanwhile, which are another task */
    TASK_GONE,      /* it was deleted while it was being read */
    TASK_EMBEDDED,  /* vectors for rows that had none: no document */
};

struct task {
    struct arena arena;
    struct work *work; /* owned; NULL for TASK_EMBEDDED */
    struct document document;
    struct ledger_line known; /* what the ledger had; outcome SEEN and document_id 0 when nothing */
    enum task_fate fate;
    enum ingest_stage stage;
    struct str reason;
    bool started;   /* shown as in progress */
    bool committed; /* what has become of it is in the records */

    int64_t size, modified_at; /* of what was fetched */
    struct str version;
    bool has_sha256;
    struct sha256 sha256;
    const char *extractor; /* version; NULL: not got so far */
    int64_t moved_from;    /* document, of TASK_MOVED */

    struct extraction extraction;
    struct str title, author, language, metadata;
    int64_t created_at, document_modified_at; /* as the document or the source says */

    struct chunk *chunks; /* TASK_EMBEDDED: only embed_text is set */
    size_t chunk_count;
    uint32_t dimension; /* TASK_EMBEDDED */
    int64_t *row_ids;   /* TASK_EMBEDDED */

    /* Embedding; embeddings is NULL without an embedder. */
    struct chunk_embedding *embeddings;
    float *vectors;   /* chunk_count x dimension; rows of known keys stay empty */
    bool *cached;     /* the records have its vector */
    size_t next_text; /* the first that was not handed out for embedding */
    size_t unfinished;
    size_t unstored;  /* embedded, and stored by no transaction yet */
    int64_t credited; /* bytes of the document that the progress has counted as done */
};

struct task *task_new(struct work *take_work) __attribute__((returns_nonnull));
void task_free(struct task *task);

/* Ends the task with a reason: "needs_ocr" or "needs_ocr: 3 pages have no text". */
void task_end(struct task *task, enum task_fate fate, enum ingest_stage stage, const char *format, ...)
    PRINTF_LIKE(4, 5);
