/* The layout of a segment: an immutable image of up to SEGMENT_ROWS rows, the same in memory and in a file.
 *
 *   header (SEGMENT_HEADER_SIZE bytes, with a checksum of its own)
 *   sections, each at a multiple of 64 bytes, in the order of enum section
 *
 * The bytes between header and checksum section are cut into pages; the last section holds a checksum for
 * each, so that whatever is read can be checked when it is first read, and nothing else has to be. Integers
 * and floats are those of the machine; `byte_order` tells, and a foreign file is rebuilt.
 *
 * Rows ascend by row_id; a row's place is its number within the segment. */
#pragma once

#include <stdint.h>

#include "base/str.h"

#define SEGMENT_MAGIC "ibidseg"

enum {
    SEGMENT_VERSION = 1,
    SEGMENT_BYTE_ORDER = 0x01020304,
    SEGMENT_HEADER_SIZE = 1024,
    SEGMENT_PAGE_SIZE = 16384,
    SEGMENT_ROWS = 65536,
    SEGMENT_ALIGNMENT = 64,
    CODE_BLOCK_ROWS = 8, /* rows whose codes stand word by word side by side */
};

enum section {
    SECTION_ROW_IDS,       /* int64 a row, ascending */
    SECTION_SEQS,          /* int64 a row */
    SECTION_LENGTHS,       /* uint16 a row: words (vector_store/bm25.h) */
    SECTION_SETS,          /* struct set_entry, ascending by key, then value */
    SECTION_SET_VALUES,    /* bytes of their values */
    SECTION_SET_ROWS,      /* their rows (row_set.h) */
    SECTION_NUMBERS,       /* struct number_entry, ascending by key */
    SECTION_NUMBER_VALUES, /* double, ascending within an entry */
    SECTION_NUMBER_ROWS,   /* uint16, parallel to the values */
    SECTION_SCALES,        /* float a row: of its byte vector; 0 without one */
    SECTION_VECTORS,       /* int8[padded] a row: the rotated vector divided by the scale */
    SECTION_CENTROID,      /* float[padded]: mean of the rotated vectors; empty without codes */
    SECTION_CODE_OFFSETS,  /* float a row, filled up to whole blocks */
    SECTION_CODE_SCALES,   /* float a row, likewise */
    SECTION_CODES,         /* uint64[padded / 64][CODE_BLOCK_ROWS] a block: signs of the centred vectors */
    SECTION_POSTINGS,      /* postings of one term after those of another (postings.h) */
    SECTION_TERM_PREFIXES, /* uint64 a term: its first 8 bytes, most significant first */
    SECTION_TERMS,         /* struct term_entry, ascending by text */
    SECTION_TERM_TEXTS,    /* their bytes */
    SECTION_CHECKSUMS,     /* uint64 a page */
    SECTION_COUNT
};

struct section_range {
    uint64_t offset, size;
};

struct segment_header {
    char magic[8];
    uint32_t version, byte_order;
    uint64_t size; /* of the whole image */
    uint64_t rotation_seed;
    int64_t seq_low, seq_high; /* holds the rows last changed in seq_low < seq <= seq_high */
    int64_t first_row_id, last_row_id;
    uint64_t words;             /* sum of the lengths */
    uint32_t rows, vectors;     /* vectors: rows that have one */
    uint32_t dimension, padded; /* padded: dimension rounded up to 64 */
    uint32_t terms, sets, numbers;
    uint32_t candidates;   /* how many candidates of its codes 10 results take: see recall.h */
    float centroid_square; /* squared length of the centroid */
    uint32_t reserved;
    struct section_range sections[SECTION_COUNT];
    uint64_t checksums_checksum; /* of the checksum section */
    uint64_t checksum;           /* of the header up to here */
};
_Static_assert(sizeof(struct segment_header) <= SEGMENT_HEADER_SIZE, "the header outgrows its place");

/* What a set of rows stands for. */
enum set_key {
    SET_STATE,         /* value: one byte, enum document_state */
    SET_WORKSPACE,     /* value: the id in 8 bytes, most significant first */
    SET_HAS_VECTOR,    /* no value */
    SET_ATTRIBUTE = 8, /* + position in filter_keys[]; value: the text */
};

struct set_entry {
    uint32_t key;
    uint32_t value_offset, value_size;
    uint32_t rows_offset, rows_size;
    uint32_t count;
};

struct number_entry {
    uint32_t key; /* position in filter_keys[] */
    uint32_t count;
    uint64_t first; /* position of its first value and row */
};

struct term_entry {
    uint32_t text_offset, postings_offset;
    uint16_t count_less_one; /* rows that hold the term, less 1 */
    uint16_t min_length;     /* of those rows */
    uint8_t max_tf;
    uint8_t text_size;
    uint16_t reserved;
};

static inline uint32_t term_entry_count(const struct term_entry *entry)
{
    return entry->count_less_one + 1u;
}

/* The first 8 bytes of a text as a number that orders as str_compare does, as far as they tell. */
static inline uint64_t term_prefix(struct str text)
{
    uint64_t prefix = 0;
    const size_t size = text.size < 8 ? text.size : 8;
    for (size_t i = 0; i < size; i++)
        prefix |= (uint64_t)(unsigned char)text.data[i] << (56 - 8 * i);
    return prefix;
}

/* The value of a SET_WORKSPACE: ids ascend as their bytes do. Written to `out`. */
static inline struct str set_workspace_value(int64_t workspace_id, char out[8])
{
    const uint64_t shifted = (uint64_t)workspace_id ^ UINT64_C(1) << 63;
    for (unsigned i = 0; i < 8; i++)
        out[i] = (char)(shifted >> (56 - 8 * i));
    return (struct str){out, 8};
}
