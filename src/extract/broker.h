/* A broker program: broker.c and sandbox.c with one `broker_program` that names its extractors.
 *
 * The program waits on its stdin (a socket to the host) for documents and forks one child for
 * each. It stays single-threaded and small, so that forking is cheap. */
#pragma once

#include "extract/extractor.h"

#ifdef __cplusplus
extern "C" {
#endif

struct broker_extractor {
    const char *name; /* as in EXTRACTOR_MAP */
    extract_function *extract;
    void (*prepare)(void);       /* loads once, before any child, what all need; or NULL */
    const char *(*engine)(void); /* "poppler 22.12.0"; NULL when it is code of our own */
};

struct broker_program {
    const char *name;
    const struct broker_extractor *extractors; /* ended by a row without name */
    const char *const *readable; /* folders that its children may read, NULL-ended; NULL for none */
};

/* Defined by each broker program. */
extern const struct broker_program broker_program;

/* Ends a child whose allocation failed, so that its document is said to need too much memory.
 * For std::set_new_handler and the like. */
void broker_out_of_memory(size_t size) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif
