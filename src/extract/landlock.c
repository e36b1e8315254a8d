#include "extract/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Numbers are the same on every architecture. */
enum {
    CREATE_RULESET = 444,
    ADD_RULE = 445,
    RESTRICT_SELF = 446,
    CREATE_RULESET_VERSION = 1,
    RULE_PATH_BENEATH = 1,
    HIGH_FD = 32, /* out of the way of descriptors with fixed numbers */
};

#define ACCESS_READ_FILE (UINT64_C(1) << 2)
#define ACCESS_READ_DIR (UINT64_C(1) << 3)

struct ruleset_attributes {
    uint64_t access_fs;
    uint64_t access_net; /* from ABI 4 */
    uint64_t scoped;     /* from ABI 6 */
};

struct path_beneath_attributes {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));

/* What each version of the interface can forbid. */
static void fill_attributes(long abi, struct ruleset_attributes *attributes, size_t *size)
{
    unsigned fs_rights = abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13;
    *attributes = (struct ruleset_attributes){
        .access_fs = (UINT64_C(1) << fs_rights) - 1,
        .access_net = abi >= 4 ? 3 : 0, /* binding and connecting TCP sockets */
        .scoped = abi >= 6 ? 3 : 0,     /* abstract sockets and signals to processes outside */
    };
    *size = abi >= 6   ? sizeof *attributes
            : abi >= 4 ? offsetof(struct ruleset_attributes, scoped)
                       : sizeof(uint64_t);
}

static void allow_reading(int ruleset, const char *path)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    struct stat status;
    if (fd < 0)
        return; /* what is not there need not be read */
    if (fstat(fd, &status) == 0) {
        struct path_beneath_attributes rule = {
            .allowed_access = ACCESS_READ_FILE | (S_ISDIR(status.st_mode) ? ACCESS_READ_DIR : 0),
            .parent_fd = fd,
        };
        (void)syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0); /* else it stays forbidden */
    }
    close(fd);
}

int landlock_ruleset_open(const char *const *readable)
{
    long abi = syscall(CREATE_RULESET, NULL, 0, CREATE_RULESET_VERSION);
    if (abi < 1)
        return -1;
    struct ruleset_attributes attributes;
    size_t size;
    fill_attributes(abi, &attributes, &size);
    int low = (int)syscall(CREATE_RULESET, &attributes, size, 0);
    if (low < 0)
        return -1;
    int ruleset = fcntl(low, F_DUPFD_CLOEXEC, HIGH_FD);
    close(low);
    for (size_t i = 0; ruleset >= 0 && readable && readable[i]; i++)
        allow_reading(ruleset, readable[i]);
    return ruleset;
}

int landlock_ruleset_enter(int ruleset)
{
    return (int)syscall(RESTRICT_SELF, ruleset, 0);
}
