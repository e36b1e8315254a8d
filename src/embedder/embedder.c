#include "embedder/embedder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/option_json.h"
#include "model/vector.h"
#include "net/policy.h"

const struct embedder_ops *embedder_find(const char *name)
{
    for (size_t i = 0; embedder_registry[i]; i++)
        if (strcmp(embedder_registry[i]->name, name) == 0)
            return embedder_registry[i];
    return NULL;
}

/* Opens with a context that is whole. */
static ibid_code open_member(const struct embedder_ops *ops, const struct embedder_context *context,
                             const void *options, struct embedder **ret, ibid_error *err)
{
    if (context && context->net)
        return ops->open(context, options, ret, err);
    AUTO_ARENA arena = ARENA_INIT;
    struct net_settings net = {0};
    option_set_defaults(net_section.table, &net, &arena);
    return ops->open(&(struct embedder_context){.net = &net}, options, ret, err);
}

ibid_code embedder_open(const struct embedder_ops *ops, const struct embedder_context *context,
                        const void *options, struct embedder **ret, ibid_error *err)
{
    struct embedder *embedder;
    TRY(open_member(ops, context, options, &embedder, err));
    ASSERT(embedder->ops == ops);
    ASSERT(embedder->info.id && embedder->info.fingerprint && embedder->info.precision);
    ASSERT(embedder->info.dimension > 0 && embedder->info.languages);
    ASSERT(embedder->token_counter.count);
    if (embedder->info.dimension > VECTOR_DIMENSION_MAX) {
        fail(err, IBID_EUNSUPPORTED, "%s gives vectors of %zu dimensions, but the index takes at most %d",
             embedder->info.id, embedder->info.dimension, VECTOR_DIMENSION_MAX);
        embedder_close(embedder);
        return IBID_EUNSUPPORTED;
    }
    AUTO_ARENA arena = ARENA_INIT;
    const struct str kept = options_to_json(ops->options, options, &arena);
    embedder->options = xmemdup0(kept.data, kept.size);
    *ret = embedder;
    return IBID_OK;
}

static const char **string_at(const struct option *option, const void *values)
{
    return (const char **)((uintptr_t)values + option->offset);
}

/* Unless they would be sent elsewhere than the settings say. `from` may be NULL. */
static void copy_secrets(const struct option *table, const void *from, void *to)
{
    for (const struct option *option = table; from && option->name; option++)
        if (option->flags & OPTION_DESTINATION &&
            strcmp(*string_at(option, from), *string_at(option, to)) != 0)
            return;
    for (const struct option *option = table; from && option->name; option++)
        if (option->flags & OPTION_SECRET)
            *string_at(option, to) = *string_at(option, from);
}

ibid_code embedder_reopen(struct str id, struct str kept, const struct embedder_context *context,
                          const void *const current[], struct embedder **ret, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    const struct str name = str_slice(id, 0, str_find(id, '/'));
    for (size_t i = 0; embedder_registry[i]; i++) {
        const struct embedder_ops *ops = embedder_registry[i];
        if (!str_is(name, ops->name))
            continue;
        void *options = arena_alloc(&arena, ops->options_size ? ops->options_size : 1);
        option_set_defaults(ops->options, options, &arena);
        TRY(options_from_json(ops->options, options, kept, &arena, err));
        copy_secrets(ops->options, current[i], options);
        return embedder_open(ops, context, options, ret, err);
    }
    return fail(err, IBID_EUNSUPPORTED, "there is no embedder '%.*s' in this version", STR_ARG(name));
}

void embedder_close(struct embedder *embedder)
{
    if (!embedder)
        return;
    free(embedder->options);
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
