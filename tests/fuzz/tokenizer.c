#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "embedder/local/tokenizer.h"

static const char vocabulary[] =
    "{\"normalizer\":{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
    "\"added_tokens\":[{\"id\":1,\"content\":\"[SEP]\"}],"
    "\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"[CLS]\",2],\"sep\":[\"[SEP]\",1]},"
    "\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"[SEP]\":1,\"[CLS]\":2,\"a\":3,\"##b\":4,\"##"
    "ba\":5,"
    "\"\xc3\xa9\":6,\"##\xcc\x81\":7,\"\xe6\xbc\xa2\":8,\"-\":9,\"e\":10,\"##e\":11}}}";

/* Pieces that overlap, and a charsmap of one entry: "A" becomes "a". */
static const char pieces[] =
    "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":["
    "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"DAAAAAAAAQBBDQAAAAAAgGEA\"},"
    "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\" \"}]},"
    "\"pre_tokenizer\":{\"type\":\"Metaspace\"},\"added_tokens\":[{\"id\":1,\"content\":\"<m>\",\"lstrip\":"
    "true}],"
    "\"post_processor\":{\"type\":\"RobertaProcessing\",\"cls\":[\"<s>\",2],\"sep\":[\"</s>\",1]},"
    "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0],[\"</s>\",0],[\"<s>\",0],"
    "[\"\xe2\x96\x81\",-2],[\"a\",-3],[\"aa\",-5],[\"aaa\",-7.5],[\"\xe2\x96\x81"
    "a\",-4],[\"ab\",-4.5],[\"b\",-3.5],"
    "[\"\xc3\xa9\",-6],[\"\xe6\xbc\xa2\",-8]]}}";

/* Any bytes give ids of the vocabulary; a smaller window gives the same ones, fewer. */
static void check(const struct tokenizer *tokenizer, struct str text)
{
    enum { WINDOW = 64 };
    int32_t whole[WINDOW], cut[WINDOW];
    const size_t count = tokenizer_encode(tokenizer, text, whole, WINDOW);
    const size_t total = tokenizer_count(tokenizer, text);
    ASSERT(count == (total + 2 < WINDOW ? total + 2 : WINDOW));
    for (size_t i = 0; i < count; i++)
        ASSERT(whole[i] >= 0 && (size_t)whole[i] < tokenizer_id_end(tokenizer));
    const size_t window = text.size % (WINDOW - 2) + 2,
                 short_count = tokenizer_encode(tokenizer, text, cut, window);
    ASSERT(short_count == (count < window ? count : window));
    ASSERT(memcmp(cut, whole, (short_count - 1) * sizeof *cut) == 0 && cut[short_count - 1] == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tokenizer *wordpiece, *unigram;
    if (!wordpiece) {
        ASSERT(tokenizer_parse(str_from(vocabulary), &wordpiece, NULL) == IBID_OK);
        ASSERT(tokenizer_parse(str_from(pieces), &unigram, NULL) == IBID_OK);
    }
    check(wordpiece, (struct str){(const char *)data, size});
    check(unigram, (struct str){(const char *)data, size});
    return 0;
}
