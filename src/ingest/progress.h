/* What a run has done so far, told by all its threads and read by anyone at any time. */
#pragma once

#include <pthread.h>

#include "ingest/run.h"

enum { RATE_SAMPLES = 16 };

/* A document that a thread reads at the moment; that thread's storage. */
struct reading {
    const char *name; /* lives as long */
    int64_t since_us; /* monotonic */
    struct reading *next;
};

struct progress {
    pthread_mutex_t lock;
    struct ingest_status status;
    struct reading *oldest; /* those under way, in the order in which they began */
    int64_t started_us;     /* monotonic */
    int64_t ended_us;       /* 0: under way */
    int64_t backlog_us;     /* when the backlog was begun with; 0: not yet */
    /* The last seconds, for the rate. */
    struct rate_sample {
        int64_t at_us, done, bytes;
    } samples[RATE_SAMPLES];
    size_t sample_count;
};

void progress_init(struct progress *progress);
void progress_release(struct progress *progress);

void progress_listed(struct progress *progress, int64_t discovered, int64_t unchanged, int64_t total,
                     int64_t total_bytes);
void progress_listing_over(struct progress *progress);
/* Part of a document is done: bytes of it. */
void progress_worked(struct progress *progress, int64_t bytes);
/* A document of `total` is done with, committed; `bytes`: what progress_worked was not told of it. */
void progress_done(struct progress *progress, int64_t bytes);
void progress_indexed(struct progress *progress, int64_t chunks, int64_t bytes, int64_t tokens);
void progress_unchanged(struct progress *progress, bool moved);
void progress_removed(struct progress *progress, int64_t count);
/* LEDGER_SKIPPED or LEDGER_FAILED. */
void progress_refused(struct progress *progress, enum ledger_outcome outcome, enum ingest_stage stage,
                      struct str reason);
void progress_embedded(struct progress *progress, int64_t embedded, int64_t reused);
void progress_pending(struct progress *progress, int64_t pending);
/* So many chunks of before are to be embedded now, besides the documents. */
void progress_backlog(struct progress *progress, int64_t chunks);
/* So many of them have been dealt with. */
void progress_backlog_done(struct progress *progress, int64_t chunks);
void progress_reading(struct progress *progress, struct reading *reading, const char *name);
void progress_reading_over(struct progress *progress, struct reading *reading);
/* Adds the time since `since_us` (clock_monotonic_us) to a stage. */
void progress_spent(struct progress *progress, enum ingest_stage stage, int64_t since_us);
void progress_end(struct progress *progress, enum run_state state, const char *message);

/* With the figures that follow from the others. */
void progress_read(struct progress *progress, struct ingest_status *ret);
struct run_progress progress_counts(struct progress *progress);
