/* A BERT encoder (Devlin et al., "BERT", 2018) with pooling (Reimers and Gurevych, "Sentence-BERT", 2019):
 * token ids in, one vector of length 1 out for each sequence. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "embedder/local/kernel.h"
#include "embedder/local/model_config.h"
#include "embedder/local/safetensors.h"

struct encoder;

/* Tokens that one pass should hold: enough to keep the arithmetic busy, few enough for the caches. */
enum { ENCODER_PASS_TOKENS = 512 };

/* Checks the weights' shapes against `config` and packs them for `kernel`. The word embeddings are read
 * from `weights` at every call, so it must outlive the encoder. IBID_EFORMAT names a tensor that is
 * missing or has another shape. */
ibid_code encoder_new(const struct model_config *config, const struct safetensors *weights,
                      const struct kernel *kernel, struct encoder **ret, ibid_error *err) MUST_CHECK;
void encoder_free(struct encoder *take_encoder); /* NULL is fine */

/* One pass over `count` sequences laid end to end: `ids` holds lengths[0] + lengths[1] + ... ids, each
 * below config.vocabulary_size; every length is from 1 to config.positions. Their number should stay
 * near ENCODER_PASS_TOKENS. Writes rows of hidden_size floats. Runs on the calling thread; thread-safe. */
void encoder_run(struct encoder *self, const int32_t *ids, const size_t *lengths, size_t count, float *out);
