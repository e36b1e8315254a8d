#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "embedder/local/wordpiece.h"

static const char vocabulary[] =
    "{\"normalizer\":{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
    "\"added_tokens\":[{\"id\":1,\"content\":\"[SEP]\"}],"
    "\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"[CLS]\",2],\"sep\":[\"[SEP]\",1]},"
    "\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"[SEP]\":1,\"[CLS]\":2,\"a\":3,\"##b\":4,\"##"
    "ba\":5,"
    "\"\xc3\xa9\":6,\"##\xcc\x81\":7,\"\xe6\xbc\xa2\":8,\"-\":9,\"e\":10,\"##e\":11}}}";

/* Any bytes give ids of the vocabulary; a smaller window gives the same ones, fewer. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct wordpiece *wordpiece;
    enum { WINDOW = 64 };
    const struct str text = {(const char *)data, size};
    int32_t whole[WINDOW], cut[WINDOW];
    if (!wordpiece)
        ASSERT(wordpiece_parse(str_from(vocabulary), &wordpiece, NULL) == IBID_OK);
    const size_t count = wordpiece_encode(wordpiece, text, whole, WINDOW);
    const size_t total = wordpiece_count(wordpiece, text);
    ASSERT(count == (total + 2 < WINDOW ? total + 2 : WINDOW));
    for (size_t i = 0; i < count; i++)
        ASSERT(whole[i] >= 0 && (size_t)whole[i] < wordpiece_id_end(wordpiece));
    const size_t window = size % (WINDOW - 2) + 2,
                 short_count = wordpiece_encode(wordpiece, text, cut, window);
    ASSERT(short_count == (count < window ? count : window));
    ASSERT(memcmp(cut, whole, (short_count - 1) * sizeof *cut) == 0 && cut[short_count - 1] == 1);
    return 0;
}
