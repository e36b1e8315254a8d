#include "extract/protocol.h"

uint64_t wire_integer(struct wire_reader *reader, size_t count)
{
    if (count > reader->rest.size) {
        reader->failed = true;
        return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++)
        value |= (uint64_t)(unsigned char)reader->rest.data[i] << (8 * i);
    reader->rest = str_slice(reader->rest, count, reader->rest.size);
    return value;
}

float wire_float(struct wire_reader *reader)
{
    uint32_t bits = (uint32_t)wire_integer(reader, 4);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

struct str wire_string(struct wire_reader *reader)
{
    size_t size = wire_integer(reader, 4);
    if (size > reader->rest.size) {
        reader->failed = true;
        return STR_EMPTY;
    }
    struct str text = str_slice(reader->rest, 0, size);
    reader->rest = str_slice(reader->rest, size, reader->rest.size);
    return text;
}

void wire_append_float(struct buffer *out, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    buffer_append_u32(out, bits);
}

void wire_append_string(struct buffer *out, struct str text)
{
    buffer_append_u32(out, (unsigned)text.size);
    buffer_append_str(out, text);
}

/* Each message begins with magic and version, so that a broker of another build is found out. */
static void append_preamble(struct buffer *out)
{
    buffer_append_u32(out, PROTOCOL_MAGIC);
    buffer_append_u32(out, PROTOCOL_VERSION);
}

static bool preamble_is_ours(struct wire_reader *reader)
{
    return wire_integer(reader, 4) == PROTOCOL_MAGIC && wire_integer(reader, 4) == PROTOCOL_VERSION;
}

void hello_encode(const struct hello *hello, struct buffer *out)
{
    append_preamble(out);
    buffer_append_u32(out, hello->flags);
    buffer_append_u32(out, hello->count);
    for (uint32_t i = 0; i < hello->count; i++) {
        wire_append_string(out, hello->extractors[i].name);
        wire_append_string(out, hello->extractors[i].engine);
    }
}

bool hello_decode(struct str packet, struct hello *ret)
{
    struct wire_reader reader = {packet, false};
    if (!preamble_is_ours(&reader))
        return false;
    struct hello hello = {0};
    hello.flags = (uint32_t)wire_integer(&reader, 4);
    hello.count = (uint32_t)wire_integer(&reader, 4);
    if (hello.count > PROTOCOL_EXTRACTOR_LIMIT)
        return false;
    for (uint32_t i = 0; i < hello.count; i++) {
        hello.extractors[i].name = wire_string(&reader);
        hello.extractors[i].engine = wire_string(&reader);
    }
    if (reader.failed || reader.rest.size)
        return false;
    *ret = hello;
    return true;
}

void request_encode(const struct request *request, struct buffer *out)
{
    append_preamble(out);
    buffer_append_u8(out, request->words);
    buffer_append_u64(out, request->max_memory);
    buffer_append_u64(out, request->max_cpu_time);
    buffer_append_u64(out, request->max_time);
    wire_append_string(out, request->extractor);
    wire_append_string(out, request->name);
    wire_append_string(out, request->media_type);
    wire_append_string(out, request->charset);
    wire_append_string(out, request->password);
    wire_append_string(out, request->parent);
    wire_append_string(out, request->container_path);
}

bool request_decode(struct str packet, struct request *ret)
{
    struct wire_reader reader = {packet, false};
    if (!preamble_is_ours(&reader))
        return false;
    struct request request;
    request.words = wire_integer(&reader, 1) != 0;
    request.max_memory = wire_integer(&reader, 8);
    request.max_cpu_time = wire_integer(&reader, 8);
    request.max_time = wire_integer(&reader, 8);
    request.extractor = wire_string(&reader);
    request.name = wire_string(&reader);
    request.media_type = wire_string(&reader);
    request.charset = wire_string(&reader);
    request.password = wire_string(&reader);
    request.parent = wire_string(&reader);
    request.container_path = wire_string(&reader);
    if (reader.failed || reader.rest.size)
        return false;
    *ret = request;
    return true;
}

void report_encode(const struct child_report *report, struct buffer *out)
{
    append_preamble(out);
    buffer_append_u32(out, report->ending);
    buffer_append_u32(out, report->detail);
    buffer_append_u64(out, report->cpu_us);
    buffer_append_u64(out, report->peak_memory);
}

bool report_decode(struct str packet, struct child_report *ret)
{
    struct wire_reader reader = {packet, false};
    if (packet.size != PROTOCOL_REPORT_SIZE || !preamble_is_ours(&reader))
        return false;
    uint32_t ending = (uint32_t)wire_integer(&reader, 4);
    if (ending >= ENDING_COUNT)
        return false;
    ret->ending = (enum child_ending)ending;
    ret->detail = (uint32_t)wire_integer(&reader, 4);
    ret->cpu_us = wire_integer(&reader, 8);
    ret->peak_memory = wire_integer(&reader, 8);
    return true;
}
