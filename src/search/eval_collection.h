/* A judged collection read into memory: see eval.h. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

struct judgement {
    size_t document; /* SIZE_MAX: not in the corpus */
    int score;       /* above 0: relevant */
};

struct judged_query {
    struct str id, text;
    struct judgement *judgements;
    size_t judgement_count;
};

struct eval_document {
    struct str id;
    struct str text; /* title and text */
};

struct eval_collection {
    struct eval_document *documents;
    size_t document_count;
    struct judged_query *queries;
    size_t query_count;
};

/* Everything lives in `arena`. */
ibid_code eval_collection_read(const char *folder, struct arena *arena, struct eval_collection *ret,
                               ibid_error *err) MUST_CHECK;
