/* Windows of equal size over the words, as OpenAI-style stores cut. */
#include "chunker/members.h"
#include "chunker/packer.h"

static ibid_code split(const struct extraction *extraction, struct str title, const struct chunking *chunking,
                       const struct token_counter *counter, struct arena *arena, struct chunk **ret_chunks,
                       size_t *ret_count, ibid_error *err)
{
    static const struct packing packing = {.unit = PIECE_WORD, .overlap_words = true};
    return pack_chunks(extraction, title, chunking, counter, &packing, arena, ret_chunks, ret_count, err);
}

const struct chunker_ops chunker_tokens = {
    .name = "tokens",
    .help = "Windows of as many words as fit, each repeating the end of the one before.",
    .version = 1,
    .split = split,
};
