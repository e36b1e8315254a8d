/* A growing run of bytes that is born with a ceiling (the idea of curl's dynbuf).
 *
 * Appending never returns an error: the first append that would cross the ceiling is dropped
 * whole, and so is every later one. Append what you need, then ask once with buffer_check(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/str.h"

struct buffer {
    char *data;      /* NUL-terminated once anything was appended, else NULL */
    size_t size;
    size_t capacity;
    size_t limit;    /* ceiling of `size` */
    bool overflowed; /* something was dropped */
};

#define BUFFER(ceiling) ((struct buffer){.limit = (ceiling)})
#define AUTO_BUFFER __attribute__((cleanup(buffer_release))) struct buffer

/* Frees the bytes; the ceiling stays and the buffer can be used again. */
void buffer_release(struct buffer *buffer);
/* Empties it and keeps the memory. */
void buffer_clear(struct buffer *buffer);

void buffer_append(struct buffer *buffer, const void *data, size_t size);
void buffer_append_str(struct buffer *buffer, struct str text);
void buffer_append_string(struct buffer *buffer, const char *string);
void buffer_append_byte(struct buffer *buffer, char byte);
void buffer_append_repeated(struct buffer *buffer, char byte, size_t count);
void buffer_printf(struct buffer *buffer, const char *format, ...) PRINTF_LIKE(2, 3);

/* Integers in little-endian order, for files and messages of our own. */
void buffer_append_u8(struct buffer *buffer, unsigned value);
void buffer_append_u32(struct buffer *buffer, unsigned value);
void buffer_append_u64(struct buffer *buffer, unsigned long long value);

/* Room for `size` more bytes at the end: write them there, then raise buffer->size.
 * NULL when that would cross the ceiling. */
char *buffer_reserve(struct buffer *buffer, size_t size);

/* Shortens to `size`, which is not above the present size. */
void buffer_truncate(struct buffer *buffer, size_t size);

/* The bytes, borrowed until the next change. */
struct str buffer_str(const struct buffer *buffer);

/* Hands the bytes over as a NUL-terminated string to free(); the buffer is empty then. */
char *buffer_take(struct buffer *buffer);

/* IBID_ETOOBIG naming `what` and the ceiling when something was dropped. */
ibid_code buffer_check(const struct buffer *buffer, const char *what, ibid_error *err) MUST_CHECK;
