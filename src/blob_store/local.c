/* Blobs as files below a folder of this machine: ab/abcdef... by their SHA-256. A blob is written beside its
 * place, synced and renamed, so that what stands at a name has always been whole. A file without name on the
 * same disk, as uploads are received in, is not written again: it gets the name. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "blob_store/members.h"

enum { PIECE_SIZE = 256 * 1024 };

/* Beginning of the names of blobs under way; what a kill left is removed at the next opening. */
#define TEMPORARY_PREFIX "incoming."

struct local_store {
    struct blob_store base;
    char *folder;
    _Atomic unsigned long links; /* made so far */
};

static const struct option no_options[] = {OPTION_END};

/* ---- places ----------------------------------------------------------------------------------- */

static char *place_of(const struct local_store *store, const struct sha256 *hash)
{
    char hex[SHA256_HEX_SIZE];
    sha256_to_hex(hash, hex);
    return xasprintf("%s/%.2s/%s", store->folder, hex, hex);
}

static void remove_leftovers(const struct local_store *store)
{
    DIR *folder = opendir(store->folder);
    if (!folder)
        return;
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (str_starts_with(str_from(entry->d_name), TEMPORARY_PREFIX))
            unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
}

static ibid_code local_open(const char *folder, const void *options, struct blob_store **ret, ibid_error *err)
{
    TRY(folder_make(folder, err));
    struct local_store *store = xcalloc(1, sizeof *store);
    store->base.ops = &blob_store_local;
    store->folder = xstrdup(folder);
    remove_leftovers(store);
    *ret = &store->base;
    return IBID_OK;
}

static void local_close(struct blob_store *base)
{
    struct local_store *store = (struct local_store *)base;
    free(store->folder);
    free(store);
}

/* ---- putting ---------------------------------------------------------------------------------- */

/* A blob under way. */
struct incoming {
    char *path; /* beside the blobs */
    int fd;
    bool linked; /* `fd` is the caller's, and has the bytes already */
};

/* Gives a file that was opened without name (O_TMPFILE) one. False where it has a name, by which others may
 * change it, lies on another disk or was removed. */
static bool link_nameless(struct local_store *store, int fd, struct incoming *ret)
{
    struct stat info;
    if (fstat(fd, &info) != 0 || info.st_nlink != 0)
        return false;
    AUTO_FREE char *file = xasprintf("/proc/self/fd/%d", fd);
    char *path =
        xasprintf("%s/" TEMPORARY_PREFIX "link-%lu", store->folder, atomic_fetch_add(&store->links, 1));
    if (linkat(AT_FDCWD, file, AT_FDCWD, path, AT_SYMLINK_FOLLOW) != 0) {
        free(path);
        return false;
    }
    *ret = (struct incoming){path, fd, true};
    return true;
}

static ibid_code begin(struct local_store *store, int fd, struct incoming *ret, ibid_error *err)
{
    if (link_nameless(store, fd, ret))
        return IBID_OK;
    char *path = xasprintf("%s/" TEMPORARY_PREFIX "XXXXXX", store->folder);
    const int to = mkostemp(path, O_CLOEXEC);
    if (to < 0) {
        const int failed = errno;
        free(path);
        return fail_errno(err, failed, "cannot create a file in '%s'", store->folder);
    }
    *ret = (struct incoming){path, to, false};
    return IBID_OK;
}

static void end(struct incoming *incoming)
{
    if (!incoming->linked)
        close(incoming->fd);
    unlink(incoming->path); /* gone already when it was put in place */
    free(incoming->path);
}

static ibid_code append(const struct incoming *incoming, const char *piece, size_t size, ibid_error *err)
{
    if (incoming->linked)
        return IBID_OK;
    const ibid_code code = file_write_fd(incoming->fd, piece, size, err);
    if (code != IBID_OK)
        error_context(err, "'%s'", incoming->path);
    return code;
}

static ibid_code hash_and_copy(int from, const struct incoming *incoming, int64_t limit,
                               struct sha256_state *state, int64_t *ret_size, ibid_error *err)
{
    AUTO_FREE char *piece = xmalloc(PIECE_SIZE);
    int64_t size = 0;
    for (;;) {
        const ssize_t got = pread(from, piece, PIECE_SIZE, size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(err, errno, "cannot read the upload");
        if (got == 0)
            break;
        size += got;
        if (size > limit)
            return fail(err, IBID_ETOOBIG, "the file is larger than the limit of %lld bytes",
                        (long long)limit);
        sha256_feed(state, piece, (size_t)got);
        TRY(append(incoming, piece, (size_t)got, err));
    }
    *ret_size = size;
    return IBID_OK;
}

/* The folder `parent` of blobs, and the entry that names it, on disk. */
static ibid_code make_parent(const struct local_store *store, const char *parent, ibid_error *err)
{
    if (folder_exists(parent))
        return IBID_OK;
    TRY(folder_make(parent, err));
    const int fd = open(store->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, errno, "cannot open folder '%s'", store->folder);
    const int failed = fsync(fd) ? errno : 0;
    close(fd);
    return failed ? fail_errno(err, failed, "cannot sync folder '%s'", store->folder) : IBID_OK;
}

static ibid_code put_in_place(struct local_store *store, const char *temporary, const struct sha256 *hash,
                              ibid_error *err)
{
    AUTO_FREE char *place = place_of(store, hash);
    struct stat held, new;
    /* A file of the right length is there already: the bytes are the same, unless damaged; those are
     * replaced. */
    if (stat(place, &held) == 0 && stat(temporary, &new) == 0 && held.st_size == new.st_size) {
        const int fd = open(place, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        struct sha256 found;
        const bool sound = fd >= 0 && sha256_of_fd(fd, &found, NULL) == IBID_OK && sha256_equal(&found, hash);
        if (fd >= 0)
            close(fd);
        if (sound)
            return IBID_OK;
    }
    AUTO_FREE char *parent = xmemdup0(place, strlen(place) - path_base_name(str_from(place)).size - 1);
    TRY(make_parent(store, parent, err));
    return file_rename_durably(temporary, place, err);
}

static ibid_code local_put(struct blob_store *base, int fd, int64_t limit, struct sha256 *ret_hash,
                           int64_t *ret_size, ibid_error *err)
{
    struct local_store *store = (struct local_store *)base;
    struct incoming incoming;
    TRY(begin(store, fd, &incoming, err));
    struct sha256_state *state = sha256_start();
    int64_t size = 0;
    ibid_code code = hash_and_copy(fd, &incoming, limit, state, &size, err);
    const struct sha256 hash = sha256_finish(state);
    if (code == IBID_OK && fsync(incoming.fd) != 0)
        code = fail_errno(err, errno, "cannot sync '%s'", incoming.path);
    if (code == IBID_OK)
        code = put_in_place(store, incoming.path, &hash, err);
    end(&incoming);
    TRY(code);
    *ret_hash = hash;
    *ret_size = size;
    return IBID_OK;
}

/* ---- the rest --------------------------------------------------------------------------------- */

static ibid_code local_open_blob(struct blob_store *base, const struct sha256 *hash, bool verify, int *ret_fd,
                                 ibid_error *err)
{
    AUTO_FREE char *place = place_of((struct local_store *)base, hash);
    const struct str name = path_base_name(str_from(place));
    const int fd = open(place, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return fail_errno(err, errno, "blob %.*s", STR_ARG(name));
    if (verify) {
        struct sha256 found;
        ibid_code code = sha256_of_fd(fd, &found, err);
        if (code == IBID_OK && !sha256_equal(&found, hash))
            code = fail(err, IBID_ECORRUPT, "blob %.*s is damaged: upload the document again", STR_ARG(name));
        if (code == IBID_OK && lseek(fd, 0, SEEK_SET) != 0)
            code = fail_errno(err, errno, "blob %.*s", STR_ARG(name));
        if (code != IBID_OK) {
            close(fd);
            return code;
        }
    }
    *ret_fd = fd;
    return IBID_OK;
}

static ibid_code local_remove(struct blob_store *base, const struct sha256 *hash, ibid_error *err)
{
    AUTO_FREE char *place = place_of((struct local_store *)base, hash);
    if (unlink(place) != 0 && errno != ENOENT)
        return fail_errno(err, errno, "cannot remove '%s'", place);
    return IBID_OK;
}

typedef ibid_code each_blob(const struct sha256 *hash, int64_t size, void *context, ibid_error *err);

static ibid_code list_folder(DIR *folder, each_blob *each, void *context, ibid_error *err)
{
    for (const struct dirent *entry; (entry = readdir(folder));) {
        struct sha256 hash;
        struct stat info;
        if (sha256_from_hex(str_from(entry->d_name), &hash) &&
            fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode))
            TRY(each(&hash, (int64_t)info.st_size, context, err));
    }
    return IBID_OK;
}

static ibid_code local_list(struct blob_store *base, each_blob *each, void *context, ibid_error *err)
{
    const struct local_store *store = (struct local_store *)base;
    for (unsigned first = 0; first < 256; first++) {
        AUTO_FREE char *path = xasprintf("%s/%02x", store->folder, first);
        DIR *folder = opendir(path);
        if (!folder && errno == ENOENT)
            continue;
        if (!folder)
            return fail_errno(err, errno, "cannot list '%s'", path);
        const ibid_code code = list_folder(folder, each, context, err);
        closedir(folder);
        TRY(code);
    }
    return IBID_OK;
}

const struct blob_store_ops blob_store_local = {
    .name = "local",
    .help = "Files below the data directory.",
    .options = no_options,
    .options_size = 0,
    .open = local_open,
    .close = local_close,
    .put = local_put,
    .open_blob = local_open_blob,
    .remove = local_remove,
    .list = local_list,
};
