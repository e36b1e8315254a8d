/* libibid: index documents and find passages in them, with the place they come from.
 *
 *     ibid_error error;
 *     ibid_index *index;
 *     ibid_results *results;
 *     if (ibid_open(NULL, &index, &error) != IBID_OK) ...
 *     ibid_index_paths(index, (const char *const[]){"/home/me/notes"}, 1, NULL, NULL, &error);
 *     ibid_search(index, "how are invoices approved?", NULL, &results, &error);
 *     for (size_t i = 0; i < ibid_results_count(results); i++)
 *         printf("%s: %s\n", ibid_results_hit(results, i)->document_title, ibid_results_hit(results,
 * i)->passage);
 *
 * Rules. Every function that can fail returns an ibid_code and fills the last argument, which may be NULL.
 * `ret` arguments are written on success only. Arguments are borrowed for the call; what is returned lives as
 * long as the object it came from. Handles may be used by several threads at once; results by one at a time.
 * Text is UTF-8. NULL options mean the defaults; else start from an _INIT macro, which sets `size`: so
 * structs may grow at their end without breaking programs built before.
 *
 * The data folder is the one that the program `ibid` uses. When a server or a command has it open, this
 * library goes through that process; else it opens the data itself and lets commands in while it is open. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <ibid/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IBID_API __attribute__((visibility("default")))

/* "0.1.0" */
IBID_API const char *ibid_version(void);

/* ---- opening ---- */

typedef struct ibid_index ibid_index;

typedef struct ibid_open_options {
    size_t size;
    const char *folder;          /* data folder; NULL: $IBID_DATA, else ~/.local/share/ibid */
    const char *config;          /* settings; NULL: ibid.yaml in the data folder, if it is there */
    const char *const *settings; /* "section.name=value", ended by NULL; NULL: none. They win over the
                                    environment (IBID_SECTION_NAME), which wins over the file */
    int is_private;              /* not 0: other processes are kept out while this one has the data open */
} ibid_open_options;
#define IBID_OPEN_OPTIONS_INIT                         \
    {                                                  \
        sizeof(ibid_open_options), NULL, NULL, NULL, 0 \
    }

/* Reads the settings. The data is opened by the first call that needs it, and made by the first that adds to
 * it. IBID_EINVAL names a wrong setting. */
IBID_API ibid_code ibid_open(const ibid_open_options *options, ibid_index **ret, ibid_error *err);
/* No other call may be under way. NULL is fine. */
IBID_API void ibid_close(ibid_index *index);

/* ---- indexing ---- */

typedef struct ibid_progress {
    int64_t done, total; /* documents; the total grows while folders are still being listed */
    double documents_per_second;
    const char *current; /* a document under way, or "" */
} ibid_progress;

typedef struct ibid_index_options {
    size_t size;
    const char *const *include; /* patterns, ended by NULL; NULL: everything */
    const char *const *exclude;
    int force; /* not 0: read everything anew */
    /* Called some times a second. Anything but 0 stops the run: what was indexed stays. NULL: none. */
    int (*progress)(const ibid_progress *progress, void *context);
    void *context;
} ibid_index_options;
#define IBID_INDEX_OPTIONS_INIT                               \
    {                                                         \
        sizeof(ibid_index_options), NULL, NULL, 0, NULL, NULL \
    }

typedef struct ibid_index_report {
    int64_t indexed, unchanged, moved, removed, skipped, failed; /* documents */
    int64_t chunks;
} ibid_index_report;

/* Brings folders and files (absolute or relative paths) into the index, or up to date, and waits for the end.
 * No paths: all folders indexed before. A document that cannot be read is counted, not an error. `ret` may be
 * NULL. IBID_ECONFLICT: a run is under way. IBID_ECANCELED: `progress` stopped it. */
IBID_API ibid_code ibid_index_paths(ibid_index *index, const char *const *paths, size_t count,
                                    const ibid_index_options *options, ibid_index_report *ret,
                                    ibid_error *err);

/* ---- searching ---- */

typedef enum ibid_mode { IBID_HYBRID, IBID_VECTOR, IBID_KEYWORD } ibid_mode;

typedef struct ibid_search_options {
    size_t size;
    ibid_mode mode;
    size_t top_k;           /* 0: 10; at most 1000 */
    size_t offset;          /* hits to pass over first */
    int by_document;        /* not 0: the best passage of each document instead of every passage */
    const char *filter;     /* "language=de and page>=3", or JSON; NULL: none */
    double score_threshold; /* leaves out hits whose confidence (0 to 1) is lower */
    size_t passage_bytes;   /* about how long a passage is; 0: 480 */
} ibid_search_options;
#define IBID_SEARCH_OPTIONS_INIT                                        \
    {                                                                   \
        sizeof(ibid_search_options), IBID_HYBRID, 0, 0, 0, NULL, 0.0, 0 \
    }

typedef struct ibid_range {
    uint32_t start, end; /* bytes */
} ibid_range;

/* A passage that was found. Structs like this one grow at their end: read them through the pointer only. */
typedef struct ibid_hit {
    double score;                /* hits are ordered by it */
    double confidence;           /* 0 to 1, comparable between searches */
    const char *confidence_band; /* "high", "medium", "low" */
    int64_t document_id;
    const char *file_id, *chunk_id; /* stable names */
    const char *document_title;
    const char *path, *source_url; /* "" when not known */
    const char *heading_path;      /* "Chapter 1 › Scope", or "" */
    unsigned page, page_last;      /* 0: the format has no pages */
    uint32_t start, end;           /* the chunk's bytes in the document's text */
    const char *passage;           /* what matches best of the chunk */
    const char *text;              /* the whole chunk */
    const ibid_range *marks;       /* matching words of the passage, ascending */
    size_t mark_count;
} ibid_hit;

typedef struct ibid_results ibid_results;

/* IBID_ENOTFOUND: nothing was ever indexed. Without an embedding model a hybrid search goes by word alone:
 * see ibid_results_remark. IBID_EUNAVAILABLE: IBID_VECTOR without a model. */
IBID_API ibid_code ibid_search(ibid_index *index, const char *query, const ibid_search_options *options,
                               ibid_results **ret, ibid_error *err);
IBID_API size_t ibid_results_count(const ibid_results *results);
/* NULL when there are not so many. */
IBID_API const ibid_hit *ibid_results_hit(const ibid_results *results, size_t number);
/* Why the search was less than what was asked for (no model...); "" when it was not. */
IBID_API const char *ibid_results_remark(const ibid_results *results);
IBID_API void ibid_results_free(ibid_results *results); /* NULL is fine */

/* ---- documents ---- */

typedef struct ibid_document {
    int64_t id;
    const char *file_id, *document_title, *path, *source, *media_type, *language;
    const char *processing_state; /* "completed", "pending", "in_progress", "failed", "skipped" */
    const char *reason;           /* why it failed or was skipped, or "" */
    int64_t size;                 /* bytes */
    const char *indexed_at;       /* RFC 3339, or "" */
} ibid_document;

typedef struct ibid_documents ibid_documents;

typedef struct ibid_list_options {
    size_t size;
    const char *state;  /* NULL: any */
    const char *title;  /* part of a title or path; NULL: any */
    const char *cursor; /* ibid_documents_cursor of the page before; NULL: the first page */
    size_t limit;       /* 0: 100; at most 1000 */
} ibid_list_options;
#define IBID_LIST_OPTIONS_INIT                         \
    {                                                  \
        sizeof(ibid_list_options), NULL, NULL, NULL, 0 \
    }

IBID_API ibid_code ibid_documents_list(ibid_index *index, const ibid_list_options *options,
                                       ibid_documents **ret, ibid_error *err);
IBID_API size_t ibid_documents_count(const ibid_documents *documents);
IBID_API const ibid_document *ibid_documents_get(const ibid_documents *documents, size_t number);
/* Where the next page begins; NULL on the last one. */
IBID_API const char *ibid_documents_cursor(const ibid_documents *documents);
IBID_API void ibid_documents_free(ibid_documents *documents); /* NULL is fine */

/* Removes a document from the index for good. IBID_ENOTFOUND. */
IBID_API ibid_code ibid_document_remove(ibid_index *index, int64_t document_id, ibid_error *err);

/* ---- everything else ---- */

/* Calls a route of the REST interface (see GET /api/v1/openapi.json), for what has no function here. `body`
 * is JSON or NULL. *ret_body, the answer, is to be freed with ibid_free(). */
IBID_API ibid_code ibid_request(ibid_index *index, const char *method, const char *target, const char *body,
                                char **ret_body, ibid_error *err);
IBID_API void ibid_free(void *pointer);

#ifdef __cplusplus
}
#endif
