#include "extract/seccomp_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/memory.h"

/* Memory, time, output, and the end. Everything that is not named here kills. */
static const char *const allowed[] = {
    "brk",
    "munmap",
    "mremap",
    "madvise",
    "read",
    "readv",
    "pread64",
    "write",
    "writev",
    "lseek",
    "close",
    "fstat",
    "fcntl",
    "futex",
    "clock_gettime",
    "clock_getres",
    "gettimeofday",
    "time",
    "nanosleep",
    "clock_nanosleep",
    "getrandom",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sigaltstack",
    "sched_yield",
    "sysinfo",
    "uname",
    "getpid",
    "gettid",
    "getppid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getrlimit",
    "getrusage",
    "getcpu",
    "sched_getaffinity",
    "restart_syscall",
    "exit",
    "exit_group",
};

/* What libraries try and do well without. */
static const struct {
    const char *name;
    int os_errno;
} refused[] = {
    {"ioctl", ENOTTY},           {"access", EACCES},   {"faccessat", EACCES},
    {"faccessat2", EACCES},      {"stat", EACCES},     {"lstat", EACCES},
    {"statx", EACCES},           {"readlink", EACCES}, {"readlinkat", EACCES},
    {"getcwd", EACCES},          {"statfs", EACCES},   {"prctl", EINVAL},
    {"set_robust_list", ENOSYS}, {"rseq", ENOSYS},     {"membarrier", ENOSYS},
    {"getxattr", EACCES},
};

/* For reading files, when that is allowed at all. */
static const char *const for_reading[] = {"newfstatat", "getdents64", "fstatfs", "fadvise64"};

/* Stands for the child's own process id, which is not known when the filter is compiled. */
enum { PID_PLACEHOLDER = 0x5EC0A11D };

static int number_of(const char *name)
{
    int number = seccomp_syscall_resolve_name(name);
    return number == __NR_SCMP_ERROR ? -1 : number;
}

/* Names that this architecture does not have are passed over. */
static int add_rule(scmp_filter_ctx context, uint32_t action, const char *name, unsigned count,
                    const struct scmp_arg_cmp *comparisons)
{
    int number = number_of(name);
    return number < 0 ? 0 : seccomp_rule_add_array(context, action, number, count, comparisons);
}

static int add_opening(scmp_filter_ctx context, bool may_open)
{
    if (!may_open)
        return add_rule(context, SCMP_ACT_ERRNO(EACCES), "open", 0, NULL) |
               add_rule(context, SCMP_ACT_ERRNO(EACCES), "openat", 0, NULL) |
               add_rule(context, SCMP_ACT_ERRNO(EACCES), "newfstatat", 0, NULL);
    const uint64_t writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
    int result = add_rule(context, SCMP_ACT_ALLOW, "open", 1, &SCMP_A1(SCMP_CMP_MASKED_EQ, writing, 0)) |
                 add_rule(context, SCMP_ACT_ALLOW, "openat", 1, &SCMP_A2(SCMP_CMP_MASKED_EQ, writing, 0));
    for (size_t i = 0; i < COUNT_OF(for_reading); i++)
        result |= add_rule(context, SCMP_ACT_ALLOW, for_reading[i], 0, NULL);
    return result;
}

static int add_all(scmp_filter_ctx context, bool may_open)
{
    int result = 0;
    for (size_t i = 0; i < COUNT_OF(allowed); i++)
        result |= add_rule(context, SCMP_ACT_ALLOW, allowed[i], 0, NULL);
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        result |= add_rule(context, SCMP_ACT_ERRNO((uint32_t)refused[i].os_errno), refused[i].name, 0, NULL);
    /* No memory becomes code. */
    result |= add_rule(context, SCMP_ACT_ALLOW, "mmap", 1, &SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    result |= add_rule(context, SCMP_ACT_ALLOW, "mprotect", 1, &SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    /* Limits may be read, not set. */
    result |= add_rule(context, SCMP_ACT_ALLOW, "prlimit64", 1, &SCMP_A2(SCMP_CMP_EQ, 0));
    /* abort() sends a signal to its own thread. */
    result |= add_rule(context, SCMP_ACT_ALLOW, "tgkill", 1, &SCMP_A0(SCMP_CMP_EQ, PID_PLACEHOLDER));
    return result | add_opening(context, may_open);
}

/* libseccomp 2.5 writes a program only to a file. */
static void export_program(scmp_filter_ctx context, struct seccomp_filter *ret)
{
    int fd = memfd_create("filter", MFD_CLOEXEC);
    off_t size = fd >= 0 && seccomp_export_bpf(context, fd) == 0 ? lseek(fd, 0, SEEK_END) : 0;
    size_t count = (size_t)size / sizeof(struct sock_filter);
    if (size > 0 && count <= BPF_MAXINSNS) {
        struct sock_filter *instructions = xcalloc(count, sizeof *instructions);
        if (pread(fd, instructions, (size_t)size, 0) == (ssize_t)size)
            *ret = (struct seccomp_filter){instructions, (unsigned short)count};
        else
            free(instructions);
    }
    if (fd >= 0)
        close(fd);
}

void seccomp_filter_compile(bool may_open, struct seccomp_filter *ret)
{
    *ret = (struct seccomp_filter){NULL, 0};
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_KILL_PROCESS);
    if (!context)
        return;
    if (add_all(context, may_open) == 0)
        export_program(context, ret);
    seccomp_release(context);
}

void seccomp_filter_release(struct seccomp_filter *filter)
{
    free(filter->instructions);
}

int seccomp_filter_load(const struct seccomp_filter *filter)
{
    for (unsigned short i = 0; i < filter->count; i++) {
        struct sock_filter *instruction = &filter->instructions[i];
        if (BPF_CLASS(instruction->code) == BPF_JMP && instruction->k == PID_PLACEHOLDER)
            instruction->k = (uint32_t)getpid();
    }
    struct sock_fprog program = {filter->count, filter->instructions};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
