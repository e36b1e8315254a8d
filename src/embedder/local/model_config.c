#include "embedder/local/model_config.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

enum {
    FILE_SIZE_MAX = 4 << 20,
    HIDDEN_MAX = 8192,
    LAYERS_MAX = 128,
    HEADS_MAX = 128,
    INTERMEDIATE_MAX = 65536,
    VOCABULARY_MAX = 4 << 20,
    WINDOW_MAX = 8192,
    POSITIONS_BEFORE_MAX = 64,
    TOKEN_TYPES_MAX = 64,
    PREFIX_SIZE_MAX = 1024,
};

/* *ret stays NULL when the file is not there. */
static ibid_code read_optional(const char *folder, const char *name, json_t **ret, ibid_error *err)
{
    AUTO_FREE char *path = path_join(folder, name);
    AUTO_BUFFER text = BUFFER(FILE_SIZE_MAX);
    if (!file_exists(path))
        return IBID_OK;
    TRY(file_read(path, &text, err));
    const ibid_code code = json_parse(buffer_str(&text), ret, err);
    if (code != IBID_OK)
        error_context(err, "%s", path);
    return code;
}

static ibid_code read_count(const json_t *config, const char *key, size_t highest, size_t *ret,
                            ibid_error *err)
{
    int64_t value = 0;
    TRY(json_get_int(config, key, 1, (int64_t)highest, &value, err));
    if (value == 0)
        return fail(err, IBID_EFORMAT, "config.json lacks '%s'", key);
    *ret = (size_t)value;
    return IBID_OK;
}

/* A string member that has to be `expected` where it is there at all. */
static ibid_code require(const json_t *config, const char *key, const char *expected, ibid_error *err)
{
    struct str value = str_from(expected);
    TRY(json_get_str(config, key, &value, err));
    if (!str_is(value, expected))
        return fail(err, IBID_EUNSUPPORTED, "the model's %s is '%.*s', but only '%s' is supported", key,
                    STR_ARG(value), expected);
    return IBID_OK;
}

/* BERT, or one of the RoBERTa family, which differs in where positions begin: behind the padding token's id
 * (Liu et al., "RoBERTa", 2019; Conneau et al., "XLM-R", 2020, as Transformers runs them). */
static ibid_code read_family(const json_t *root, struct model_config *config, ibid_error *err)
{
    struct str type = STR("bert");
    int64_t padding = 1;
    TRY(json_get_str(root, "model_type", &type, err));
    if (str_is(type, "bert"))
        return IBID_OK;
    if (!str_is(type, "xlm-roberta") && !str_is(type, "roberta"))
        return fail(err, IBID_EUNSUPPORTED,
                    "the model's model_type is '%.*s', but only 'bert', 'roberta' and 'xlm-roberta' are "
                    "supported",
                    STR_ARG(type));
    TRY(json_get_int(root, "pad_token_id", 0, POSITIONS_BEFORE_MAX, &padding, err));
    config->first_position = (size_t)padding + 1;
    return IBID_OK;
}

static ibid_code read_positions(const json_t *root, struct model_config *config, ibid_error *err)
{
    size_t rows;
    TRY(read_count(root, "max_position_embeddings", WINDOW_MAX + POSITIONS_BEFORE_MAX + 1, &rows, err));
    if (rows <= config->first_position || rows - config->first_position > WINDOW_MAX)
        return fail(err, IBID_EFORMAT, "config.json has %zu positions, of which the first is number %zu",
                    rows, config->first_position);
    config->positions = rows - config->first_position;
    return IBID_OK;
}

static ibid_code read_transformer(const char *folder, struct model_config *config, ibid_error *err)
{
    AUTO_JSON *root = NULL;
    TRY(read_optional(folder, "config.json", &root, err));
    if (!root)
        return fail(err, IBID_ENOTFOUND, "there is no config.json in %s", folder);
    TRY(read_family(root, config, err));
    TRY(require(root, "hidden_act", "gelu", err));
    TRY(require(root, "position_embedding_type", "absolute", err));
    TRY(read_count(root, "hidden_size", HIDDEN_MAX, &config->hidden_size, err));
    TRY(read_count(root, "num_hidden_layers", LAYERS_MAX, &config->layers, err));
    TRY(read_count(root, "num_attention_heads", HEADS_MAX, &config->heads, err));
    TRY(read_count(root, "intermediate_size", INTERMEDIATE_MAX, &config->intermediate_size, err));
    TRY(read_count(root, "vocab_size", VOCABULARY_MAX, &config->vocabulary_size, err));
    TRY(read_positions(root, config, err));
    TRY(read_count(root, "type_vocab_size", TOKEN_TYPES_MAX, &config->token_types, err));
    double epsilon = 1e-12;
    TRY(json_get_real(root, "layer_norm_eps", 0, 1, &epsilon, err));
    config->epsilon = (float)epsilon;
    if (config->hidden_size % config->heads != 0)
        return fail(err, IBID_EFORMAT, "config.json divides a hidden size of %zu among %zu heads",
                    config->hidden_size, config->heads);
    return IBID_OK;
}

static ibid_code read_pooling(const char *folder, const char *module, struct model_config *config,
                              ibid_error *err)
{
    static const char *const others[] = {"pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens",
                                         "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"};
    AUTO_FREE char *path = path_join(folder, module);
    AUTO_JSON *root = NULL;
    TRY(read_optional(path, "config.json", &root, err));
    if (!root)
        return IBID_OK; /* mean pooling, as Sentence Transformers takes for a plain model */
    bool mean = false, cls = false, other = false;
    TRY(json_get_bool(root, "pooling_mode_mean_tokens", &mean, err));
    TRY(json_get_bool(root, "pooling_mode_cls_token", &cls, err));
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        bool set = false;
        TRY(json_get_bool(root, others[i], &set, err));
        other |= set;
    }
    if (mean == cls || other)
        return fail(err, IBID_EUNSUPPORTED,
                    "the model's pooling is neither the mean nor the first token alone");
    config->pooling = cls ? POOL_CLS : POOL_MEAN;
    return IBID_OK;
}

/* The modules that follow one another: transformer, pooling and perhaps normalisation. */
static ibid_code read_modules(const char *folder, struct model_config *config, ibid_error *err)
{
    AUTO_JSON *root = NULL;
    TRY(read_optional(folder, "modules.json", &root, err));
    if (!root)
        return read_pooling(folder, "1_Pooling", config, err);
    for (size_t i = 0; i < json_array_size(root); i++) {
        const json_t *module = json_array_get(root, i);
        struct str type = STR_EMPTY, path = STR_EMPTY;
        TRY(json_get_str(module, "type", &type, err));
        TRY(json_get_str(module, "path", &path, err));
        if (str_ends_with(type, ".Transformer") ? path.size > 0 : path.size == 0)
            return fail(err, IBID_EUNSUPPORTED,
                        "modules.json puts '%.*s' at '%.*s', where it is not expected", STR_ARG(type),
                        STR_ARG(path));
        if (str_find(path, '/') < path.size || str_starts_with(path, "."))
            return fail(err, IBID_EFORMAT, "modules.json names the folder '%.*s'", STR_ARG(path));
        AUTO_FREE char *name = xmemdup0(path.data, path.size);
        if (str_ends_with(type, ".Pooling"))
            TRY(read_pooling(folder, name, config, err));
        else if (!str_ends_with(type, ".Transformer") && !str_ends_with(type, ".Normalize"))
            return fail(err, IBID_EUNSUPPORTED, "the model's module '%.*s' is not supported", STR_ARG(type));
    }
    return IBID_OK;
}

static ibid_code read_window(const char *folder, struct model_config *config, ibid_error *err)
{
    AUTO_JSON *sentence = NULL, *tokenizer = NULL;
    int64_t window = 0;
    TRY(read_optional(folder, "sentence_bert_config.json", &sentence, err));
    TRY(json_get_int(sentence, "max_seq_length", 4, INT32_MAX, &window, err));
    if (window == 0) {
        TRY(read_optional(folder, "tokenizer_config.json", &tokenizer, err));
        const json_t *length = json_object_get(tokenizer, "model_max_length"); /* a huge real when unknown */
        if (json_is_integer(length) && json_integer_value(length) >= 4)
            window = json_integer_value(length);
    }
    config->window = window == 0 || (size_t)window > config->positions ? config->positions : (size_t)window;
    return IBID_OK;
}

static ibid_code read_prefix(const json_t *prompts, const char *key, struct arena *arena, const char **ret,
                             ibid_error *err)
{
    struct str prefix = str_from(*ret);
    TRY(json_get_str(prompts, key, &prefix, err));
    if (prefix.size > PREFIX_SIZE_MAX)
        return fail(err, IBID_ETOOBIG, "the prefix '%s' has %zu bytes, more than %d", key, prefix.size,
                    PREFIX_SIZE_MAX);
    *ret = arena_str(arena, prefix).data;
    return IBID_OK;
}

static ibid_code read_prefixes(const char *folder, struct arena *arena, struct model_config *config,
                               ibid_error *err)
{
    AUTO_JSON *root = NULL;
    config->query_prefix = config->passage_prefix = "";
    TRY(read_optional(folder, "config_sentence_transformers.json", &root, err));
    const json_t *prompts = json_object_get(root, "prompts");
    if (!json_is_object(prompts))
        return IBID_OK;
    TRY(read_prefix(prompts, "query", arena, &config->query_prefix, err));
    TRY(read_prefix(prompts, "document", arena, &config->passage_prefix, err));
    return read_prefix(prompts, "passage", arena, &config->passage_prefix, err);
}

static ibid_code read_all(const char *folder, struct arena *arena, struct model_config *config,
                          ibid_error *err)
{
    TRY(read_transformer(folder, config, err));
    TRY(read_modules(folder, config, err));
    TRY(read_window(folder, config, err));
    return read_prefixes(folder, arena, config, err);
}

ibid_code model_config_read(const char *folder, struct arena *arena, struct model_config *ret,
                            ibid_error *err)
{
    struct model_config config = {.pooling = POOL_MEAN};
    TRY(error_recode(read_all(folder, arena, &config, err), IBID_EINVAL, IBID_EFORMAT, err));
    *ret = config;
    return IBID_OK;
}
