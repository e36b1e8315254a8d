/* What stands behind a tokenizer: text to ids, without added and special tokens. One `const struct
 * token_model_ops` for each "model" of a tokenizer.json; tokenizer.c has the list. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"

/* Where ids go. */
struct token_sink {
    int32_t *out; /* NULL: count only */
    size_t count, capacity;
};

static inline bool token_sink_is_full(const struct token_sink *sink)
{
    return sink->count >= sink->capacity;
}

static inline void token_sink_put(struct token_sink *sink, int32_t id)
{
    if (sink->out && sink->count < sink->capacity)
        sink->out[sink->count] = id;
    sink->count++;
}

struct token_model_ops;

/* First member of every model's own struct. */
struct token_model {
    const struct token_model_ops *ops;
    size_t id_end; /* one more than the highest id it can give */
};

struct token_model_ops {
    const char *type; /* as in the file's model.type */

    /* From the whole file. IBID_EUNSUPPORTED names a part that is not known; IBID_EINVAL and IBID_EFORMAT
     * say what is damaged. */
    ibid_code (*open)(const json_t *root, struct token_model **ret, ibid_error *err);
    void (*free)(struct token_model *take_model);

    /* Puts the ids of a text between added tokens; may stop once the sink is full. `at_start`: the input
     * begins with this text. Takes time and memory linear in the text. */
    void (*tokenize)(const struct token_model *self, struct str text, bool at_start, struct token_sink *sink);

    /* Whether normalising leaves `text` as it is; NULL: the model cannot tell. */
    bool (*keeps)(const struct token_model *self, struct str text);
};

extern const struct token_model_ops wordpiece_model; /* Wu et al. 2016, Devlin et al. 2018 */
extern const struct token_model_ops unigram_model;   /* Kudo 2018 */

/* ---- reading a tokenizer.json ---- */

/* The member, whatever it is; NULL when it is missing or null. */
const json_t *tokenizer_member(const json_t *object, const char *key);
/* IBID_EUNSUPPORTED unless `part` is an object of that type; `what` names it in the message. */
ibid_code tokenizer_check_type(const json_t *part, const char *what, const char *type,
                               ibid_error *err) MUST_CHECK;
ibid_code tokenizer_read_id(const json_t *value, int32_t *ret, ibid_error *err) MUST_CHECK;
