/* The blob store seam: the bytes of documents that ibid keeps itself (uploads). Documents of a folder
 * stay where they are and are referenced by path and hash.
 *
 * To add a blob store:
 *   1. src/blob_store/<name>.c with one `const struct blob_store_ops`
 *   2. its line in src/blob_store/members.h and a row in src/blob_store/registry.c
 *   3. a line in src/blob_store/meson.build
 *   4. a row of fixtures in tests/contract/blob_store.c, which then tests it */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/option.h"

struct blob_store;

struct blob_store_ops {
    const char *name; /* "local" */
    const char *help;
    const struct option *options;
    size_t options_size;

    ibid_code (*open)(const char *folder, const void *options, struct blob_store **ret, ibid_error *err);
    void (*close)(struct blob_store *take_store);
    /* Stores what `fd` (borrowed, read from its start) holds under its SHA-256; durable on return. Putting the same
     * bytes again is fine. A file without name (O_TMPFILE) may become the blob itself: nobody writes to it after
     * that. IBID_ETOOBIG above `limit` bytes. */
    ibid_code (*put)(struct blob_store *store, int fd, int64_t limit, struct sha256 *ret_hash, int64_t *ret_size,
                     ibid_error *err);
    /* A descriptor to read the bytes from, the caller's to close(). IBID_ENOTFOUND; IBID_ECORRUPT when
     * `verify` and the bytes do not have that hash. */
    ibid_code (*open_blob)(struct blob_store *store, const struct sha256 *hash, bool verify, int *ret_fd,
                           ibid_error *err);
    /* Fine when it is not there. */
    ibid_code (*remove)(struct blob_store *store, const struct sha256 *hash, ibid_error *err);
    /* Calls `each` for every blob until it returns anything but IBID_OK. */
    ibid_code (*list)(struct blob_store *store,
                      ibid_code (*each)(const struct sha256 *hash, int64_t size, void *context, ibid_error *err),
                      void *context, ibid_error *err);
};

struct blob_store {
    const struct blob_store_ops *ops;
};

extern const struct blob_store_ops *const blob_store_registry[]; /* NULL-ended; the first is the default */
const struct blob_store_ops *blob_store_find(const char *name);
ibid_code blob_store_open(const struct blob_store_ops *ops, const char *folder, const void *options,
                          struct blob_store **ret, ibid_error *err) MUST_CHECK;
void blob_store_close(struct blob_store *take_store);
ibid_code blob_store_put(struct blob_store *store, int fd, int64_t limit, struct sha256 *ret_hash,
                         int64_t *ret_size, ibid_error *err) MUST_CHECK;
ibid_code blob_store_open_blob(struct blob_store *store, const struct sha256 *hash, bool verify, int *ret_fd,
                               ibid_error *err) MUST_CHECK;
ibid_code blob_store_remove(struct blob_store *store, const struct sha256 *hash, ibid_error *err) MUST_CHECK;
ibid_code blob_store_list(struct blob_store *store,
                          ibid_code (*each)(const struct sha256 *hash, int64_t size, void *context, ibid_error *err),
                          void *context, ibid_error *err) MUST_CHECK;
