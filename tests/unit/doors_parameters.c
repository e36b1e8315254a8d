#include "tests/test.h"

#include "api/rest/parameters.h"
#include "base/memory.h"

struct sample {
    bool flag;
    int64_t count, size, wait;
    double share;
    const char *name;
    int mode;
    struct option_list words;
};

static const struct option table[] = {
    {.name = "flag", .type = OPTION_BOOL, .offset = offsetof(struct sample, flag), .help = "Flag."},
    {.name = "count",
     .type = OPTION_INT,
     .offset = offsetof(struct sample, count),
     .default_text = "10",
     .low = 1,
     .high = 100,
     .help = "Count."},
    {.name = "size",
     .type = OPTION_SIZE,
     .offset = offsetof(struct sample, size),
     .default_text = "1KB",
     .help = "Size."},
    {.name = "wait",
     .type = OPTION_DURATION,
     .offset = offsetof(struct sample, wait),
     .default_text = "1s",
     .help = "Wait."},
    {.name = "share",
     .type = OPTION_REAL,
     .offset = offsetof(struct sample, share),
     .low = 0,
     .high = 1,
     .help = "Share."},
    {.name = "name", .type = OPTION_STRING, .offset = offsetof(struct sample, name), .help = "Name."},
    {.name = "mode",
     .type = OPTION_CHOICE,
     .choices = "one|two",
     .default_text = "one",
     .offset = offsetof(struct sample, mode),
     .help = "Mode."},
    {.name = "words", .type = OPTION_LIST, .offset = offsetof(struct sample, words), .help = "Words."},
    OPTION_END,
};

static ibid_code from_json(const char *text, struct sample *sample, struct arena *arena, ibid_error *err)
{
    static const char *const others[] = {"extra", NULL};
    AUTO_JSON *object = NULL;
    *sample = (struct sample){0};
    TRY(json_parse(str_from(text), &object, err));
    return parameters_from_json(table, sample, object, others, arena, err);
}

static void a_body_fills_the_struct(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct sample sample;
    assert_ok(from_json("{}", &sample, &arena, err));
    assert_true(sample.count == 10 && sample.size == 1024 && sample.wait == 1000000 && sample.mode == 0);
    assert_ok(
        from_json("{\"flag\":true,\"count\":7,\"size\":\"2MB\",\"wait\":2.5,\"share\":1,\"name\":\"a,b\","
                  "\"mode\":\"two\",\"words\":[\"x,y\",\"z\"],\"extra\":{}}",
                  &sample, &arena, err));
    assert_true(sample.flag && sample.count == 7 && sample.size == 2 << 20 && sample.wait == 2500000);
    assert_true(sample.share == 1 && sample.mode == 1);
    assert_string_equal(sample.name, "a,b");
    assert_int_equal(sample.words.count, 2);
    assert_string_equal(sample.words.items[0], "x,y");
    assert_ok(from_json("{\"words\":\"one, text\",\"name\":null,\"size\":5,\"wait\":\"3m\"}", &sample, &arena,
                        err));
    assert_int_equal(sample.words.count, 1);
    assert_true(sample.size == 5 && sample.wait == 180000000 && !sample.name);
}

static void a_wrong_body_is_named(void **state)
{
    static const struct {
        const char *body, *message;
    } rows[] = {
        {"{\"cuont\":1}", "unknown parameter 'cuont'"},
        {"{\"flag\":1}", "'flag' must be true or false"},
        {"{\"count\":1.5}", "'count' must be a whole number"},
        {"{\"count\":0}", "out of range"},
        {"{\"share\":\"1\"}", "'share' must be a number"},
        {"{\"share\":2}", "out of range"},
        {"{\"name\":3}", "'name' must be a string"},
        {"{\"mode\":\"three\"}", "none of one|two"},
        {"{\"words\":[1]}", "'words' must be an array of strings"},
        {"{\"size\":true}", "'size' must be a string"},
        {"{\"count\":99999999999999999999}", "not valid JSON"},
    };
    AUTO_ARENA arena = ARENA_INIT;
    struct sample sample;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ibid_error why;
        if (from_json(rows[i].body, &sample, &arena, &why) != IBID_EINVAL ||
            !strstr(why.message, rows[i].message))
            fail_msg("%s: %s", rows[i].body, why.message);
    }
}

static void a_query_fills_the_struct(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct sample sample = {0};
    assert_ok(parameters_from_query(
        table, &sample, STR("flag&count=7&name=a%20b+c&words=x,y&words=z&&wait=2m"), &arena, err));
    assert_true(sample.flag && sample.count == 7 && sample.words.count == 2 && sample.wait == 120000000);
    assert_string_equal(sample.name, "a b c");
    static const char *const wrong[] = {"x=1", "count=a", "name=%4", "name=%00", "count", "count=1&cuont=2"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (parameters_from_query(table, &sample, str_from(wrong[i]), &arena, NULL) != IBID_EINVAL)
            fail_msg("'%s' passed", wrong[i]);
    assert_int_equal(parameters_from_query(NULL, NULL, STR("a=1"), &arena, NULL), IBID_EINVAL);
    assert_ok(parameters_from_query(NULL, NULL, STR(""), &arena, err));
}

static void what_is_written_reads_the_same(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct sample sample, again = {0};
    AUTO_JSON *object = json_object(), *nothing = json_object();
    AUTO_BUFFER query = BUFFER(1000), text = BUFFER(1000);
    assert_ok(from_json("{}", &sample, &arena, err));
    parameters_to_json(table, &sample, nothing);
    assert_int_equal(json_object_size(nothing), 0); /* defaults are left out */
    assert_ok(
        from_json("{\"count\":11,\"wait\":\"90s\",\"words\":[\"a&b\",\"c\"],\"mode\":\"two\",\"share\":0.25}",
                  &sample, &arena, err));
    parameters_to_json(table, &sample, object);
    json_append(&text, object);
    assert_string_equal(
        text.data,
        "{\"count\":11,\"wait\":\"90s\",\"share\":0.25,\"mode\":\"two\",\"words\":[\"a&b\",\"c\"]}");
    parameters_to_query(table, &sample, &query);
    assert_string_equal(query.data, "?count=11&wait=90s&share=0.25&mode=two&words=a%26b&words=c");
    assert_ok(
        parameters_from_query(table, &again, str_slice(buffer_str(&query), 1, query.size), &arena, err));
    assert_true(again.count == 11 && again.wait == sample.wait && again.words.count == 2 &&
                again.share == 0.25);
}

static void the_schema_says_what_is_taken(void **state)
{
    AUTO_JSON *schema = parameters_schema(table);
    assert_string_equal(json_string_value(json_object_get(json_object_get(schema, "count"), "type")),
                        "integer");
    assert_true(json_number_value(json_object_get(json_object_get(schema, "count"), "maximum")) == 100);
    assert_int_equal(json_array_size(json_object_get(json_object_get(schema, "mode"), "enum")), 2);
    assert_int_equal(json_object_size(schema), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_fills_the_struct),       cmocka_unit_test(a_wrong_body_is_named),
        cmocka_unit_test(a_query_fills_the_struct),      cmocka_unit_test(what_is_written_reads_the_same),
        cmocka_unit_test(the_schema_says_what_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
