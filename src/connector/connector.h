/* The connector seam: where documents come from.
 *
 * A connector is a type with shared settings; a source is one sub-unit of it (a folder, a space, a
 * URL). discover() lists what a source holds now; ingest compares that with what is known, fetches
 * what is new or changed, and forgets what is gone. A connector never decides what is "unchanged"
 * and never writes to the metadata store.
 *
 * To add a connector:
 *   1. src/connector/<name>.c with one `const struct connector_ops`
 *   2. its line in src/connector/members.h and a row in src/connector/registry.c
 *   3. a line in src/connector/meson.build
 *   4. a row of fixtures in tests/contract/connector.c, which then tests it
 *   5. a way in: ingest_source() makes its sources, and the doors call it for folders only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/option.h"
#include "base/str.h"

/* One thing found at a source. Strings are borrowed for the call. */
struct connector_item {
    struct str external_key; /* what identifies it at the source for good: relative path, page id, message id */
    struct str title;        /* display name; empty: the last part of the key */
    struct str url;          /* where a reader opens it; for a folder the file:// URL */
    struct str media_type;   /* declared by the source, or empty */
    struct str version;      /* etag, revision number; empty when the source has none */
    int64_t size;            /* bytes; -1 when unknown */
    int64_t modified_us;     /* 0 when unknown */
    const char *skip;        /* why it is not to be indexed ("hidden", "binary", "too large"...), else NULL */
};

/* Receives items in any order; anything but IBID_OK ends the discovery with that code. */
typedef ibid_code connector_receive(const struct connector_item *item, void *context, ibid_error *err);

struct connector;

struct connector_ops {
    const char *name;         /* "folder" */
    const char *help;
    const char *source_word;  /* what a source is called: "path", "space", "URL" */
    const struct option *options; /* of a connector */
    size_t options_size;
    const struct option *source_options; /* of one source: include, exclude, ... */
    size_t source_options_size;

    ibid_code (*open)(const void *options, struct connector **ret, ibid_error *err);
    void (*close)(struct connector *take_connector);
    /* Lists everything at `source` now. `*ret_complete` false when parts could not be listed (the warnings were
     * received as items with `skip`): then nothing may be taken as gone. */
    ibid_code (*discover)(struct connector *connector, const char *source, const void *source_options,
                          const _Atomic bool *cancel, connector_receive *receive, void *context,
                          bool *ret_complete, ibid_error *err);
    /* A descriptor to read the item's bytes from its start, the caller's to close(). IBID_ENOTFOUND when it has
     * gone meanwhile, IBID_ETOOBIG above `limit`. `ret_item` (arena) has size, time and type as of the bytes.
     * `source_options` are those of discover. */
    ibid_code (*fetch)(struct connector *connector, const char *source, const void *source_options,
                       struct str external_key, int64_t limit, struct arena *arena,
                       struct connector_item *ret_item, int *ret_fd, ibid_error *err);

    /* The rest may be NULL. */

    /* The one spelling of a source, by which it is found again, in `arena`: an absolute path without links.
     * NULL: as it was given. IBID_ENOTFOUND when there is no such source, IBID_EINVAL when it cannot be one. */
    ibid_code (*resolve)(const char *source, struct arena *arena, const char **ret, ibid_error *err);
    /* Whether everything that the source `inner` lists is listed by `outer`, too, each with *ret_prefix (arena)
     * before its key. Then one thing would become two documents. Asked only where `inner` begins with `outer`, as
     * resolve spells them. NULL: never. */
    bool (*covers)(const char *outer, const void *outer_options, const char *inner, const void *inner_options,
                   struct arena *arena, struct str *ret_prefix);
    /* After the bytes of a fetched item were read: whether the descriptor still is what fetch described. Where it
     * is not, it was written to meanwhile, and what was read may be half of each. NULL: always. */
    bool (*is_unchanged)(const struct connector_item *item, int fd);
};

struct connector {
    const struct connector_ops *ops;
};

extern const struct connector_ops *const connector_registry[]; /* NULL-ended */
const struct connector_ops *connector_find(const char *name);
ibid_code connector_open(const struct connector_ops *ops, const void *options, struct connector **ret,
                         ibid_error *err) MUST_CHECK;
void connector_close(struct connector *take_connector);
ibid_code connector_discover(struct connector *connector, const char *source, const void *source_options,
                             const _Atomic bool *cancel, connector_receive *receive, void *context,
                             bool *ret_complete, ibid_error *err) MUST_CHECK;
ibid_code connector_fetch(struct connector *connector, const char *source, const void *source_options,
                          struct str external_key, int64_t limit, struct arena *arena,
                          struct connector_item *ret_item, int *ret_fd, ibid_error *err) MUST_CHECK;

ibid_code connector_resolve(const struct connector_ops *ops, const char *source, struct arena *arena,
                            const char **ret, ibid_error *err) MUST_CHECK;
bool connector_covers(const struct connector_ops *ops, const char *outer, const void *outer_options,
                      const char *inner, const void *inner_options, struct arena *arena, struct str *ret_prefix);
bool connector_item_is_unchanged(const struct connector *connector, const struct connector_item *item, int fd);
