/* One publication under way; shared by publish.c (document, rows) and publish_chunks.c (chunks). */
#pragma once

#include "records/id_list.h"
#include "records/publish.h"

/* What the document says of itself, before and, once brought up to date, after. */
struct document_head {
    struct str file_id, title, author, media_type, language, metadata;
    int64_t size, created_at, modified_at, revision_id, indexed_at;
    bool has_sha256;
    struct sha256 sha256;
};

/* A row of the document in one collection, as it was before. */
struct living_row {
    int64_t chunk_id, row_id, embedding_id;
    bool kept;
};

struct publisher {
    struct transaction *transaction;
    const struct publication *publication;
    struct arena *arena;
    ibid_error *err;
    struct document_head head;
    int64_t revision_id, chunk_set_id;
    const struct placement *placements; /* those of the publication, and those that follow */
    size_t placement_count;
    int64_t *chunk_ids;      /* of chunks, one for each of the publication's */
    struct id_list released; /* vectors that a row no longer uses */
    bool changed;            /* anything that a search could see */
    struct publication_result result;
};

/* Stores the publication's chunks into its chunk set; those of `old_set` (0: none) with the same id and words
 * are taken over. Fills chunk_ids. */
ibid_code publish_chunks(struct publisher *publisher, int64_t old_set, ibid_error *err) MUST_CHECK;
