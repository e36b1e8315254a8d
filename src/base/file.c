#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

ibid_code file_read_fd(int fd, struct buffer *out, ibid_error *err)
{
    enum { PIECE = 64 * 1024 };
    struct stat info;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
        (size_t)info.st_size <= out->limit - out->size)
        buffer_reserve(out, (size_t)info.st_size); /* one allocation in the usual case */
    for (;;) {
        size_t room = out->limit - out->size;
        if (room == 0) {
            char one_more;
            ssize_t got = read(fd, &one_more, 1);
            if (got == 0)
                return IBID_OK;
            if (got < 0)
                return fail_errno(err, errno, "cannot read");
            return fail(err, IBID_ETOOBIG, "larger than the limit of %zu bytes", out->limit);
        }
        char *at = buffer_reserve(out, room < PIECE ? room : PIECE);
        ssize_t got = read(fd, at, room < PIECE ? room : PIECE);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(err, errno, "cannot read");
        if (got == 0) {
            *at = '\0';
            return IBID_OK;
        }
        out->size += (size_t)got;
    }
}

ibid_code file_read(const char *path, struct buffer *out, ibid_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, errno, "cannot open '%s'", path);
    ibid_code code = file_read_fd(fd, out, err);
    close(fd);
    if (code != IBID_OK)
        error_context(err, "'%s'", path);
    return code;
}

ibid_code file_write_fd(int fd, const void *data, size_t size, ibid_error *err)
{
    const char *at = data;
    while (size) {
        ssize_t put = write(fd, at, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return fail_errno(err, errno, "cannot write");
        at += put;
        size -= (size_t)put;
    }
    return IBID_OK;
}

static ibid_code sync_parent_folder(const char *path, ibid_error *err)
{
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *folder = slash ? xmemdup0(path, slash == path ? 1 : (size_t)(slash - path)) : xstrdup(".");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, errno, "cannot open folder '%s'", folder);
    int failed = fsync(fd) ? errno : 0;
    close(fd);
    return failed ? fail_errno(err, failed, "cannot sync folder '%s'", folder) : IBID_OK;
}

ibid_code file_rename_durably(const char *from, const char *to, ibid_error *err)
{
    if (rename(from, to) != 0)
        return fail_errno(err, errno, "cannot put '%s' in place", to);
    return sync_parent_folder(to, err);
}

ibid_code file_write_atomically(const char *path, const void *data, size_t size, unsigned mode, ibid_error *err)
{
    AUTO_FREE char *temporary = xasprintf("%s.XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, errno, "cannot create '%s'", temporary);
    ibid_code code = file_write_fd(fd, data, size, err);
    if (code == IBID_OK && (fchmod(fd, mode) != 0 || fsync(fd) != 0))
        code = fail_errno(err, errno, "cannot sync");
    close(fd);
    if (code == IBID_OK)
        code = file_rename_durably(temporary, path, err);
    else
        error_context(err, "'%s'", path);
    if (code != IBID_OK)
        unlink(temporary);
    return code;
}

ibid_code folder_make(const char *path, ibid_error *err)
{
    AUTO_FREE char *part = xstrdup(path);
    for (char *at = part + 1;; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        char end = *at;
        *at = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return fail_errno(err, errno, "cannot create folder '%s'", part);
        if (end == '\0')
            break;
        *at = end;
    }
    if (!folder_exists(path))
        return fail(err, IBID_ECONFLICT, "'%s' is not a folder", path);
    return IBID_OK;
}

static ibid_code remove_at(int parent, const char *name, ibid_error *err)
{
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return IBID_OK;
    if (errno != EISDIR && errno != EPERM)
        return fail_errno(err, errno, "cannot remove '%s'", name);
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, errno, "cannot open folder '%s'", name);
    DIR *folder = fdopendir(fd);
    if (!folder) {
        int os_errno = errno;
        close(fd);
        return fail_errno(err, os_errno, "cannot list folder '%s'", name);
    }
    ibid_code code = IBID_OK;
    for (struct dirent *entry; code == IBID_OK && (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            code = remove_at(dirfd(folder), entry->d_name, err);
    closedir(folder);
    if (code == IBID_OK && unlinkat(parent, name, AT_REMOVEDIR) != 0)
        code = fail_errno(err, errno, "cannot remove folder '%s'", name);
    return code;
}

ibid_code folder_remove(const char *path, ibid_error *err)
{
    return remove_at(AT_FDCWD, path, err);
}

bool file_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool folder_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

char *path_join(const char *folder, const char *name)
{
    if (name[0] == '/' || folder[0] == '\0')
        return xstrdup(name);
    size_t size = strlen(folder);
    return xasprintf("%s%s%s", folder, folder[size - 1] == '/' ? "" : "/", name);
}

struct str path_base_name(struct str path)
{
    size_t start = path.size;
    while (start > 0 && path.data[start - 1] != '/')
        start--;
    return str_slice(path, start, path.size);
}

struct str path_extension(struct str path)
{
    struct str name = path_base_name(path);
    for (size_t at = name.size; at > 1; at--)
        if (name.data[at - 1] == '.')
            return str_slice(name, at - 1, name.size);
    return STR_EMPTY;
}

char *path_resolve(const char *path, ibid_error *err)
{
    char *resolved = realpath(path, NULL);
    if (!resolved)
        (void)fail_errno(err, errno, "'%s'", path);
    return resolved;
}

ibid_code file_map_open(const char *path, struct file_map *ret, ibid_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, errno, "cannot open '%s'", path);
    struct stat info;
    if (fstat(fd, &info) != 0) {
        int os_errno = errno;
        close(fd);
        return fail_errno(err, os_errno, "cannot read '%s'", path);
    }
    void *data = NULL;
    if (info.st_size > 0) {
        data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (data == MAP_FAILED) {
            int os_errno = errno;
            close(fd);
            return fail_errno(err, os_errno, "cannot map '%s'", path);
        }
    }
    close(fd);
    *ret = (struct file_map){data, (size_t)info.st_size};
    return IBID_OK;
}

void file_map_close(struct file_map *map)
{
    if (map->data)
        munmap((void *)map->data, map->size);
    *map = (struct file_map){0};
}
