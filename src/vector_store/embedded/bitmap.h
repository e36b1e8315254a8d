/* Sets of a segment's rows as bits: bit r % 64 of word r / 64 stands for row r. Bits beyond the last row are
 * 0. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline size_t bitmap_words(uint32_t rows)
{
    return (rows + 63) / 64;
}

static inline bool bitmap_get(const uint64_t *bits, uint32_t row)
{
    return bits[row / 64] >> (row % 64) & 1;
}

static inline void bitmap_set(uint64_t *bits, uint32_t row)
{
    bits[row / 64] |= UINT64_C(1) << (row % 64);
}

/* Sets the rows from `first` to `last`, both included. */
static inline void bitmap_set_range(uint64_t *bits, uint32_t first, uint32_t last)
{
    const uint64_t from = ~UINT64_C(0) << (first % 64), to = ~UINT64_C(0) >> (63 - last % 64);
    if (first / 64 == last / 64) {
        bits[first / 64] |= from & to;
        return;
    }
    bits[first / 64] |= from;
    for (uint32_t word = first / 64 + 1; word < last / 64; word++)
        bits[word] = ~UINT64_C(0);
    bits[last / 64] |= to;
}

static inline void bitmap_fill(uint64_t *bits, uint32_t rows)
{
    memset(bits, 0, bitmap_words(rows) * sizeof *bits);
    if (rows)
        bitmap_set_range(bits, 0, rows - 1);
}

static inline void bitmap_and(uint64_t *bits, const uint64_t *other, size_t words)
{
    for (size_t i = 0; i < words; i++)
        bits[i] &= other[i];
}

static inline void bitmap_and_not(uint64_t *bits, const uint64_t *other, size_t words)
{
    for (size_t i = 0; i < words; i++)
        bits[i] &= ~other[i];
}

static inline void bitmap_or(uint64_t *bits, const uint64_t *other, size_t words)
{
    for (size_t i = 0; i < words; i++)
        bits[i] |= other[i];
}

/* Side by side rather than with the processor's instruction, which not every processor has: the loop becomes
 * vector instructions. */
static inline uint32_t bitmap_count(const uint64_t *bits, size_t words)
{
    const uint64_t pairs = UINT64_C(0x5555555555555555), fours = UINT64_C(0x3333333333333333);
    const uint64_t bytes = UINT64_C(0x0F0F0F0F0F0F0F0F);
    uint64_t count = 0;
    for (size_t i = 0; i < words; i++) {
        uint64_t word = bits[i];
        word -= word >> 1 & pairs;
        word = (word & fours) + (word >> 2 & fours);
        word = (word + (word >> 4)) & bytes;
        word += word >> 8;
        word += word >> 16;
        count += (word + (word >> 32)) & 0xFF;
    }
    return (uint32_t)count;
}

static inline bool bitmap_is_empty(const uint64_t *bits, size_t words)
{
    uint64_t any = 0;
    for (size_t i = 0; i < words; i++)
        any |= bits[i];
    return any == 0;
}

/* Visits the rows in rising order: while (bitmap_next(&walk, &row)). */
struct bitmap_walk {
    const uint64_t *bits;
    size_t word, words;
    uint64_t rest;
};

static inline struct bitmap_walk bitmap_walk(const uint64_t *bits, size_t words)
{
    return (struct bitmap_walk){bits, 0, words, words ? bits[0] : 0};
}

/* The same from a row on, which is below 64 * words. */
static inline struct bitmap_walk bitmap_walk_from(const uint64_t *bits, size_t words, uint32_t row)
{
    return (struct bitmap_walk){bits, row / 64, words, bits[row / 64] & ~UINT64_C(0) << (row % 64)};
}

static inline bool bitmap_next(struct bitmap_walk *walk, uint32_t *ret_row)
{
    while (!walk->rest) {
        if (++walk->word >= walk->words)
            return false;
        walk->rest = walk->bits[walk->word];
    }
    *ret_row = (uint32_t)walk->word * 64 + (uint32_t)__builtin_ctzll(walk->rest);
    walk->rest &= walk->rest - 1;
    return true;
}
