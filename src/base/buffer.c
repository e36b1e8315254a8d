#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void buffer_release(struct buffer *buffer)
{
    free(buffer->data);
    *buffer = BUFFER(buffer->limit);
}

void buffer_clear(struct buffer *buffer)
{
    buffer->size = 0;
    buffer->overflowed = false;
    if (buffer->data)
        buffer->data[0] = '\0';
}

char *buffer_reserve(struct buffer *buffer, size_t size)
{
    if (buffer->overflowed || size > buffer->limit - buffer->size) {
        buffer->overflowed = true;
        return NULL;
    }
    size_t needed = buffer->size + size + 1;
    if (needed > buffer->capacity) {
        size_t capacity = buffer->capacity < 128 ? 256 : buffer->capacity * 2;
        if (capacity > buffer->limit)
            capacity = buffer->limit + 1;
        if (capacity < needed)
            capacity = needed;
        buffer->data = xrealloc(buffer->data, capacity, 1);
        buffer->capacity = capacity;
    }
    return buffer->data + buffer->size;
}

void buffer_append(struct buffer *buffer, const void *data, size_t size)
{
    char *room = buffer_reserve(buffer, size);
    if (!room)
        return;
    if (size)
        memcpy(room, data, size);
    buffer->size += size;
    buffer->data[buffer->size] = '\0';
}

void buffer_append_str(struct buffer *buffer, struct str text)
{
    buffer_append(buffer, text.data, text.size);
}

void buffer_append_string(struct buffer *buffer, const char *string)
{
    buffer_append(buffer, string, strlen(string));
}

void buffer_append_byte(struct buffer *buffer, char byte)
{
    buffer_append(buffer, &byte, 1);
}

void buffer_append_repeated(struct buffer *buffer, char byte, size_t count)
{
    char *room = buffer_reserve(buffer, count);
    if (!room)
        return;
    memset(room, byte, count);
    buffer->size += count;
    buffer->data[buffer->size] = '\0';
}

void buffer_printf(struct buffer *buffer, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *room = size < 0 ? NULL : buffer_reserve(buffer, (size_t)size);
    if (room) {
        vsnprintf(room, (size_t)size + 1, format, again);
        buffer->size += (size_t)size;
    }
    va_end(again);
}

static void append_little_endian(struct buffer *buffer, unsigned long long value, size_t bytes)
{
    unsigned char out[8];
    for (size_t i = 0; i < bytes; i++)
        out[i] = (unsigned char)(value >> (8 * i));
    buffer_append(buffer, out, bytes);
}

void buffer_append_u8(struct buffer *buffer, unsigned value)
{
    append_little_endian(buffer, value, 1);
}

void buffer_append_u32(struct buffer *buffer, unsigned value)
{
    append_little_endian(buffer, value, 4);
}

void buffer_append_u64(struct buffer *buffer, unsigned long long value)
{
    append_little_endian(buffer, value, 8);
}

void buffer_truncate(struct buffer *buffer, size_t size)
{
    ASSERT(size <= buffer->size);
    buffer->size = size;
    if (buffer->data)
        buffer->data[size] = '\0';
}

struct str buffer_str(const struct buffer *buffer)
{
    return buffer->data ? (struct str){buffer->data, buffer->size} : STR_EMPTY;
}

char *buffer_take(struct buffer *buffer)
{
    char *data = buffer->data ? buffer->data : xstrdup("");
    *buffer = BUFFER(buffer->limit);
    return data;
}

ibid_code buffer_check(const struct buffer *buffer, const char *what, ibid_error *err)
{
    if (buffer->overflowed)
        return fail(err, IBID_ETOOBIG, "%s is larger than the limit of %zu bytes", what, buffer->limit);
    return IBID_OK;
}
