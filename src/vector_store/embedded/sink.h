/* Where the bytes of an image go: memory, or a file whose pages get checksums on the way. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "vector_store/embedded/format.h"

struct sink {
    struct buffer bytes;     /* of a file: what has not been written yet */
    uint64_t position;       /* bytes so far */
    int fd;                  /* -1: memory */
    struct buffer checksums; /* uint64 a page; file only */
    ibid_code code;          /* of the first failure */
    ibid_error error;
};

/* Begins with SEGMENT_HEADER_SIZE bytes of 0. `fd` is owned by the sink; -1 for memory. */
void sink_start(struct sink *sink, int fd);
void sink_release(struct sink *sink);

void sink_append(struct sink *sink, const void *data, size_t size);
void sink_align(struct sink *sink);

/* No pages after this one: *ret_checksums holds their checksums, borrowed. */
struct str sink_end_pages(struct sink *sink);

/* Writes the header and makes a file durable; returns the first failure. */
ibid_code sink_finish(struct sink *sink, const void *header, size_t size, ibid_error *err) MUST_CHECK;
