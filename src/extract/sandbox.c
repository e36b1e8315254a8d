#include "extract/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"

enum { STACK_SIZE = 8 * 1024 * 1024, DESCRIPTOR_LIMIT = 16 };

struct sandbox {
    bool seccomp, landlock;
};

struct sandbox *sandbox_prepare(const char *const *readable, bool enabled)
{
    return xcalloc(1, sizeof(struct sandbox));
}

void sandbox_free(struct sandbox *sandbox)
{
    free(sandbox);
}

bool sandbox_has_seccomp(const struct sandbox *sandbox)
{
    return sandbox->seccomp;
}

bool sandbox_has_landlock(const struct sandbox *sandbox)
{
    return sandbox->landlock;
}

bool sandbox_is_full(const struct sandbox *sandbox)
{
    return sandbox->seccomp && sandbox->landlock;
}

static ibid_code set_limit(int resource, rlim_t soft, rlim_t hard, ibid_error *err)
{
    struct rlimit limit = {soft, hard};
    if (setrlimit((__rlimit_resource_t)resource, &limit) != 0)
        return fail_errno(err, errno, "cannot set resource limit %d", resource);
    return IBID_OK;
}

static ibid_code enter_limits(const struct sandbox_limits *limits, ibid_error *err)
{
    rlim_t seconds = (limits->max_cpu_time + 999999) / 1000000;
    TRY(set_limit(RLIMIT_CPU, seconds, seconds + 1, err));
#ifndef __SANITIZE_ADDRESS__ /* its shadow memory alone is 16 TiB of address space */
    TRY(set_limit(RLIMIT_AS, limits->max_memory, limits->max_memory, err));
#endif
    TRY(set_limit(RLIMIT_STACK, STACK_SIZE, STACK_SIZE, err));
    TRY(set_limit(RLIMIT_CORE, 0, 0, err));
    TRY(set_limit(RLIMIT_FSIZE, 0, 0, err));
    TRY(set_limit(RLIMIT_NPROC, 0, 0, err));
    return set_limit(RLIMIT_NOFILE, DESCRIPTOR_LIMIT, DESCRIPTOR_LIMIT, err);
}

ibid_code sandbox_enter(const struct sandbox *sandbox, const struct sandbox_limits *limits, ibid_error *err)
{
    pid_t broker = getppid();
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_DUMPABLE, 0) != 0)
        return fail_errno(err, errno, "cannot give up privileges");
    if (getppid() != broker)
        return fail(err, IBID_EIO, "the broker has ended");
    return enter_limits(limits, err);
}
