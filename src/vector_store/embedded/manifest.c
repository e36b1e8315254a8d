#include "vector_store/embedded/manifest.h"

#include <string.h>

#include "base/hash.h"
#include "vector_store/embedded/format.h"

enum { MANIFEST_VERSION = 1 };

static const char magic[8] = "ibidman";

void manifest_append(const struct manifest *manifest, struct buffer *out)
{
    const size_t start = out->size;
    const uint32_t order = SEGMENT_BYTE_ORDER;
    buffer_append(out, magic, sizeof magic);
    buffer_append(out, &order, sizeof order);
    buffer_append_u32(out, MANIFEST_VERSION);
    buffer_append_u64(out, (unsigned long long)manifest->collection_id);
    buffer_append_u32(out, manifest->dimension);
    buffer_append_u32(out, (unsigned)manifest->fingerprint.size);
    buffer_append_str(out, manifest->fingerprint);
    buffer_append_u64(out, (unsigned long long)manifest->durable);
    buffer_append_u64(out, manifest->next_number);
    buffer_append_u32(out, manifest->count);
    for (uint32_t i = 0; i < manifest->count; i++) {
        const struct manifest_segment *segment = &manifest->segments[i];
        buffer_append_u64(out, segment->number);
        buffer_append_u64(out, (unsigned long long)segment->seq_low);
        buffer_append_u64(out, (unsigned long long)segment->seq_high);
        buffer_append_u32(out, segment->rows);
        buffer_append_u64(out, segment->dead_words);
        buffer_append_u32(out, (unsigned)segment->dead.size);
        buffer_append_str(out, segment->dead);
    }
    if (!out->overflowed)
        buffer_append_u64(out, checksum64(out->data + start, out->size - start, 0));
}

/* What is left to read; `failed` once something was not there. */
struct reader {
    struct str rest;
    bool failed;
};

static struct str read_bytes(struct reader *reader, size_t size)
{
    if (reader->failed || size > reader->rest.size) {
        reader->failed = true;
        return STR_EMPTY;
    }
    const struct str bytes = {reader->rest.data, size};
    reader->rest = str_slice(reader->rest, size, reader->rest.size);
    return bytes;
}

static uint64_t read_integer(struct reader *reader, size_t size)
{
    const struct str bytes = read_bytes(reader, size);
    uint64_t value = 0;
    for (size_t i = 0; i < bytes.size; i++)
        value |= (uint64_t)(unsigned char)bytes.data[i] << (8 * i);
    return value;
}

static ibid_code read_segments(struct reader *reader, struct arena *arena, struct manifest *manifest,
                               ibid_error *err)
{
    enum { LEAST = 40 }; /* bytes of an entry */
    if (manifest->count > MANIFEST_SEGMENTS || manifest->count > reader->rest.size / LEAST)
        return fail(err, IBID_ECORRUPT, "the index manifest is cut off");
    manifest->segments = ARENA_ARRAY(arena, struct manifest_segment, manifest->count);
    int64_t seq_low = INT64_MIN;
    for (uint32_t i = 0; i < manifest->count; i++) {
        struct manifest_segment *segment = &manifest->segments[i];
        segment->number = read_integer(reader, 8);
        segment->seq_low = (int64_t)read_integer(reader, 8);
        segment->seq_high = (int64_t)read_integer(reader, 8);
        segment->rows = (uint32_t)read_integer(reader, 4);
        segment->dead_words = read_integer(reader, 8);
        segment->dead = read_bytes(reader, read_integer(reader, 4));
        if (segment->number == 0 || segment->number >= manifest->next_number || segment->seq_low < seq_low ||
            segment->seq_high < segment->seq_low || segment->rows == 0 || segment->rows > SEGMENT_ROWS)
            return fail(err, IBID_ECORRUPT, "the index manifest names a segment that cannot be");
        seq_low = segment->seq_low;
    }
    return IBID_OK;
}

ibid_code manifest_parse(struct str bytes, struct arena *arena, struct manifest *ret, ibid_error *err)
{
    const uint32_t order = SEGMENT_BYTE_ORDER;
    struct manifest manifest;
    if (bytes.size < 24)
        return fail(err, IBID_ECORRUPT, "the index manifest is cut off");
    struct reader tail = {str_slice(bytes, bytes.size - 8, bytes.size), false};
    struct reader reader = {str_slice(bytes, 0, bytes.size - 8), false};
    if (checksum64(bytes.data, bytes.size - 8, 0) != read_integer(&tail, 8))
        return fail(err, IBID_ECORRUPT, "the index manifest is damaged");
    const struct str found_magic = read_bytes(&reader, sizeof magic),
                     found_order = read_bytes(&reader, sizeof order);
    if (!str_equal(found_magic, (struct str){magic, sizeof magic}) ||
        memcmp(found_order.data, &order, sizeof order) != 0 || read_integer(&reader, 4) != MANIFEST_VERSION)
        return fail(err, IBID_ECORRUPT, "the index manifest was made by another version or machine");
    manifest.collection_id = (int64_t)read_integer(&reader, 8);
    manifest.dimension = (uint32_t)read_integer(&reader, 4);
    manifest.fingerprint = read_bytes(&reader, read_integer(&reader, 4));
    manifest.durable = (int64_t)read_integer(&reader, 8);
    manifest.next_number = read_integer(&reader, 8);
    manifest.count = (uint32_t)read_integer(&reader, 4);
    TRY(read_segments(&reader, arena, &manifest, err));
    if (reader.failed || reader.rest.size)
        return fail(err, IBID_ECORRUPT, "the index manifest is cut off");
    *ret = manifest;
    return IBID_OK;
}
