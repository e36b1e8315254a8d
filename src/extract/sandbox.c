#include "extract/sandbox.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "extract/landlock.h"
#include "extract/sanitizer.h"
#include "extract/seccomp_filter.h"

enum {
    STACK_SIZE = 8 * 1024 * 1024,
    DESCRIPTOR_LIMIT = 16,
    NOBODY = 65534,
    PROBE_SECCOMP = 1,
    PROBE_LANDLOCK = 2,
};

struct sandbox {
    pid_t broker;
    bool seccomp, landlock; /* whether the parts below work here */
    bool may_open;
    struct seccomp_filter filter;
    int ruleset; /* -1 for none */
};

static ibid_code give_up_privileges(const struct sandbox *self, ibid_error *err)
{
#ifndef SANITIZED_ADDRESSES /* whose reports need to read the program */
    /* Brokers started by root, as in many containers. Where there is no such user it stays as it is. */
    if (geteuid() == 0 && setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0)
        (void)!setresuid(NOBODY, NOBODY, NOBODY);
    if (prctl(PR_SET_DUMPABLE, 0) != 0)
        return fail_errno(err, errno, "cannot become unreadable");
#endif
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return fail_errno(err, errno, "cannot give up privileges");
    /* After the change of user, which would undo it. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return fail_errno(err, errno, "cannot end with the broker");
    if (getppid() != self->broker)
        return fail(err, IBID_EIO, "the broker has ended");
    return IBID_OK;
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
#ifndef SANITIZED_ADDRESSES /* whose shadow memory takes terabytes, and whose reports go to files */
    TRY(set_limit(RLIMIT_AS, limits->max_memory, limits->max_memory, err));
    TRY(set_limit(RLIMIT_FSIZE, 0, 0, err));
#endif
    TRY(set_limit(RLIMIT_STACK, STACK_SIZE, STACK_SIZE, err));
    TRY(set_limit(RLIMIT_CORE, 0, 0, err));
    TRY(set_limit(RLIMIT_NPROC, 0, 0, err));
    return set_limit(RLIMIT_NOFILE, DESCRIPTOR_LIMIT, DESCRIPTOR_LIMIT, err);
}

#ifndef SANITIZED_ADDRESSES
/* Tries in a child what would be entered, and keeps what works. */
static void probe(struct sandbox *self)
{
    pid_t pid = fork();
    if (pid == 0) {
        int works = 0;
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (self->ruleset >= 0 && landlock_ruleset_enter(self->ruleset) == 0)
            works |= PROBE_LANDLOCK;
        if (self->filter.count && seccomp_filter_load(&self->filter) == 0)
            works |= PROBE_SECCOMP;
        _exit(works);
    }
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    int works = pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    self->seccomp = works & PROBE_SECCOMP;
    self->landlock = works & PROBE_LANDLOCK;
}
#endif

struct sandbox *sandbox_prepare(const char *const *readable, bool enabled)
{
    struct sandbox *self = xcalloc(1, sizeof *self);
    self->broker = getpid();
    self->ruleset = -1;
    self->may_open = readable && readable[0];
#ifndef SANITIZED_ADDRESSES
    if (enabled) {
        seccomp_filter_compile(self->may_open, &self->filter);
        self->ruleset = landlock_ruleset_open(readable);
        probe(self);
    }
#endif
    return self;
}

void sandbox_free(struct sandbox *self)
{
    if (!self)
        return;
    seccomp_filter_release(&self->filter);
    if (self->ruleset >= 0)
        close(self->ruleset);
    free(self);
}

bool sandbox_has_seccomp(const struct sandbox *self)
{
    return self->seccomp;
}

bool sandbox_has_landlock(const struct sandbox *self)
{
    return self->landlock;
}

bool sandbox_is_full(const struct sandbox *self)
{
    /* Without landlock nothing tells one file from another: fine when none can be opened. */
    return self->seccomp && (self->landlock || !self->may_open);
}

ibid_code sandbox_enter(const struct sandbox *self, const struct sandbox_limits *limits, ibid_error *err)
{
    TRY(give_up_privileges(self, err));
    if (self->landlock && landlock_ruleset_enter(self->ruleset) != 0)
        return fail_errno(err, errno, "cannot enter landlock");
    if (close_range((unsigned)limits->first_closed_fd, ~0U, 0) != 0)
        return fail_errno(err, errno, "cannot close descriptors");
    TRY(enter_limits(limits, err));
    if (self->seccomp && seccomp_filter_load(&self->filter) != 0)
        return fail_errno(err, errno, "cannot enter seccomp");
    return IBID_OK;
}
