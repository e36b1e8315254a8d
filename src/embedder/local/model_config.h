/* What a model's folder says about itself: config.json (Transformers), modules.json, the pooling module,
 * sentence_bert_config.json and config_sentence_transformers.json (Sentence Transformers). */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

enum pooling { POOL_MEAN, POOL_CLS };

struct model_config {
    size_t hidden_size;
    size_t layers;
    size_t heads;
    size_t intermediate_size;
    size_t vocabulary_size;
    size_t positions;      /* a sequence can have */
    size_t first_position; /* row of the position table where they begin: RoBERTa keeps those before to
                              padding */
    size_t token_types;
    float epsilon; /* of layer normalisation */

    enum pooling pooling;
    size_t window;                             /* tokens of an input, specials included */
    const char *query_prefix, *passage_prefix; /* "" when the model has none */
};

/* Reads the folder's files; strings live in `arena`. IBID_EUNSUPPORTED names what this program cannot
 * run, IBID_EFORMAT or IBID_ETOOBIG what is wrong, IBID_ENOTFOUND a missing config.json. */
ibid_code model_config_read(const char *folder, struct arena *arena, struct model_config *ret,
                            ibid_error *err) MUST_CHECK;
