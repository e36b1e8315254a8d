/* What a multipart/form-data request brings: files, each in a nameless temporary file, and plain fields
 * (inside api/rest/ only). */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "net/http_server.h"

enum { UPLOAD_FILE_LIMIT = 1000, UPLOAD_FIELD_LIMIT = 100, UPLOAD_FIELD_SIZE = 64 * 1024 };

struct upload_limits {
    int64_t file_size;  /* bytes of one file */
    const char *folder; /* on whose disk the temporary files are made */
    int64_t uploads;    /* that may be under way at a time */
};

struct upload_file {
    struct str name, media_type;
    int fd;
    int64_t size;
};

struct upload;

/* `under_way` counts the uploads between opening and closing. IBID_EBUSY when there are as many as may be. */
ibid_code upload_open(struct str content_type, const struct upload_limits *limits, _Atomic int64_t *under_way,
                      struct upload **ret, ibid_error *err) MUST_CHECK;
/* Its closing frees the upload. */
struct http_body_sink *upload_sink(struct upload *upload);

/* Borrowed. */
const struct upload_file *upload_files(const struct upload *upload, size_t *ret_count);
/* The value of a plain field: empty without one. */
struct str upload_field(const struct upload *upload, const char *name);
/* IBID_EINVAL for a plain field that is none of `known` (NULL-ended). */
ibid_code upload_check_fields(const struct upload *upload, const char *const known[],
                              ibid_error *err) MUST_CHECK;
