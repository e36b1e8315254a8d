#include "vector_store/embedded/postings.h"

#include <string.h>

enum { LANES = 8, STEPS = POSTINGS_BLOCK / LANES };

/* ---- packing: step s of lane l holds value 8 * s + l ---- */

static unsigned bits_for(unsigned value)
{
    return value ? 32 - (unsigned)__builtin_clz(value) : 0;
}

static void pack_block(struct buffer *out, const uint16_t values[POSTINGS_BLOCK], unsigned bits)
{
    uint16_t words[16][LANES] = {{0}};
    for (unsigned step = 0; step < STEPS && bits; step++) {
        const unsigned word = step * bits / 16, shift = step * bits % 16;
        for (unsigned lane = 0; lane < LANES; lane++) {
            const uint16_t value = values[step * LANES + lane];
            words[word][lane] |= (uint16_t)(value << shift);
            if (shift + bits > 16)
                words[word + 1][lane] |= (uint16_t)(value >> (16 - shift));
        }
    }
    buffer_append(out, words, bits * LANES * sizeof(uint16_t));
}

/* One function for each number of bits: all shifts are constants, all lanes go together. */
static inline __attribute__((always_inline)) void unpack_bits(const unsigned char *data, unsigned bits,
                                                              uint16_t out[POSTINGS_BLOCK])
{
    uint16_t words[17][LANES];
    memcpy(words, data, bits * sizeof words[0]);
    const uint16_t mask = (uint16_t)((1u << bits) - 1);
#pragma GCC unroll 16
    for (unsigned step = 0; step < STEPS; step++) {
        const unsigned word = step * bits / 16, shift = step * bits % 16;
        for (unsigned lane = 0; lane < LANES; lane++) {
            uint16_t value = (uint16_t)(words[word][lane] >> shift);
            if (shift + bits > 16)
                value |= (uint16_t)(words[word + 1][lane] << (16 - shift));
            out[step * LANES + lane] = value & mask;
        }
    }
}

static void unpack_block(const unsigned char *data, unsigned bits, uint16_t out[POSTINGS_BLOCK])
{
    switch (bits) {
#define CASE(n)                    \
    case n:                        \
        unpack_bits(data, n, out); \
        break;
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
        CASE(7)
        CASE(8)
        CASE(9)
        CASE(10)
        CASE(11)
        CASE(12) CASE(13) CASE(14) CASE(15) CASE(16)
#undef CASE
            default : memset(out, 0, POSTINGS_BLOCK * sizeof *out);
    }
}

/* ---- writing ---- */

static struct block_header describe_block(const uint16_t *rows, const uint8_t *tfs, const uint16_t *lengths,
                                          uint32_t previous, uint16_t ret_deltas[POSTINGS_BLOCK])
{
    struct block_header header = {.last_row = rows[POSTINGS_BLOCK - 1], .min_length = UINT16_MAX};
    unsigned all_deltas = 0, all_tfs = 0;
    for (uint32_t i = 0; i < POSTINGS_BLOCK; i++) {
        ret_deltas[i] = (uint16_t)(rows[i] - previous);
        previous = rows[i] + 1u;
        all_deltas |= ret_deltas[i];
        all_tfs |= tfs[i] - 1u;
        if (tfs[i] > header.max_tf)
            header.max_tf = tfs[i];
        if (lengths[rows[i]] < header.min_length)
            header.min_length = lengths[rows[i]];
    }
    header.row_bits = (uint8_t)bits_for(all_deltas);
    header.tf_bits = (uint8_t)bits_for(all_tfs);
    return header;
}

/* A difference with a mark for tf > 1, which then follows. */
static void append_varint(struct buffer *out, unsigned value)
{
    for (; value >= 0x80; value >>= 7)
        buffer_append_u8(out, (value & 0x7F) | 0x80);
    buffer_append_u8(out, value);
}

void postings_append(struct buffer *out, const uint16_t *rows, const uint8_t *tfs, uint32_t count,
                     const uint16_t *lengths)
{
    uint16_t values[POSTINGS_BLOCK];
    const uint32_t whole = count / POSTINGS_BLOCK * POSTINGS_BLOCK;
    for (uint32_t i = 0; i < whole; i += POSTINGS_BLOCK) {
        const struct block_header header =
            describe_block(rows + i, tfs + i, lengths, i ? rows[i - 1] + 1u : 0, values);
        buffer_append(out, &header, sizeof header);
    }
    for (uint32_t i = 0; i < whole; i += POSTINGS_BLOCK) {
        const struct block_header header =
            describe_block(rows + i, tfs + i, lengths, i ? rows[i - 1] + 1u : 0, values);
        pack_block(out, values, header.row_bits);
        for (uint32_t j = 0; j < POSTINGS_BLOCK; j++)
            values[j] = tfs[i + j] - 1;
        pack_block(out, values, header.tf_bits);
    }
    for (uint32_t i = whole; i < count; i++) {
        const unsigned delta = rows[i] - (i ? rows[i - 1] + 1u : 0);
        append_varint(out, delta << 1 | (tfs[i] > 1));
        if (tfs[i] > 1)
            buffer_append_u8(out, tfs[i]);
    }
}

/* ---- reading ---- */

void postings_open(struct postings *postings, const void *data, size_t size, uint32_t count,
                   uint32_t row_limit)
{
    postings->headers = data;
    postings->end = postings->headers + size;
    postings->blocks = count / POSTINGS_BLOCK;
    postings->rest = count % POSTINGS_BLOCK;
    postings->row_limit = row_limit;
    postings->previous = 0;
    postings->count = 0;
    postings->damaged = postings->blocks * sizeof(struct block_header) > size;
    postings->next =
        postings->headers + (postings->damaged ? size : postings->blocks * sizeof(struct block_header));
}

static bool damage(struct postings *postings)
{
    postings->damaged = true;
    postings->count = 0;
    return false;
}

bool postings_peek(const struct postings *postings, struct block_header *ret)
{
    if (postings->damaged || !postings->blocks)
        return false;
    memcpy(ret, postings->headers, sizeof *ret);
    return true;
}

/* Rows from their differences: each is the one before it, plus 1, plus the difference. Eight at a time, by
 * adding neighbours one, two and four places apart. */
static void sum_up(const uint16_t deltas[POSTINGS_BLOCK], uint32_t previous, uint16_t out[POSTINGS_BLOCK])
{
    typedef uint16_t eight __attribute__((vector_size(16)));
    const eight zero = {0}, one = zero + 1;
    eight carry = zero + (uint16_t)(previous - 1);
    for (unsigned at = 0; at < POSTINGS_BLOCK; at += LANES) {
        eight sum;
        memcpy(&sum, deltas + at, sizeof sum);
        sum += one;
        sum += __builtin_shufflevector(zero, sum, 0, 8, 9, 10, 11, 12, 13, 14);
        sum += __builtin_shufflevector(zero, sum, 0, 1, 8, 9, 10, 11, 12, 13);
        sum += __builtin_shufflevector(zero, sum, 0, 1, 2, 3, 8, 9, 10, 11);
        sum += carry;
        memcpy(out + at, &sum, sizeof sum);
        carry = __builtin_shufflevector(sum, sum, 7, 7, 7, 7, 7, 7, 7, 7);
    }
}

static uint32_t sum_of(const uint16_t values[POSTINGS_BLOCK])
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < POSTINGS_BLOCK; i++)
        sum += values[i];
    return sum;
}

static bool read_block(struct postings *postings, const struct block_header *header, bool with_tfs)
{
    const size_t row_size = header->row_bits * 16u, tf_size = header->tf_bits * 16u;
    if (header->row_bits > 16 || header->tf_bits > 8 || header->last_row >= postings->row_limit ||
        (size_t)(postings->end - postings->next) < row_size + tf_size)
        return damage(postings);
    uint16_t values[POSTINGS_BLOCK];
    unpack_block(postings->next, header->row_bits, values);
    /* No row in between is beyond the last one. */
    if (postings->previous + sum_of(values) + POSTINGS_BLOCK != header->last_row + 1u)
        return damage(postings);
    sum_up(values, postings->previous, postings->rows);
    if (with_tfs && header->tf_bits) {
        unpack_block(postings->next + row_size, header->tf_bits, values);
        for (uint32_t i = 0; i < POSTINGS_BLOCK; i++)
            postings->tfs[i] = (uint8_t)(values[i] + 1);
    } else if (with_tfs) {
        memset(postings->tfs, 1, sizeof postings->tfs);
    }
    postings->next += row_size + tf_size;
    postings->headers += sizeof *header;
    postings->blocks--;
    postings->previous = header->last_row + 1u;
    postings->count = POSTINGS_BLOCK;
    return true;
}

static bool read_varint(struct postings *postings, uint32_t *ret)
{
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 21; shift += 7) {
        if (postings->next == postings->end)
            return false;
        const unsigned char byte = *postings->next++;
        value |= (uint32_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *ret = value;
            return true;
        }
    }
    return false;
}

static bool read_rest(struct postings *postings)
{
    uint32_t row = postings->previous;
    for (uint32_t i = 0; i < postings->rest; i++) {
        uint32_t value;
        if (!read_varint(postings, &value))
            return damage(postings);
        row += value >> 1;
        if (row >= postings->row_limit)
            return damage(postings);
        postings->rows[i] = (uint16_t)row++;
        postings->tfs[i] = 1;
        if (value & 1) {
            if (postings->next == postings->end)
                return damage(postings);
            postings->tfs[i] = *postings->next++;
        }
    }
    postings->count = postings->rest;
    postings->rest = 0;
    postings->previous = row;
    return postings->count > 0;
}

static bool read_next(struct postings *postings, bool with_tfs)
{
    struct block_header header;
    postings->count = 0;
    if (postings->damaged)
        return false;
    return postings_peek(postings, &header) ? read_block(postings, &header, with_tfs) : read_rest(postings);
}

bool postings_next(struct postings *postings)
{
    return read_next(postings, true);
}

bool postings_next_rows(struct postings *postings)
{
    return read_next(postings, false);
}

bool postings_next_reaching(struct postings *postings, uint32_t row)
{
    struct block_header header;
    while (postings_peek(postings, &header) && header.last_row < row) {
        const size_t size = (header.row_bits + header.tf_bits) * 16u;
        if ((size_t)(postings->end - postings->next) < size || header.last_row >= postings->row_limit)
            return damage(postings);
        postings->next += size;
        postings->headers += sizeof header;
        postings->blocks--;
        postings->previous = header.last_row + 1u;
    }
    return postings_next(postings);
}
