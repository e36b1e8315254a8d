#include "embedder/vocabulary_counter.h"

#include <stdlib.h>

#include "base/memory.h"
#include "embedder/local/tokenizer.h"

struct vocabulary_counter {
    struct token_counter base;
    struct tokenizer *tokenizer;
};

static size_t count_tokens(const struct token_counter *self, struct str text)
{
    return tokenizer_count(((const struct vocabulary_counter *)self)->tokenizer, text);
}

ibid_code vocabulary_counter_open(const char *tokenizer_json, size_t max_tokens, struct token_counter **ret,
                                  ibid_error *err)
{
    struct tokenizer *tokenizer;
    TRY(tokenizer_open(tokenizer_json, &tokenizer, err));
    struct vocabulary_counter *self = xcalloc(1, sizeof *self);
    self->tokenizer = tokenizer;
    self->base = (struct token_counter){count_tokens, tokenizer_special_count(tokenizer), max_tokens};
    *ret = &self->base;
    return IBID_OK;
}

void vocabulary_counter_close(struct token_counter *counter)
{
    struct vocabulary_counter *self = (struct vocabulary_counter *)counter;
    if (!self)
        return;
    tokenizer_free(self->tokenizer);
    free(self);
}
