/* An embedder without a model: words hashed into the dimensions (Weinberger et al., "Feature
 * Hashing for Large Scale Multitask Learning", 2009). It knows no meaning, only shared words;
 * it is there for tests and for trying ibid where no model can be had. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "embedder/members.h"
#include "model/vector.h"

struct hash_options {
    int64_t dimension;
};

struct hash_embedder {
    struct embedder base;
    char id[32];
    char fingerprint[48];
};

static const struct option hash_option_table[] = {
    {.name = "dimension",
     .type = OPTION_INT,
     .offset = offsetof(struct hash_options, dimension),
     .default_text = "384",
     .low = 8,
     .high = VECTOR_DIMENSION_MAX,
     .help = "Length of the vectors."},
    OPTION_END,
};

static bool is_word_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           (unsigned char)byte >= 0x80;
}

/* Cuts the next word off the front of `rest`; false when none is left. */
static bool next_word(struct str *rest, struct str *ret_word)
{
    size_t start = 0;
    while (start < rest->size && !is_word_byte(rest->data[start]))
        start++;
    size_t end = start;
    while (end < rest->size && is_word_byte(rest->data[end]))
        end++;
    *ret_word = str_slice(*rest, start, end);
    *rest = str_slice(*rest, end, rest->size);
    return ret_word->size > 0;
}

/* Checksum of a word with ASCII letters folded; only the first 64 bytes of a longer one count. */
static uint64_t hash_word(struct str word)
{
    char folded[64];
    const size_t size = word.size < sizeof folded ? word.size : sizeof folded;
    for (size_t i = 0; i < size; i++)
        folded[i] = word.data[i] >= 'A' && word.data[i] <= 'Z' ? (char)(word.data[i] | 0x20) : word.data[i];
    return checksum64(folded, size, 0);
}

static void embed_text(struct str text, float *out, size_t dimension)
{
    memset(out, 0, dimension * sizeof *out);
    struct str rest = text, word;
    while (next_word(&rest, &word)) {
        const uint64_t hash = hash_word(word);
        out[(hash >> 1) % dimension] += hash & 1 ? 1.0f : -1.0f;
    }
    double sum = 0;
    for (size_t i = 0; i < dimension; i++)
        sum += (double)out[i] * out[i];
    if (sum == 0) { /* no word, or words that cancel each other out */
        out[0] = 1;
        return;
    }
    const float scale = (float)(1 / sqrt(sum));
    for (size_t i = 0; i < dimension; i++)
        out[i] *= scale;
}

static ibid_code hash_embed(struct embedder *embedder, enum embed_purpose purpose, const struct str *texts,
                            size_t count, float *out, ibid_error *err)
{
    const size_t dimension = embedder->info.dimension;
    for (size_t i = 0; i < count; i++)
        embed_text(texts[i], out + i * dimension, dimension);
    return IBID_OK;
}

static size_t hash_count_tokens(const struct token_counter *self, struct str text)
{
    size_t count = 0;
    struct str word;
    while (next_word(&text, &word))
        count++;
    return count;
}

static ibid_code hash_open(const struct embedder_context *context, const void *options, struct embedder **ret,
                           ibid_error *err)
{
    static const char *const languages[] = {"*", NULL};
    const struct hash_options *settings = options;
    struct hash_embedder *self = xcalloc(1, sizeof *self);
    snprintf(self->id, sizeof self->id, "hash/words-%d@1", (int)settings->dimension);
    snprintf(self->fingerprint, sizeof self->fingerprint, "%s;f32", self->id);
    self->base = (struct embedder){
        .ops = &embedder_hash,
        .info = {.id = self->id,
                 .precision = "f32",
                 .fingerprint = self->fingerprint,
                 .dimension = (size_t)settings->dimension,
                 .max_tokens = 1 << 20,
                 .languages = languages,
                 .similarity_floor = 0.0,
                 .similarity_ceiling = 0.5,
                 .batch_size = 64,
                 .concurrency = 1},
        .token_counter = {.count = hash_count_tokens, .max_tokens = 1 << 20},
    };
    *ret = &self->base;
    return IBID_OK;
}

static void hash_close(struct embedder *embedder)
{
    free(embedder);
}

const struct embedder_ops embedder_hash = {
    .name = "hash",
    .help = "Hashed words instead of a model: for tests, and for trying ibid without one.",
    .options = hash_option_table,
    .options_size = sizeof(struct hash_options),
    .open = hash_open,
    .close = hash_close,
    .embed = hash_embed,
};
