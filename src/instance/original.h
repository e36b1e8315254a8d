/* The bytes of a document as they are now: those that ibid keeps, or those at its source. */
#pragma once

#include "instance/instance.h"
#include "records/document.h"

/* A descriptor to read from its start, the caller's to close(), and how many bytes it has. IBID_ENOTFOUND
 * when the source has them no more. What the caller may read has been checked before. */
ibid_code instance_open_original(struct instance *instance, const struct document *document, int *ret_fd,
                                 int64_t *ret_size, ibid_error *err) MUST_CHECK;
