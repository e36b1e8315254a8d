/* The ledger: for each thing that a source showed, what became of it. It is what an incremental run
 * compares a listing with, what `retry` goes by, and what coverage is counted from. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/str.h"
#include "metadata_store/metadata_store.h"

#define LEDGER_OUTCOME_MAP(X)                                                   \
    X(SEEN, "seen")       /* listed, nothing done with it yet */                \
    X(SKIPPED, "skipped") /* not to be indexed: hidden, binary, too large... */ \
    X(FAILED, "failed")                                                         \
    X(INDEXED, "indexed")                                                       \
    X(REMOVED, "removed") /* deleted: kept as the record of that */

enum ledger_outcome {
#define X(name, string) LEDGER_##name,
    LEDGER_OUTCOME_MAP(X)
#undef X
        LEDGER_OUTCOME_COUNT
};
const char *ledger_outcome_string(enum ledger_outcome outcome);

struct ledger_line {
    int64_t source_id;
    struct str external_key;
    int64_t document_id; /* 0: it never became a document */
    enum ledger_outcome outcome;
    struct str stage, reason; /* of what failed or was skipped; reason at most 500 bytes */
    int64_t size;             /* as listed when the outcome came about; -1 unknown */
    int64_t modified_at;      /* the same; 0 unknown */
    struct str version;
    struct str media_type; /* as the source declares it, or empty */
    bool has_sha256;
    struct sha256 sha256;                    /* of the bytes that the outcome is about */
    struct str extractor, chunker, embedder; /* versions and fingerprints it was made with */
    int64_t attempts;                        /* failed ones in a row */
    int64_t seen_run;                        /* the last run that listed it */
    int64_t updated_at;
};

/* *ret_found false when there is no line. Strings live in `arena`. */
ibid_code ledger_find(struct transaction *transaction, int64_t source_id, struct str external_key,
                      struct arena *arena, struct ledger_line *ret, bool *ret_found,
                      ibid_error *err) MUST_CHECK;
/* Writes the line whole (updated_at is set to now; a failure adds to `attempts`, success clears it). */
ibid_code ledger_put(struct transaction *transaction, const struct ledger_line *line,
                     ibid_error *err) MUST_CHECK;
/* Notes only that a run has listed it; false when there is no line yet. */
ibid_code ledger_see(struct transaction *transaction, int64_t source_id, struct str external_key,
                     int64_t run_id, bool *ret_found, ibid_error *err) MUST_CHECK;
/* A document moved to another key: its line goes with it. A line that is there is replaced. */
ibid_code ledger_move(struct transaction *transaction, int64_t source_id, struct str from, struct str to,
                      ibid_error *err) MUST_CHECK;

/* Lines that `run_id` has not listed and that are not removed: after a complete discovery these are gone
 * from the source. By key, after `after_key`; at most `limit`. */
ibid_code ledger_unseen(struct transaction *transaction, int64_t source_id, int64_t run_id,
                        struct str after_key, size_t limit, struct arena *arena, struct ledger_line **ret,
                        size_t *ret_count, ibid_error *err) MUST_CHECK;
/* Lines with an outcome, by key, after `after_key`; at most `limit`: for retry and for reports. */
ibid_code ledger_list(struct transaction *transaction, int64_t source_id, enum ledger_outcome outcome,
                      struct str after_key, size_t limit, struct arena *arena, struct ledger_line **ret,
                      size_t *ret_count, ibid_error *err) MUST_CHECK;
/* Drops a line that never became a document (it vanished from the source). */
ibid_code ledger_forget(struct transaction *transaction, int64_t source_id, struct str external_key,
                        ibid_error *err) MUST_CHECK;

/* Lines by outcome; source_id 0: of all sources. */
ibid_code ledger_count(struct transaction *transaction, int64_t source_id,
                       int64_t ret_counts[LEDGER_OUTCOME_COUNT], ibid_error *err) MUST_CHECK;
/* indexed / (indexed + failed + seen) in percent; 100 when there is nothing to index. */
double ledger_coverage(const int64_t counts[LEDGER_OUTCOME_COUNT]);
