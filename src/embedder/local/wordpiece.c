#include "embedder/local/wordpiece.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "embedder/local/bert_text.h"
#include "embedder/local/vocabulary.h"

enum {
    FILE_SIZE_MAX = 64 << 20,
    ADDED_TOKENS_MAX = 1024,
    SPECIALS_MAX = 8, /* on each side of an input */
};

/* A token looked for in the raw text before anything else, such as "[SEP]". */
struct added_token {
    struct str text;
    int32_t id;
};

struct specials {
    int32_t ids[SPECIALS_MAX];
    size_t count;
};

struct wordpiece {
    struct bert_text text;
    struct vocabulary vocabulary;
    int32_t continuation; /* state behind the prefix of pieces inside a word ("##") */
    int32_t unknown;      /* id of "[UNK]" */
    struct specials before, after;
    struct added_token *added; /* longest first */
    size_t added_count;
    bool added_first_byte[256];
    size_t id_end;
};

/* ---- tokenizing ---- */

struct sink {
    const struct wordpiece *wordpiece;
    int32_t *out; /* NULL: count only */
    size_t count;
    size_t capacity;
};

static void put_id(struct sink *sink, int32_t id)
{
    if (sink->out && sink->count < sink->capacity)
        sink->out[sink->count] = id;
    sink->count++;
}

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
    struct sink *sink = context;
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
        put_id(sink, pieces[i]);
    return sink->count < sink->capacity;
}

/* The added token that starts at `position`, or NULL. */
static const struct added_token *added_token_at(const struct wordpiece *self, struct str text,
                                                size_t position)
{
    if (!self->added_first_byte[(unsigned char)text.data[position]])
        return NULL;
    const struct str rest = str_slice(text, position, text.size);
    for (size_t i = 0; i < self->added_count; i++)
        if (str_equal(str_slice(rest, 0, self->added[i].text.size), self->added[i].text))
            return &self->added[i];
    return NULL;
}

static void tokenize(const struct wordpiece *self, struct str text, struct sink *sink)
{
    size_t start = 0, position = 0;
    while (position < text.size && sink->count < sink->capacity) {
        const struct added_token *added = added_token_at(self, text, position);
        if (!added) {
            position++;
            continue;
        }
        bert_text_split(&self->text, str_slice(text, start, position), take_word, sink);
        put_id(sink, added->id);
        position += added->text.size;
        start = position;
    }
    if (sink->count < sink->capacity)
        bert_text_split(&self->text, str_slice(text, start, text.size), take_word, sink);
}

size_t wordpiece_encode(const struct wordpiece *self, struct str text, int32_t *out, size_t max_tokens)
{
    const size_t specials = self->before.count + self->after.count;
    ASSERT(max_tokens >= specials);
    memcpy(out, self->before.ids, self->before.count * sizeof *out);
    struct sink sink = {self, out + self->before.count, 0, max_tokens - specials};
    tokenize(self, text, &sink);
    const size_t count = sink.count < sink.capacity ? sink.count : sink.capacity;
    memcpy(sink.out + count, self->after.ids, self->after.count * sizeof *out);
    return count + specials;
}

size_t wordpiece_count(const struct wordpiece *self, struct str text)
{
    struct sink sink = {.wordpiece = self, .capacity = SIZE_MAX};
    tokenize(self, text, &sink);
    return sink.count;
}

size_t wordpiece_special_count(const struct wordpiece *self)
{
    return self->before.count + self->after.count;
}

size_t wordpiece_id_end(const struct wordpiece *self)
{
    return self->id_end;
}

void wordpiece_free(struct wordpiece *self)
{
    if (!self)
        return;
    vocabulary_release(&self->vocabulary);
    for (size_t i = 0; i < self->added_count; i++)
        free((char *)self->added[i].text.data);
    free(self->added);
    free(self);
}

/* ---- reading tokenizer.json ---- */

/* The member as an object; NULL when it is missing or null. */
static const json_t *member(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

static ibid_code check_type(const json_t *part, const char *what, const char *type, ibid_error *err)
{
    struct str found = STR_EMPTY;
    if (!json_is_object(part))
        return fail(err, IBID_EUNSUPPORTED, "the tokenizer has no %s, but %s is needed", what, type);
    TRY(json_get_str(part, "type", &found, err));
    if (!str_is(found, type))
        return fail(err, IBID_EUNSUPPORTED, "the tokenizer's %s is '%.*s', but only %s is supported", what,
                    STR_ARG(found), type);
    return IBID_OK;
}

static ibid_code read_rules(const json_t *root, size_t word_characters, struct bert_rules *ret,
                            ibid_error *err)
{
    const json_t *normalizer = member(root, "normalizer");
    TRY(check_type(normalizer, "normalizer", "BertNormalizer", err));
    TRY(check_type(member(root, "pre_tokenizer"), "pre-tokenizer", "BertPreTokenizer", err));
    struct bert_rules rules = {true, true, true, true, word_characters};
    TRY(json_get_bool(normalizer, "clean_text", &rules.clean, err));
    TRY(json_get_bool(normalizer, "handle_chinese_chars", &rules.separate_ideographs, err));
    TRY(json_get_bool(normalizer, "lowercase", &rules.lowercase, err));
    rules.strip_accents = rules.lowercase; /* unless it is set, accents go with the capitals */
    TRY(json_get_bool(normalizer, "strip_accents", &rules.strip_accents, err));
    *ret = rules;
    return IBID_OK;
}

static ibid_code read_id(const json_t *value, int32_t *ret, ibid_error *err)
{
    const json_int_t id = json_integer_value(value);
    if (!json_is_integer(value) || id < 0 || id >= INT32_MAX)
        return fail(err, IBID_EFORMAT, "the tokenizer holds a token id that is no number from 0 to 2^31 - 2");
    *ret = (int32_t)id;
    return IBID_OK;
}

static void note_id(struct wordpiece *self, int32_t id)
{
    if ((size_t)id >= self->id_end)
        self->id_end = (size_t)id + 1;
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
        TRY(read_id(id, &entries[filled].id, err));
        note_id(self, entries[filled].id);
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

static int longer_first(const void *a, const void *b)
{
    const struct str left = ((const struct added_token *)a)->text,
                     right = ((const struct added_token *)b)->text;
    return (left.size < right.size) - (left.size > right.size);
}

static ibid_code read_added_token(struct wordpiece *self, const json_t *item, ibid_error *err)
{
    struct str content = STR_EMPTY;
    bool normalized = false, single_word = false, strips_left = false, strips_right = false;
    TRY(json_get_str(item, "content", &content, err));
    TRY(json_get_bool(item, "normalized", &normalized, err));
    TRY(json_get_bool(item, "single_word", &single_word, err));
    TRY(json_get_bool(item, "lstrip", &strips_left, err));
    TRY(json_get_bool(item, "rstrip", &strips_right, err));
    if (content.size == 0)
        return fail(err, IBID_EFORMAT, "the tokenizer holds an empty added token");
    if (normalized || single_word || strips_left || strips_right)
        return fail(err, IBID_EUNSUPPORTED,
                    "the tokenizer's added token '%.*s' is normalized, single_word, lstrip or rstrip, "
                    "which is not supported",
                    STR_ARG(content));
    struct added_token *added = &self->added[self->added_count];
    TRY(read_id(json_object_get(item, "id"), &added->id, err));
    note_id(self, added->id);
    added->text = (struct str){xmemdup0(content.data, content.size), content.size};
    self->added_count++;
    self->added_first_byte[(unsigned char)content.data[0]] = true;
    return IBID_OK;
}

static ibid_code read_added_tokens(struct wordpiece *self, const json_t *root, ibid_error *err)
{
    const json_t *items = member(root, "added_tokens");
    const size_t count = json_array_size(items);
    if (count > ADDED_TOKENS_MAX)
        return fail(err, IBID_ETOOBIG, "the tokenizer has %zu added tokens, more than %d", count,
                    ADDED_TOKENS_MAX);
    self->added = xcalloc(count + 1, sizeof *self->added);
    for (size_t i = 0; i < count; i++)
        TRY(read_added_token(self, json_array_get(items, i), err));
    qsort(self->added, self->added_count, sizeof *self->added, longer_first);
    return IBID_OK;
}

static ibid_code add_special(struct specials *specials, int32_t id, ibid_error *err)
{
    if (specials->count == SPECIALS_MAX)
        return fail(err, IBID_ETOOBIG, "the tokenizer puts more than %d special tokens on one side",
                    SPECIALS_MAX);
    specials->ids[specials->count++] = id;
    return IBID_OK;
}

/* One item of a template: {"SpecialToken": {"id": "[CLS]"}} or {"Sequence": {"id": "A"}}. */
static ibid_code read_template_item(struct wordpiece *self, const json_t *item, const json_t *tokens,
                                    bool *text_seen, ibid_error *err)
{
    if (json_object_get(item, "Sequence")) {
        *text_seen = true;
        return IBID_OK;
    }
    struct str name = STR_EMPTY;
    const json_t *special = json_object_get(item, "SpecialToken");
    if (!special)
        return fail(err, IBID_EFORMAT, "the tokenizer's template holds neither text nor special token");
    TRY(json_get_str(special, "id", &name, err));
    AUTO_FREE char *key = xmemdup0(name.data, name.size);
    const json_t *ids = json_object_get(json_object_get(tokens, key), "ids");
    if (json_array_size(ids) == 0)
        return fail(err, IBID_EFORMAT, "the tokenizer's template names the token '%s' without ids", key);
    for (size_t i = 0; i < json_array_size(ids); i++) {
        int32_t id = 0;
        TRY(read_id(json_array_get(ids, i), &id, err));
        note_id(self, id);
        TRY(add_special(*text_seen ? &self->after : &self->before, id, err));
    }
    return IBID_OK;
}

static ibid_code read_template(struct wordpiece *self, const json_t *processor, ibid_error *err)
{
    const json_t *items = json_object_get(processor, "single");
    const json_t *tokens = json_object_get(processor, "special_tokens");
    bool text_seen = false;
    for (size_t i = 0; i < json_array_size(items); i++)
        TRY(read_template_item(self, json_array_get(items, i), tokens, &text_seen, err));
    if (!text_seen)
        return fail(err, IBID_EFORMAT, "the tokenizer's template has no place for the text");
    return IBID_OK;
}

/* {"type": "BertProcessing", "cls": ["[CLS]", 101], "sep": ["[SEP]", 102]} */
static ibid_code read_bert_processing(struct wordpiece *self, const json_t *processor, ibid_error *err)
{
    int32_t first = 0, last = 0;
    TRY(read_id(json_array_get(json_object_get(processor, "cls"), 1), &first, err));
    TRY(read_id(json_array_get(json_object_get(processor, "sep"), 1), &last, err));
    note_id(self, first);
    note_id(self, last);
    TRY(add_special(&self->before, first, err));
    return add_special(&self->after, last, err);
}

static ibid_code read_post_processor(struct wordpiece *self, const json_t *root, ibid_error *err)
{
    const json_t *processor = member(root, "post_processor");
    struct str type = STR_EMPTY;
    if (!processor)
        return IBID_OK;
    TRY(json_get_str(processor, "type", &type, err));
    if (str_is(type, "TemplateProcessing"))
        return read_template(self, processor, err);
    if (str_is(type, "BertProcessing"))
        return read_bert_processing(self, processor, err);
    return fail(err, IBID_EUNSUPPORTED, "the tokenizer's post-processor '%.*s' is not supported",
                STR_ARG(type));
}

static ibid_code read_tokenizer(struct wordpiece *self, const json_t *root, ibid_error *err)
{
    const json_t *model = member(root, "model");
    int64_t word_characters = 100;
    if (!json_object_get(model, "continuing_subword_prefix")) /* older files name no type */
        TRY(check_type(model, "model", "WordPiece", err));
    TRY(json_get_int(model, "max_input_chars_per_word", 1, BERT_WORD_CHARACTERS_MAX, &word_characters, err));
    struct bert_rules rules;
    TRY(read_rules(root, (size_t)word_characters, &rules, err));
    bert_text_init(&self->text, rules);
    TRY(read_vocabulary(self, model, err));
    TRY(read_added_tokens(self, root, err));
    return read_post_processor(self, root, err);
}

ibid_code wordpiece_parse(struct str json, struct wordpiece **ret, ibid_error *err)
{
    AUTO_JSON *root = NULL;
    TRY(error_recode(json_parse(json, &root, err), IBID_EINVAL, IBID_EFORMAT, err));
    struct wordpiece *self = xcalloc(1, sizeof *self);
    const ibid_code code = error_recode(read_tokenizer(self, root, err), IBID_EINVAL, IBID_EFORMAT, err);
    if (code != IBID_OK) {
        wordpiece_free(self);
        return code;
    }
    *ret = self;
    return IBID_OK;
}

ibid_code wordpiece_open(const char *path, struct wordpiece **ret, ibid_error *err)
{
    AUTO_BUFFER json = BUFFER(FILE_SIZE_MAX);
    TRY(file_read(path, &json, err));
    const ibid_code code = wordpiece_parse(buffer_str(&json), ret, err);
    if (code != IBID_OK)
        error_context(err, "%s", path);
    return code;
}
