/* Tokenizes texts for scripts/compare_tokenizer.py.
 * usage: tokenize TOKENIZER.JSON MAX_TOKENS < texts > ids
 * texts: for each, its size (uint32, the machine's byte order) and its bytes;
 * ids: for each, the count of all tokens without specials, the count of ids, and the ids (int32). */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "embedder/local/tokenizer.h"

enum { TEXT_SIZE_MAX = 64 << 20 };

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    struct tokenizer *tokenizer;
    ibid_error err = {0};
    if (tokenizer_open(argv[1], &tokenizer, &err) != IBID_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    const size_t max_tokens = strtoul(argv[2], NULL, 10);
    int32_t *ids = xcalloc(max_tokens, sizeof *ids);
    uint32_t size;
    while (fread(&size, sizeof size, 1, stdin) == 1 && size <= TEXT_SIZE_MAX) {
        char *text = xmalloc(size + 1);
        if (fread(text, 1, size, stdin) != size)
            return 1;
        const struct str input = {text, size};
        const uint32_t counts[2] = {(uint32_t)tokenizer_count(tokenizer, input),
                                    (uint32_t)tokenizer_encode(tokenizer, input, ids, max_tokens)};
        fwrite(counts, sizeof counts, 1, stdout);
        fwrite(ids, sizeof *ids, counts[1], stdout);
        free(text);
    }
    free(ids);
    tokenizer_free(tokenizer);
    return 0;
}
