#include "api/rest/upload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "net/http_multipart.h"

struct upload_field {
    struct str name, value;
};

struct upload {
    struct http_body_sink sink; /* first */
    struct multipart *multipart;
    _Atomic int64_t *under_way;
    struct arena arena;
    int64_t file_size_limit;
    char *folder;
    struct upload_file *files;
    size_t file_count, file_capacity;
    struct upload_field fields[UPLOAD_FIELD_LIMIT];
    size_t field_count;
    bool in_file;
    struct str field_name;
    struct buffer field_value;
};

/* A file of no name on the disk of `folder`: it goes with its descriptor, also when the process is killed. */
static ibid_code temporary_file(const char *folder, int *ret_fd, ibid_error *err)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) { /* file systems that cannot do that */
        AUTO_FREE char *path = path_join(folder, "upload-XXXXXX");
        fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0)
            unlink(path);
    }
    if (fd < 0)
        return fail_errno(err, errno, "cannot make a temporary file in %s", folder);
    *ret_fd = fd;
    return IBID_OK;
}

static struct str clean(struct upload *upload, struct str text)
{
    AUTO_BUFFER repaired = BUFFER(4 * MULTIPART_HEAD_LIMIT);
    utf8_append_repaired(&repaired, text);
    return arena_str(&upload->arena, buffer_str(&repaired));
}

static ibid_code begin_file(struct upload *upload, const struct multipart_part *part, ibid_error *err)
{
    if (upload->file_count == UPLOAD_FILE_LIMIT)
        return fail(err, IBID_ETOOBIG, "the upload has more than the limit of %d files", UPLOAD_FILE_LIMIT);
    GROW(upload->files, upload->file_count, upload->file_capacity);
    struct upload_file file = {.name = clean(upload, part->file_name),
                               .media_type = clean(upload, part->media_type)};
    TRY(temporary_file(upload->folder, &file.fd, err));
    upload->files[upload->file_count++] = file;
    return IBID_OK;
}

static ibid_code part_begin(const struct multipart_part *part, void *context, ibid_error *err)
{
    struct upload *upload = context;
    /* A form with an empty file input sends a file part without a name: that is no file. */
    upload->in_file = part->is_file && part->file_name.size > 0;
    if (upload->in_file)
        return begin_file(upload, part, err);
    if (upload->field_count == UPLOAD_FIELD_LIMIT)
        return fail(err, IBID_ETOOBIG, "the upload has more than the limit of %d fields", UPLOAD_FIELD_LIMIT);
    upload->field_name = clean(upload, part->name);
    buffer_clear(&upload->field_value);
    return IBID_OK;
}

static ibid_code part_data(struct str bytes, void *context, ibid_error *err)
{
    struct upload *upload = context;
    if (!upload->in_file) {
        buffer_append_str(&upload->field_value, bytes);
        return buffer_check(&upload->field_value, "a field of the upload", err);
    }
    struct upload_file *file = &upload->files[upload->file_count - 1];
    file->size += (int64_t)bytes.size;
    if (file->size > upload->file_size_limit)
        return fail(err, IBID_ETOOBIG, "'%.*s' is larger than the limit of %lld bytes (server.max_file_size)",
                    STR_ARG(file->name), (long long)upload->file_size_limit);
    const ibid_code code = file_write_fd(file->fd, bytes.data, bytes.size, err);
    if (code != IBID_OK)
        error_context(err, "temporary file in %s", upload->folder);
    return code;
}

static ibid_code part_end(void *context, ibid_error *err)
{
    struct upload *upload = context;
    if (upload->in_file)
        return IBID_OK;
    upload->fields[upload->field_count++] = (struct upload_field){
        upload->field_name, arena_str(&upload->arena, buffer_str(&upload->field_value))};
    return IBID_OK;
}

static ibid_code sink_write(struct http_body_sink *self, struct str bytes, ibid_error *err)
{
    return multipart_feed(((struct upload *)self)->multipart, bytes, err);
}

static ibid_code sink_finish(struct http_body_sink *self, ibid_error *err)
{
    return multipart_finish(((struct upload *)self)->multipart, err);
}

static void sink_close(struct http_body_sink *self)
{
    struct upload *upload = (struct upload *)self;
    for (size_t i = 0; i < upload->file_count; i++)
        close(upload->files[i].fd);
    atomic_fetch_sub(upload->under_way, 1);
    multipart_close(upload->multipart);
    buffer_release(&upload->field_value);
    arena_release(&upload->arena);
    free(upload->files);
    free(upload->folder);
    free(upload);
}

static ibid_code enter(_Atomic int64_t *under_way, int64_t limit, ibid_error *err)
{
    enum { RETRY_S = 2 };
    if (atomic_fetch_add(under_way, 1) < limit)
        return IBID_OK;
    atomic_fetch_sub(under_way, 1);
    const ibid_code code = fail(
        err, IBID_EBUSY, "%lld uploads are being received, the limit (server.max_uploads): try again later",
        (long long)limit);
    if (err)
        err->retry_after_s = RETRY_S;
    return code;
}

ibid_code upload_open(struct str content_type, const struct upload_limits *limits, _Atomic int64_t *under_way,
                      struct upload **ret, ibid_error *err)
{
    static const struct multipart_ops ops = {part_begin, part_data, part_end};
    TRY(enter(under_way, limits->uploads, err));
    struct upload *upload = xcalloc(1, sizeof *upload);
    const ibid_code code = multipart_open(content_type, &ops, upload, &upload->multipart, err);
    if (code != IBID_OK) {
        atomic_fetch_sub(under_way, 1);
        free(upload);
        return code;
    }
    upload->sink = (struct http_body_sink){sink_write, sink_finish, sink_close};
    upload->under_way = under_way;
    upload->file_size_limit = limits->file_size;
    upload->folder = xstrdup(limits->folder);
    upload->field_value = BUFFER(UPLOAD_FIELD_SIZE);
    *ret = upload;
    return IBID_OK;
}

struct http_body_sink *upload_sink(struct upload *upload)
{
    return &upload->sink;
}

const struct upload_file *upload_files(const struct upload *upload, size_t *ret_count)
{
    *ret_count = upload->file_count;
    return upload->files;
}

struct str upload_field(const struct upload *upload, const char *name)
{
    for (size_t i = 0; i < upload->field_count; i++)
        if (str_is(upload->fields[i].name, name))
            return upload->fields[i].value;
    return STR_EMPTY;
}

ibid_code upload_check_fields(const struct upload *upload, const char *const known[], ibid_error *err)
{
    for (size_t i = 0; i < upload->field_count; i++) {
        const char *const *name = known;
        while (*name && !str_is(upload->fields[i].name, *name))
            name++;
        if (!*name)
            return fail(err, IBID_EINVAL, "unknown field '%.*s' in the upload",
                        STR_ARG(upload->fields[i].name));
    }
    return IBID_OK;
}
