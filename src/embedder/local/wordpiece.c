/* The WordPiece tokenizer of BERT models (Wu et al., "Google's Neural Machine Translation System",
 * 2016; Devlin et al., "BERT", 2018). */
#include <stdlib.h>

#include "base/memory.h"
#include "embedder/local/bert_text.h"
#include "embedder/local/tokenizer_model.h"
#include "embedder/local/vocabulary.h"

struct wordpiece {
    struct token_model base;
    struct bert_text text;
    struct vocabulary vocabulary;
    int32_t continuation; /* state behind the prefix of pieces inside a word ("##") */
    int32_t unknown;      /* id of "[UNK]" */
};

/* ---- tokenizing ---- */

struct word_sink {
    const struct wordpiece *wordpiece;
    struct token_sink *ids;
};

/* The longest piece at the front of `text` from `state`: its length, 0 when there is none. */
static size_t longest_piece(const struct vocabulary *vocabulary, int32_t state, struct str text,
                            int32_t *ret_id)
{
    size_t length = 0;
    for (size_t i = 0; i < text.size; i++) {
        state = vocabulary_step(vocabulary, state, (unsigned char)text.data[i]);
        if (state == VOCABULARY_NOWHERE)
            break;
        if (vocabulary->units[state].id >= 0) {
            *ret_id = vocabulary->units[state].id;
            length = i + 1;
        }
    }
    return length;
}

/* Greedy longest match from the left; a word that cannot be matched to its end is unknown as a whole. */
static bool take_word(void *context, struct bert_word word)
{
    struct word_sink *sink = context;
    const struct wordpiece *self = sink->wordpiece;
    int32_t pieces[4 * BERT_WORD_CHARACTERS_MAX];
    size_t count = 0;
    bool known = word.characters <= self->text.rules.word_characters;
    for (size_t position = 0; known && position < word.text.size;) {
        const int32_t state = position == 0 ? VOCABULARY_ROOT : self->continuation;
        const struct str rest = str_slice(word.text, position, word.text.size);
        const size_t length =
            state == VOCABULARY_NOWHERE ? 0 : longest_piece(&self->vocabulary, state, rest, &pieces[count]);
        known = length > 0;
        position += length;
        count++;
    }
    if (!known) {
        pieces[0] = self->unknown;
        count = 1;
    }
    for (size_t i = 0; i < count; i++)
        token_sink_put(sink->ids, pieces[i]);
    return !token_sink_is_full(sink->ids);
}

static void wordpiece_tokenize(const struct token_model *model, struct str text, bool at_start,
                               struct token_sink *ids)
{
    struct word_sink sink = {(const struct wordpiece *)model, ids};
    bert_text_split(&sink.wordpiece->text, text, take_word, &sink);
}

/* ---- reading tokenizer.json ---- */

static ibid_code read_rules(const json_t *root, size_t word_characters, struct bert_rules *ret,
                            ibid_error *err)
{
    const json_t *normalizer = tokenizer_member(root, "normalizer");
    TRY(tokenizer_check_type(normalizer, "normalizer", "BertNormalizer", err));
    TRY(tokenizer_check_type(tokenizer_member(root, "pre_tokenizer"), "pre-tokenizer", "BertPreTokenizer",
                             err));
    struct bert_rules rules = {true, true, true, true, word_characters};
    TRY(json_get_bool(normalizer, "clean_text", &rules.clean, err));
    TRY(json_get_bool(normalizer, "handle_chinese_chars", &rules.separate_ideographs, err));
    TRY(json_get_bool(normalizer, "lowercase", &rules.lowercase, err));
    rules.strip_accents = rules.lowercase; /* unless it is set, accents go with the capitals */
    TRY(json_get_bool(normalizer, "strip_accents", &rules.strip_accents, err));
    *ret = rules;
    return IBID_OK;
}

static ibid_code read_vocabulary(struct wordpiece *self, const json_t *model, ibid_error *err)
{
    const json_t *tokens = json_object_get(model, "vocab");
    if (!json_is_object(tokens))
        return fail(err, IBID_EFORMAT, "the tokenizer has no vocabulary");
    const size_t count = json_object_size(tokens);
    AUTO_FREE struct vocabulary_entry *entries = xcalloc(count + 1, sizeof *entries);
    size_t filled = 0;
    const char *token;
    json_t *id;
    json_object_foreach((json_t *)tokens, token, id)
    {
        entries[filled].token = str_from(token);
        TRY(tokenizer_read_id(id, &entries[filled].id, err));
        if ((size_t)entries[filled].id >= self->base.id_end)
            self->base.id_end = (size_t)entries[filled].id + 1;
        filled += entries[filled].token.size > 0; /* some vocabularies hold "", which never matches */
    }
    TRY(vocabulary_build(entries, filled, &self->vocabulary, err));

    struct str prefix = STR("##"), unknown = STR("[UNK]");
    TRY(json_get_str(model, "continuing_subword_prefix", &prefix, err));
    TRY(json_get_str(model, "unk_token", &unknown, err));
    self->continuation = vocabulary_walk(&self->vocabulary, VOCABULARY_ROOT, prefix);
    self->unknown = vocabulary_find(&self->vocabulary, unknown);
    if (self->unknown < 0)
        return fail(err, IBID_EFORMAT, "the vocabulary lacks its own unknown token '%.*s'", STR_ARG(unknown));
    return IBID_OK;
}

static ibid_code read_model(struct wordpiece *self, const json_t *root, ibid_error *err)
{
    const json_t *model = tokenizer_member(root, "model");
    int64_t word_characters = 100;
    TRY(json_get_int(model, "max_input_chars_per_word", 1, BERT_WORD_CHARACTERS_MAX, &word_characters, err));
    struct bert_rules rules;
    TRY(read_rules(root, (size_t)word_characters, &rules, err));
    bert_text_init(&self->text, rules);
    return read_vocabulary(self, model, err);
}

static void wordpiece_free(struct token_model *model)
{
    vocabulary_release(&((struct wordpiece *)model)->vocabulary);
    free(model);
}

static ibid_code wordpiece_open(const json_t *root, struct token_model **ret, ibid_error *err)
{
    struct wordpiece *self = xcalloc(1, sizeof *self);
    self->base.ops = &wordpiece_model;
    const ibid_code code = read_model(self, root, err);
    if (code != IBID_OK) {
        wordpiece_free(&self->base);
        return code;
    }
    *ret = &self->base;
    return IBID_OK;
}

const struct token_model_ops wordpiece_model = {
    .type = "WordPiece",
    .open = wordpiece_open,
    .free = wordpiece_free,
    .tokenize = wordpiece_tokenize,
};
