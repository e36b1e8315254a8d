/* Landlock by system call: the C library has no wrappers, and the headers of older systems lack what
 * newer kernels know, so the structures are our own. */
#pragma once

/* A ruleset that forbids all that the running kernel can forbid, but reading `readable` (folders and
 * files, NULL-ended; may be NULL). A descriptor to close, or -1 when the kernel has no landlock. */
int landlock_ruleset_open(const char *const *readable);

/* Enters it, for this process and all it starts. 0, or -1 with errno. */
int landlock_ruleset_enter(int ruleset);
