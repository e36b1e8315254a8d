#include "tests/test.h"

#include <stdlib.h>

#include "model/filter.h"

static void print_value(const struct value *value, struct buffer *out)
{
    if (value->type == VALUE_STRING)
        buffer_printf(out, " \"%.*s\"", STR_ARG(value->string));
    else if (value->type == VALUE_BOOL)
        buffer_printf(out, " %s", value->number != 0 ? "true" : "false");
    else
        buffer_printf(out, " %.17g", value->number);
}

static void print_filter(const struct filter *filter, struct buffer *out)
{
    static const char *const names[] = {"and", "or",  "not", "eq",       "lt", "lte",
                                        "gt",  "gte", "in",  "contains", "all"};
    if (!filter) {
        buffer_append_string(out, "all rows");
        return;
    }
    buffer_printf(out, "(%s", names[filter->op]);
    if (filter->op > FILTER_NOT)
        buffer_printf(out, " %.*s", STR_ARG(filter->key));
    for (size_t i = 0; i < filter->value_count; i++)
        print_value(&filter->values[i], out);
    for (size_t i = 0; i < filter->child_count; i++) {
        buffer_append_byte(out, ' ');
        print_filter(filter->children[i], out);
    }
    buffer_append_byte(out, ')');
}

struct reading {
    const char *text, *tree;
};

static void check_readings(const struct reading *readings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        AUTO_ARENA arena = ARENA_INIT;
        AUTO_BUFFER out = BUFFER(10000);
        const struct filter *filter;
        assert_ok(filter_from_text(str_from(readings[i].text), &arena, &filter, err));
        print_filter(filter, &out);
        assert_string_equal(out.data, readings[i].tree);
    }
}

static void reads_json(void **state)
{
    static const struct reading readings[] = {
        {"{}", "all rows"},
        {"{\"language\": \"de\"}", "(eq language \"de\")"},
        {"{\"page\": {\"gte\": 3, \"lt\": 10}}", "(and (gte page 3) (lt page 10))"},
        {"{\"language\": \"de\", \"page\": 2}", "(and (eq language \"de\") (eq page 2))"},
        {"{\"or\": [{\"label\": \"a\"}, {\"not\": {\"size\": {\"gt\": 1.5}}}]}",
         "(or (eq label \"a\") (not (gt size 1.5)))"},
        {"{\"and\": [{\"language\": \"de\"}], \"owner\": \"x\"}",
         "(and (eq language \"de\") (eq owner \"x\"))"},
        {"{\"language\": {\"ne\": \"de\"}}", "(not (eq language \"de\"))"},
        {"{\"language\": {\"nin\": [\"de\", \"en\"]}}", "(not (in language \"de\" \"en\"))"},
        {"{\"label\": {\"any\": [\"a\", \"b\"]}}", "(in label \"a\" \"b\")"},
        {"{\"label\": {\"all\": [\"a\", \"b\"]}}", "(all label \"a\" \"b\")"},
        {"{\"label\": {\"all\": [\"a\"]}}", "(eq label \"a\")"},
        {"{\"label\": {\"contains\": \"a\"}}", "(eq label \"a\")"},
        {"{\"page\": {\"contains\": 4}}", "(eq page 4)"},
        {"{\"title\": {\"contains\": \"a\"}}", "(contains title \"a\")"},
        {"{\"created_at\": {\"gte\": \"1970-01-02\"}}", "(gte created_at 86400000000)"},
        {"{\"created_at\": {\"lt\": 5}}", "(lt created_at 5)"},
        {"{\"project.code\": {\"gt\": \"k\"}, \"reviewed\": true}",
         "(and (gt project.code \"k\") (eq reviewed true))"},
        {"{\"n\": {\"in\": [1, \"1\", false]}}", "(in n 1 \"1\" false)"},
    };
    check_readings(readings, COUNT_OF(readings));
}

static void reads_text(void **state)
{
    static const struct reading readings[] = {
        {"", "all rows"},
        {"  ", "all rows"},
        {"language=de", "(eq language \"de\")"},
        {" language = de ", "(eq language \"de\")"},
        {"page>=3 and page < 10", "(and (gte page 3) (lt page 10))"},
        {"page<=3 AND size>1e3", "(and (lte page 3) (gt size 1000))"},
        {"language!=de", "(not (eq language \"de\"))"},
        {"title~annual report", "(contains title \"annual report\")"},
        {"title=\"rock and roll \\\"live\\\" \\\\\" and page=1",
         "(and (eq title \"rock and roll \"live\" \\\") (eq page 1))"},
        {"modified_at>2026-02-16T10:30:00Z", "(gt modified_at 1771237800000000)"},
        {"title=2026", "(eq title \"2026\")"},
        {"year=2026", "(eq year 2026)"},
        {"year=\"2026\"", "(eq year \"2026\")"},
        {"draft=true", "(eq draft true)"},
        {"draft=\"\"", "(eq draft \"\")"},
        {"path=a=b", "(eq path \"a=b\")"},
        {"title=sandstone andesite", "(eq title \"sandstone andesite\")"},
    };
    check_readings(readings, COUNT_OF(readings));
}

static void no_json_passes_everything(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    const struct filter *filter = (const struct filter *)&arena;
    assert_ok(filter_from_json(NULL, &arena, &filter, err));
    assert_null(filter);
    AUTO_JSON *null = json_null();
    filter = (const struct filter *)&arena;
    assert_ok(filter_from_json(null, &arena, &filter, err));
    assert_null(filter);
}

static void check_refused(const char *text, ibid_code code, const char *part)
{
    AUTO_ARENA arena = ARENA_INIT;
    const struct filter *filter = NULL;
    ibid_error error = {0};
    assert_int_equal(filter_from_text(str_from(text), &arena, &filter, &error), code);
    assert_null(filter);
    if (!strstr(error.message, part))
        fail_msg("'%s' for %s lacks '%s'", error.message, text, part);
}

static void says_what_is_wrong(void **state)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"{\"language\": {\"is\": \"de\"}}", "'is' is no operator"},
        {"{\"language\": {}}", "no operator"},
        {"{\"language\": null}", "null"},
        {"{\"language\": {\"eq\": {\"a\": 1}}}", "an object"},
        {"{\"language\": [\"de\"]}", "use in, nin, any or all"},
        {"{\"language\": {\"in\": \"de\"}}", "takes a list"},
        {"{\"language\": {\"in\": []}}", "one or more"},
        {"{\"label\": {\"all\": [[\"x\"]]}}", "a list"},
        {"{\"language\": 3}", "'language' is to be compared with text"},
        {"{\"page\": \"3\"}", "'page' is to be compared with a number"},
        {"{\"page\": true}", "'page'"},
        {"{\"document_id\": 9007199254740993}", "2^53"},
        {"document_id=-9007199254740993", "2^53"},
        {"{\"language\": {\"gt\": \"de\"}}", "no order"},
        {"{\"size\": {\"contains\": 3}}", "one number"},
        {"{\"created_at\": {\"contains\": 3}}", "one time"},
        {"{\"created_at\": {\"gt\": \"yesterday\"}}", "2026-02-16"},
        {"created_at>yesterday", "2026-02-16"},
        {"{\"created_at\": true}", "a time"},
        {"{\"and\": []}", "one or more filters"},
        {"{\"and\": {\"a\": 1}}", "list"},
        {"{\"or\": [{}]}", "an object such as"},
        {"{\"or\": [3]}", "an object such as"},
        {"{\"not\": [3]}", "an object such as"},
        {"{\"\": 3}", "not empty"},
        {"{\"a\": 1, \"a\": 2}", "not valid JSON"},
        {"{\"a\": 1", "not valid JSON"},
        {"language", "lacks an operator"},
        {"language!de", "lacks an operator"},
        {"=de", "not empty"},
        {"language=", "lacks a value"},
        {"language= and page=3", "lacks a value"},
        {"language=de and ", "not empty"},
        {"page=three", "a number"},
        {"title=\"open", "does not end"},
        {"title=\"a\" page=3", "' and '"},
        {"title=\xff", "UTF-8"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_refused(cases[i].text, IBID_EINVAL, cases[i].part);
}

static char *repeated(const char *head, const char *piece, size_t count, const char *tail)
{
    AUTO_BUFFER out = BUFFER(16 * 1024 * 1024);
    buffer_append_string(&out, head);
    for (size_t i = 0; i < count; i++)
        buffer_append_string(&out, piece);
    buffer_append_string(&out, tail);
    return buffer_take(&out);
}

static void keeps_its_limits(void **state)
{
    static const struct {
        const char *head, *piece;
        size_t count;
        const char *tail, *part;
    } cases[] = {
        {"", "{\"not\":", FILTER_DEPTH_LIMIT + 1, "{\"a\":1}", "levels"},
        {"{\"and\":[", "{\"a\":1},", FILTER_NODE_LIMIT, "{\"a\":1}]}", "256 parts"},
        {"{\"or\":[", "{\"a\":1},", FILTER_NODE_LIMIT - 1, "{\"a\":1}]}", "256 parts"},
        {"", "a=1 and ", FILTER_NODE_LIMIT, "a=1", "256 parts"},
        {"{\"a\":{\"in\":[", "1,", FILTER_VALUE_LIMIT, "1]}}", "10000 operands"},
        {"{\"or\":[{\"a\":{\"in\":[1", ",1", FILTER_VALUE_LIMIT - 1, "]}},{\"a\":1}]}", "10000 operands"},
        {"{\"", "k", FILTER_KEY_LIMIT + 1, "\":1}", "256 bytes"},
        {"{\"k\":\"", "x", FILTER_BYTES_LIMIT, "\"}", "1048576 bytes"},
        {"k=\"", "x", FILTER_BYTES_LIMIT + 1, "\"", "1048576 bytes"},
        {"k=", "x", FILTER_BYTES_LIMIT + 1, "", "1048576 bytes"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *closing = i == 0 ? "}" : "";
        AUTO_FREE char *open = repeated(cases[i].head, cases[i].piece, cases[i].count, cases[i].tail);
        AUTO_FREE char *text = repeated(open, closing, cases[i].count, "");
        check_refused(text, IBID_ETOOBIG, cases[i].part);
    }
}

static void deepest_filter_is_read(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    const struct filter *filter;
    AUTO_FREE char *open = repeated("", "{\"not\":", FILTER_DEPTH_LIMIT, "{\"a\":1}");
    AUTO_FREE char *text = repeated(open, "}", FILTER_DEPTH_LIMIT, "");
    assert_ok(filter_from_text(str_from(text), &arena, &filter, err));
    for (int i = 0; i < FILTER_DEPTH_LIMIT; i++) {
        assert_int_equal(filter->op, FILTER_NOT);
        filter = filter->children[0];
    }
    assert_int_equal(filter->op, FILTER_EQ);
}

static void append_canonical(const char *text, struct buffer *out)
{
    AUTO_ARENA arena = ARENA_INIT;
    const struct filter *filter;
    assert_ok(filter_from_text(str_from(text), &arena, &filter, err));
    filter_append_canonical(filter, out);
}

static void equal_filters_have_equal_bytes(void **state)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"language=de and page=3", "{\"page\": 3, \"language\": \"de\"}", true},
        {"{\"or\": [{\"a\": 1}, {\"b\": 2}, {\"a\": 1}]}", "{\"or\": [{\"b\": 2}, {\"a\": 1}]}", true},
        {"{\"a\": {\"in\": [1, 2]}}", "{\"a\": {\"any\": [2, 1, 2]}}", true},
        {"{\"a\": {\"nin\": [1, 2]}}", "{\"not\": {\"a\": {\"in\": [2, 1]}}}", true},
        {"created_at>2026-01-01", "{\"created_at\": {\"gt\": \"2026-01-01T01:00:00+01:00\"}}", true},
        {"a=0", "a=-0.0", true},
        {"a=1", "a=\"1\"", false},
        {"a=1", "a=true", false},
        {"a=1 and b=2", "{\"or\": [{\"a\": 1}, {\"b\": 2}]}", false},
        {"a=bc", "ab=c", false},
        {"a<1", "a<=1", false},
        {"{\"a\": {\"in\": [1, 2]}}", "{\"a\": {\"all\": [1, 2]}}", false},
        {"a=1", "{\"not\": {\"a\": 1}}", false},
        {"", "a=1", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_BUFFER a = BUFFER(1000), b = BUFFER(1000);
        append_canonical(cases[i].a, &a);
        append_canonical(cases[i].b, &b);
        if (str_equal(buffer_str(&a), buffer_str(&b)) != cases[i].equal)
            fail_msg("%s and %s: equal bytes are %sexpected", cases[i].a, cases[i].b,
                     cases[i].equal ? "" : "not ");
    }
}

static void declared_keys_are_found(void **state)
{
    for (const struct filter_key *key = filter_keys; key->name; key++) {
        assert_ptr_equal(filter_key_find(str_from(key->name)), key);
        assert_non_null(key->help);
        assert_true(!key->is_time || key->type == VALUE_NUMBER);
    }
    assert_null(filter_key_find(STR("langua")));
    assert_null(filter_key_find(STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_json),
        cmocka_unit_test(reads_text),
        cmocka_unit_test(no_json_passes_everything),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(keeps_its_limits),
        cmocka_unit_test(deepest_filter_is_read),
        cmocka_unit_test(equal_filters_have_equal_bytes),
        cmocka_unit_test(declared_keys_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
