/* multipart/form-data as it comes in: a parser that is fed pieces of any size and hands on each part's
 * bytes at once, so that an upload never stands in memory (RFC 7578, RFC 2046 section 5.1). */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "net/http.h"

enum {
    MULTIPART_BOUNDARY_LIMIT = 70,
    MULTIPART_HEAD_LIMIT = 8 * 1024, /* headers of one part */
    MULTIPART_PART_LIMIT = 10000,
};

struct multipart_part {
    struct str name;       /* of the form's field */
    struct str file_name;  /* as sent, base name only (no '/' and '\\' before it); empty for a plain field */
    bool is_file;          /* had a file name */
    struct str media_type; /* of the part's Content-Type, or empty */
};

/* Any of them but IBID_OK ends the parsing with that code. Strings are borrowed for the call. */
struct multipart_ops {
    ibid_code (*begin)(const struct multipart_part *part, void *context, ibid_error *err);
    ibid_code (*data)(struct str bytes, void *context, ibid_error *err);
    ibid_code (*end)(void *context, ibid_error *err);
};

struct multipart;

/* `content_type`: of the request. IBID_EINVAL when it is no multipart/form-data with a boundary. */
ibid_code multipart_open(struct str content_type, const struct multipart_ops *ops, void *context,
                         struct multipart **ret, ibid_error *err) MUST_CHECK;
/* IBID_EINVAL: malformed; IBID_ETOOBIG: a limit. No further call but multipart_close after an error. */
ibid_code multipart_feed(struct multipart *multipart, struct str bytes, ibid_error *err) MUST_CHECK;
/* All has been fed: IBID_EINVAL when the closing boundary is missing. */
ibid_code multipart_finish(struct multipart *multipart, ibid_error *err) MUST_CHECK;
/* NULL is fine. */
void multipart_close(struct multipart *take_multipart);
