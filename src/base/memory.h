/* Allocation. Sizes that ibid chooses itself come from here: running out of memory
 * stops the process with a message. Sizes that come from outside go through a
 * struct buffer, which has a ceiling. */
#pragma once

#include <stddef.h>

void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
/* count * size zeroed bytes; the product is checked. */
void *xcalloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *pointer, size_t count, size_t size) __attribute__((returns_nonnull));
/* `alignment` is a power of two; free() the result. */
void *xaligned_alloc(size_t alignment, size_t size) __attribute__((malloc, returns_nonnull));
char *xstrdup(const char *string) __attribute__((malloc, returns_nonnull));
/* A NUL-terminated copy of `size` bytes. */
char *xmemdup0(const void *data, size_t size) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2), malloc));

/* Called instead of stopping the process with a message when memory runs out; it must not return.
 * For a process of its own that reports the want of memory by its exit code; set while the process
 * has one thread. */
void memory_set_exhausted(void (*handler)(size_t size));
/* Does what happens when memory runs out; for what a library could not allocate. */
void memory_exhausted(size_t size) __attribute__((noreturn));

/* AUTO_FREE char *path = ...;  is freed at the end of its block. */
void memory_auto_free(void *pointer_to_pointer);
#define AUTO_FREE __attribute__((cleanup(memory_auto_free)))
/* AUTO(buffer_release) struct buffer text = BUFFER(LIMIT); */
#define AUTO(release_function) __attribute__((cleanup(release_function)))

/* Makes room for one more element: grows `array` (capacity elements) geometrically. */
#define GROW(array, count, capacity)                                                               \
    do {                                                                                           \
        if ((count) == (capacity)) {                                                               \
            (capacity) = (capacity) ? (capacity) * 2 : 16;                                         \
            (array) = xrealloc((array), (capacity), sizeof *(array));                              \
        }                                                                                          \
    } while (0)

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
