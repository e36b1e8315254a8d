/* struct instance itself, for the files of instance/ alone. */
#pragma once

#include <pthread.h>

#include "instance/follower.h"
#include "instance/instance.h"
#include "records/row_feed.h"

struct instance {
    char *folder;
    const struct instance_settings *settings;
    struct metadata_store *metadata;
    struct blob_store *blobs;
    struct row_source *rows;
    struct vector_store *vectors;
    struct follower *follower;
    struct slots *compute;
    struct ingest_host host;
    struct ingest *ingest;

    pthread_mutex_t lock; /* of all below */
    struct extract_pool *extract_pool;
    struct embedder *embedder;
    pthread_cond_t embedder_tried;
    bool embedder_opening;     /* a thread does, without the lock */
    ibid_error embedder_error; /* of the last try */
    int64_t embedder_tried_us; /* 0: never */

    pthread_mutex_t former_lock; /* held while one is opened, too */
    struct former *formers;      /* embedders that vectors were made by before the settings were changed */
};

/* meaning.c: an embedder of before, or why it cannot be had. */
struct former;
void formers_close(struct former *take_formers); /* NULL is fine */
