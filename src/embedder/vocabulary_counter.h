/* Counts tokens with a model's tokenizer.json alone: sizes chunks where the weights are missing, so that
 * the chunks stay right once they arrive. */
#pragma once

#include "base/error.h"
#include "model/token_counter.h"

/* `max_tokens`: the model's window with specials, which tokenizer.json does not tell; 0 when unknown.
 * IBID_ENOTFOUND, IBID_EFORMAT and IBID_EUNSUPPORTED are about the file. */
ibid_code vocabulary_counter_open(const char *tokenizer_json, size_t max_tokens, struct token_counter **ret,
                                  ibid_error *err) MUST_CHECK;
void vocabulary_counter_close(struct token_counter *take_counter); /* NULL is fine */
