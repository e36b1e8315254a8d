/* Indexing runs over sources.
 *
 * A run lists each source and compares the list with the ledger: size, time and version first, the
 * SHA-256 of the bytes where those differ. New and changed documents go through the pipeline; moved
 * ones (the same bytes under a new key, the old one gone) keep their document and chunks; those that
 * are gone are removed once the source was listed completely. Failed documents are tried again; one
 * that crashed or outran its parser only when its bytes or the extractor have changed, or by force.
 * At its end a run embeds what was published without vectors. */
#pragma once

#include "base/json.h"
#include "base/watch.h"
#include "ingest/ingest.h"
#include "records/audit.h"
#include "records/ledger.h"
#include "records/run.h"

enum ingest_kind {
    INGEST_INDEX, /* everything that is new or changed */
    INGEST_RETRY, /* only what has failed */
};

struct ingest_request {
    enum ingest_kind kind;
    const int64_t *source_ids; /* none: every enabled source but uploads */
    size_t source_count;
    bool force; /* index also what has not changed; fails where that would only lose vectors: without embedder
                 */
};

enum ingest_stage {
    STAGE_DISCOVER,
    STAGE_FETCH,
    STAGE_EXTRACT,
    STAGE_CHUNK,
    STAGE_EMBED,
    STAGE_PUBLISH,
    STAGE_COUNT
};
/* Stable lower-case string, as the ledger has it. */
const char *ingest_stage_string(enum ingest_stage stage);

enum { INGEST_REASON_LIMIT = 48, INGEST_REASON_SIZE = 64 };

/* How often something happened: {skipped, "discover", "hidden", 12}. */
struct ingest_reason {
    enum ledger_outcome outcome; /* LEDGER_SKIPPED or LEDGER_FAILED */
    const char *stage;
    char reason[INGEST_REASON_SIZE]; /* the part of the ledger's reason before ':' */
    int64_t count;
};

struct ingest_status {
    int64_t run_id;
    enum run_state state; /* RUN_RUNNING while under way */
    char message[480];    /* why it failed */
    bool listing;         /* sources are still being listed: the totals grow */
    struct run_progress progress;
    int64_t moved;
    int64_t total, total_bytes; /* documents to be worked on, as far as listed */
    int64_t done, done_bytes;   /* of them */
    int64_t tokens;
    int64_t embedded, reused; /* chunks that were embedded, and that had their vector already */
    int64_t pending;          /* published without vector */
    int64_t backlog;          /* chunks that had been published without vector and are embedded at the end */
    int64_t backlog_done;     /* of them */
    int64_t started_at, finished_at;
    double seconds;                /* since the start, or from start to end */
    double documents_per_second;   /* over the last seconds */
    double seconds_left;           /* NAN: unknown */
    int64_t stage_us[STAGE_COUNT]; /* time spent in each, added up over its threads */
    struct ingest_reason
        reasons[INGEST_REASON_LIMIT]; /* most frequent first; the last one gathers what is over */
    size_t reason_count;
    char current[256];      /* the document that has been read the longest, else the last one, or empty */
    double current_seconds; /* it has been read for so long; 0: none is read */
};

/* Starts a run and returns at once. IBID_ECONFLICT names the run that is under way; IBID_ENOTFOUND a
 * source that is not there; IBID_EUNAVAILABLE when documents cannot be read here at all. */
ibid_code ingest_start(struct ingest *ingest, const struct ingest_request *request, int64_t *ret_run_id,
                       ibid_error *err) MUST_CHECK;
/* The run under way, or the last one of this process. False when there was none. */
bool ingest_status(struct ingest *ingest, struct ingest_status *ret);
/* Waits until no run is under way or clock_monotonic_us() == deadline_us (0: for ever): false then. */
bool ingest_wait(struct ingest *ingest, int64_t deadline_us);
/* Asks the run under way to stop: documents in work are dropped, what was published stays. */
void ingest_cancel(struct ingest *ingest);

/* The source that stands for a location, as its connector ("folder") understands it, made when there is none.
 * `options` is a JSON object of the connector's source options ("include", "exclude", ...), or NULL. Each
 * member replaces the one that a source which is there keeps, null takes it away, the others stay. A location
 * that lies within another source, which lists all that the options let pass, gives that one, so that no file
 * becomes two documents; for the same reason a run takes sources that lie within the one it is over into it,
 * where both are for the same readers. IBID_ENOTFOUND when there is nothing there; IBID_EUNSUPPORTED when
 * there is no such connector; IBID_EINVAL when options make no sense. */
ibid_code ingest_source(struct ingest *ingest, const char *connector, const char *location,
                        const json_t *options, int64_t *ret_source_id, ibid_error *err) MUST_CHECK;

/* What goes into the audit log in the very transaction that begins a change. */
struct ingest_audit {
    struct audit_entry entry;
    int64_t keep_after; /* see audit_append */
};

struct source_removal {
    int64_t documents, rows;
};
/* Forgets a folder and removes its documents for good, some at a time (records/sweep.h); the files stay. A
 * search misses them at once. IBID_ENOTFOUND; IBID_EINVAL for the source of uploads; IBID_ECONFLICT while an
 * indexing run is under way, and none starts meanwhile. IBID_ECANCELED when `watch` (may be NULL) stops it:
 * what was removed is gone, the source is not enabled any more, and another call goes on. `audit` may be
 * NULL. */
ibid_code ingest_remove_source(struct ingest *ingest, int64_t source_id, const struct ingest_audit *audit,
                               const struct watch *watch, struct source_removal *ret,
                               ibid_error *err) MUST_CHECK;
