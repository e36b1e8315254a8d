/* A folder of its own for a test, and a disk that is full. */
#pragma once

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/memory.h"
#include "tests/test.h"

/* A new, empty folder under TMPDIR; folder_remove() and free() it. */
static inline char *test_folder_new(void)
{
    const char *parent = getenv("TMPDIR");
    char *path = xasprintf("%s/ibid-test-XXXXXX", parent && *parent ? parent : "/tmp");
    assert_non_null(mkdtemp(path));
    return path;
}

static inline void test_folder_free(char *take_path)
{
    assert_ok(folder_remove(take_path, err));
    free(take_path);
}

/* No file may grow beyond `size` bytes any more; RLIM_INFINITY: all may again. */
static inline void test_files_limit(rlim_t size)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size < limit.rlim_max ? size : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}
