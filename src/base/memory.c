#include "base/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void (*exhausted_handler)(size_t size); /* see memory_set_exhausted() */

void memory_set_exhausted(void (*handler)(size_t size))
{
    exhausted_handler = handler;
}

void memory_exhausted(size_t size)
{
    if (exhausted_handler)
        exhausted_handler(size);
    fprintf(stderr, "ibid: out of memory (%zu bytes asked for)\n", size);
    abort();
}

void *xmalloc(size_t size)
{
    void *pointer = malloc(size ? size : 1);
    if (!pointer)
        memory_exhausted(size);
    return pointer;
}

void *xcalloc(size_t count, size_t size)
{
    void *pointer = calloc(count ? count : 1, size ? size : 1);
    if (!pointer)
        memory_exhausted(count * size);
    return pointer;
}

void *xrealloc(void *pointer, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        memory_exhausted(SIZE_MAX);
    pointer = realloc(pointer, total ? total : 1);
    if (!pointer)
        memory_exhausted(total);
    return pointer;
}

void *xaligned_alloc(size_t alignment, size_t size)
{
    void *pointer = NULL;
    if (posix_memalign(&pointer, alignment, size ? size : 1) != 0)
        memory_exhausted(size);
    return pointer;
}

char *xstrdup(const char *string)
{
    return xmemdup0(string, strlen(string));
}

char *xmemdup0(const void *data, size_t size)
{
    char *copy = xmalloc(size + 1);
    if (size)
        memcpy(copy, data, size);
    copy[size] = '\0';
    return copy;
}

char *xasprintf(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        memory_exhausted(0);
    va_end(args);
    return text;
}

void memory_auto_free(void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}
