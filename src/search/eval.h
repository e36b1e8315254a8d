/* Measures relevance on a judged collection in the BEIR layout:
 *
 *   corpus.jsonl    {"_id": "1", "title": "...", "text": "..."}     title may be missing
 *   queries.jsonl   {"_id": "q1", "text": "..."}
 *   qrels.tsv       a header, then: query-id <TAB> corpus-id <TAB> score      (or qrels/test.tsv)
 *
 * Whole documents are indexed in memory, and searched by the code that serves searches: the keyword and the
 * vector side alone, and both as they are served. Nothing is stored. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "embedder/embedder.h"
#include "search/settings.h"

enum {
    EVAL_LINE_LIMIT = 16 * 1024 * 1024, /* bytes */
    EVAL_DOCUMENT_LIMIT = 1000000,
    EVAL_QUERY_LIMIT = 100000,
    EVAL_JUDGEMENT_LIMIT = 10000000,
};

/* Means over the queries that have a relevant document, 0..1. */
struct eval_scores {
    double ndcg10; /* linear gain, as trec_eval */
    double recall100;
    double mrr10;
};

struct eval_report {
    size_t documents;
    size_t queries;         /* measured: with a relevant document */
    size_t skipped_queries; /* without */
    bool has_vector;        /* an embedder was there: `vector` and `hybrid` are filled in */
    struct eval_scores keyword, vector, hybrid;
    double embed_seconds, search_seconds;
};

struct eval_options {
    struct embedder *embedder; /* NULL: keyword only */
    const struct search_settings *settings;
    unsigned threads; /* 0: as many as cores */
    /* Called from time to time by one thread; NULL is fine. `stage`: "embedding", "searching". */
    void (*progress)(const char *stage, size_t done, size_t total, void *context);
    void *progress_context;
    const _Atomic bool *cancel; /* NULL, or stops with IBID_ECANCELED when it becomes true */
};

/* IBID_ENOTFOUND when a file is missing; IBID_EFORMAT names file, line and what is wrong with it;
 * IBID_ETOOBIG the limit crossed. */
ibid_code eval_run(const char *folder, const struct eval_options *options, struct eval_report *ret,
                   ibid_error *err) MUST_CHECK;
