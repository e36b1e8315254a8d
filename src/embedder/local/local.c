/* The local member: a BERT-family model run by our own kernels on the calling thread. */
#include "embedder/local/local.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/thread.h"
#include "embedder/local/encoder.h"
#include "embedder/local/kernel.h"
#include "embedder/local/kernel_probe.h"
#include "embedder/local/model_config.h"
#include "embedder/local/model_manifest.h"
#include "embedder/local/safetensors.h"
#include "embedder/local/tokenizer.h"
#include "embedder/members.h"
#include "embedder/model_catalog.h"
#include "embedder/prefix.h"

enum { BATCH_TEXTS = 16, PASS_SEQUENCES = 128 };

struct local_embedder {
    struct embedder base;
    struct arena arena;
    struct model_config config;
    struct tokenizer *tokenizer;
    struct safetensors *weights;
    struct encoder *encoder;
};

static const struct option local_option_table[] = {
    {.name = "model",
     .type = OPTION_PATH,
     .offset = offsetof(struct local_options, model),
     .default_text = "all-MiniLM-L6-v2",
     .placeholder = "NAME|FOLDER",
     .help =
         "Name of a model (see `ibid model list`), or the path (with a '/') of a folder with a BERT-family "
         "model: config.json, tokenizer.json, model.safetensors."},
    {.name = "models_folder",
     .type = OPTION_PATH,
     .offset = offsetof(struct local_options, models_folder),
     .help = "Where fetched models are kept. Default: ibid/models in the user's cache folder."},
    {.name = "precision",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct local_options, precision),
     .choices = "auto|f32|bf16",
     .default_text = "auto",
     .help = "f32 is exact; bf16 is nearly so and faster on some processors; auto takes the faster one."},
    {.name = "kernel",
     .type = OPTION_STRING,
     .offset = offsetof(struct local_options, kernel),
     .default_text = "auto",
     .placeholder = "NAME",
     .help = "Which arithmetic to use: auto (times them), portable, avx2, avx512 or avx512_bf16."},
    {.name = "query_prefix",
     .type = OPTION_STRING,
     .offset = offsetof(struct local_options, query_prefix),
     .help = "Text put before every query, and a space. Default: what the model was trained with."},
    {.name = "passage_prefix",
     .type = OPTION_STRING,
     .offset = offsetof(struct local_options, passage_prefix),
     .help = "Text put before every passage, and a space. Default: what the model was trained with."},
    OPTION_END,
};

/* ---- opening ---- */

static size_t count_tokens(const struct token_counter *self, struct str text)
{
    const struct local_embedder *local =
        (const struct local_embedder *)((const char *)self -
                                        offsetof(struct local_embedder, base.token_counter));
    return tokenizer_count(local->tokenizer, text);
}

/* The folder of the model, and its entry when the catalogue knows it. */
static char *find_folder(const struct local_options *options, const struct model_entry **ret_entry)
{
    *ret_entry = model_catalog_find(options->model);
    if (strchr(options->model, '/')) {
        char *folder = xstrdup(options->model);
        for (size_t size = strlen(folder); size > 1 && folder[size - 1] == '/'; size--)
            folder[size - 1] = '\0';
        return folder;
    }
    AUTO_FREE char *models = model_cache_folder(options->models_folder);
    return path_join(models, options->model);
}

static ibid_code check_files(const char *folder, const struct model_entry *entry, const char *name,
                             ibid_error *err)
{
    static const char *const needed[] = {"config.json", "tokenizer.json", "model.safetensors"};
    for (size_t i = 0; i < COUNT_OF(needed); i++) {
        AUTO_FREE char *path = path_join(folder, needed[i]);
        if (file_exists(path))
            continue;
        if (entry)
            return fail(err, IBID_EUNAVAILABLE,
                        "the model '%s' is not here: fetch it with `ibid model pull %s`", entry->name,
                        entry->name);
        return fail(err, IBID_EUNAVAILABLE, "there is no model '%s': %s is missing", name, path);
    }
    return IBID_OK;
}

/* Which kernel runs the model: the one named, or the fastest that is allowed. */
static ibid_code pick_kernel(const struct local_options *options, const struct model_config *config,
                             const struct kernel **ret, ibid_error *err)
{
    const bool even = config->hidden_size / config->heads % 2 == 0 && config->intermediate_size % 2 == 0;
    if (strcmp(options->kernel, "auto") == 0) {
        AUTO_FREE char *models = model_cache_folder(options->models_folder);
        *ret = kernel_probe(options->precision, even, models);
        if (options->precision == LOCAL_PRECISION_BF16 && (*ret)->precision != KERNEL_BF16)
            return fail(
                err, IBID_EUNSUPPORTED,
                "this processor (or this model) has no bf16 arithmetic: set precision to f32 or auto");
        return IBID_OK;
    }
    const struct kernel *kernel = kernel_find(options->kernel);
    if (!kernel)
        return fail(err, IBID_EINVAL, "there is no kernel '%s'", options->kernel);
    if (!kernel_is_usable(kernel))
        return fail(err, IBID_EUNSUPPORTED, "this processor cannot run the kernel '%s'", kernel->name);
    const bool is_bf16 = kernel->precision == KERNEL_BF16;
    if (options->precision != LOCAL_PRECISION_AUTO && is_bf16 != (options->precision == LOCAL_PRECISION_BF16))
        return fail(err, IBID_EINVAL, "the kernel '%s' does not have the precision asked for", kernel->name);
    *ret = kernel;
    return IBID_OK;
}

static ibid_code check_window(struct local_embedder *self, const char *prefix, ibid_error *err)
{
    const size_t specials = tokenizer_special_count(self->tokenizer);
    if (tokenizer_count(self->tokenizer, str_from(prefix)) + specials + 8 > self->config.window)
        return fail(err, IBID_EINVAL, "the prefix '%s' leaves no room for text in a window of %zu tokens",
                    prefix, self->config.window);
    return IBID_OK;
}

static ibid_code load(struct local_embedder *self, const char *folder, const struct kernel **ret_kernel,
                      const struct local_options *options, ibid_error *err)
{
    AUTO_FREE char *tokenizer_path = path_join(folder, "tokenizer.json");
    AUTO_FREE char *weights_path = path_join(folder, "model.safetensors");
    TRY(model_config_read(folder, &self->arena, &self->config, err));
    TRY(tokenizer_open(tokenizer_path, &self->tokenizer, err));
    if (tokenizer_id_end(self->tokenizer) > self->config.vocabulary_size)
        return fail(err, IBID_EFORMAT, "%s has ids up to %zu, but the model knows only %zu", tokenizer_path,
                    tokenizer_id_end(self->tokenizer) - 1, self->config.vocabulary_size);
    TRY(pick_kernel(options, &self->config, ret_kernel, err));
    TRY(safetensors_open(weights_path, &self->weights, err));
    const ibid_code code = encoder_new(&self->config, self->weights, *ret_kernel, &self->encoder, err);
    if (code != IBID_OK)
        error_context(err, "%s", weights_path);
    return code;
}

/* The fingerprint holds everything that changes a vector noticeably. f32 and bf16 are one class in it: what
 * one indexed the other can search, and a machine may change from one to the other. */
static void describe(struct local_embedder *self, const char *folder, const struct sha256 *hash,
                     const struct kernel *kernel, const struct model_entry *entry)
{
    static const char *const unknown_languages[] = {"*", NULL};
    const struct model_config *config = &self->config;
    struct embedder_info *info = &self->base.info;
    char hex[SHA256_HEX_SIZE];
    sha256_to_hex(hash, hex);
    const struct str base_name = path_base_name(str_from(folder));
    info->id = arena_printf(&self->arena, "local/%.*s@%.12s", STR_ARG(base_name), hex);
    info->precision = kernel->precision == KERNEL_BF16 ? "bf16" : "f32";
    info->fingerprint = arena_printf(&self->arena, "%s;window=%zu;pooling=%s;query=%s;passage=%s;float",
                                     info->id, config->window, config->pooling == POOL_CLS ? "cls" : "mean",
                                     config->query_prefix, config->passage_prefix);
    info->dimension = config->hidden_size;
    info->max_tokens = config->window;
    info->languages = entry ? entry->languages : unknown_languages;
    info->similarity_floor = entry ? entry->similarity_floor : 0.0;
    info->similarity_ceiling = entry ? entry->similarity_ceiling : 1.0;
    info->batch_size = BATCH_TEXTS;
    info->concurrency = thread_core_count();
    /* A passage's prefix takes room in its window, as the special tokens do. */
    const size_t around = tokenizer_special_count(self->tokenizer) +
                          tokenizer_count(self->tokenizer, str_from(config->passage_prefix));
    self->base.token_counter = (struct token_counter){count_tokens, around, config->window};
}

static void local_close(struct embedder *embedder)
{
    struct local_embedder *self = (struct local_embedder *)embedder;
    encoder_free(self->encoder);
    safetensors_free(self->weights);
    tokenizer_free(self->tokenizer);
    arena_release(&self->arena);
    free(self);
}

/* The prefixes: the settings' own, else the catalogue's, else the model's. */
static void set_prefixes(struct local_embedder *self, const struct local_options *options,
                         const struct model_entry *entry)
{
    struct model_config *config = &self->config;
    if (entry && entry->query_prefix)
        config->query_prefix = entry->query_prefix;
    if (entry && entry->passage_prefix)
        config->passage_prefix = entry->passage_prefix;
    if (options->query_prefix)
        config->query_prefix = prefix_with_space(options->query_prefix, &self->arena);
    if (options->passage_prefix)
        config->passage_prefix = prefix_with_space(options->passage_prefix, &self->arena);
}

static ibid_code open_model(struct local_embedder *self, const struct local_options *options, ibid_error *err)
{
    const struct model_entry *entry;
    const struct kernel *kernel;
    struct sha256 hash;
    AUTO_FREE char *folder = find_folder(options, &entry);
    TRY(check_files(folder, entry, options->model, err));
    TRY(load(self, folder, &kernel, options, err));
    TRY(model_manifest_hash(folder, "model.safetensors", !strchr(options->model, '/'), &hash, err));
    if (!entry)
        entry = model_catalog_find_weights(&hash);
    if (!entry)
        entry = model_catalog_find_unpinned(path_base_name(str_from(folder)));
    set_prefixes(self, options, entry);
    TRY(check_window(self, self->config.query_prefix, err));
    TRY(check_window(self, self->config.passage_prefix, err));
    describe(self, folder, &hash, kernel, entry);
    return IBID_OK;
}

static ibid_code local_open(const struct embedder_context *context, const void *options,
                            struct embedder **ret, ibid_error *err)
{
    struct local_embedder *self = xcalloc(1, sizeof *self);
    self->base.ops = &embedder_local;
    const ibid_code code = open_model(self, options, err);
    if (code != IBID_OK) {
        local_close(&self->base);
        return code;
    }
    *ret = &self->base;
    return IBID_OK;
}

/* ---- embedding ---- */

/* Sequences gathered for one pass. */
struct pass {
    int32_t *ids;
    size_t *lengths;
    size_t count, tokens;
    float *out; /* of the first sequence */
};

static void run(struct local_embedder *self, struct pass *pass)
{
    if (pass->count == 0)
        return;
    encoder_run(self->encoder, pass->ids, pass->lengths, pass->count, pass->out);
    pass->out += pass->count * self->config.hidden_size;
    pass->count = pass->tokens = 0;
}

static size_t encode(const struct local_embedder *self, const char *prefix, struct str text, int32_t *ids)
{
    if (!*prefix)
        return tokenizer_encode(self->tokenizer, text, ids, self->config.window);
    const size_t prefix_size = strlen(prefix);
    AUTO_FREE char *joined = xmalloc(prefix_size + text.size + 1);
    memcpy(joined, prefix, prefix_size);
    memcpy(joined + prefix_size, text.data, text.size);
    return tokenizer_encode(self->tokenizer, (struct str){joined, prefix_size + text.size}, ids,
                            self->config.window);
}

static ibid_code local_embed(struct embedder *embedder, enum embed_purpose purpose, const struct str *texts,
                             size_t count, float *out, ibid_error *err)
{
    struct local_embedder *self = (struct local_embedder *)embedder;
    const size_t window = self->config.window;
    const char *prefix = purpose == EMBED_QUERY ? self->config.query_prefix : self->config.passage_prefix;
    AUTO_FREE int32_t *ids = xcalloc(ENCODER_PASS_TOKENS + 2 * window, sizeof *ids);
    AUTO_FREE size_t *lengths = xcalloc(PASS_SEQUENCES, sizeof *lengths);
    struct pass pass = {.ids = ids, .lengths = lengths, .out = out};
    for (size_t i = 0; i < count; i++) {
        const size_t length = encode(self, prefix, texts[i], ids + pass.tokens);
        if (pass.count == PASS_SEQUENCES || (pass.count > 0 && pass.tokens + length > ENCODER_PASS_TOKENS)) {
            int32_t *next = ids + pass.tokens;
            run(self, &pass);
            memmove(ids, next, length * sizeof *ids);
        }
        lengths[pass.count++] = length;
        pass.tokens += length;
    }
    run(self, &pass);
    return IBID_OK;
}

const struct embedder_ops embedder_local = {
    .name = "local",
    .help = "Runs a BERT-family model on this machine, without any service.",
    .options = local_option_table,
    .options_size = sizeof(struct local_options),
    .open = local_open,
    .close = local_close,
    .embed = local_embed,
};
