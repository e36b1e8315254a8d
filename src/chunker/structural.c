/* By the document's own structure: heading > block > list item or row > sentence > word. */
#include "chunker/members.h"
#include "chunker/packer.h"

static ibid_code split(const struct extraction *extraction, struct str title, const struct chunking *chunking,
                       const struct token_counter *counter, struct arena *arena, struct chunk **ret_chunks,
                       size_t *ret_count, ibid_error *err)
{
    static const struct packing packing = {.structure = true, .unit = PIECE_BLOCK};
    return pack_chunks(extraction, title, chunking, counter, &packing, arena, ret_chunks, ret_count, err);
}

const struct chunker_ops chunker_structural = {
    .name = "structural",
    .help =
        "By headings, paragraphs, rows and sentences, with the headings above each chunk embedded with it.",
    .version = 1,
    .split = split,
};
