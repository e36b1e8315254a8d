#include "model/filter.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/utf8.h"

const struct filter_key filter_keys[] = {
    {"document_id", VALUE_NUMBER, .help = "The document's number, as citations name it."},
    {"file_id", VALUE_STRING, .help = "The document's stable name outside."},
    {"source", VALUE_STRING, .help = "The source it came from: a folder, a space, a repository."},
    {"source_type", VALUE_STRING, .help = "The connector that brought it, such as folder or upload."},
    {"path", VALUE_STRING, .help = "Its path or address within the source."},
    {"title", VALUE_STRING, .help = "The document's title."},
    {"author", VALUE_STRING, .help = "Who wrote it, as the document says."},
    {"media_type", VALUE_STRING, .help = "Such as application/pdf."},
    {"language", VALUE_STRING, .help = "ISO 639-1 code, such as de."},
    {"label", VALUE_STRING, .multiple = true, .help = "Labels of an annotation."},
    {"modality", VALUE_STRING, .multiple = true, .help = "TEXT, IMAGE; a chunk may hold both."},
    {"structure", VALUE_STRING, .help = "What the chunk is: paragraph, table, list, code..."},
    {"state", VALUE_STRING, .help = "active, archived or sensitive."},
    {"page", VALUE_NUMBER, .multiple = true, .help = "Page numbers from 1; a chunk may span several."},
    {"chunk_index", VALUE_NUMBER, .help = "Position of the chunk in its document, from 0."},
    {"created_at", VALUE_NUMBER, .is_time = true, .help = "When the document was made."},
    {"modified_at", VALUE_NUMBER, .is_time = true, .help = "When it was last changed."},
    {"indexed_at", VALUE_NUMBER, .is_time = true, .help = "When it was indexed."},
    {"size", VALUE_NUMBER, .help = "Bytes of the original."},
    {"owner", VALUE_STRING, .help = "Who brought it."},
    {"workspace_id", VALUE_NUMBER, .multiple = true, .help = "Workspaces whose members may read it."},
    {.name = NULL},
};

const struct filter_key *filter_key_find(struct str name)
{
    for (const struct filter_key *key = filter_keys; key->name; key++)
        if (str_is(name, key->name))
            return key;
    return NULL;
}

/* ---- building: every form of the language comes through here ---- */

struct comparator {
    const char *name;
    const char *sign; /* in the text form; NULL: none */
    enum filter_op op;
    bool negated;
    bool takes_list;
    bool orders;
};

/* A sign that another one begins with stands after it. */
static const struct comparator comparators[] = {
    {"eq", "=", FILTER_EQ},
    {"ne", "!=", FILTER_EQ, .negated = true},
    {"lte", "<=", FILTER_LTE, .orders = true},
    {"gte", ">=", FILTER_GTE, .orders = true},
    {"lt", "<", FILTER_LT, .orders = true},
    {"gt", ">", FILTER_GT, .orders = true},
    {"contains", "~", FILTER_CONTAINS},
    {"in", NULL, FILTER_IN, .takes_list = true},
    {"nin", NULL, FILTER_IN, .negated = true, .takes_list = true},
    {"any", NULL, FILTER_IN, .takes_list = true},
    {"all", NULL, FILTER_ALL, .takes_list = true},
};

static const struct comparator *find_comparator(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(comparators); i++)
        if (strcmp(comparators[i].name, name) == 0)
            return &comparators[i];
    return NULL;
}

struct reader {
    struct arena *arena;
    ibid_error *err;
    size_t nodes, values, bytes;
};

static ibid_code new_node(struct reader *reader, struct filter node, const struct filter **ret)
{
    if (++reader->nodes > FILTER_NODE_LIMIT)
        return fail(reader->err, IBID_ETOOBIG, "a filter has at most %d parts", FILTER_NODE_LIMIT);
    struct filter *made = ARENA_NEW(reader->arena, struct filter);
    *made = node;
    *ret = made;
    return IBID_OK;
}

static ibid_code keep_text(struct reader *reader, struct str text, struct str *ret)
{
    reader->bytes += text.size;
    if (reader->bytes > FILTER_BYTES_LIMIT)
        return fail(reader->err, IBID_ETOOBIG, "the texts of a filter are over %d bytes", FILTER_BYTES_LIMIT);
    *ret = arena_str(reader->arena, text);
    return IBID_OK;
}

static ibid_code negate(struct reader *reader, const struct filter *child, const struct filter **ret)
{
    const struct filter **children = ARENA_NEW(reader->arena, const struct filter *);
    *children = child;
    return new_node(reader, (struct filter){.op = FILTER_NOT, .children = children, .child_count = 1}, ret);
}

/* One child stands for itself. */
static ibid_code join(struct reader *reader, enum filter_op op, const struct filter *const *children,
                      size_t count, const struct filter **ret)
{
    if (count == 1) {
        *ret = children[0];
        return IBID_OK;
    }
    return new_node(reader, (struct filter){.op = op, .children = children, .child_count = count}, ret);
}

static ibid_code check_key(struct reader *reader, struct str key)
{
    if (key.size == 0)
        return fail(reader->err, IBID_EINVAL, "a filter's key is not empty");
    if (key.size > FILTER_KEY_LIMIT)
        return fail(reader->err, IBID_ETOOBIG, "a filter's key has at most %d bytes", FILTER_KEY_LIMIT);
    return IBID_OK;
}

/* Whether the operator suits a declared key; any suits the others. */
static ibid_code check_operator(struct reader *reader, const struct filter_key *key,
                                const struct comparator *comparator)
{
    if (!key)
        return IBID_OK;
    if (comparator->orders && key->type == VALUE_STRING)
        return fail(reader->err, IBID_EINVAL, "'%s' is text and has no order: use eq, in or contains, not %s",
                    key->name, comparator->name);
    if (comparator->op == FILTER_CONTAINS && key->type == VALUE_NUMBER && !key->multiple)
        return fail(reader->err, IBID_EINVAL, "'%s' is one %s: use eq, not contains", key->name,
                    key->is_time ? "time" : "number");
    return IBID_OK;
}

/* Checks a value against a declared key; a time given as text becomes a number. */
static ibid_code fit_value(struct reader *reader, const struct filter_key *key, struct value *value)
{
    if (!key || key->type == value->type)
        return IBID_OK;
    int64_t time_us;
    if (key->is_time) {
        if (value->type != VALUE_STRING || !clock_parse(value->string, &time_us))
            return fail(reader->err, IBID_EINVAL,
                        "'%s' is a time: give it as 2026-02-16T10:30:00Z or 2026-02-16", key->name);
        *value = (struct value){.type = VALUE_NUMBER, .number = (double)time_us};
        return IBID_OK;
    }
    return fail(reader->err, IBID_EINVAL, "'%s' is to be compared with %s", key->name,
                key->type == VALUE_STRING ? "text" : "a number");
}

static ibid_code whole_number(struct reader *reader, struct str key, int64_t number, struct value *ret)
{
    /* Beyond this a double no longer tells whole numbers apart. */
    static const int64_t limit = INT64_C(1) << 53;
    if (number > limit || number < -limit)
        return fail(reader->err, IBID_EINVAL, "'%.*s' is compared with a number beyond 2^53", STR_ARG(key));
    *ret = (struct value){.type = VALUE_NUMBER, .number = (double)number};
    return IBID_OK;
}

/* A comparison from its parts. `values` are in the arena and may be changed. */
static ibid_code make_comparison(struct reader *reader, struct str key_name,
                                 const struct comparator *comparator, struct value *values, size_t count,
                                 const struct filter **ret)
{
    const struct filter_key *key = filter_key_find(key_name);
    TRY(check_operator(reader, key, comparator));
    reader->values += count;
    if (reader->values > FILTER_VALUE_LIMIT)
        return fail(reader->err, IBID_ETOOBIG, "a filter has at most %d operands", FILTER_VALUE_LIMIT);
    for (size_t i = 0; i < count; i++)
        TRY(fit_value(reader, key, &values[i]));
    struct filter node = {.op = comparator->op, .values = values, .value_count = count};
    if (key)
        node.key = str_from(key->name);
    else
        TRY(keep_text(reader, key_name, &node.key));
    bool same_as_equal =
        (comparator->takes_list && count == 1) || (comparator->op == FILTER_CONTAINS && key && key->multiple);
    if (same_as_equal)
        node.op = FILTER_EQ;
    TRY(new_node(reader, node, ret));
    return comparator->negated ? negate(reader, *ret, ret) : IBID_OK;
}

/* ---- from JSON ---- */

static ibid_code value_from_json(struct reader *reader, struct str key, const json_t *json, struct value *ret)
{
    switch (json_typeof(json)) {
    case JSON_STRING:
        ret->type = VALUE_STRING;
        return keep_text(reader, (struct str){json_string_value(json), json_string_length(json)},
                         &ret->string);
    case JSON_INTEGER:
        return whole_number(reader, key, json_integer_value(json), ret);
    case JSON_REAL:
        *ret = (struct value){.type = VALUE_NUMBER, .number = json_real_value(json)};
        return IBID_OK;
    case JSON_TRUE:
    case JSON_FALSE:
        *ret = (struct value){.type = VALUE_BOOL, .number = json_is_true(json)};
        return IBID_OK;
    default:
        return fail(reader->err, IBID_EINVAL,
                    "'%.*s' is compared with %s, not with text, a number, true or false", STR_ARG(key),
                    json_is_null(json)    ? "null"
                    : json_is_array(json) ? "a list"
                                          : "an object");
    }
}

static ibid_code comparison_from_json(struct reader *reader, struct str key,
                                      const struct comparator *comparator, const json_t *operand,
                                      const struct filter **ret)
{
    size_t count = 1;
    if (comparator->takes_list) {
        if (!json_is_array(operand) || json_array_size(operand) == 0)
            return fail(reader->err, IBID_EINVAL, "'%.*s': %s takes a list of one or more values",
                        STR_ARG(key), comparator->name);
        count = json_array_size(operand);
        if (count > FILTER_VALUE_LIMIT)
            return fail(reader->err, IBID_ETOOBIG, "a filter has at most %d operands", FILTER_VALUE_LIMIT);
    } else if (json_is_array(operand)) {
        return fail(reader->err, IBID_EINVAL,
                    "'%.*s': %s takes one value; for a list use in, nin, any or all", STR_ARG(key),
                    comparator->name);
    }
    struct value *values = ARENA_ARRAY(reader->arena, struct value, count);
    for (size_t i = 0; i < count; i++)
        TRY(value_from_json(reader, key, comparator->takes_list ? json_array_get(operand, i) : operand,
                            &values[i]));
    return make_comparison(reader, key, comparator, values, count, ret);
}

/* {"gte": 3, "lt": 10}, or a bare value. */
static ibid_code key_from_json(struct reader *reader, struct str key, const json_t *json,
                               const struct filter **ret)
{
    TRY(check_key(reader, key));
    if (!json_is_object(json))
        return comparison_from_json(reader, key, find_comparator("eq"), json, ret);
    size_t count = 0, size = json_object_size(json);
    if (size == 0)
        return fail(reader->err, IBID_EINVAL, "'%.*s' has no operator", STR_ARG(key));
    if (size > COUNT_OF(comparators))
        size = COUNT_OF(comparators); /* the rest are unknown, and refused below */
    const struct filter **children = ARENA_ARRAY(reader->arena, const struct filter *, size);
    const char *name;
    json_t *operand;
    json_object_foreach((json_t *)json, name, operand)
    {
        const struct comparator *comparator = find_comparator(name);
        if (!comparator)
            return fail(
                reader->err, IBID_EINVAL,
                "'%.*s': '%.40s' is no operator; there are eq ne lt lte gt gte in nin contains any all",
                STR_ARG(key), name);
        TRY(comparison_from_json(reader, key, comparator, operand, &children[count++]));
    }
    return join(reader, FILTER_AND, children, count, ret);
}

static ibid_code object_from_json(struct reader *reader, const json_t *json, unsigned depth,
                                  const struct filter **ret);

static ibid_code list_from_json(struct reader *reader, enum filter_op op, const json_t *json, unsigned depth,
                                const struct filter **ret)
{
    size_t count = json_array_size(json); /* 0 when it is no array */
    if (count == 0)
        return fail(reader->err, IBID_EINVAL, "'%s' takes a list of one or more filters",
                    op == FILTER_AND ? "and" : "or");
    if (count > FILTER_NODE_LIMIT)
        return fail(reader->err, IBID_ETOOBIG, "a filter has at most %d parts", FILTER_NODE_LIMIT);
    const struct filter **children = ARENA_ARRAY(reader->arena, const struct filter *, count);
    for (size_t i = 0; i < count; i++)
        TRY(object_from_json(reader, json_array_get(json, i), depth + 1, &children[i]));
    return join(reader, op, children, count, ret);
}

static ibid_code member_from_json(struct reader *reader, const char *key, const json_t *json, unsigned depth,
                                  const struct filter **ret)
{
    if (strcmp(key, "and") == 0)
        return list_from_json(reader, FILTER_AND, json, depth, ret);
    if (strcmp(key, "or") == 0)
        return list_from_json(reader, FILTER_OR, json, depth, ret);
    if (strcmp(key, "not") != 0)
        return key_from_json(reader, str_from(key), json, ret);
    TRY(object_from_json(reader, json, depth + 1, ret));
    return negate(reader, *ret, ret);
}

static ibid_code object_from_json(struct reader *reader, const json_t *json, unsigned depth,
                                  const struct filter **ret)
{
    if (depth > FILTER_DEPTH_LIMIT)
        return fail(reader->err, IBID_ETOOBIG, "a filter is at most %d levels deep", FILTER_DEPTH_LIMIT);
    size_t count = 0, size = json_object_size(json);
    if (!json_is_object(json) || size == 0)
        return fail(reader->err, IBID_EINVAL, "a filter is an object such as {\"language\": \"de\"}");
    if (size > FILTER_NODE_LIMIT)
        return fail(reader->err, IBID_ETOOBIG, "a filter has at most %d parts", FILTER_NODE_LIMIT);
    const struct filter **children = ARENA_ARRAY(reader->arena, const struct filter *, size);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)json, key, value)
        TRY(member_from_json(reader, key, value, depth, &children[count++]));
    return join(reader, FILTER_AND, children, count, ret);
}

ibid_code filter_from_json(const json_t *json, struct arena *arena, const struct filter **ret,
                           ibid_error *err)
{
    const struct filter *filter = NULL;
    struct reader reader = {.arena = arena, .err = err};
    if (json && !json_is_null(json) && !(json_is_object(json) && json_object_size(json) == 0))
        TRY(object_from_json(&reader, json, 0, &filter));
    *ret = filter;
    return IBID_OK;
}

/* ---- from text ---- */

/* Cuts key and operator off the front of `rest`. */
static ibid_code read_operator(struct reader *reader, struct str *rest, struct str *ret_key,
                               const struct comparator **ret)
{
    size_t at = 0;
    while (at < rest->size && !strchr("=!<>~", rest->data[at]))
        at++;
    struct str key = str_trim(str_slice(*rest, 0, at)), tail = str_slice(*rest, at, rest->size);
    TRY(check_key(reader, key));
    for (size_t i = 0; i < COUNT_OF(comparators); i++) {
        if (!comparators[i].sign || !str_starts_with(tail, comparators[i].sign))
            continue;
        *ret_key = key;
        *ret = &comparators[i];
        *rest = str_slice(tail, strlen(comparators[i].sign), tail.size);
        return IBID_OK;
    }
    return fail(reader->err, IBID_EINVAL,
                "'%.*s' in the filter lacks an operator: write key=value, with = != < <= > >= or ~",
                (int)(key.size < 80 ? key.size : 80), key.data);
}

static ibid_code read_quoted(struct reader *reader, struct str *rest, struct str *ret)
{
    AUTO_BUFFER text = BUFFER(FILTER_BYTES_LIMIT);
    size_t at = 1;
    while (at < rest->size && rest->data[at] != '"') {
        bool escaped = rest->data[at] == '\\' && at + 1 < rest->size &&
                       (rest->data[at + 1] == '"' || rest->data[at + 1] == '\\');
        at += escaped;
        buffer_append_byte(&text, rest->data[at++]);
    }
    if (at >= rest->size)
        return fail(reader->err, IBID_EINVAL, "a quoted value in the filter does not end");
    TRY(buffer_check(&text, "a filter's value", reader->err));
    *rest = str_slice(*rest, at + 1, rest->size);
    return keep_text(reader, buffer_str(&text), ret);
}

static bool is_joint(struct str text)
{
    return str_equal_nocase(str_slice(text, 0, 5), STR(" and ")) || str_equal_nocase(text, STR(" and"));
}

static ibid_code read_bare(struct reader *reader, struct str *rest, struct str *ret)
{
    size_t end = 0;
    while (end < rest->size && !is_joint(str_slice(*rest, end, rest->size)))
        end++;
    struct str text = str_trim(str_slice(*rest, 0, end));
    *rest = str_slice(*rest, end, rest->size);
    return keep_text(reader, text, ret);
}

/* What a bare word means: by the key's type, or by its looks. */
static ibid_code word_value(struct reader *reader, struct str key_name, struct str word, struct value *ret)
{
    long long whole;
    double number;
    const struct filter_key *key = filter_key_find(key_name);
    bool may_be_number = !key || (key->type == VALUE_NUMBER && !key->is_time);
    if (may_be_number && str_to_int64(word, &whole))
        return whole_number(reader, key_name, whole, ret);
    if (may_be_number && str_to_double(word, &number) && isfinite(number))
        *ret = (struct value){.type = VALUE_NUMBER, .number = number};
    else if (!key && (str_is(word, "true") || str_is(word, "false")))
        *ret = (struct value){.type = VALUE_BOOL, .number = str_is(word, "true")};
    else
        *ret = (struct value){.type = VALUE_STRING, .string = word};
    return IBID_OK;
}

static ibid_code read_comparison(struct reader *reader, struct str *rest, const struct filter **ret)
{
    const struct comparator *comparator;
    struct str key;
    TRY(read_operator(reader, rest, &key, &comparator));
    struct value *value = ARENA_NEW(reader->arena, struct value);
    if (is_joint(*rest))
        return fail(reader->err, IBID_EINVAL, "'%.*s' in the filter lacks a value", STR_ARG(key));
    while (rest->size && strchr(" \t\r\n", rest->data[0]))
        *rest = str_slice(*rest, 1, rest->size);
    if (rest->size && rest->data[0] == '"') {
        value->type = VALUE_STRING;
        TRY(read_quoted(reader, rest, &value->string));
    } else {
        struct str text;
        TRY(read_bare(reader, rest, &text));
        if (text.size == 0)
            return fail(reader->err, IBID_EINVAL, "'%.*s' in the filter lacks a value", STR_ARG(key));
        TRY(word_value(reader, key, text, value));
    }
    return make_comparison(reader, key, comparator, value, 1, ret);
}

static ibid_code comparisons_from_text(struct reader *reader, struct str text, const struct filter **ret)
{
    const struct filter **children = ARENA_ARRAY(reader->arena, const struct filter *, FILTER_NODE_LIMIT);
    size_t count = 0;
    for (;;) {
        if (count == FILTER_NODE_LIMIT)
            return fail(reader->err, IBID_ETOOBIG, "a filter has at most %d parts", FILTER_NODE_LIMIT);
        TRY(read_comparison(reader, &text, &children[count++]));
        if (str_trim(text).size == 0)
            return join(reader, FILTER_AND, children, count, ret);
        if (!is_joint(text))
            return fail(reader->err, IBID_EINVAL, "after a quoted value the filter goes on with ' and '");
        text = str_slice(text, 5, text.size);
    }
}

ibid_code filter_from_text(struct str text, struct arena *arena, const struct filter **ret, ibid_error *err)
{
    text = str_trim(text);
    if (text.size == 0) {
        *ret = NULL;
        return IBID_OK;
    }
    if (text.data[0] == '{') {
        AUTO_JSON *json = NULL;
        TRY(json_parse(text, &json, err));
        return filter_from_json(json, arena, ret, err);
    }
    if (!utf8_is_valid(text) || memchr(text.data, '\0', text.size))
        return fail(err, IBID_EINVAL, "the filter is not valid UTF-8");
    struct reader reader = {.arena = arena, .err = err};
    return comparisons_from_text(&reader, text, ret);
}

/* ---- canonical bytes ---- */

static int compare_texts(const void *a, const void *b)
{
    return str_compare(*(const struct str *)a, *(const struct str *)b);
}

static void append_field(struct buffer *out, struct str field)
{
    buffer_append_u32(out, (unsigned)field.size);
    buffer_append_str(out, field);
}

/* Appends the pieces sorted, each once. */
static void append_set(struct buffer *out, struct str *pieces, size_t count)
{
    size_t kept = 0;
    qsort(pieces, count, sizeof *pieces, compare_texts);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || !str_equal(pieces[kept - 1], pieces[i]))
            pieces[kept++] = pieces[i];
    buffer_append_u32(out, (unsigned)kept);
    for (size_t i = 0; i < kept; i++)
        append_field(out, pieces[i]);
}

static struct str value_bytes(const struct value *value, struct arena *arena)
{
    AUTO_BUFFER out = BUFFER(SIZE_MAX);
    buffer_append_u8(&out, value->type);
    if (value->type == VALUE_STRING) {
        buffer_append_str(&out, value->string);
    } else {
        double number = value->number == 0 ? 0 : value->number; /* -0 is 0 */
        unsigned long long bits;
        memcpy(&bits, &number, sizeof bits);
        buffer_append_u64(&out, bits);
    }
    return arena_str(arena, buffer_str(&out));
}

static struct str node_bytes(const struct filter *filter, struct arena *arena)
{
    AUTO_BUFFER out = BUFFER(SIZE_MAX);
    size_t count = filter->child_count ? filter->child_count : filter->value_count;
    struct str *pieces = ARENA_ARRAY(arena, struct str, count);
    for (size_t i = 0; i < filter->child_count; i++)
        pieces[i] = node_bytes(filter->children[i], arena);
    if (filter->child_count == 0)
        for (size_t i = 0; i < count; i++)
            pieces[i] = value_bytes(&filter->values[i], arena);
    buffer_append_u8(&out, filter->op);
    append_field(&out, filter->key);
    append_set(&out, pieces, count);
    return arena_str(arena, buffer_str(&out));
}

void filter_append_canonical(const struct filter *filter, struct buffer *out)
{
    if (!filter)
        return;
    AUTO_ARENA arena = ARENA_INIT;
    buffer_append_str(out, node_bytes(filter, &arena));
}
