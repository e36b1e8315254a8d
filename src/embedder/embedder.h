/* The embedder seam: text in, vectors out.
 *
 * To add an embedder:
 *   1. src/embedder/<name>.c with one `const struct embedder_ops`
 *   2. its line in src/embedder/members.h and a row in src/embedder/registry.c
 *   3. a line in src/embedder/meson.build
 *   4. a row of fixtures in tests/contract/embedder.c, which then tests it */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/option.h"
#include "base/str.h"
#include "model/token_counter.h"

/* What a text is for: models such as E5 and BGE prefix queries and passages differently. */
enum embed_purpose { EMBED_PASSAGE, EMBED_QUERY };

/* What an embedder is; lives as long as the embedder. */
struct embedder_info {
    const char *id;          /* "local/all-MiniLM-L6-v2@<first 12 hex digits of the weights' SHA-256>" */
    const char *precision;   /* "f32", "bf16"; "remote" when unknown */
    const char *fingerprint; /* everything that changes a vector: id, window, pooling, prefixes, precision
                                class. Part of the embedding cache's key */
    size_t dimension;
    size_t max_tokens;            /* window with specials; longer inputs are cut, as the reference does */
    const char *const *languages; /* ISO 639-1 codes it was trained for, NULL-ended; {"*", NULL}: any */
    double similarity_floor; /* cosine that unrelated texts reach at the median: 0 of the calibrated scale */
    double similarity_ceiling; /* cosine of a clear match: 1 of the calibrated scale */
    size_t batch_size;         /* texts per call that suit it best */
    unsigned concurrency;      /* calls at a time that suit it best (local: cores) */
};

struct embedder;
struct net_settings;

/* What an embedder needs besides its own settings. */
struct embedder_context {
    const struct net_settings *net; /* where its requests may go; NULL: the public internet alone */
};

struct embedder_ops {
    const char *name;             /* as in the settings: "local" */
    const char *help;             /* one sentence for `ibid model list` and the manual */
    const struct option *options; /* of the member's settings struct */
    size_t options_size;          /* sizeof that struct */

    /* Loads or connects. `context` (whose net is not NULL) and `options`, a filled settings struct, are
     * borrowed for the call.
     * IBID_EUNAVAILABLE: the model's files are not here (keyword search goes on without it). */
    ibid_code (*open)(const struct embedder_context *context, const void *options, struct embedder **ret,
                      ibid_error *err);
    void (*close)(struct embedder *take_embedder);

    /* Embeds `count` texts (UTF-8, may be empty) into `out`, count rows of `dimension` floats,
     * each of length 1. All or nothing. Thread-safe; the local member computes on the calling thread. */
    ibid_code (*embed)(struct embedder *embedder, enum embed_purpose purpose, const struct str *texts,
                       size_t count, float *out, ibid_error *err);
};

/* First member of every embedder's own struct. */
struct embedder {
    const struct embedder_ops *ops;
    struct embedder_info info;
    struct token_counter token_counter;
    char *options; /* set by embedder_open(): JSON object of what it was opened with, without secrets */
};

/* All members, NULL-ended; the first is the default. */
extern const struct embedder_ops *const embedder_registry[];
const struct embedder_ops *embedder_find(const char *name); /* NULL when there is none */

/* `context` may be NULL: nothing but the defaults; `options` as for ops->open. Close the result with
 * embedder_close(). IBID_EUNSUPPORTED: its vectors are longer than VECTOR_DIMENSION_MAX. */
ibid_code embedder_open(const struct embedder_ops *ops, const struct embedder_context *context,
                        const void *options, struct embedder **ret, ibid_error *err) MUST_CHECK;
/* Opens what an embedder that is kept by its info.id and `options` was opened as; secrets are taken from
 * `current`, the settings struct of the member of that name (NULL for a member: none), where it sends them to
 * the same place. Only what it embeds tells whether it is the same: compare the fingerprint.
 * IBID_EUNAVAILABLE as embedder_open(); IBID_EUNSUPPORTED when there is no such member any more. */
ibid_code embedder_reopen(struct str id, struct str options, const struct embedder_context *context,
                          const void *const current[], struct embedder **ret, ibid_error *err) MUST_CHECK;
void embedder_close(struct embedder *take_embedder); /* NULL is fine */

/* See embedder_ops.embed. Checks count > 0 and that no vector is zero or not finite. */
ibid_code embedder_embed(struct embedder *embedder, enum embed_purpose purpose, const struct str *texts,
                         size_t count, float *out, ibid_error *err) MUST_CHECK;

/* Whether the embedder knows the language (ISO 639-1; "" or NULL: unknown, counts as known). */
bool embedder_knows_language(const struct embedder *embedder, const char *language);
