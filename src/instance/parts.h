/* struct instance itself, for the files of instance/ alone. */
#pragma once

#include <pthread.h>

#include "instance/follower.h"
#include "instance/instance.h"
#include "instance/late_embedder.h"
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

    struct late_embedder embedder; /* that the settings name */

    pthread_mutex_t lock; /* of all below */
    struct extract_pool *extract_pool;
    struct former *formers; /* embedders that vectors were made by before the settings were changed */
};

/* meaning.c: an embedder of before. */
struct former;
void formers_close(struct former *take_formers); /* NULL is fine */
