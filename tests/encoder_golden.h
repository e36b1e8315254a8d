/* The texts of tests/golden/encoder, and where a real model may be found. */
#pragma once

#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "tests/test.h"

struct golden {
    struct arena arena;
    size_t count;
    struct str *texts;
    int32_t **ids;
    size_t *id_counts;
};

/* Path of a file of tests/golden/encoder; free() it. */
static inline char *golden_path(const char *name)
{
    const char *root = getenv("IBID_TEST_DATA");
    AUTO_FREE char *folder = path_join(root ? root : "tests", "golden/encoder");
    return path_join(folder, name);
}

/* The folder of all-MiniLM-L6-v2 that IBID_TEST_MODEL names or where the product keeps it;
 * NULL when there is none. free() it. */
static inline char *model_folder(void)
{
    const char *named = getenv("IBID_TEST_MODEL"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *folder = named   ? xstrdup(named)
                   : cache ? path_join(cache, "ibid/models/all-MiniLM-L6-v2")
                   : home  ? path_join(home, ".cache/ibid/models/all-MiniLM-L6-v2")
                           : NULL;
    AUTO_FREE char *weights = folder ? path_join(folder, "model.safetensors") : NULL;
    if (weights && file_exists(weights))
        return folder;
    free(folder);
    return NULL;
}

static inline void golden_add(struct golden *golden, struct str line)
{
    AUTO_JSON *row = NULL;
    struct str text = STR_EMPTY;
    assert_ok(json_parse(line, &row, err));
    assert_ok(json_get_str(row, "text", &text, err));
    const json_t *ids = json_object_get(row, "ids");
    const size_t count = json_array_size(ids), i = golden->count++;
    golden->texts[i] = arena_str(&golden->arena, text);
    golden->ids[i] = ARENA_ARRAY(&golden->arena, int32_t, count);
    golden->id_counts[i] = count;
    for (size_t j = 0; j < count; j++)
        golden->ids[i][j] = (int32_t)json_integer_value(json_array_get(ids, j));
}

/* Reads a golden file of texts and ids; the test fails when that is not possible. */
static inline void golden_open(const char *name, struct golden *ret)
{
    enum { LINES_MAX = 4096 };
    AUTO_FREE char *path = golden_path(name);
    AUTO_BUFFER file = BUFFER(16 << 20);
    assert_ok(file_read(path, &file, err));
    *ret = (struct golden){0};
    ret->texts = ARENA_ARRAY(&ret->arena, struct str, LINES_MAX);
    ret->ids = ARENA_ARRAY(&ret->arena, int32_t *, LINES_MAX);
    ret->id_counts = ARENA_ARRAY(&ret->arena, size_t, LINES_MAX);
    struct str rest = buffer_str(&file), line;
    while (ret->count < LINES_MAX && str_split(&rest, '\n', &line))
        if (line.size > 0)
            golden_add(ret, line);
}

static inline void golden_close(struct golden *golden)
{
    arena_release(&golden->arena);
}
