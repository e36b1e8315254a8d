#include "embedder/vocabulary_counter.h"

#include <stdlib.h>

#include "base/memory.h"
#include "embedder/local/wordpiece.h"

struct vocabulary_counter {
    struct token_counter base;
    struct wordpiece *wordpiece;
};

static size_t count_tokens(const struct token_counter *self, struct str text)
{
    return wordpiece_count(((const struct vocabulary_counter *)self)->wordpiece, text);
}

ibid_code vocabulary_counter_open(const char *tokenizer_json, size_t max_tokens, struct token_counter **ret,
                                  ibid_error *err)
{
    struct wordpiece *wordpiece;
    TRY(wordpiece_open(tokenizer_json, &wordpiece, err));
    struct vocabulary_counter *self = xcalloc(1, sizeof *self);
    self->wordpiece = wordpiece;
    self->base = (struct token_counter){count_tokens, wordpiece_special_count(wordpiece), max_tokens};
    *ret = &self->base;
    return IBID_OK;
}

void vocabulary_counter_close(struct token_counter *counter)
{
    struct vocabulary_counter *self = (struct vocabulary_counter *)counter;
    if (!self)
        return;
    wordpiece_free(self->wordpiece);
    free(self);
}
