/* The system calls a child may make, as a program for the kernel. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>

struct seccomp_filter {
    struct sock_filter *instructions; /* NULL when there is none */
    unsigned short count;
};

/* Compiles the list. `may_open`: files may be opened for reading (landlock says which); else every
 * open fails as if forbidden. An empty filter when libseccomp cannot make one here. */
void seccomp_filter_compile(bool may_open, struct seccomp_filter *ret);
void seccomp_filter_release(struct seccomp_filter *filter);

/* Loads it for this process, for good; needs PR_SET_NO_NEW_PRIVS. 0, or -1 with errno. */
int seccomp_filter_load(const struct seccomp_filter *filter);
