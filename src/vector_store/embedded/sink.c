#include "vector_store/embedded/sink.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"

enum { PAGES_AT_ONCE = 32 };
#define IMAGE_LIMIT (UINT64_C(8) << 30)

void sink_start(struct sink *sink, int fd)
{
    static const char zeros[SEGMENT_HEADER_SIZE];
    *sink = (struct sink){.bytes = BUFFER(IMAGE_LIMIT), .fd = fd, .checksums = BUFFER(IMAGE_LIMIT)};
    sink->position = SEGMENT_HEADER_SIZE;
    if (fd < 0)
        buffer_append(&sink->bytes, zeros, sizeof zeros);
    else
        sink->code = file_write_fd(fd, zeros, sizeof zeros, &sink->error);
}

void sink_release(struct sink *sink)
{
    buffer_release(&sink->bytes);
    buffer_release(&sink->checksums);
    if (sink->fd >= 0)
        close(sink->fd);
    sink->fd = -1;
}

/* Writes the bytes at hand, whole pages but for the last of all. */
static void flush(struct sink *sink, bool is_last)
{
    size_t size = sink->bytes.size;
    if (!is_last)
        size -= size % SEGMENT_PAGE_SIZE;
    for (size_t at = 0; at < size; at += SEGMENT_PAGE_SIZE) {
        const size_t page = size - at < SEGMENT_PAGE_SIZE ? size - at : SEGMENT_PAGE_SIZE;
        const uint64_t sum = checksum64(sink->bytes.data + at, page, sink->checksums.size / sizeof sum);
        buffer_append(&sink->checksums, &sum, sizeof sum);
    }
    if (sink->code == IBID_OK && size)
        sink->code = file_write_fd(sink->fd, sink->bytes.data, size, &sink->error);
    const size_t rest = sink->bytes.size - size;
    if (rest)
        memmove(sink->bytes.data, sink->bytes.data + size, rest);
    buffer_truncate(&sink->bytes, rest);
}

void sink_append(struct sink *sink, const void *data, size_t size)
{
    const char *bytes = data;
    sink->position += size;
    while (size) {
        size_t part = size;
        if (sink->fd >= 0 && part > SEGMENT_PAGE_SIZE)
            part = SEGMENT_PAGE_SIZE;
        buffer_append(&sink->bytes, bytes, part);
        bytes += part;
        size -= part;
        if (sink->fd >= 0 && sink->bytes.size >= PAGES_AT_ONCE * SEGMENT_PAGE_SIZE)
            flush(sink, false);
    }
}

void sink_align(struct sink *sink)
{
    static const char zeros[SEGMENT_ALIGNMENT];
    sink_append(sink, zeros, (SEGMENT_ALIGNMENT - sink->position % SEGMENT_ALIGNMENT) % SEGMENT_ALIGNMENT);
}

struct str sink_end_pages(struct sink *sink)
{
    if (sink->fd >= 0)
        flush(sink, true);
    return buffer_str(&sink->checksums);
}

ibid_code sink_finish(struct sink *sink, const void *header, size_t size, ibid_error *err)
{
    if (sink->code == IBID_OK)
        sink->code = buffer_check(&sink->bytes, "a segment of the index", &sink->error);
    if (sink->code == IBID_OK && sink->fd < 0)
        memcpy(sink->bytes.data, header, size);
    if (sink->code == IBID_OK && sink->fd >= 0) {
        sink->code = file_write_fd(sink->fd, sink->bytes.data, sink->bytes.size, &sink->error);
        if (sink->code == IBID_OK && pwrite(sink->fd, header, size, 0) != (ssize_t)size)
            sink->code = fail_errno(&sink->error, errno ? errno : EIO, "cannot write");
        if (sink->code == IBID_OK && fsync(sink->fd) != 0)
            sink->code = fail_errno(&sink->error, errno, "cannot sync");
    }
    if (sink->code != IBID_OK && err)
        *err = sink->error;
    return sink->code;
}
