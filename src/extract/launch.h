/* Host side: finds and starts a broker program. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "extract/extractor.h"
#include "extract/protocol.h"

struct broker_link {
    pid_t pid;
    int socket;
    struct hello hello; /* its strings lie in hello_packet */
    char *hello_packet;
};

/* Looks in `libexec`, or when that is NULL: in the environment's IBID_LIBEXEC, beside the running
 * program, in the build tree, where `meson install` puts it. Waits for the broker's hello.
 * IBID_EUNAVAILABLE when there is none, it does not start, or it speaks another version. */
ibid_code broker_link_open(const char *libexec, enum extract_broker broker, bool sandbox,
                           struct broker_link *ret, ibid_error *err) MUST_CHECK;

/* Ends the broker and its children. */
void broker_link_close(struct broker_link *link);
