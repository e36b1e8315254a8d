/* The parameters of each route: structs, and the option tables that fill them. The command line builds its
 * flags from the same tables. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/option.h"

struct search_parameters {
    struct option_list query;
    int mode;     /* enum search_mode */
    int group_by; /* enum group_by */
    int64_t top_k, offset, collection_id, source_diversity, neighbours, passage_bytes;
    double score_threshold, similarity_threshold;
    int min_confidence; /* enum confidence_band */
    struct option_list facets;
    bool explain;
};
extern const struct option search_parameters[];
extern const char *const search_other_members[];

struct documents_parameters {
    const char *cursor;
    int64_t limit;
    int64_t source_id, collection_id;
    int state; /* 0: any, else enum processing_state + 1 */
    const char *title;
};
extern const struct option documents_parameters[];

struct upload_parameters {
    int64_t wait; /* microseconds */
};
extern const struct option upload_parameters[];

struct chunks_parameters {
    int64_t collection_id, offset, limit;
    bool boxes;
};
extern const struct option chunks_parameters[];

struct text_parameters {
    int64_t start, end;
};
extern const struct option text_parameters[];

struct content_parameters {
    int64_t expires, user, token;
    const char *signature;
    bool download;
};
extern const struct option content_parameters[];

struct index_parameters {
    struct option_list paths, include, exclude;
    bool hidden, follow_links, reset, force;
    const char *url, *proxy, *credentials;
    bool insecure_ssl;
};
extern const struct option index_parameters[];

struct retry_parameters {
    struct option_list documents;
};
extern const struct option retry_parameters[];

struct source_remove_parameters {
    const char *task;
};
extern const struct option source_remove_parameters[];

struct verify_parameters {
    bool repair;
    int64_t document;
    const char *task;
};
extern const struct option verify_parameters[];

struct extract_parameters {
    const char *path;
    const char *media_type, *charset, *password;
    bool words;
};
extern const struct option extract_parameters[];

struct embed_parameters {
    struct option_list texts;
    int purpose;  /* enum embed_purpose */
    int encoding; /* 0 floats, 1 base64 */
};
extern const struct option embed_parameters[];

struct eval_parameters {
    const char *path;
    const char *task;
};
extern const struct option eval_parameters[];

struct token_parameters {
    const char *name;
    int64_t expires_in; /* microseconds; 0: never */
    bool metrics;
};
extern const struct option token_parameters[];

struct audit_parameters {
    const char *action;
    int64_t before, limit;
};
extern const struct option audit_parameters[];

struct model_parameters {
    const char *name, *from, *mirror;
    bool force;
};
extern const struct option model_parameters[];
