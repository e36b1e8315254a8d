/* The settings struct, for the files of instance/ alone. */
#pragma once

#include "blob_store/blob_store.h"
#include "embedder/embedder.h"
#include "extract/extract.h"
#include "ingest/ingest.h"
#include "instance/instance.h"
#include "metadata_store/metadata_store.h"
#include "vector_store/vector_store.h"

/* Which member of each seam is used; NULL: the registry's first. */
struct member_settings {
    const char *metadata_store, *blob_store, *index, *embedder;
};

enum { MEMBERS_LIMIT = 16 };

struct instance_settings {
    struct arena arena;
    struct settings *table;
    struct member_settings members;
    struct net_settings net;
    struct extract_settings extract;
    struct ingest_settings ingest;
    /* Settings of each member, in the order of its registry. */
    void *metadata_stores[MEMBERS_LIMIT], *blob_stores[MEMBERS_LIMIT];
    void *vector_stores[MEMBERS_LIMIT], *embedders[MEMBERS_LIMIT];
};
