/* Text to token ids, as a Hugging Face tokenizer.json says: added tokens, one of the models of
 * tokenizer_model.h, the special tokens around an input. Gives the ids that the reference library gives.
 * Immutable once open, so any number of threads may use it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

enum { TOKENIZER_FILE_SIZE_MAX = 64 << 20 };

struct tokenizer;

/* Reads a tokenizer.json of at most TOKENIZER_FILE_SIZE_MAX bytes. IBID_EUNSUPPORTED names a part of the
 * file that is not known here; IBID_EFORMAT a damaged file; IBID_ENOTFOUND a missing one. */
ibid_code tokenizer_open(const char *path, struct tokenizer **ret, ibid_error *err) MUST_CHECK;
/* The same from the file's text. */
ibid_code tokenizer_parse(struct str json, struct tokenizer **ret, ibid_error *err) MUST_CHECK;
void tokenizer_free(struct tokenizer *take_tokenizer); /* NULL is fine */

/* Writes the ids of a whole input, special tokens included, cut to `max_tokens` as the reference cuts
 * (the text loses its end, the special tokens stay). Returns how many. Ill-formed UTF-8 counts as U+FFFD.
 * `max_tokens` >= tokenizer_special_count(). */
size_t tokenizer_encode(const struct tokenizer *self, struct str text, int32_t *out, size_t max_tokens);

/* How many tokens the text alone takes. */
size_t tokenizer_count(const struct tokenizer *self, struct str text);

/* Special tokens around every input: 2 for BERT and XLM-R. */
size_t tokenizer_special_count(const struct tokenizer *self);
/* One more than the highest id it can give. */
size_t tokenizer_id_end(const struct tokenizer *self);
