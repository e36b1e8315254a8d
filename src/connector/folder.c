/* Files below a folder of this machine. A source is a path: a folder, or one file.
 *
 * The walk goes from open folder to open folder (openat), so that neither long paths nor a link put in the
 * way meanwhile lead it astray, and hands out each entry as it is read: nothing is collected but the folders
 * it stands in. Links are not followed unless the source says so. Then they are taken up after the rest, and
 * every folder is entered once, so that what lies in the tree itself keeps its own path and no circle of
 * links matters. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "connector/folder_name.h"
#include "connector/members.h"

enum {
    DEPTH_LIMIT = 200, /* folders within folders: each one stays open on the way down */
    KEY_LIMIT = 8192,  /* bytes of a key; a document's key has the same limit */
    URL_LIMIT = 4 * KEY_LIMIT,
    LINKED_FOLDER_LIMIT = 10000, /* folders that links lead to */
    SNIFF_SIZE = 4096,
};

struct folder_options {
    struct option_list include, exclude;
    bool follow_links;
    bool hidden;
    int64_t max_file_size;
};

static const struct option no_options[] = {OPTION_END};

static const struct option source_option_table[] = {
    {.name = "include",
     .type = OPTION_LIST,
     .flags = OPTION_REPEATED,
     .offset = offsetof(struct folder_options, include),
     .placeholder = "PATTERN",
     .help = "Only files that match one of these patterns: '*.md', 'team/**'. A pattern without '/' is "
             "tried on the name alone."},
    {.name = "exclude",
     .type = OPTION_LIST,
     .flags = OPTION_REPEATED,
     .offset = offsetof(struct folder_options, exclude),
     .placeholder = "PATTERN",
     .help = "Neither files nor folders that match one of these patterns; goes before include."},
    {.name = "follow_links",
     .type = OPTION_BOOL,
     .offset = offsetof(struct folder_options, follow_links),
     .default_text = "no",
     .help = "Follow symbolic links, also out of the folder."},
    {.name = "hidden",
     .type = OPTION_BOOL,
     .offset = offsetof(struct folder_options, hidden),
     .default_text = "no",
     .help = "Take files and folders whose name begins with a dot, too."},
    {.name = "max_file_size",
     .type = OPTION_SIZE,
     .offset = offsetof(struct folder_options, max_file_size),
     .default_text = "100MB",
     .low = 1,
     .high = 1e15,
     .help = "Skip files that are larger."},
    OPTION_END,
};

/* ---- the walk --------------------------------------------------------------------------------- */

/* A folder, whatever path leads to it. */
struct folder_identity {
    dev_t device;
    ino_t inode;
};

struct level {
    DIR *folder;
    size_t path_size; /* of the walk's path, with '/' at its end */
};

struct walk {
    const struct folder_options *options;
    const char *root; /* absolute, without links */
    const _Atomic bool *cancel;
    connector_receive *receive;
    void *context;
    ibid_error *err;
    bool complete;
    struct level levels[DEPTH_LIMIT];
    size_t depth;
    struct buffer path;     /* below the root, bytes as they are */
    struct buffer key, url; /* of the entry at hand */
    /* Only where links are followed: */
    struct folder_identity *entered; /* open addressing; an inode of 0 is an empty place */
    size_t entered_count, entered_room;
    char **linked; /* paths below the root of links to folders, to be entered after the rest */
    size_t linked_count, linked_capacity;
};

static bool matches_any(struct str path, const struct option_list *patterns)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (str_matches_glob(path, str_from(patterns->items[i])))
            return true;
    return false;
}

/* Hands out the entry at walk->path. `info` NULL: nothing is known of it. */
static ibid_code hand_out(struct walk *walk, const struct stat *info, const char *skip)
{
    buffer_clear(&walk->key);
    buffer_clear(&walk->url);
    folder_name_append_key(&walk->key, buffer_str(&walk->path));
    AUTO_BUFFER absolute = BUFFER(KEY_LIMIT + PATH_MAX);
    buffer_append_string(&absolute, walk->root);
    if (absolute.data[absolute.size - 1] != '/')
        buffer_append_byte(&absolute, '/');
    buffer_append_str(&absolute, buffer_str(&walk->path));
    folder_name_append_url(&walk->url, buffer_str(&absolute));
    if (walk->key.overflowed || walk->url.overflowed || absolute.overflowed) {
        /* It can never have been indexed either, so that nothing is taken as gone. */
        buffer_truncate(&walk->key, 0);
        buffer_append_str(&walk->key, str_slice(buffer_str(&walk->path), 0, 200));
        skip = "path too long";
    }
    const struct str key = buffer_str(&walk->key);
    const struct connector_item item = {
        .external_key = key,
        .title = path_base_name(key),
        .url = buffer_str(&walk->url),
        .size = info && S_ISREG(info->st_mode) ? (int64_t)info->st_size : -1,
        .modified_us = info ? (int64_t)info->st_mtim.tv_sec * 1000000 + info->st_mtim.tv_nsec / 1000 : 0,
        .skip = skip,
    };
    return walk->receive(&item, walk->context, walk->err);
}

static ibid_code hand_out_unreadable(struct walk *walk, const struct stat *info, int os_errno)
{
    char reason[128];
    walk->complete = false;
    snprintf(reason, sizeof reason, "unreadable: %s", strerror(os_errno));
    return hand_out(walk, info, reason);
}

/* ---- files ------------------------------------------------------------------------------------ */

/* Looks at the first bytes where the name says nothing. *ret_errno is set when they cannot be read. */
static bool is_binary(int folder, const char *name, int *ret_errno)
{
    const enum folder_kind kind = folder_name_kind(str_from(name));
    if (kind != FOLDER_UNKNOWN)
        return kind == FOLDER_BINARY;
    const int fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        *ret_errno = errno;
        return false;
    }
    char bytes[SNIFF_SIZE];
    const ssize_t got = read(fd, bytes, sizeof bytes);
    if (got < 0)
        *ret_errno = errno;
    close(fd);
    return got > 0 && folder_bytes_are_binary(bytes, (size_t)got);
}

static ibid_code visit_file(struct walk *walk, int folder, const char *name, const struct stat *info)
{
    const struct folder_options *options = walk->options;
    if (options->include.count && !matches_any(buffer_str(&walk->path), &options->include))
        return hand_out(walk, info, "not included");
    if ((int64_t)info->st_size > options->max_file_size) {
        char reason[96];
        snprintf(reason, sizeof reason, "larger than max_file_size (%lld bytes)",
                 (long long)options->max_file_size);
        return hand_out(walk, info, reason);
    }
    int os_errno = 0;
    const bool binary = is_binary(folder, name, &os_errno);
    if (os_errno == ENOENT)
        return IBID_OK; /* gone since it was listed */
    if (os_errno)
        return hand_out_unreadable(walk, info, os_errno);
    return hand_out(walk, info, binary ? "binary" : NULL);
}

/* ---- folders ---------------------------------------------------------------------------------- */

static struct folder_identity *entered_place(const struct walk *walk, struct folder_identity folder)
{
    size_t at = (folder.inode * UINT64_C(0x9E3779B97F4A7C15) ^ folder.device) & (walk->entered_room - 1);
    while (walk->entered[at].inode &&
           (walk->entered[at].inode != folder.inode || walk->entered[at].device != folder.device))
        at = (at + 1) & (walk->entered_room - 1);
    return &walk->entered[at];
}

static void grow_entered(struct walk *walk)
{
    struct folder_identity *old = walk->entered;
    const size_t old_room = walk->entered_room;
    walk->entered_room = old_room ? old_room * 2 : 64;
    walk->entered = xcalloc(walk->entered_room, sizeof *walk->entered);
    for (size_t i = 0; i < old_room; i++)
        if (old[i].inode)
            *entered_place(walk, old[i]) = old[i];
    free(old);
}

/* Whether this is the first time the walk enters the folder. */
static bool enter_once(struct walk *walk, const struct stat *info)
{
    if (!walk->options->follow_links)
        return true;
    if (walk->entered_count * 2 >= walk->entered_room)
        grow_entered(walk);
    const struct folder_identity folder = {info->st_dev, info->st_ino};
    struct folder_identity *place = entered_place(walk, folder);
    if (place->inode)
        return false;
    *place = folder;
    walk->entered_count++;
    return true;
}

static ibid_code push_folder(struct walk *walk, int parent, const char *name, int flags)
{
    if (walk->depth == DEPTH_LIMIT)
        return hand_out(walk, NULL, "nested too deep");
    const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    struct stat info;
    DIR *folder = NULL;
    int os_errno = 0;
    if (fd < 0 || fstat(fd, &info) != 0 || (enter_once(walk, &info) && !(folder = fdopendir(fd))))
        os_errno = errno;
    if (folder) {
        walk->levels[walk->depth++] = (struct level){folder, walk->path.size};
        return IBID_OK;
    }
    if (fd >= 0)
        close(fd);
    if (os_errno == 0)
        return hand_out(walk, NULL, "another link to a folder that is listed already");
    return os_errno == ENOENT ? IBID_OK : hand_out_unreadable(walk, NULL, os_errno);
}

/* A link to a folder waits until what lies in the tree itself is done. */
static ibid_code visit_link(struct walk *walk, int folder, const char *name, struct stat *info)
{
    if (!walk->options->follow_links)
        return hand_out(walk, info, "symbolic link");
    if (fstatat(folder, name, info, 0) != 0)
        return hand_out(walk, NULL, errno == ELOOP ? "symbolic link in a circle" : "broken symbolic link");
    if (S_ISREG(info->st_mode))
        return visit_file(walk, folder, name, info);
    if (!S_ISDIR(info->st_mode))
        return hand_out(walk, info, "special file");
    if (walk->linked_count == LINKED_FOLDER_LIMIT)
        return fail(walk->err, IBID_ETOOBIG, "more than %d links to folders below '%s'", LINKED_FOLDER_LIMIT,
                    walk->root);
    GROW(walk->linked, walk->linked_count, walk->linked_capacity);
    walk->linked[walk->linked_count++] = xmemdup0(walk->path.data, walk->path.size);
    return IBID_OK;
}

static ibid_code visit(struct walk *walk, int folder, const char *name)
{
    struct stat info;
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? IBID_OK : hand_out_unreadable(walk, NULL, errno);
    const char *skip = NULL;
    if (name[0] == '.' && !walk->options->hidden)
        skip = "hidden";
    else if (matches_any(buffer_str(&walk->path), &walk->options->exclude))
        skip = "excluded";
    if (S_ISDIR(info.st_mode))
        buffer_append_byte(&walk->path, '/'); /* keys of folders end so */
    if (skip)
        return hand_out(walk, &info, skip);
    if (S_ISLNK(info.st_mode))
        return visit_link(walk, folder, name, &info);
    if (S_ISREG(info.st_mode))
        return visit_file(walk, folder, name, &info);
    if (S_ISDIR(info.st_mode))
        return push_folder(walk, folder, name, O_NOFOLLOW);
    return hand_out(walk, &info, "special file");
}

/* Takes the next entry of the innermost folder, or leaves it. */
static ibid_code step(struct walk *walk)
{
    struct level *level = &walk->levels[walk->depth - 1];
    buffer_truncate(&walk->path, level->path_size);
    errno = 0;
    const struct dirent *entry = readdir(level->folder);
    if (!entry) {
        const ibid_code code = errno ? hand_out_unreadable(walk, NULL, errno) : IBID_OK;
        closedir(level->folder);
        walk->depth--;
        return code;
    }
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
        return IBID_OK;
    buffer_append_string(&walk->path, entry->d_name);
    if (walk->path.overflowed) {
        walk->path.overflowed = false;
        return hand_out(walk, NULL, "path too long");
    }
    return visit(walk, dirfd(level->folder), entry->d_name);
}

static ibid_code walk_down(struct walk *walk)
{
    while (walk->depth) {
        if (walk->cancel && *walk->cancel)
            return fail(walk->err, IBID_ECANCELED, "stopped while listing '%s'", walk->root);
        TRY(step(walk));
    }
    return IBID_OK;
}

static ibid_code walk_links(struct walk *walk)
{
    for (size_t i = 0; i < walk->linked_count; i++) {
        AUTO_FREE char *path = path_join(walk->root, walk->linked[i]);
        buffer_clear(&walk->path);
        buffer_append_string(&walk->path, walk->linked[i]);
        buffer_append_byte(&walk->path, '/');
        TRY(push_folder(walk, AT_FDCWD, path, 0));
        TRY(walk_down(walk));
    }
    return IBID_OK;
}

static void walk_release(struct walk *walk)
{
    while (walk->depth)
        closedir(walk->levels[--walk->depth].folder);
    for (size_t i = 0; i < walk->linked_count; i++)
        free(walk->linked[i]);
    free(walk->linked);
    free(walk->entered);
    buffer_release(&walk->path);
    buffer_release(&walk->key);
    buffer_release(&walk->url);
}

/* ---- struct connector_ops --------------------------------------------------------------------- */

static ibid_code folder_open(const void *options, struct connector **ret, ibid_error *err)
{
    struct connector *connector = xcalloc(1, sizeof *connector);
    connector->ops = &connector_folder;
    *ret = connector;
    return IBID_OK;
}

static void folder_close(struct connector *connector)
{
    free(connector);
}

static ibid_code open_root(struct walk *walk)
{
    struct stat info;
    const int fd = open(walk->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(walk->err, errno, "cannot list '%s'", walk->root);
    DIR *folder = fstat(fd, &info) == 0 ? fdopendir(fd) : NULL;
    if (!folder) {
        const int os_errno = errno;
        close(fd);
        return fail_errno(walk->err, os_errno, "cannot list '%s'", walk->root);
    }
    (void)enter_once(walk, &info);
    walk->levels[walk->depth++] = (struct level){folder, 0};
    return IBID_OK;
}

/* A source that is one file: its key is its name. */
static ibid_code discover_file(struct walk *walk, const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return fail_errno(walk->err, errno, "cannot read '%s'", path);
    if (!S_ISREG(info.st_mode))
        return fail(walk->err, IBID_EINVAL, "'%s' is neither a folder nor a file", path);
    buffer_append_str(&walk->path, path_base_name(str_from(path)));
    return visit_file(walk, AT_FDCWD, path, &info);
}

static ibid_code discover_folder(struct walk *walk)
{
    TRY(open_root(walk));
    TRY(walk_down(walk));
    return walk_links(walk);
}

static ibid_code folder_discover(struct connector *connector, const char *source, const void *source_options,
                                 const _Atomic bool *cancel, connector_receive *receive, void *context,
                                 bool *ret_complete, ibid_error *err)
{
    const bool one_file = !folder_exists(source);
    const size_t parent_size = strlen(source) - path_base_name(str_from(source)).size;
    AUTO_FREE char *parent = parent_size ? xmemdup0(source, parent_size) : xstrdup(".");
    ibid_error resolving = {0};
    AUTO_FREE char *root = path_resolve(one_file ? parent : source, &resolving);
    if (!root) {
        if (err)
            *err = resolving;
        return resolving.code;
    }
    struct walk walk = {
        .options = source_options,
        .root = root,
        .cancel = cancel,
        .receive = receive,
        .context = context,
        .err = err,
        .complete = true,
        .path = BUFFER(KEY_LIMIT),
        .key = BUFFER(KEY_LIMIT),
        .url = BUFFER(URL_LIMIT),
    };
    const ibid_code code = one_file ? discover_file(&walk, source) : discover_folder(&walk);
    walk_release(&walk);
    if (code == IBID_OK)
        *ret_complete = walk.complete;
    return code;
}

/* Opens a path below the open folder `fd` (taken over), folder by folder. */
static int open_below(int fd, struct str path, bool follow_links)
{
    const int flags = O_CLOEXEC | (follow_links ? 0 : O_NOFOLLOW);
    for (struct str rest = path, part; fd >= 0 && str_split(&rest, '/', &part);) {
        char name[NAME_MAX + 1];
        int next = -1;
        if (part.size == 0 || part.size > NAME_MAX || str_is(part, ".") || str_is(part, "..")) {
            errno = ENOENT;
        } else {
            memcpy(name, part.data, part.size);
            name[part.size] = '\0';
            next =
                openat(fd, name,
                       rest.data ? O_PATH | O_DIRECTORY | flags : O_RDONLY | O_NONBLOCK | O_NOCTTY | flags);
        }
        const int os_errno = errno;
        close(fd);
        errno = os_errno;
        fd = next;
    }
    return fd;
}

static ibid_code open_item(const char *source, const struct folder_options *options, struct str key,
                           int *ret_fd, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct str path;
    if (!folder_name_from_key(key, &arena, &path) || path.size == 0)
        return fail(err, IBID_ENOTFOUND, "'%.*s' is no key of a file", STR_ARG(str_slice(key, 0, 200)));
    int fd;
    if (folder_exists(source))
        fd = open_below(open(source, O_PATH | O_DIRECTORY | O_CLOEXEC), path, options->follow_links);
    else if (str_equal(path, path_base_name(str_from(source))))
        fd = open(source, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    else
        fd = -1, errno = ENOENT;
    if (fd >= 0) {
        *ret_fd = fd;
        return IBID_OK;
    }
    const struct str name = str_slice(key, 0, 200);
    if (errno == ELOOP || errno == ENOTDIR)
        return fail(err, IBID_ENOTFOUND, "'%.*s' is no file (any more)", STR_ARG(name));
    return fail_errno(err, errno, "cannot open '%.*s'", STR_ARG(name));
}

static ibid_code folder_fetch(struct connector *connector, const char *source, const void *source_options,
                              struct str external_key, int64_t limit, struct arena *arena,
                              struct connector_item *ret_item, int *ret_fd, ibid_error *err)
{
    int fd;
    TRY(open_item(source, source_options, external_key, &fd, err));
    struct stat info;
    ibid_code code = IBID_OK;
    const struct str name = str_slice(external_key, 0, 200);
    if (fstat(fd, &info) != 0)
        code = fail_errno(err, errno, "cannot read '%.*s'", STR_ARG(name));
    else if (!S_ISREG(info.st_mode))
        code = fail(err, IBID_ENOTFOUND, "'%.*s' is no file (any more)", STR_ARG(name));
    else if ((int64_t)info.st_size > limit)
        code = fail(err, IBID_ETOOBIG, "'%.*s' has %lld bytes; the limit is %lld", STR_ARG(name),
                    (long long)info.st_size, (long long)limit);
    if (code != IBID_OK) {
        close(fd);
        return code;
    }
    const struct str key = arena_str(arena, external_key);
    *ret_item = (struct connector_item){
        .external_key = key,
        .title = path_base_name(key),
        .size = (int64_t)info.st_size,
        .modified_us = (int64_t)info.st_mtim.tv_sec * 1000000 + info.st_mtim.tv_nsec / 1000,
    };
    *ret_fd = fd;
    return IBID_OK;
}

static ibid_code folder_resolve(const char *source, struct arena *arena, const char **ret, ibid_error *err)
{
    ibid_error error = {0};
    AUTO_FREE char *path = path_resolve(source, &error);
    if (!path)
        return fail(err, error.code, "%s", error.message);
    if (!utf8_is_valid(str_from(path)))
        return fail(err, IBID_EINVAL, "the folder's name is not UTF-8");
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode))
        return fail(err, IBID_EINVAL, "'%s' is neither a folder nor a file", path);
    *ret = arena_strdup(arena, path);
    return IBID_OK;
}

/* Whether a folder lists with `outer` all that is listed in it with `inner`. Patterns are about the path from
 * the source on: what others let pass is not compared. Where links are followed, a file may be found on
 * another way than before. */
static bool lists_all_of(const struct folder_options *outer, const struct folder_options *inner)
{
    return outer->include.count + outer->exclude.count == 0 && outer->follow_links == inner->follow_links &&
           outer->hidden >= inner->hidden && outer->max_file_size >= inner->max_file_size;
}

static bool folder_covers(const char *outer, const void *outer_options, const char *inner,
                          const void *inner_options, struct arena *arena, struct str *ret_prefix)
{
    const struct folder_options *options = outer_options;
    const size_t size = strcmp(outer, "/") == 0 ? 0 : strlen(outer);
    if (!lists_all_of(options, inner_options) || inner[size] != '/' || !folder_exists(outer))
        return false;
    struct stat info;
    struct str below = str_from(inner + size + 1);
    if (below.size == 0 || stat(inner, &info) != 0)
        return false;
    if (!options->hidden && (below.data[0] == '.' || strstr(below.data, "/.")))
        return false;
    const bool one_file = !S_ISDIR(info.st_mode);
    if (one_file)
        below.size -= path_base_name(below).size;
    AUTO_BUFFER prefix = BUFFER(KEY_LIMIT);
    folder_name_append_key(&prefix, below);
    if (!one_file)
        buffer_append_byte(&prefix, '/');
    *ret_prefix = arena_str(arena, buffer_str(&prefix));
    return buffer_check(&prefix, "a key", NULL) == IBID_OK;
}

static bool folder_is_unchanged(const struct connector_item *item, int fd)
{
    struct stat now;
    if (fstat(fd, &now) != 0)
        return false;
    const int64_t modified_us = (int64_t)now.st_mtim.tv_sec * 1000000 + now.st_mtim.tv_nsec / 1000;
    return item->size == (int64_t)now.st_size && item->modified_us == modified_us;
}

const struct connector_ops connector_folder = {
    .name = "folder",
    .help = "Files below a folder of this machine, or one file.",
    .source_word = "path",
    .options = no_options,
    .options_size = 0,
    .source_options = source_option_table,
    .source_options_size = sizeof(struct folder_options),
    .open = folder_open,
    .close = folder_close,
    .discover = folder_discover,
    .fetch = folder_fetch,
    .resolve = folder_resolve,
    .covers = folder_covers,
    .is_unchanged = folder_is_unchanged,
};
