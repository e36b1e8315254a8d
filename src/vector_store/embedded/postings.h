/* Postings of one term in one segment: which rows hold it, and how often.
 *
 *   struct block_header[count / 128], then their packed rows and counts, then what is left over as varints
 *
 * A block holds 128 postings: differences of the rows, then counts less 1, each packed with as many bits as
 * its largest takes, in 8 lanes of 16 bits side by side (after Lemire & Boytsov, "Decoding billions of
 * integers per second through vectorization", 2015), which a compiler turns into vector instructions. The
 * header tells what is needed to skip the block: its last row, and the bound for what it can add to a score.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum { POSTINGS_BLOCK = 128 };

struct block_header {
    uint16_t last_row;
    uint16_t min_length;
    uint8_t max_tf;
    uint8_t row_bits, tf_bits; /* 0..16, 0..8 */
    uint8_t reserved;
};

/* Appends the postings of a term. `rows` ascend; `lengths` are those of all the segment's rows. */
void postings_append(struct buffer *out, const uint16_t *rows, const uint8_t *tfs, uint32_t count,
                     const uint16_t *lengths);

/* Walks over stored postings, block by block. */
struct postings {
    const unsigned char *headers;    /* struct block_header, not aligned */
    const unsigned char *next, *end; /* what has not been read */
    uint32_t blocks;                 /* whole blocks left */
    uint32_t rest;                   /* postings behind them */
    uint32_t row_limit;              /* rows of the segment */
    uint32_t previous;               /* last row read, + 1 */
    bool damaged;                    /* the bytes are no postings: the walk ended early */
    /* The block at hand. */
    uint32_t count;
    uint16_t rows[POSTINGS_BLOCK];
    uint8_t tfs[POSTINGS_BLOCK];
};

/* `count`: postings of the term, from its entry. */
void postings_open(struct postings *postings, const void *data, size_t size, uint32_t count,
                   uint32_t row_limit);

/* Reads the next block into rows, tfs and count (of the last, less than 128). False at the end or when
 * damaged. */
bool postings_next(struct postings *postings);
/* The same without tfs. */
bool postings_next_rows(struct postings *postings);

/* Like postings_next, but passes over whole blocks that end before `row` without unpacking them. */
bool postings_next_reaching(struct postings *postings, uint32_t row);

/* The header of the block that postings_next would read, when it is a whole one. */
bool postings_peek(const struct postings *postings, struct block_header *ret);
