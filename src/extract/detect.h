/* What a file is, from its bytes first: a name only tells kinds of text apart.
 *
 * Runs in the host, so it only compares bytes at bounded places; it parses nothing. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

enum {
    DETECT_HEAD_SIZE = 4096,
    DETECT_TAIL_SIZE = 64 * 1024, /* of a ZIP file: the end of its directory */
};

struct detection {
    const char *media_type; /* lives forever */
};

/* `tail` is the end of the file or empty; `declared` what the source says it is, or NULL. */
const char *detect_type(struct str head, struct str tail, const char *name, const char *declared);

/* Reads what it needs from `fd`, whose position stays. */
ibid_code detect_file(int fd, uint64_t size, const char *name, const char *declared, struct detection *ret,
                      ibid_error *err) MUST_CHECK;
