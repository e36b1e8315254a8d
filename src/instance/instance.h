/* One open data directory: every member of every seam, built from the settings, and the threads that keep
 * them in step. Doors get a `struct instance` and call ingest/, search/, records/ with what it holds. */
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
#include "ingest/ingest.h"
#include "metadata_store/metadata_store.h"
#include "net/policy.h"
#include "vector_store/vector_store.h"

/* ---- settings --------------------------------------------------------------------------------- */

/* Where the data is: `flag` (from --data) when not NULL, else $IBID_DATA, else $XDG_DATA_HOME/ibid, else
 * ~/.local/share/ibid. free() it. IBID_EINVAL when there is no home folder either. */
ibid_code instance_data_folder(const char *flag, char **ret, ibid_error *err) MUST_CHECK;

/* All settings of an instance: sections data, embedder, embedder.<member>, extract, index, index.<member>,
 * ingest, net. */
struct instance_settings;
struct instance_settings *instance_settings_new(void) __attribute__((returns_nonnull));
void instance_settings_free(struct instance_settings *settings);
/* The table behind them, for what else belongs in it: a door adds its own section before loading, sets
 * flags after it, explains. Lives as long as the settings. */
struct settings *instance_settings_table(struct instance_settings *settings);
/* Reads `config`, or ibid.yaml in the data folder when NULL (which may be missing), then the environment. */
ibid_code instance_settings_load(struct instance_settings *settings, const char *folder, const char *config,
                                 char *const environment[], ibid_error *err) MUST_CHECK;

/* The parts of the settings that work without a data directory: trying out a model, extracting a file. */
const struct extract_settings *instance_settings_extract(const struct instance_settings *settings);
/* Where outgoing requests may go. */
const struct net_settings *instance_settings_net(const struct instance_settings *settings);
/* As the instance would open it; embedder_close() the result. */
ibid_code instance_settings_open_embedder(const struct instance_settings *settings, struct embedder **ret,
                                          ibid_error *err) MUST_CHECK;

/* ---- opening ---------------------------------------------------------------------------------- */

struct instance;

enum instance_mode {
    INSTANCE_CREATE,   /* make the data directory when there is none */
    INSTANCE_EXISTING, /* IBID_ENOTFOUND when there is none */
};

/* Opens the data directory; one process at a time: IBID_EBUSY when another one has it open.
 * `settings` is borrowed and must outlive the instance. */
ibid_code instance_open(const char *folder, const struct instance_settings *settings, enum instance_mode mode,
                        struct instance **ret, ibid_error *err) MUST_CHECK;
/* Cancels runs, waits for threads, closes every member. NULL is fine. */
void instance_close(struct instance *take_instance);

/* ---- its parts: borrowed, thread-safe ----------------------------------------------------------- */

const char *instance_folder(const struct instance *instance);
struct metadata_store *instance_metadata(struct instance *instance);
struct vector_store *instance_vectors(struct instance *instance);
struct blob_store *instance_blobs(struct instance *instance);
struct ingest *instance_ingest(struct instance *instance);
/* Permits for computing: one a core; queries take theirs as urgent. */
struct slots *instance_compute(struct instance *instance);
/* Started at the first call. IBID_EUNAVAILABLE. */
ibid_code instance_extract_pool(struct instance *instance, struct extract_pool **ret,
                                ibid_error *err) MUST_CHECK;
const struct extract_settings *instance_extract_settings(const struct instance *instance);

/* ---- meaning ------------------------------------------------------------------------------------ */

/* Loaded at the first call. IBID_EUNAVAILABLE when it is missing: the error says why and what to do, and
 * everything but searching by meaning goes on. A later call tries again. */
ibid_code instance_embedder(struct instance *instance, struct embedder **ret, ibid_error *err) MUST_CHECK;

#define MEANING_STATE_MAP(X)                                                                              \
    X(READY, "ready")                                                                                     \
    X(EMBEDDER_MISSING, "embedder_missing") /* no model here, or it does not answer */                    \
    X(EMBEDDER_CHANGED, "embedder_changed") /* that of the vectors is not here: the next run makes new */ \
    X(NOTHING_EMBEDDED, "nothing_embedded") /* no vector was made yet */
enum meaning_state {
#define X(name, string) MEANING_##name,
    MEANING_STATE_MAP(X)
#undef X
};
const char *meaning_state_string(enum meaning_state state);

struct meaning {
    enum meaning_state state;
    struct embedder *embedder; /* for queries: the one that made the vectors; NULL unless READY */
    char reason[960];          /* for people: why not; when READY, empty but while the embedder is changed */
};
/* Whether a collection can be searched by meaning, and with what. */
ibid_code instance_meaning(struct instance *instance, int64_t collection_id, struct meaning *ret,
                           ibid_error *err) MUST_CHECK;

/* ---- keeping in step ---------------------------------------------------------------------------- */

/* Wakes the thread that brings committed rows to the vector store. Call it after committing a change of
 * anything that a search sees (document state, workspaces, deletion); ingest does so itself. */
void instance_committed(struct instance *instance);
/* Waits until the vector store has applied everything that was committed before the call; IBID_ETIMEOUT at
 * clock_monotonic_us() == deadline_us (0: for ever), or the error that keeps it from following. */
ibid_code instance_index_settled(struct instance *instance, int64_t deadline_us, ibid_error *err) MUST_CHECK;
/* The same for as long as it takes: asked for once, so that it ends when rounds of the index take long, too.
 * IBID_ECANCELED when the watch (may be NULL; its stage: "index") stops it. */
ibid_code instance_index_await(struct instance *instance, const struct watch *watch,
                               ibid_error *err) MUST_CHECK;
/* What keeps the vector store from following this collection, which is tried again; IBID_OK when nothing
 * does. */
ibid_code instance_index_check(struct instance *instance, int64_t collection_id, ibid_error *err) MUST_CHECK;
/* As instance_index_settled, and removed rows are gone for good from the index and from the records.
 * IBID_ECANCELED soon after `cancel` (NULL: never) is set. */
ibid_code instance_compact(struct instance *instance, const _Atomic bool *cancel, int64_t deadline_us,
                           ibid_error *err) MUST_CHECK;

/* What is wrong with what is stored: see each seam's verify. Findings live in `arena`; none: clean. */
struct instance_finding {
    const char *place;   /* "records", "index, collection 1", "blobs" */
    const char *problem; /* one line */
    bool repaired;
};
/* After a repair the index has followed what it changed. IBID_ECANCELED when the watch (may be NULL) says so;
 * its stages: "index", "database", "records", "texts", "index files", "index rows", "kept files". */
ibid_code instance_verify(struct instance *instance, bool repair, const struct watch *watch,
                          struct arena *arena, struct instance_finding **ret, size_t *ret_count,
                          ibid_error *err) MUST_CHECK;
