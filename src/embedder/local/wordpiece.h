/* The WordPiece tokenizer of BERT models (Wu et al., "Google's Neural Machine Translation System",
 * 2016; Devlin et al., "BERT", 2018), read from a Hugging Face tokenizer.json. Gives the ids that the
 * reference library gives. Immutable once open, so any number of threads may use it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "model/token_counter.h"

struct wordpiece;

/* Reads a tokenizer.json. IBID_EUNSUPPORTED names a part of the file that this tokenizer does not
 * have; IBID_EFORMAT a damaged file; IBID_ENOTFOUND a missing one. */
ibid_code wordpiece_open(const char *path, struct wordpiece **ret, ibid_error *err) MUST_CHECK;
/* The same from the file's text. */
ibid_code wordpiece_parse(struct str json, struct wordpiece **ret, ibid_error *err) MUST_CHECK;
void wordpiece_free(struct wordpiece *take_wordpiece); /* NULL is fine */

/* Writes the ids of a whole input, special tokens included, cut to `max_tokens` as the reference cuts
 * (the text loses its end, the special tokens stay). Returns how many.
 * `max_tokens` >= wordpiece_special_count(). */
size_t wordpiece_encode(const struct wordpiece *self, struct str text, int32_t *out, size_t max_tokens);

/* How many tokens the text alone takes. */
size_t wordpiece_count(const struct wordpiece *self, struct str text);

/* Special tokens around every input: 2 for BERT. */
size_t wordpiece_special_count(const struct wordpiece *self);
/* One more than the highest id it can give. */
size_t wordpiece_id_end(const struct wordpiece *self);
