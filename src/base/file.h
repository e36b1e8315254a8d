/* Files and folders. Paths are NUL-terminated and in the system's encoding. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/str.h"

/* Appends the whole file; IBID_ETOOBIG when it crosses the buffer's ceiling. */
ibid_code file_read(const char *path, struct buffer *out, ibid_error *err) MUST_CHECK;
/* The same from an open descriptor, from its present position to its end. */
ibid_code file_read_fd(int fd, struct buffer *out, ibid_error *err) MUST_CHECK;

/* Writes `size` bytes whatever the pieces the system takes them in. Who knows the file's name adds it to the
 * error (error_context). */
ibid_code file_write_fd(int fd, const void *data, size_t size, ibid_error *err) MUST_CHECK;

/* Puts a file in place so that a reader sees the old or the new whole, also after power loss:
 * temporary file beside it, fsync, rename, fsync of the folder. `mode` as for open(2). */
ibid_code file_write_atomically(const char *path, const void *data, size_t size, unsigned mode,
                                ibid_error *err) MUST_CHECK;
/* The last two steps alone, for a file that was written piece by piece and fsynced. */
ibid_code file_rename_durably(const char *from, const char *to, ibid_error *err) MUST_CHECK;

/* Makes `path` and its parents, each with mode 0700 when new; fine when it is there. */
ibid_code folder_make(const char *path, ibid_error *err) MUST_CHECK;
/* Removes a folder and everything in it, following no link; fine when it is not there. */
ibid_code folder_remove(const char *path, ibid_error *err) MUST_CHECK;
bool file_exists(const char *path);
bool folder_exists(const char *path);

/* "a/b" from "a" and "b" (which wins when it is absolute); free() the result. */
char *path_join(const char *folder, const char *name);
/* The part after the last '/', borrowed. */
struct str path_base_name(struct str path);
/* ".pdf" of "x.PDF" as it stands ("" without); borrowed. */
struct str path_extension(struct str path);
/* Absolute form of an existing path without links in it; free() the result, NULL on failure. */
char *path_resolve(const char *path, ibid_error *err);

/* A whole file mapped for reading. */
struct file_map {
    const void *data; /* NULL for an empty file */
    size_t size;
};
ibid_code file_map_open(const char *path, struct file_map *ret, ibid_error *err) MUST_CHECK;
void file_map_close(struct file_map *map);
