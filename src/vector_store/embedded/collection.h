/* One collection of the embedded store: its folder, its present snapshot, and the one writer that moves it
 * on.
 *
 *   <folder>/manifest      which segments there are (manifest.h)
 *   <folder>/000001.seg    their files (format.h)
 *
 * New rows make small segments in memory, which merge as they grow and go to a file from `seal_rows` on.
 * What is in memory is lost when the process dies and read again from the truth: the manifest says up to
 * which seq the files reach. Files come before memory, and segments ascend in seq, without overlap, so that a
 * damaged one can be rebuilt from the changes in its range. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "vector_store/embedded/image.h"
#include "vector_store/embedded/rotation.h"
#include "vector_store/embedded/snapshot.h"
#include "vector_store/vector_store.h"

enum {
    GATHER_ROWS = 8192,  /* rows that make a segment at once while catching up */
    FOLLOW_BATCH = 1024, /* changes that are read at a time */
};

struct embedded_options {
    int64_t direct_rows; /* selected rows up to which their bytes are compared at once, not their codes */
    int64_t seal_rows;   /* rows in memory, or changes not durable, that send the memory to a file */
};

/* A range of the truth whose segment was found missing or damaged when the store was opened. */
struct hole {
    uint64_t number;
    int64_t seq_low, seq_high;
};

struct collection {
    struct collection *next; /* in its store */
    atomic_uint references;
    int64_t id;
    uint32_t dimension;
    char *fingerprint; /* of the space, the analysis and the format */
    char *folder;
    const struct row_source *source;
    struct embedded_options options;
    struct rotation *rotation; /* NULL when dimension is 0 */

    pthread_mutex_t writer; /* held by whoever changes the snapshot */
    bool retired;           /* nothing is written any more */
    uint64_t next_number;
    struct hole *holes;
    size_t hole_count;
    _Atomic int64_t durable;
    _Atomic size_t open_holes; /* = hole_count, for readers */
    _Atomic bool rebuilding;

    pthread_mutex_t lock; /* the pointer alone */
    struct snapshot *snapshot;
};

/* Opens what is in the folder, or begins with nothing when there is none, or when it was made for another
 * space. */
ibid_code collection_open(const char *folder, const struct vector_space *space,
                          const struct row_source *source, const struct embedded_options *options,
                          struct collection **ret, ibid_error *err) MUST_CHECK;
struct collection *collection_ref(struct collection *collection);
void collection_unref(struct collection *collection);
/* Whether it was opened for this space. */
bool collection_is_for(const struct collection *collection, const struct vector_space *space);

/* The present state, a new reference. */
struct snapshot *collection_snapshot(struct collection *collection);

ibid_code collection_follow(struct collection *collection, const _Atomic bool *cancel,
                            ibid_error *err) MUST_CHECK;
ibid_code collection_compact(struct collection *collection, const _Atomic bool *cancel,
                             ibid_error *err) MUST_CHECK;
/* Writes what is in memory to a file. */
ibid_code collection_seal(struct collection *collection, ibid_error *err) MUST_CHECK;

/* Waits for the change under way; from then on nothing is written to the folder, which may be another
 * collection's soon. What was selected before can go on reading, but damage is not mended. */
void collection_retire(struct collection *collection);

/* Whether a segment is missing or was found damaged. */
bool collection_is_damaged(struct collection *collection);
/* Rebuilds such segments from the truth. Called by whoever needs their rows; others go on searching. */
ibid_code collection_mend(struct collection *collection, ibid_error *err) MUST_CHECK;
/* Reads everything anew, while searches go on with what there is. */
ibid_code collection_rebuild(struct collection *collection, ibid_error *err) MUST_CHECK;

/* ---- for the files of this module alone ---- */

/* Takes `writer`. IBID_ENOTFOUND, and not taken, when the collection is retired. */
ibid_code collection_begin_change(struct collection *collection, ibid_error *err) MUST_CHECK;
void collection_end_change(struct collection *collection);
/* Under `writer`: writes the manifest of a snapshot that is to come, makes it the present one (taking it
 * over) and removes the files it does not name. On failure nothing changes but that `take_snapshot` is gone.
 */
ibid_code collection_commit(struct collection *collection, struct snapshot *take_snapshot, int64_t durable,
                            ibid_error *err) MUST_CHECK;
/* Under `writer`: the same for a change in memory alone. */
void collection_publish(struct collection *collection, struct snapshot *take_snapshot);
/* Where the next segment goes. */
struct image_target collection_next_file(struct collection *collection);
