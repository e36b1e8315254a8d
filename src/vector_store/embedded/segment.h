/* A segment: an immutable image of rows in memory or in a mapped file (format.h), shared by reference.
 *
 * Whatever is read of a file is checked against its checksums before it is used for the first time. Damage
 * marks the segment, and the read fails with IBID_ECORRUPT: who holds the collection then rebuilds it from
 * the truth. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/file.h"
#include "vector_store/embedded/format.h"

struct segment {
    atomic_uint references;
    const unsigned char *data;
    size_t size;
    const struct segment_header *header;  /* a copy: the file may be damaged while it is mapped */
    struct file_map map;                  /* of a file, else empty */
    void *memory;                         /* of an image in memory, else NULL */
    uint64_t number;                      /* of its file; 0 in memory */
    _Atomic unsigned char *pages_checked; /* one a page; NULL in memory */
    _Atomic bool damaged;
    uint32_t rows;
    size_t words; /* of a bitmap over the rows */
};

/* Takes over an image made by image.h. */
struct segment *segment_from_memory(void *take_data, size_t size) __attribute__((returns_nonnull));

/* Maps a file and checks its header and the list of its checksums. IBID_ENOTFOUND, IBID_ECORRUPT (also when
 * its version or byte order is not ours). */
ibid_code segment_open(const char *path, uint64_t number, struct segment **ret, ibid_error *err) MUST_CHECK;

struct segment *segment_ref(struct segment *segment);
void segment_unref(struct segment *segment); /* NULL is fine */

/* `size` bytes at `offset` of a section, checked; NULL when they are damaged or not there. */
const void *segment_read(struct segment *segment, enum section section, size_t offset, size_t size);
/* All of a section. */
const void *segment_section(struct segment *segment, enum section section);

static inline size_t segment_section_size(const struct segment *segment, enum section section)
{
    return segment->header->sections[section].size;
}

/* What to return after a read gave NULL. */
ibid_code segment_damage(struct segment *segment, ibid_error *err);

/* Checks every page, also those that have been checked before. */
ibid_code segment_check(struct segment *segment, ibid_error *err) MUST_CHECK;

/* The place of the first of `count` ascending ids that is >= id; `count` when there is none. */
size_t first_id_at_least(const int64_t *ids, size_t count, int64_t id);
/* *ret_row: the first row with an id >= row_id, segment->rows when there is none. */
ibid_code segment_lower_bound(struct segment *segment, int64_t row_id, uint32_t *ret_row,
                              ibid_error *err) MUST_CHECK;

/* *ret_row: the place of a row, or -1 when the segment does not hold it. */
ibid_code segment_find_row(struct segment *segment, int64_t row_id, int64_t *ret_row,
                           ibid_error *err) MUST_CHECK;

/* Adds the rows of a set to `bits`; a set that is not there adds none. */
ibid_code segment_add_set(struct segment *segment, uint32_t key, struct str value, uint64_t *bits,
                          ibid_error *err) MUST_CHECK;

/* The sets of a key: entries [*ret_first, *ret_end), ascending by value. */
ibid_code segment_sets_of(struct segment *segment, uint32_t key, uint32_t *ret_first, uint32_t *ret_end,
                          ibid_error *err) MUST_CHECK;
ibid_code segment_set_value(struct segment *segment, uint32_t set, struct str *ret,
                            ibid_error *err) MUST_CHECK;
ibid_code segment_add_set_at(struct segment *segment, uint32_t set, uint64_t *bits,
                             ibid_error *err) MUST_CHECK;

/* The rows that have a vector, as bits. */
ibid_code segment_vector_rows(struct segment *segment, uint64_t *bits, ibid_error *err) MUST_CHECK;

/* The values of a number key, ascending, and the rows they belong to; *ret_count 0 when there are none. */
ibid_code segment_numbers(struct segment *segment, uint32_t key, const double **ret_values,
                          const uint16_t **ret_rows, size_t *ret_count, ibid_error *err) MUST_CHECK;

/* A term's entry (a copy) and its postings; *ret_found false when no row holds it. */
struct segment_term {
    struct term_entry entry;
    const void *postings;
    size_t postings_size;
};
ibid_code segment_find_term(struct segment *segment, struct str text, bool *ret_found,
                            struct segment_term *ret, ibid_error *err) MUST_CHECK;
/* The same by number; *ret_text is borrowed from the segment. */
ibid_code segment_term_at(struct segment *segment, uint32_t term, struct str *ret_text,
                          struct segment_term *ret, ibid_error *err) MUST_CHECK;
