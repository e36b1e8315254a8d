/* Writes a segment (format.h), into memory or into a file. Its parts are pushed in the order of the functions
 * below; the first failure is kept and returned by image_finish. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "vector_store/embedded/format.h"
#include "vector_store/embedded/segment.h"

/* From how many vectors on a segment has codes: fewer are compared byte by byte just as fast. */
enum { CODES_MIN = 1024 };

/* Where a segment goes. */
struct image_target {
    const char *folder; /* NULL: memory */
    uint64_t number;    /* of the file */
};

/* "000012.seg" in the folder; free() the result. */
char *segment_path(const char *folder, uint64_t number);

/* The rows of a segment: parallel arrays, ascending by row_id, borrowed until image_finish. */
struct image_rows {
    uint32_t count; /* 1..SEGMENT_ROWS */
    const int64_t *row_ids, *seqs;
    const uint16_t *lengths;
    const int8_t *const
        *vectors;        /* padded bytes each; NULL for a row without one. NULL when dimension is 0 */
    const float *scales; /* of the vectors */
    uint32_t dimension;
    int64_t seq_low, seq_high;
};

struct image;

struct image *image_new(const struct image_target *target, const struct image_rows *rows)
    __attribute__((returns_nonnull));

/* The next set; keys, and values of a key, ascend. `members` ascend, one or more. */
void image_add_set(struct image *image, uint32_t key, struct str value, const uint16_t *members,
                   uint32_t count);

/* The values of the next key, ascending, and their rows. */
void image_add_numbers(struct image *image, uint32_t key, const double *values, const uint16_t *members,
                       uint32_t count);

/* After all sets and numbers: the vectors and their codes. */
void image_add_vectors(struct image *image);

/* The next term; they ascend by text. Rows ascend, one or more. */
void image_add_term(struct image *image, struct str text, const uint16_t *members, const uint8_t *tfs,
                    uint32_t count);

/* Closes the image; a file is then durable under its name. On failure nothing of it is left. */
ibid_code image_finish(struct image *take_image, struct segment **ret, ibid_error *err) MUST_CHECK;
/* Gives up: nothing of it is left. */
void image_discard(struct image *take_image);
