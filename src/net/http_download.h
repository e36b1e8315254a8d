/* A file fetched over HTTP, in as many attempts as it takes. */
#pragma once

#include "net/http_client.h"

struct http_download {
    const char *url;
    const char *path; /* where the file is put, whole, in the end; "<path>.part" until then */
    const struct http_header *headers;
    size_t header_count;
    int64_t size_limit;                 /* bytes; 0: none. IBID_ETOOBIG above it */
    int64_t expected_size;              /* bytes; 0: unknown. IBID_EFORMAT when it is another */
    const struct sha256 *expected_hash; /* NULL: not checked. IBID_EFORMAT when it is another; the bytes are
                                           thrown away then */
    unsigned attempts; /* on a connection that breaks; 0: 5. Each goes on where the last stopped */
    const _Atomic bool *cancel;
    /* Called as bytes come, also for those that an earlier run left; total 0: unknown. `done` falls
     * back when the server sends the file anew. NULL: none. */
    void (*progress)(int64_t done, int64_t total, void *context);
    void *context;
};

/* Goes on with "<path>.part" when an earlier run left one. On failure the part stays for the next
 * run, unless the bytes turned out wrong. A file in place is complete and durable. */
ibid_code http_download(struct http_client *client, const struct http_download *download,
                        ibid_error *err) MUST_CHECK;
