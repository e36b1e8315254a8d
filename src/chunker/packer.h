/* Packs the pieces of a document into chunks: what all chunkers share that count tokens. */
#pragma once

#include "chunker/chunker.h"
#include "chunker/splitter.h"

/* What makes the difference between them. */
struct packing {
    bool structure;        /* headings bound chunks and stand before the embedded text; tables stand apart */
    enum piece_level unit; /* text comes in pieces of this level, which stay whole where they can */
    bool overlap_words;    /* repeats whole words of the chunk before, else whole sentences */
};

/* As chunker_ops.split, with a `chunking` that chunker_split has checked. */
ibid_code pack_chunks(const struct extraction *extraction, struct str title, const struct chunking *chunking,
                      const struct token_counter *counter, const struct packing *packing, struct arena *arena,
                      struct chunk **ret_chunks, size_t *ret_count, ibid_error *err) MUST_CHECK;
