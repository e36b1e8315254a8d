/* A folder of its own for a test. */
#pragma once

#include <stdlib.h>

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
