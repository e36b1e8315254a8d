#include "tests/fuzz/fuzz.h"

#include "embedder/local/wordpiece.h"

/* A file is refused with a reason, or tokenizes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wordpiece *wordpiece;
    ibid_error error = {0};
    int32_t ids[32];
    if (wordpiece_parse((struct str){(const char *)data, size}, &wordpiece, &error) != IBID_OK) {
        ASSERT(error.message[0]);
        return 0;
    }
    ASSERT(wordpiece_special_count(wordpiece) <= 16);
    const size_t count = wordpiece_encode(wordpiece, STR("Ab \xc3\xa9\xcc\x81 [SEP]x \xe6\xbc\xa2"), ids, 32);
    for (size_t i = 0; i < count; i++)
        ASSERT(ids[i] >= 0 && (size_t)ids[i] < wordpiece_id_end(wordpiece));
    wordpiece_free(wordpiece);
    return 0;
}
