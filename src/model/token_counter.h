/* How many tokens a text takes, for whoever sizes text without knowing a model.
 * The embedder gives one; without a model the pinned WordPiece vocabulary does. */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct token_counter {
    /* Tokens of `text` alone, without the special tokens around a whole input. Thread-safe. */
    size_t (*count)(const struct token_counter *self, struct str text);
    size_t special_tokens; /* added once for each input: 2 for BERT ([CLS], [SEP]), and a passage's prefix */
    size_t max_tokens;     /* the model's window, specials included; 0: no limit known */
};
