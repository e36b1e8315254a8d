/* The chunker seam: an extraction in, chunks out.
 *
 * To add a chunker:
 *   1. src/chunker/<name>.c with one `const struct chunker_ops`
 *   2. its line in src/chunker/members.h and a row in src/chunker/registry.c
 *   3. a line in src/chunker/meson.build
 *   4. a row in tests/contract/chunker.c, whose invariants it must keep:
 *      the own ranges of the chunks cover all searchable text once and in order; no chunk is over
 *      the size, prefix and special tokens included; no cut inside a code point; every step moves
 *      on; the same input gives the same chunks.
 *
 * Searchable is what a reader sees: page headers and footers, comments, boilerplate and hidden text
 * are left out (a document of nothing but boilerplate keeps it). */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "model/chunk.h"
#include "model/extraction.h"
#include "model/token_counter.h"

struct chunking {
    uint32_t size; /* tokens of a whole chunk's embed_text with special tokens; capped by the window */
    uint32_t overlap_percent; /* 0..50 of the size, in whole sentences; 0 means none */
    uint32_t heading_tokens;  /* at most so many for the heading prefix */
    const char *language;     /* ISO 639-1 for the sentence rules; "" when unknown */
};

struct chunker_ops {
    const char *name; /* "structural" */
    const char *help;
    unsigned version; /* raised when the same input gives other chunks: part of the fingerprint */
    /* `ret_chunks` and its strings live in `arena` or in the extraction. A usable extraction
     * gives at least one chunk; one with hidden text only is IBID_EFORMAT. */
    ibid_code (*split)(const struct extraction *extraction, struct str title, const struct chunking *chunking,
                       const struct token_counter *counter, struct arena *arena, struct chunk **ret_chunks,
                       size_t *ret_count, ibid_error *err);
};

extern const struct chunker_ops *const chunker_registry[]; /* NULL-ended; the first is the default */
const struct chunker_ops *chunker_find(const char *name);

/* Checks `chunking` (size 16..8192 tokens, and room for text beside the prefix), then ops->split. */
ibid_code chunker_split(const struct chunker_ops *ops, const struct extraction *extraction, struct str title,
                        const struct chunking *chunking, const struct token_counter *counter,
                        struct arena *arena, struct chunk **ret_chunks, size_t *ret_count,
                        ibid_error *err) MUST_CHECK;

/* "structural/1 size=256 overlap=10 heading=64 counter=..." : equal fingerprints give equal chunks. */
const char *chunker_fingerprint(const struct chunker_ops *ops, const struct chunking *chunking,
                                const char *counter_id, struct arena *arena);
