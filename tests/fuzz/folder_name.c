#include "tests/fuzz/fuzz.h"

#include "base/utf8.h"
#include "connector/folder_name.h"

static void name_to_key_and_back(struct str name, struct arena *arena)
{
    AUTO_BUFFER key = BUFFER(SIZE_MAX);
    struct str back;
    folder_name_append_key(&key, name);
    ASSERT(utf8_is_valid(buffer_str(&key)));
    ASSERT(folder_name_from_key(buffer_str(&key), arena, &back) && str_equal(back, name));
}

/* Every name leads to one key and back; no two keys lead to one name. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA arena = ARENA_INIT;
    const struct str bytes = {(const char *)data, size};
    struct str name;
    if (size && !memchr(data, '\0', size))
        name_to_key_and_back(bytes, &arena);
    if (size && utf8_is_valid(bytes) && folder_name_from_key(bytes, &arena, &name)) {
        AUTO_BUFFER key = BUFFER(SIZE_MAX);
        folder_name_append_key(&key, name);
        ASSERT(str_equal(buffer_str(&key), bytes));
    }
    (void)folder_name_kind(bytes);
    (void)folder_bytes_are_binary((const char *)data, size);
    return 0;
}
