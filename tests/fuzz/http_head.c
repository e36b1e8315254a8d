#include "tests/fuzz/fuzz.h"

#include "net/http_head.h"

/* A head that is taken is taken alike when nothing follows it, and no part of it is taken for a whole. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct http_head head, again;
    int status = 0;
    ibid_error error = {0};
    const struct str text = {(const char *)data, size};
    const enum http_head_state state = http_head_parse(text, &arena, &head, &status, &error);
    if (state == HEAD_REFUSED)
        ASSERT(status >= 400 && error.message[0]);
    if (state != HEAD_COMPLETE)
        return 0;
    ASSERT(head.size <= size && head.path.size > 0 && head.path.data[0] == '/');
    ASSERT(!(head.chunked && head.content_length >= 0));
    ASSERT(http_head_parse(str_slice(text, 0, head.size), &arena, &again, &status, NULL) == HEAD_COMPLETE);
    ASSERT(again.size == head.size && again.content_length == head.content_length &&
           again.chunked == head.chunked);
    for (size_t cut = 0; cut < head.size; cut += 1 + head.size / 64)
        ASSERT(http_head_parse(str_slice(text, 0, cut), &arena, &again, &status, NULL) == HEAD_INCOMPLETE);
    return 0;
}
