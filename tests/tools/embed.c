/* Embeds texts with the local member for scripts that compare it with reference implementations.
 * usage: embed MODEL_FOLDER KERNEL [query] < texts > vectors
 * texts: for each, its size (uint32, the machine's byte order) and its bytes; vectors: rows of f32. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "embedder/embedder.h"
#include "embedder/local/local.h"

enum { TEXT_SIZE_MAX = 64 << 20, TEXTS = 64 };

static size_t read_texts(struct str texts[TEXTS])
{
    size_t count = 0;
    uint32_t size;
    while (count < TEXTS && fread(&size, sizeof size, 1, stdin) == 1 && size <= TEXT_SIZE_MAX) {
        char *text = xmalloc(size + 1);
        if (fread(text, 1, size, stdin) != size)
            exit(1);
        texts[count++] = (struct str){text, size};
    }
    return count;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const enum embed_purpose purpose = argc > 3 ? EMBED_QUERY : EMBED_PASSAGE;
    struct embedder *embedder;
    ibid_error err = {0};
    const struct local_options options = {.model = argv[1], .kernel = argv[2]};
    if (embedder_open(embedder_find("local"), NULL, &options, &embedder, &err) != IBID_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    fprintf(stderr, "%s, %s\n", embedder->info.fingerprint, argv[2]);
    const size_t dimension = embedder->info.dimension;
    float *vectors = xcalloc(TEXTS * dimension, sizeof *vectors);
    struct str texts[TEXTS];
    for (size_t count; (count = read_texts(texts)) > 0;) {
        if (embedder_embed(embedder, purpose, texts, count, vectors, &err) != IBID_OK) {
            fprintf(stderr, "%s\n", err.message);
            return 1;
        }
        fwrite(vectors, sizeof *vectors, count * dimension, stdout);
        for (size_t i = 0; i < count; i++)
            free((char *)texts[i].data);
    }
    free(vectors);
    embedder_close(embedder);
    return 0;
}
