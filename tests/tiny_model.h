/* A model folder with random weights, small enough to run in tests at every kernel. The word embeddings
 * outweigh the layers, so that texts that share words get near vectors. */
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "tests/encoder_golden.h"

enum {
    TINY_HIDDEN = 40,
    TINY_HEADS = 4,
    TINY_WIDE = 72,
    TINY_LAYERS = 2,
    TINY_POSITIONS = 64,
    TINY_TYPES = 2
};

static inline double tiny_random(uint64_t *state)
{
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return (double)(*state >> 11) / 0x1p52 - 1; /* from -1 to 1 */
}

struct tiny_writer {
    struct buffer header, data;
    const char *root; /* "", "bert." or "roberta." */
    uint64_t random;
};

/* A tensor of `rows` x `columns` (a vector when columns is 0): `centre` + random up to `spread`. */
static inline void tiny_tensor(struct tiny_writer *writer, const char *name, size_t rows, size_t columns,
                               double centre, double spread)
{
    const size_t count = rows * (columns ? columns : 1), begin = writer->data.size;
    for (size_t i = 0; i < count; i++) {
        const float value = (float)(centre + spread * tiny_random(&writer->random));
        buffer_append(&writer->data, &value, sizeof value);
    }
    buffer_printf(&writer->header, "%s\"%s%s\":{\"dtype\":\"F32\",\"shape\":[%zu", begin ? "," : "{",
                  writer->root, name, rows);
    if (columns)
        buffer_printf(&writer->header, ",%zu", columns);
    buffer_printf(&writer->header, "],\"data_offsets\":[%zu,%zu]}", begin, writer->data.size);
}

static inline void tiny_norm(struct tiny_writer *writer, const char *name)
{
    char full[96];
    snprintf(full, sizeof full, "%s.weight", name);
    tiny_tensor(writer, full, TINY_HIDDEN, 0, 1, 0.2);
    snprintf(full, sizeof full, "%s.bias", name);
    tiny_tensor(writer, full, TINY_HIDDEN, 0, 0, 0.1);
}

static inline void tiny_linear(struct tiny_writer *writer, const char *name, size_t outputs, size_t inputs)
{
    char full[96];
    snprintf(full, sizeof full, "%s.weight", name);
    tiny_tensor(writer, full, outputs, inputs, 0, 0.15);
    snprintf(full, sizeof full, "%s.bias", name);
    tiny_tensor(writer, full, outputs, 0, 0, 0.1);
}

/* The bytes of a safetensors file for a vocabulary of `words`; release `ret`. */
static inline void tiny_weights(size_t words, const char *root, struct buffer *ret)
{
    static const char *const square[] = {"attention.self.query", "attention.self.key", "attention.self.value",
                                         "attention.output.dense"};
    struct tiny_writer writer = {BUFFER(1 << 20), BUFFER(4 << 20), root, 88172645463325252u};
    tiny_tensor(&writer, "embeddings.word_embeddings.weight", words, TINY_HIDDEN, 0, 2);
    tiny_tensor(&writer, "embeddings.position_embeddings.weight", TINY_POSITIONS, TINY_HIDDEN, 0, 0.1);
    tiny_tensor(&writer, "embeddings.token_type_embeddings.weight", TINY_TYPES, TINY_HIDDEN, 0, 0.1);
    tiny_norm(&writer, "embeddings.LayerNorm");
    for (int layer = 0; layer < TINY_LAYERS; layer++) {
        char name[80];
        for (size_t i = 0; i < COUNT_OF(square); i++) {
            snprintf(name, sizeof name, "encoder.layer.%d.%s", layer, square[i]);
            tiny_linear(&writer, name, TINY_HIDDEN, TINY_HIDDEN);
        }
        snprintf(name, sizeof name, "encoder.layer.%d.attention.output.LayerNorm", layer);
        tiny_norm(&writer, name);
        snprintf(name, sizeof name, "encoder.layer.%d.intermediate.dense", layer);
        tiny_linear(&writer, name, TINY_WIDE, TINY_HIDDEN);
        snprintf(name, sizeof name, "encoder.layer.%d.output.dense", layer);
        tiny_linear(&writer, name, TINY_HIDDEN, TINY_WIDE);
        snprintf(name, sizeof name, "encoder.layer.%d.output.LayerNorm", layer);
        tiny_norm(&writer, name);
    }
    buffer_append_byte(&writer.header, '}');
    *ret = BUFFER(8 << 20);
    buffer_append_u64(ret, writer.header.size);
    buffer_append_str(ret, buffer_str(&writer.header));
    buffer_append_str(ret, buffer_str(&writer.data));
    buffer_release(&writer.header);
    buffer_release(&writer.data);
}

static inline void tiny_write(const char *folder, const char *name, struct str content)
{
    AUTO_FREE char *path = path_join(folder, name);
    assert_ok(file_write_atomically(path, content.data, content.size, 0644, err));
}

/* Writes a model into `folder`: BERT with the vocabulary of tests/golden/encoder/tokenizer.json, or (root
 * "roberta.") XLM-R with that of unigram.json. */
static inline void tiny_model_write(const char *folder, const char *root, bool pool_cls)
{
    const bool roberta = strcmp(root, "roberta.") == 0;
    AUTO_FREE char *tokenizer_path = golden_path(roberta ? "unigram.json" : "tokenizer.json");
    AUTO_BUFFER tokenizer = BUFFER(1 << 20);
    AUTO_JSON *json = NULL;
    assert_ok(file_read(tokenizer_path, &tokenizer, err));
    assert_ok(json_parse(buffer_str(&tokenizer), &json, err));
    const json_t *vocabulary = json_object_get(json_object_get(json, "model"), "vocab");
    const size_t words = roberta ? json_array_size(vocabulary) : json_object_size(vocabulary);
    AUTO_BUFFER weights = BUFFER(8 << 20);
    tiny_weights(words, root, &weights);
    AUTO_FREE char *pooling = path_join(folder, "1_Pooling");
    assert_ok(folder_make(pooling, err));
    tiny_write(folder, "tokenizer.json", buffer_str(&tokenizer));
    tiny_write(folder, "model.safetensors", buffer_str(&weights));
    AUTO_BUFFER config = BUFFER(4096);
    buffer_printf(
        &config,
        "{\"model_type\":\"%s\",\"hidden_act\":\"gelu\",\"hidden_size\":%d,\"num_hidden_layers\":%d,"
        "\"num_attention_heads\":%d,\"intermediate_size\":%d,\"vocab_size\":%zu,\"pad_token_id\":1,"
        "\"max_position_embeddings\":%d,\"type_vocab_size\":%d,\"layer_norm_eps\":1e-12}",
        roberta ? "xlm-roberta" : "bert", TINY_HIDDEN, TINY_LAYERS, TINY_HEADS, TINY_WIDE, words,
        TINY_POSITIONS, TINY_TYPES);
    tiny_write(folder, "config.json", buffer_str(&config));
    tiny_write(folder, "modules.json",
               STR("[{\"path\":\"\",\"type\":\"sentence_transformers.models.Transformer\"},"
                   "{\"path\":\"1_Pooling\",\"type\":\"sentence_transformers.models.Pooling\"},"
                   "{\"path\":\"2_Normalize\",\"type\":\"sentence_transformers.models.Normalize\"}]"));
    tiny_write(pooling, "config.json",
               pool_cls ? STR("{\"pooling_mode_cls_token\":true,\"pooling_mode_mean_tokens\":false}")
                        : STR("{\"pooling_mode_cls_token\":false,\"pooling_mode_mean_tokens\":true}"));
    tiny_write(folder, "sentence_bert_config.json", STR("{\"max_seq_length\":48}"));
}

/* A new empty folder; remove it with folder_remove() and free() it. */
static inline char *temporary_folder(void)
{
    const char *parent = getenv("TMPDIR");
    char *path = path_join(parent ? parent : "/tmp", "ibid-test-XXXXXX");
    assert_non_null(mkdtemp(path));
    return path;
}
