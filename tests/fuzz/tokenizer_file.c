#include "tests/fuzz/fuzz.h"

#include "embedder/local/tokenizer.h"

/* A file is refused with a reason, or tokenizes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tokenizer *tokenizer;
    ibid_error error = {0};
    int32_t ids[32];
    if (tokenizer_parse((struct str){(const char *)data, size}, &tokenizer, &error) != IBID_OK) {
        ASSERT(error.message[0]);
        return 0;
    }
    ASSERT(tokenizer_special_count(tokenizer) <= 16);
    const size_t count = tokenizer_encode(tokenizer, STR("Ab \xc3\xa9\xcc\x81 [SEP]x \xe6\xbc\xa2"), ids, 32);
    for (size_t i = 0; i < count; i++)
        ASSERT(ids[i] >= 0 && (size_t)ids[i] < tokenizer_id_end(tokenizer));
    tokenizer_free(tokenizer);
    return 0;
}
