/* The stored form of one page: where each of its words lies.
 *
 * Words follow each other in text and mostly on one line, so every number is stored as its difference
 * from what the word before suggests, zigzag-coded in as few 7-bit groups as it takes (the varints of
 * Protocol Buffers). Coordinates are in twentieths of a point (the twip): 0.05 pt is below what a
 * screen shows. About 7 bytes a word. */
#pragma once

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "model/extraction.h"

struct page_layout {
    struct page page;
    const struct word_box *words; /* rise in start */
    size_t word_count;
};

/* Appends the blob of a page. Coordinates are clamped to +-100,000 points; those that are no
 * numbers become 0. */
void page_layout_append(struct buffer *out, const struct page_layout *layout);

/* Reads a blob back; `page.start` and `page.number` are not in it but given, as the table has them.
 * IBID_ECORRUPT when it is damaged. Words live in `arena`. */
ibid_code page_layout_read(struct str blob, uint32_t number, uint32_t start, struct arena *arena,
                           struct page_layout *ret, ibid_error *err) MUST_CHECK;
