/* The OpenAI-compatible embedder against a strict stand-in. */
#include "tests/test.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "embedder/embedder.h"
#include "net/policy.h"
#include "tests/support/openai_stand_in.h"

static struct embedder *open_at(const struct stand_in *stand_in, struct arena *arena,
                                const char *const settings[][2])
{
    struct embedder *embedder;
    void *options = stand_in_options(stand_in, arena, settings);
    assert_ok(embedder_open(embedder_find("openai"), &stand_in_context, options, &embedder, err));
    return embedder;
}

static ibid_code try_at(const struct stand_in *stand_in, const char *const settings[][2], char message[480])
{
    AUTO_ARENA arena = ARENA_INIT;
    struct embedder *embedder = NULL;
    ibid_error error = {0};
    void *options = stand_in_options(stand_in, &arena, settings);
    const ibid_code code =
        embedder_open(embedder_find("openai"), &stand_in_context, options, &embedder, &error);
    embedder_close(embedder);
    memcpy(message, error.message, sizeof error.message);
    return code;
}

static double dot(const float *a, const float *b, size_t dimension)
{
    double sum = 0;
    for (size_t i = 0; i < dimension; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

static const char *const no_settings[][2] = {{NULL, NULL}};

static void test_asks_in_batches_and_keeps_the_order(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct stand_in *stand_in = stand_in_start();
    const char *const settings[][2] = {{"batch_size", "7"}, {NULL, NULL}};
    struct embedder *embedder = open_at(stand_in, &arena, settings);
    const size_t dimension = embedder->info.dimension;
    assert_int_equal(dimension, STAND_IN_DIMENSION);
    const unsigned before = stand_in->requests;
    enum { COUNT = 20 };
    struct str texts[COUNT];
    for (int i = 0; i < COUNT; i++)
        texts[i] = str_from(arena_printf(&arena, "word%d other%d", i, i * 7));
    float together[COUNT * STAND_IN_DIMENSION], alone[STAND_IN_DIMENSION];
    stand_in->shuffles = true;
    assert_ok(embedder_embed(embedder, EMBED_PASSAGE, texts, COUNT, together, err));
    assert_int_equal(stand_in->requests - before, 3);
    assert_int_equal(stand_in->largest_batch, 7);
    for (int i = 0; i < COUNT; i++) {
        assert_ok(embedder_embed(embedder, EMBED_PASSAGE, &texts[i], 1, alone, err));
        assert_true(dot(alone, together + (size_t)i * dimension, dimension) > 0.99999);
    }
    assert_true(stand_in->saw_base64);
    assert_false(stand_in->saw_plain);
    embedder_close(embedder);
    stand_in_stop(stand_in);
}

static void test_falls_back_to_plain_numbers(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct stand_in *stand_in = stand_in_start();
    stand_in->refuses_base64 = true;
    struct embedder *embedder = open_at(stand_in, &arena, no_settings);
    float vector[STAND_IN_DIMENSION];
    const unsigned before = stand_in->requests;
    assert_int_equal(before, 2); /* refused once, then plain */
    assert_ok(embedder_embed(embedder, EMBED_QUERY, &STR("rye bread"), 1, vector, err));
    assert_int_equal(stand_in->requests - before, 1);
    assert_true(fabs(dot(vector, vector, STAND_IN_DIMENSION) - 1) < 1e-5);
    embedder_close(embedder);
    stand_in_stop(stand_in);
}

static void test_sends_what_is_configured(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct stand_in *stand_in = stand_in_start();
    const char *const settings[][2] = {{"dimensions", "96"},          {"query_input_type", "query"},
                                       {"passage_input_type", "doc"}, {"query_prefix", "q:"},
                                       {"passage_prefix", "p:"},      {"languages", "en,de"},
                                       {"max_tokens", "16"},          {NULL, NULL}};
    struct embedder *embedder = open_at(stand_in, &arena, settings);
    assert_int_equal(embedder->info.dimension, 96);
    assert_true(embedder_knows_language(embedder, "de"));
    assert_false(embedder_knows_language(embedder, "fr"));
    float vector[96];
    assert_ok(embedder_embed(embedder, EMBED_QUERY, &STR("rye"), 1, vector, err));
    assert_string_equal(stand_in->last_input, "q: rye");
    assert_string_equal(stand_in->last_input_type, "query");
    assert_ok(embedder_embed(embedder, EMBED_PASSAGE, &STR("bread\xff\0!"), 1, vector, err));
    assert_string_equal(stand_in->last_input, "p: bread\xef\xbf\xbd!");
    assert_string_equal(stand_in->last_input_type, "doc");
    assert_ok(embedder_embed(embedder, EMBED_PASSAGE,
                             &STR("one two three four five six seven eight nine ten eleven twelve thirteen"),
                             1, vector, err));
    assert_string_equal(stand_in->last_input, "p: one two three four five six seven eight nine ten elev");
    const struct token_counter *counter = &embedder->token_counter;
    assert_int_equal(counter->special_tokens, 2); /* "p: " */
    assert_int_equal(counter->count(counter, STR("international (law) 12345 \xd0\xb4\xd0\xb0")), 12);
    embedder_close(embedder);
    stand_in_stop(stand_in);
}

static void test_tries_again_when_that_may_help(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct stand_in *stand_in = stand_in_start();
    struct embedder *embedder = open_at(stand_in, &arena, no_settings);
    float vector[STAND_IN_DIMENSION];
    ibid_error error = {0};

    stand_in->failures = 2;
    stand_in->failure = "503 Service Unavailable\r\nretry-after-ms: 10";
    assert_ok(embedder_embed(embedder, EMBED_PASSAGE, &STR("rye"), 1, vector, err));
    assert_int_equal(stand_in->failures, 0);

    stand_in->failures = 2; /* a query is tried twice only */
    assert_int_equal(embedder_embed(embedder, EMBED_QUERY, &STR("rye"), 1, vector, NULL), IBID_EUNAVAILABLE);
    assert_int_equal(stand_in->failures, 0);

    stand_in->failures = 1; /* a long pause is the caller's to take */
    stand_in->failure = "429 Too Many Requests\r\nRetry-After: 3600";
    unsigned before = stand_in->requests;
    assert_int_equal(embedder_embed(embedder, EMBED_PASSAGE, &STR("rye"), 1, vector, &error), IBID_EBUSY);
    assert_int_equal(error.retry_after_s, 3600);
    assert_int_equal(stand_in->requests - before, 1);

    stand_in->failures = 1; /* a wrong key stays wrong */
    stand_in->failure = "401 Unauthorized";
    before = stand_in->requests;
    assert_int_equal(embedder_embed(embedder, EMBED_PASSAGE, &STR("rye"), 1, vector, &error), IBID_EDENIED);
    assert_int_equal(stand_in->requests - before, 1);
    assert_null(strstr(error.message, STAND_IN_KEY));
    embedder_close(embedder);
    stand_in_stop(stand_in);
}

static void test_refuses_nonsense(void **state)
{
    static const char *const replies[] = {
        "",
        "[]",
        "{\"data\":[]}",
        "{\"data\":[{\"embedding\":[1,2]}]}",
        "{\"data\":[{\"embedding\":\"AAAA\"}]}",
        "{\"data\":[{\"embedding\":\"****\"}]}",
        "{\"data\":[{\"embedding\":[]}]}",
        "{\"data\":[{\"embedding\":{}}]}",
        "{\"data\":[{\"index\":1,\"embedding\":[1]}]}",
        "{\"data\":[{\"index\":\"0\",\"embedding\":[1]}]}",
    };
    AUTO_ARENA arena = ARENA_INIT;
    struct stand_in *stand_in = stand_in_start();
    struct embedder *embedder = open_at(stand_in, &arena, no_settings);
    for (size_t i = 0; i < COUNT_OF(replies) + 2; i++) {
        AUTO_BUFFER reply = BUFFER(1 << 20);
        float vector[STAND_IN_DIMENSION];
        ibid_error error = {0};
        if (i < COUNT_OF(replies)) {
            buffer_append_string(&reply, replies[i]);
        } else { /* right in form, but of zeros, or with a number that no f32 holds */
            buffer_append_string(&reply, "{\"data\":[{\"index\":0,\"embedding\":[");
            for (int j = 0; j < STAND_IN_DIMENSION; j++)
                buffer_printf(&reply, "%s%s", j ? "," : "", i == COUNT_OF(replies) ? "0" : "1e60");
            buffer_append_string(&reply, "]}]}");
        }
        stand_in->reply = reply.data;
        const ibid_code code = embedder_embed(embedder, EMBED_PASSAGE, &STR("rye"), 1, vector, &error);
        if (code != IBID_EUPSTREAM)
            fail_msg("%s: %s", reply.data, ibid_code_string(code));
        assert_true(strlen(error.message) > 0);
    }
    stand_in->reply = NULL;
    embedder_close(embedder);
    stand_in_stop(stand_in);
}

static void test_says_at_once_what_is_wrong_with_the_settings(void **state)
{
    struct stand_in *stand_in = stand_in_start();
    static const struct {
        const char *settings[2][2];
        ibid_code code;
        const char *says;
    } cases[] = {
        {{{"api_key", "wrong"}}, IBID_EDENIED, "401"},
        {{{"model", "unknown"}}, IBID_ENOTFOUND, "404"},
        {{{"dimensions", "999"}}, IBID_EINVAL, "999"},
        {{{"dimensions", "63"}}, IBID_EINVAL, "64 to 4096"},
        {{{"base_url", "ftp://example.org"}}, IBID_EINVAL, "http"},
        {{{"similarity_floor", "0.9"}}, IBID_EINVAL, "similarity_floor"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char message[480];
        const ibid_code code = try_at(stand_in, cases[i].settings, message);
        if (code != cases[i].code || !strstr(message, cases[i].says))
            fail_msg("%s: %s (%s)", cases[i].settings[0][0], ibid_code_string(code), message);
    }
    stand_in_stop(stand_in);
}

/* A vector that the index could not take is refused when the embedder is opened, in settings and replies. */
static void test_refuses_vectors_that_the_index_could_not_take(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_BUFFER reply = BUFFER(1 << 20);
    const struct option *table = embedder_find("openai")->options;
    struct stand_in *stand_in = stand_in_start();
    void *options = stand_in_options(stand_in, &arena, no_settings);
    ibid_error error = {0};
    assert_int_equal(option_set(option_find(table, STR("dimensions")), options, STR("4097"), &arena, &error),
                     IBID_EINVAL);
    assert_non_null(strstr(error.message, "4096"));
    assert_ok(option_set(option_find(table, STR("dimensions")), options, STR("4096"), &arena, err));
    buffer_append_string(&reply, "{\"data\":[{\"index\":0,\"embedding\":[1");
    for (int i = 0; i < 4096; i++)
        buffer_append_string(&reply, ",1");
    buffer_append_string(&reply, "]}]}");
    stand_in->reply = reply.data;
    char message[480];
    const char *const once[][2] = {{"attempts", "1"}, {NULL, NULL}};
    assert_int_equal(try_at(stand_in, once, message), IBID_EUPSTREAM);
    assert_non_null(strstr(message, "4096"));
    stand_in->reply = "{\"data\":[{\"index\":0,\"embedding\":[1,0,1,0]}]}";
    assert_int_equal(try_at(stand_in, once, message), IBID_EUPSTREAM);
    assert_non_null(strstr(message, "64 to 4096"));
    stand_in_stop(stand_in);
}

/* The settings name another service by now: its key is not for the one of before. */
static void test_sends_a_key_nowhere_else(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    const struct embedder_ops *ops = embedder_find("openai");
    struct stand_in *before = stand_in_start(), *now = stand_in_start();
    const void *current[8] = {NULL};
    struct embedder *embedder = NULL, *again = NULL;
    ibid_error error = {0};
    size_t member = 0;
    while (embedder_registry[member] != ops)
        member++;
    current[member] = stand_in_options(before, &arena, no_settings);
    assert_ok(embedder_open(ops, &stand_in_context, current[member], &embedder, err));
    const struct str id = str_from(embedder->info.id), kept = str_from(embedder->options);
    assert_ok(embedder_reopen(id, kept, &stand_in_context, current, &again, err));
    assert_string_equal(again->info.fingerprint, embedder->info.fingerprint);
    embedder_close(again);

    current[member] = stand_in_options(now, &arena, no_settings);
    assert_int_equal(embedder_reopen(id, kept, &stand_in_context, current, &again, &error), IBID_EDENIED);
    assert_non_null(strstr(error.message, "401"));
    embedder_close(embedder);
    stand_in_stop(before);
    stand_in_stop(now);
}

static void test_goes_where_the_policy_allows_alone(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct stand_in *stand_in = stand_in_start();
    const struct embedder_ops *ops = embedder_find("openai");
    struct embedder *embedder = NULL;
    void *options = stand_in_options(stand_in, &arena, no_settings);
    const char *entries[] = {"10.0.0.0/8"};
    const struct net_settings elsewhere = {.allow = {entries, 1}};
    const struct embedder_context contexts[] = {{.net = &elsewhere}, {.net = NULL}};
    for (size_t i = 0; i < COUNT_OF(contexts); i++) {
        ibid_error error = {0};
        assert_int_equal(embedder_open(ops, &contexts[i], options, &embedder, &error), IBID_EDENIED);
        assert_non_null(strstr(error.message, "127.0.0.1"));
        assert_non_null(strstr(error.message, "net.allow"));
    }
    assert_int_equal(stand_in->requests, 0);
    assert_ok(embedder_open(ops, &stand_in_context, options, &embedder, err));
    assert_true(stand_in->requests > 0);
    embedder_close(embedder);
    stand_in_stop(stand_in);
}

struct caller {
    pthread_t thread;
    struct embedder *embedder;
    ibid_code code;
};

static void *call(void *argument)
{
    struct caller *caller = argument;
    float vectors[2 * STAND_IN_DIMENSION];
    const struct str texts[] = {STR("rye"), STR("bread")};
    for (int i = 0; i < 4 && caller->code == IBID_OK; i++)
        caller->code = embedder_embed(caller->embedder, EMBED_PASSAGE, texts, 2, vectors, NULL);
    return NULL;
}

static void test_bounds_what_is_under_way(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct stand_in *stand_in = stand_in_start();
    const char *const settings[][2] = {{"concurrency", "2"}, {NULL, NULL}};
    struct caller callers[8] = {0};
    stand_in->delay_ms = 5;
    struct embedder *embedder = open_at(stand_in, &arena, settings);
    assert_int_equal(embedder->info.concurrency, 2);
    for (size_t i = 0; i < COUNT_OF(callers); i++) {
        callers[i].embedder = embedder;
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
    }
    for (size_t i = 0; i < COUNT_OF(callers); i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].code, IBID_OK);
    }
    assert_true(stand_in->most_under_way <= 2);
    embedder_close(embedder);
    stand_in_stop(stand_in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asks_in_batches_and_keeps_the_order),
        cmocka_unit_test(test_falls_back_to_plain_numbers),
        cmocka_unit_test(test_sends_what_is_configured),
        cmocka_unit_test(test_tries_again_when_that_may_help),
        cmocka_unit_test(test_refuses_nonsense),
        cmocka_unit_test(test_says_at_once_what_is_wrong_with_the_settings),
        cmocka_unit_test(test_refuses_vectors_that_the_index_could_not_take),
        cmocka_unit_test(test_sends_a_key_nowhere_else),
        cmocka_unit_test(test_goes_where_the_policy_allows_alone),
        cmocka_unit_test(test_bounds_what_is_under_way),
    };
    return cmocka_run_group_tests_name("encoder_openai", tests, NULL, NULL);
}
