/* What holds a child: limits of resources always; seccomp and landlock where the system has them.
 *
 * Prepared once in the broker (compiling a filter is slow), entered in each child. Builds with
 * AddressSanitizer or ThreadSanitizer need more than a child may have: there only the limits are left (but
 * that of memory), and the sandbox says that it is not full. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct sandbox;

/* `readable`: folders and files that children may read, NULL-ended; NULL for none. With `enabled`
 * false only the resource limits are left. Never fails: what the system lacks is left out, see the
 * questions below. Forks a child to see what works. */
struct sandbox *sandbox_prepare(const char *const *readable, bool enabled) __attribute__((returns_nonnull));
void sandbox_free(struct sandbox *take_sandbox);

bool sandbox_has_seccomp(const struct sandbox *sandbox);
bool sandbox_has_landlock(const struct sandbox *sandbox);
/* Nothing but memory, the document and the output is within reach of a child. */
bool sandbox_is_full(const struct sandbox *sandbox);

struct sandbox_limits {
    uint64_t max_memory;   /* bytes of address space */
    uint64_t max_cpu_time; /* microseconds; rounded up to seconds */
    int first_closed_fd;   /* this descriptor and all above it are closed */
};

/* In the child, for the rest of its life. IBID_EIO when a prepared part cannot be entered: the
 * child must end then. */
ibid_code sandbox_enter(const struct sandbox *sandbox, const struct sandbox_limits *limits,
                        ibid_error *err) MUST_CHECK;
