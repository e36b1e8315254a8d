/* A chunk that a search found, with the place it comes from and every part of its score. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "model/query.h"
#include "model/row.h"

/* Bytes of a text. */
struct text_range {
    uint32_t start, end;
};

/* How a score came about. A side that played no part is NAN. */
struct hit_score {
    double final;     /* what hits are ordered by: the weighted sum of the four parts; not below 0 */
    double relevance; /* among the candidates of this search: 1 for the best on both sides, 0 where the best
                         fifty end, lower beyond */
    double recency;   /* 0..1, newer is higher; the median of the candidates when no date is known */
    double trust;     /* 0..1, often updated sources are higher; likewise */
    double overlap;   /* 0..1: words and phrases of the query that stand in the chunk verbatim */

    double similarity;   /* clamp(1 - cosine distance, 0, 1) */
    double bm25;         /* >= 0 */
    double dense;        /* similarity as it goes into relevance */
    double keyword;      /* bm25 as it goes into relevance, 0..1 */
    double dense_weight; /* relevance = dense_weight * dense + (1 - dense_weight) * keyword */
    double confidence;   /* 0..1, calibrated for the embedder: comparable between searches */
    enum confidence_band band;
};

/* A chunk beside a hit in its document. */
struct hit_neighbour {
    uint32_t chunk_index;
    uint32_t page_first, page_last;
    struct str text;
};

struct hit {
    int64_t row_id;
    int64_t chunk;       /* number of the chunk, never reused: citations name it */
    struct str chunk_id; /* name of the chunk outside */
    int64_t document_id; /* number of the document: citations name it */
    struct str file_id;  /* name of the document outside */
    int64_t collection_id;

    struct str document_title;
    struct str path;       /* relative path at the source */
    struct str source_url; /* where the original is, or empty */
    struct str source, source_type;
    int64_t source_id;
    struct str author, media_type, language;
    struct str owner;
    enum document_state state;                   /* archived documents are found and flagged */
    int64_t created_at, modified_at, indexed_at; /* 0: unknown */
    const int64_t *workspace_ids;                /* ascending */
    size_t workspace_count;
    struct str document_metadata; /* JSON object */

    uint32_t chunk_index; /* position in the document, from 0 */
    bool has_range;       /* start and end are bytes in the document's canonical text */
    uint32_t start, end;
    uint32_t page_first, page_last; /* 0: the format has no pages */
    struct str heading_path;
    struct str structure;
    struct str chunk_metadata; /* JSON object, or empty */

    struct str text;                            /* the whole chunk as shown */
    struct str passage;                         /* the part of `text` that matches best */
    bool passage_cut_before, passage_cut_after; /* text goes on there */
    const struct text_range *marks; /* words of the passage that match, ascending, in bytes of the passage */
    size_t mark_count;
    const struct hit_neighbour *neighbours; /* by chunk_index, without the hit itself */
    size_t neighbour_count;

    struct hit_score score;
    struct str explanation; /* one line a person can read; empty unless asked for */
};
