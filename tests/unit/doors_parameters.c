#include "tests/test.h"

#include "api/rest/handlers.h"
#include "api/rest/parameters.h"
#include "base/memory.h"

struct sample {
    bool flag;
    int64_t count, size, wait;
    double share;
    const char *name, *needed;
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

static const struct option needy_table[] = {
    {.name = "needed",
     .type = OPTION_STRING,
     .offset = offsetof(struct sample, needed),
     .flags = OPTION_REQUIRED,
     .help = "Needed."},
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
    assert_ok(from_json("{\"count\":7.0,\"words\":\"one, text\",\"size\":5,\"wait\":\"3m\"}", &sample, &arena,
                        err));
    assert_int_equal(sample.count, 7);
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
        {"{\"count\":1e300}", "'count' must be a whole number"},
        {"{\"count\":0}", "out of range"},
        {"{\"share\":\"1\"}", "'share' must be a number"},
        {"{\"share\":2}", "out of range"},
        {"{\"name\":3}", "'name' must be a string"},
        {"{\"mode\":\"three\"}", "none of one|two"},
        {"{\"words\":[1]}", "'words' must be a string or an array of strings"},
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

static const char *type_of(const json_t *schema, const char *name, size_t index)
{
    const json_t *types = json_object_get(json_object_get(schema, name), "type");
    return json_string_value(json_array_get(types, index));
}

static void the_schema_says_what_is_taken(void **state)
{
    AUTO_JSON *schema = parameters_schema(table, false), *body = parameters_schema(table, true);
    AUTO_JSON *needy = parameters_schema(needy_table, true);
    assert_string_equal(type_of(schema, "count", 0), "integer");
    assert_null(type_of(schema, "count", 1));
    assert_string_equal(type_of(body, "count", 1), "null");
    assert_null(type_of(needy, "needed", 1));
    assert_string_equal(type_of(schema, "words", 1), "string");
    assert_null(type_of(schema, "wait", 1));
    assert_string_equal(type_of(body, "wait", 1), "number");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(schema, "count"), "maximum")), 100);
    assert_int_equal(json_array_size(json_object_get(json_object_get(schema, "mode"), "enum")), 2);
    assert_int_equal(json_object_size(schema), COUNT_OF(table) - 1);
}

static void what_is_required_is_missed(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct sample sample;
    ibid_error err = {0};
    const char *const without[] = {"{}", "{\"needed\":null}"};
    for (size_t i = 0; i < COUNT_OF(without); i++) {
        AUTO_JSON *object = NULL;
        if (json_parse(str_from(without[i]), &object, &err) != IBID_OK)
            fail_msg("%s", err.message);
        assert_int_equal(parameters_from_json(needy_table, &sample, object, NULL, &arena, &err), IBID_EINVAL);
        assert_string_equal(err.message, "'needed' is needed");
    }
}

/* The description names the routes of the table, no others, each under a name of its own. */
static void the_description_names_every_route(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_JSON *description = NULL, *seen = json_object();
    struct rest_settings settings;
    struct rest *rest;
    struct http_reply reply;
    rest_settings_init(&settings);
    assert_ok(rest_open(&settings, &rest, err));
    rest_call(rest, "GET", "/api/v1/openapi.json", STR_EMPTY, NULL, &arena, &reply);
    assert_int_equal(reply.status, 200);
    assert_ok(json_parse(reply.text, &description, err));
    const json_t *paths = json_object_get(description, "paths");
    size_t described = 0, expected = 0;
    const char *path, *method;
    json_t *operations, *operation;
    json_object_foreach((json_t *)(uintptr_t)paths, path, operations)
        json_object_foreach(operations, method, operation)
    {
        const char *id = json_string_value(json_object_get(operation, "operationId"));
        assert_non_null(id);
        assert_null(json_object_get(seen, id));
        json_set_bool(seen, id, true);
        described++;
    }
    for (size_t i = 0; i < route_count; i++) {
        if (routes[i].path[1] == '\0' || routes[i].handle == handle_page)
            continue;
        AUTO_FREE char *name = xstrdup(routes[i].method);
        for (char *byte = name; *byte; byte++)
            *byte |= 0x20;
        if (!json_object_get(json_object_get(paths, routes[i].path), name))
            fail_msg("%s %s is not described", routes[i].method, routes[i].path);
        expected++;
    }
    assert_int_equal(described, expected);
    rest_close(rest);
    rest_settings_release(&settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_fills_the_struct),           cmocka_unit_test(a_wrong_body_is_named),
        cmocka_unit_test(a_query_fills_the_struct),          cmocka_unit_test(what_is_written_reads_the_same),
        cmocka_unit_test(the_schema_says_what_is_taken),     cmocka_unit_test(what_is_required_is_missed),
        cmocka_unit_test(the_description_names_every_route),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
