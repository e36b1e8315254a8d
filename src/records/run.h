/* Indexing runs: progress that others can read, and a heartbeat that tells a dead run from a slow one. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "metadata_store/metadata_store.h"

#define RUN_STATE_MAP(X)      \
    X(RUNNING, "running")     \
    X(COMPLETED, "completed") \
    X(FAILED, "failed")       \
    X(CANCELED, "canceled")   \
    X(INTERRUPTED, "interrupted") /* the process died under it */

enum run_state {
#define X(name, string) RUN_##name,
    RUN_STATE_MAP(X)
#undef X
};
const char *run_state_string(enum run_state state);

struct run_progress {
    int64_t discovered, indexed, unchanged, skipped, failed, removed, chunks, bytes;
};

struct run {
    int64_t id;
    int64_t source_id; /* 0: over several */
    struct str kind;   /* "index", "retry", "reindex" */
    enum run_state state;
    struct str reason;
    int64_t started_at, heartbeat_at, finished_at;
    struct run_progress progress;
};

ibid_code run_start(struct transaction *transaction, int64_t source_id, const char *kind, int64_t *ret_id,
                    ibid_error *err) MUST_CHECK;
/* Stores the progress and the heartbeat. */
ibid_code run_beat(struct transaction *transaction, int64_t id, const struct run_progress *progress,
                   ibid_error *err) MUST_CHECK;
ibid_code run_finish(struct transaction *transaction, int64_t id, enum run_state state, struct str reason,
                     const struct run_progress *progress, ibid_error *err) MUST_CHECK;
/* At opening, when no other process can be at work: runs still `running` become `interrupted`. */
ibid_code run_end_interrupted(struct transaction *transaction, int64_t *ret_count,
                              ibid_error *err) MUST_CHECK;
/* IBID_ENOTFOUND when there is none. */
ibid_code run_load(struct transaction *transaction, int64_t id, struct arena *arena, struct run *ret,
                   ibid_error *err) MUST_CHECK;
/* The newest first; source_id 0: of all. */
ibid_code run_list(struct transaction *transaction, int64_t source_id, size_t limit, struct arena *arena,
                   struct run **ret, size_t *ret_count, ibid_error *err) MUST_CHECK;
