#include "embedder/embedder.h"

#include <math.h>
#include <string.h>

const struct embedder_ops *embedder_find(const char *name)
{
    for (size_t i = 0; embedder_registry[i]; i++)
        if (strcmp(embedder_registry[i]->name, name) == 0)
            return embedder_registry[i];
    return NULL;
}

ibid_code embedder_open(const struct embedder_ops *ops, const void *options, struct embedder **ret,
                        ibid_error *err)
{
    struct embedder *embedder;
    TRY(ops->open(options, &embedder, err));
    ASSERT(embedder->ops == ops);
    ASSERT(embedder->info.id && embedder->info.fingerprint && embedder->info.precision);
    ASSERT(embedder->info.dimension > 0 && embedder->info.languages);
    ASSERT(embedder->token_counter.count);
    *ret = embedder;
    return IBID_OK;
}

void embedder_close(struct embedder *embedder)
{
    if (embedder)
        embedder->ops->close(embedder);
}

/* A vector of zeros has no direction, and NaN or infinity would spoil every comparison. */
static bool vector_has_direction(const float *vector, size_t dimension)
{
    double sum = 0;
    for (size_t i = 0; i < dimension; i++)
        sum += (double)vector[i] * vector[i];
    return isfinite(sum) && sum > 0;
}

ibid_code embedder_embed(struct embedder *embedder, enum embed_purpose purpose, const struct str *texts,
                         size_t count, float *out, ibid_error *err)
{
    if (count == 0)
        return fail(err, IBID_EINVAL, "there is no text to embed");
    TRY(embedder->ops->embed(embedder, purpose, texts, count, out, err));
    const size_t dimension = embedder->info.dimension;
    for (size_t i = 0; i < count; i++)
        if (!vector_has_direction(out + i * dimension, dimension))
            return fail(err, IBID_EBUG, "%s gave a vector without direction for text %zu of %zu",
                        embedder->info.id, i + 1, count);
    return IBID_OK;
}

bool embedder_knows_language(const struct embedder *embedder, const char *language)
{
    if (!language || !*language)
        return true;
    for (const char *const *known = embedder->info.languages; *known; known++)
        if (strcmp(*known, "*") == 0 || strcmp(*known, language) == 0)
            return true;
    return false;
}
