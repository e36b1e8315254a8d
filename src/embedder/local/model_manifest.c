#include "embedder/local/model_manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

enum { MANIFEST_SIZE_MAX = 1 << 20 };

struct stamp {
    int64_t size;
    int64_t modified_ns;
};

/* The manifest as an object, an empty one when there is none that can be read. The caller owns it. */
static json_t *read_manifest(const char *folder)
{
    AUTO_FREE char *path = path_join(folder, MODEL_MANIFEST_NAME);
    AUTO_BUFFER text = BUFFER(MANIFEST_SIZE_MAX);
    json_t *root = NULL;
    if (file_read(path, &text, NULL) != IBID_OK || json_parse(buffer_str(&text), &root, NULL) != IBID_OK)
        return json_object();
    if (json_is_object(root))
        return root;
    json_decref(root);
    return json_object();
}

/* The hash noted for a file, whatever became of it since; false when there is none. */
static bool noted_hash(const json_t *manifest, const char *file, struct sha256 *ret, struct stamp *ret_stamp)
{
    const json_t *row = json_object_get(manifest, file);
    struct str hex = STR_EMPTY;
    *ret_stamp = (struct stamp){-1, -1};
    return json_get_str(row, "sha256", &hex, NULL) == IBID_OK && sha256_from_hex(hex, ret) &&
           json_get_int(row, "size", 0, INT64_MAX, &ret_stamp->size, NULL) == IBID_OK &&
           json_get_int(row, "modified_ns", 0, INT64_MAX, &ret_stamp->modified_ns, NULL) == IBID_OK;
}

/* A folder that cannot be written only costs time at the next start. */
static void note_hash(const char *folder, json_t *manifest, const char *file, const struct sha256 *hash,
                      struct stamp stamp)
{
    char hex[SHA256_HEX_SIZE];
    sha256_to_hex(hash, hex);
    json_t *row = json_object();
    json_set_string(row, "sha256", hex);
    json_set_int(row, "size", stamp.size);
    json_set_int(row, "modified_ns", stamp.modified_ns);
    json_set(manifest, file, row);
    AUTO_BUFFER text = BUFFER(MANIFEST_SIZE_MAX);
    json_append(&text, manifest);
    AUTO_FREE char *path = path_join(folder, MODEL_MANIFEST_NAME);
    if (!text.overflowed && file_write_atomically(path, text.data, text.size, 0644, NULL) != IBID_OK)
        return;
}

static ibid_code open_file(const char *folder, const char *file, int *ret_fd, struct stamp *ret,
                           ibid_error *err)
{
    AUTO_FREE char *path = path_join(folder, file);
    struct stat info;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, errno, "cannot open %s", path);
    if (fstat(fd, &info) != 0) {
        const int os_errno = errno;
        close(fd);
        return fail_errno(err, os_errno, "cannot look at %s", path);
    }
    *ret = (struct stamp){info.st_size, info.st_mtim.tv_sec * INT64_C(1000000000) + info.st_mtim.tv_nsec};
    *ret_fd = fd;
    return IBID_OK;
}

ibid_code model_manifest_hash(const char *folder, const char *file, bool note, struct sha256 *ret,
                              ibid_error *err)
{
    int fd = -1;
    struct stamp now, noted;
    TRY(open_file(folder, file, &fd, &now, err));
    AUTO_JSON *manifest = read_manifest(folder);
    if (noted_hash(manifest, file, ret, &noted) && noted.size == now.size &&
        noted.modified_ns == now.modified_ns) {
        close(fd);
        return IBID_OK;
    }
    const ibid_code code = sha256_of_fd(fd, ret, err);
    close(fd);
    if (code == IBID_OK && note)
        note_hash(folder, manifest, file, ret, now);
    return code;
}

ibid_code model_manifest_verify(const char *folder, const char *file, struct sha256 *ret, bool *ret_noted,
                                bool *ret_same, ibid_error *err)
{
    int fd = -1;
    struct stamp now, then;
    struct sha256 noted;
    TRY(open_file(folder, file, &fd, &now, err));
    const ibid_code code = sha256_of_fd(fd, ret, err);
    close(fd);
    TRY(code);
    AUTO_JSON *manifest = read_manifest(folder);
    *ret_noted = noted_hash(manifest, file, &noted, &then);
    *ret_same = *ret_noted && sha256_equal(&noted, ret);
    return IBID_OK;
}
