/* Blocks as they come, cut at lower and lower levels only where one is too large. */
#include "chunker/members.h"
#include "chunker/packer.h"

static ibid_code split(const struct extraction *extraction, struct str title, const struct chunking *chunking,
                       const struct token_counter *counter, struct arena *arena, struct chunk **ret_chunks,
                       size_t *ret_count, ibid_error *err)
{
    static const struct packing packing = {.unit = PIECE_BLOCK};
    return pack_chunks(extraction, title, chunking, counter, &packing, arena, ret_chunks, ret_count, err);
}

const struct chunker_ops chunker_recursive = {
    .name = "recursive",
    .help = "By paragraphs, then sentences, then words; headings bound nothing.",
    .version = 1,
    .split = split,
};
