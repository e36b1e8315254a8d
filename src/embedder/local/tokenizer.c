#include "embedder/local/tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "embedder/local/tokenizer_model.h"

enum {
    ADDED_TOKENS_MAX = 1024,
    SPECIALS_MAX = 8, /* on each side of an input */
};

static const struct token_model_ops *const models[] = {&wordpiece_model, &unigram_model};

/* A token looked for in the raw text before anything else, such as "[SEP]". */
struct added_token {
    struct str text;
    int32_t id;
    bool strips_left, strips_right; /* takes the white space beside it along */
};

struct specials {
    int32_t ids[SPECIALS_MAX];
    size_t count;
};

struct tokenizer {
    struct token_model *model;
    struct specials before, after;
    struct added_token *added; /* longest first */
    size_t added_count;
    bool added_first_byte[256];
    size_t id_end;
};

/* ---- tokenizing ---- */

/* The added token that starts at `position`, or NULL. */
static const struct added_token *added_token_at(const struct tokenizer *self, struct str text,
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

/* Where the white space that ends at `position` begins, not before `low`. */
static size_t space_before(struct str text, size_t low, size_t position)
{
    while (position > low) {
        size_t start = utf8_floor(text, position - 1), end = start;
        if (start < low || !u_isUWhiteSpace((UChar32)utf8_next(text, &end)) || end != position)
            break;
        position = start;
    }
    return position;
}

static size_t space_after(struct str text, size_t position)
{
    for (size_t next = position; next < text.size; position = next)
        if (!u_isUWhiteSpace((UChar32)utf8_next(text, &next)))
            break;
    return position;
}

static void tokenize_part(const struct tokenizer *self, struct str text, size_t start, size_t end,
                          struct token_sink *sink)
{
    if (start < end && !token_sink_is_full(sink))
        self->model->ops->tokenize(self->model, str_slice(text, start, end), start == 0, sink);
}

static void tokenize(const struct tokenizer *self, struct str text, struct token_sink *sink)
{
    size_t start = 0, position = 0;
    while (position < text.size && !token_sink_is_full(sink)) {
        const struct added_token *added = added_token_at(self, text, position);
        if (!added) {
            position++;
            continue;
        }
        tokenize_part(self, text, start, added->strips_left ? space_before(text, start, position) : position,
                      sink);
        token_sink_put(sink, added->id);
        position += added->text.size;
        if (added->strips_right)
            position = space_after(text, position);
        start = position;
    }
    tokenize_part(self, text, start, text.size, sink);
}

size_t tokenizer_encode(const struct tokenizer *self, struct str text, int32_t *out, size_t max_tokens)
{
    const size_t specials = self->before.count + self->after.count;
    ASSERT(max_tokens >= specials);
    memcpy(out, self->before.ids, self->before.count * sizeof *out);
    struct token_sink sink = {out + self->before.count, 0, max_tokens - specials};
    tokenize(self, text, &sink);
    const size_t count = sink.count < sink.capacity ? sink.count : sink.capacity;
    memcpy(sink.out + count, self->after.ids, self->after.count * sizeof *out);
    return count + specials;
}

size_t tokenizer_count(const struct tokenizer *self, struct str text)
{
    struct token_sink sink = {.capacity = SIZE_MAX};
    tokenize(self, text, &sink);
    return sink.count;
}

size_t tokenizer_special_count(const struct tokenizer *self)
{
    return self->before.count + self->after.count;
}

size_t tokenizer_id_end(const struct tokenizer *self)
{
    return self->id_end;
}

void tokenizer_free(struct tokenizer *self)
{
    if (!self)
        return;
    if (self->model)
        self->model->ops->free(self->model);
    for (size_t i = 0; i < self->added_count; i++)
        free((char *)self->added[i].text.data);
    free(self->added);
    free(self);
}

/* ---- reading tokenizer.json ---- */

const json_t *tokenizer_member(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

ibid_code tokenizer_check_type(const json_t *part, const char *what, const char *type, ibid_error *err)
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

ibid_code tokenizer_read_id(const json_t *value, int32_t *ret, ibid_error *err)
{
    const json_int_t id = json_integer_value(value);
    if (!json_is_integer(value) || id < 0 || id >= INT32_MAX)
        return fail(err, IBID_EFORMAT, "the tokenizer holds a token id that is no number from 0 to 2^31 - 2");
    *ret = (int32_t)id;
    return IBID_OK;
}

static void note_id(struct tokenizer *self, int32_t id)
{
    if ((size_t)id >= self->id_end)
        self->id_end = (size_t)id + 1;
}

static int longer_first(const void *a, const void *b)
{
    const struct str left = ((const struct added_token *)a)->text,
                     right = ((const struct added_token *)b)->text;
    return (left.size < right.size) - (left.size > right.size);
}

static ibid_code read_added_token(struct tokenizer *self, const json_t *item, ibid_error *err)
{
    struct str content = STR_EMPTY;
    bool normalized = false, single_word = false;
    struct added_token *added = &self->added[self->added_count];
    TRY(json_get_str(item, "content", &content, err));
    TRY(json_get_bool(item, "normalized", &normalized, err));
    TRY(json_get_bool(item, "single_word", &single_word, err));
    TRY(json_get_bool(item, "lstrip", &added->strips_left, err));
    TRY(json_get_bool(item, "rstrip", &added->strips_right, err));
    if (content.size == 0)
        return fail(err, IBID_EFORMAT, "the tokenizer holds an empty added token");
    /* One that is looked for in normalised text is looked for before, where normalising keeps it: what
     * differs are look-alikes that become it, and white space beside it that becomes something else. */
    if (single_word ||
        (normalized && !(self->model->ops->keeps && self->model->ops->keeps(self->model, content))))
        return fail(err, IBID_EUNSUPPORTED,
                    "the tokenizer's added token '%.*s' is normalized or single_word, which is not supported",
                    STR_ARG(content));
    TRY(tokenizer_read_id(json_object_get(item, "id"), &added->id, err));
    note_id(self, added->id);
    added->text = (struct str){xmemdup0(content.data, content.size), content.size};
    self->added_count++;
    self->added_first_byte[(unsigned char)content.data[0]] = true;
    return IBID_OK;
}

static ibid_code read_added_tokens(struct tokenizer *self, const json_t *root, ibid_error *err)
{
    const json_t *items = tokenizer_member(root, "added_tokens");
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
static ibid_code read_template_item(struct tokenizer *self, const json_t *item, const json_t *tokens,
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
        TRY(tokenizer_read_id(json_array_get(ids, i), &id, err));
        note_id(self, id);
        TRY(add_special(*text_seen ? &self->after : &self->before, id, err));
    }
    return IBID_OK;
}

static ibid_code read_template(struct tokenizer *self, const json_t *processor, ibid_error *err)
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
static ibid_code read_bert_processing(struct tokenizer *self, const json_t *processor, ibid_error *err)
{
    int32_t first = 0, last = 0;
    TRY(tokenizer_read_id(json_array_get(json_object_get(processor, "cls"), 1), &first, err));
    TRY(tokenizer_read_id(json_array_get(json_object_get(processor, "sep"), 1), &last, err));
    note_id(self, first);
    note_id(self, last);
    TRY(add_special(&self->before, first, err));
    return add_special(&self->after, last, err);
}

static ibid_code read_post_processor(struct tokenizer *self, const json_t *root, ibid_error *err)
{
    const json_t *processor = tokenizer_member(root, "post_processor");
    struct str type = STR_EMPTY;
    if (!processor)
        return IBID_OK;
    TRY(json_get_str(processor, "type", &type, err));
    if (str_is(type, "TemplateProcessing"))
        return read_template(self, processor, err);
    if (str_is(type, "BertProcessing") || str_is(type, "RobertaProcessing"))
        return read_bert_processing(self, processor, err);
    return fail(err, IBID_EUNSUPPORTED, "the tokenizer's post-processor '%.*s' is not supported",
                STR_ARG(type));
}

static ibid_code open_model(struct tokenizer *self, const json_t *root, ibid_error *err)
{
    const json_t *model = tokenizer_member(root, "model");
    struct str type = STR_EMPTY;
    if (!json_is_object(model))
        return fail(err, IBID_EUNSUPPORTED, "the tokenizer has no model");
    if (json_object_get(model, "continuing_subword_prefix")) /* older files name no type */
        type = STR("WordPiece");
    TRY(json_get_str(model, "type", &type, err));
    for (size_t i = 0; i < COUNT_OF(models); i++)
        if (str_is(type, models[i]->type))
            return models[i]->open(root, &self->model, err);
    return fail(err, IBID_EUNSUPPORTED,
                "the tokenizer's model is '%.*s', but only WordPiece and Unigram are supported",
                STR_ARG(type));
}

static ibid_code read_tokenizer(struct tokenizer *self, const json_t *root, ibid_error *err)
{
    TRY(open_model(self, root, err));
    self->id_end = self->model->id_end;
    TRY(read_added_tokens(self, root, err));
    return read_post_processor(self, root, err);
}

ibid_code tokenizer_parse(struct str json, struct tokenizer **ret, ibid_error *err)
{
    AUTO_JSON *root = NULL;
    TRY(error_recode(json_parse(json, &root, err), IBID_EINVAL, IBID_EFORMAT, err));
    struct tokenizer *self = xcalloc(1, sizeof *self);
    const ibid_code code = error_recode(read_tokenizer(self, root, err), IBID_EINVAL, IBID_EFORMAT, err);
    if (code != IBID_OK) {
        tokenizer_free(self);
        return code;
    }
    *ret = self;
    return IBID_OK;
}

ibid_code tokenizer_open(const char *path, struct tokenizer **ret, ibid_error *err)
{
    AUTO_BUFFER json = BUFFER(TOKENIZER_FILE_SIZE_MAX);
    TRY(file_read(path, &json, err));
    const ibid_code code = tokenizer_parse(buffer_str(&json), ret, err);
    if (code != IBID_OK)
        error_context(err, "%s", path);
    return code;
}
