/* The file that says which segments make up a collection: replaced as a whole, so that it always names a
 * state that was once true. Whatever it does not name is left over from an interrupted write and is removed.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"

#define MANIFEST_NAME "manifest"

enum { MANIFEST_LIMIT = 256 * 1024 * 1024, MANIFEST_SEGMENTS = 1 << 20 };

struct manifest_segment {
    uint64_t number;
    int64_t seq_low, seq_high;
    uint32_t rows;
    uint64_t dead_words; /* sum of the lengths of dead rows */
    struct str dead;     /* row_set.h; empty: none */
};

struct manifest {
    int64_t collection_id;
    uint32_t dimension;
    struct str fingerprint;
    int64_t durable;      /* all changes up to this seq are in the segments */
    uint64_t next_number; /* of a segment's file */
    uint32_t count;
    struct manifest_segment *segments; /* oldest first */
};

void manifest_append(const struct manifest *manifest, struct buffer *out);

/* Reads a manifest; strings point into `bytes`. IBID_ECORRUPT when it is damaged, or made by another version
 * or on a machine with another byte order. */
ibid_code manifest_parse(struct str bytes, struct arena *arena, struct manifest *ret,
                         ibid_error *err) MUST_CHECK;
