/* What every embedder must do. A member of the registry without a row in `fixtures` fails. */
#include "tests/contract/contract.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "embedder/embedder.h"
#include "embedder/local/local.h"
#include "tests/support/openai_stand_in.h"
#include "tests/tiny_model.h"

/* How a member is opened for this test. */
struct fixture {
    const char *name;
    /* Sets options (those not set keep their defaults). NULL on success, else why the member
     * cannot be tested here, and the test is skipped. */
    const char *(*prepare)(const struct embedder_ops *ops, void *options, struct arena *arena);
    void (*finish)(void); /* NULL: nothing to do */
};

static const char *prepare_nothing(const struct embedder_ops *ops, void *options, struct arena *arena)
{
    return NULL;
}

/* The folder of a model with random weights. */
static char *tiny_folder;

static const char *prepare_local(const struct embedder_ops *ops, void *options, struct arena *arena)
{
    struct local_options *local = options;
    tiny_folder = temporary_folder();
    tiny_model_write(tiny_folder, "", false);
    local->model = local->models_folder = tiny_folder;
    return NULL;
}

static void finish_local(void)
{
    assert_ok(folder_remove(tiny_folder, err));
    free(tiny_folder);
}

static struct stand_in *stand_in;

static const char *prepare_openai(const struct embedder_ops *ops, void *options, struct arena *arena)
{
    static const char *const settings[][2] = {{"max_tokens", "4000"}, {NULL, NULL}};
    stand_in = stand_in_start();
    memcpy(options, stand_in_options(stand_in, arena, settings), ops->options_size);
    return NULL;
}

static void finish_openai(void)
{
    stand_in_stop(stand_in);
}

static const struct fixture fixtures[] = {
    {"local", prepare_local, finish_local},
    {"openai", prepare_openai, finish_openai},
    {"hash", prepare_nothing, NULL},
};

/* A member under test; opened by the first check and closed after the last. */
struct member {
    struct arena arena;
    const struct fixture *fixture;
    struct embedder *embedder;
    const char *missing; /* why it cannot be tested here */
};

/* The member, opened once; NULL when it cannot be tested here. */
static struct embedder *opened(void **test_state)
{
    struct member *member = *test_state;
    if (!member->embedder && !member->missing) {
        const struct embedder_ops *ops = embedder_find(member->fixture->name);
        assert_non_null(ops);
        void *options = arena_alloc(&member->arena, ops->options_size);
        option_set_defaults(ops->options, options, &member->arena);
        member->missing = member->fixture->prepare(ops, options, &member->arena);
        if (!member->missing)
            assert_ok(embedder_open(ops, &stand_in_context, options, &member->embedder, err));
    }
    return member->embedder;
}

#define GET_EMBEDDER(test_state)                                                \
    struct embedder *embedder = opened(test_state);                             \
    if (!embedder)                                                              \
    SKIP_TEST("embedder %s: %s", ((struct member *)*test_state)->fixture->name, \
              ((struct member *)*test_state)->missing)

static void close_member(struct member *member)
{
    embedder_close(member->embedder);
    if (member->fixture->finish)
        member->fixture->finish();
    arena_release(&member->arena);
}

static double dot(const float *a, const float *b, size_t dimension)
{
    double sum = 0;
    for (size_t i = 0; i < dimension; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

static void test_says_what_it_is(void **test_state)
{
    GET_EMBEDDER(test_state);
    const struct embedder_info *info = &embedder->info;
    assert_true(strlen(info->id) > strlen(embedder->ops->name));
    assert_ptr_equal(strstr(info->id, embedder->ops->name), info->id);
    assert_non_null(strstr(info->fingerprint, info->id));
    assert_true(info->dimension > 0);
    assert_true(info->max_tokens >= 16);
    assert_non_null(info->languages[0]);
    assert_true(info->similarity_floor < info->similarity_ceiling);
    assert_true(info->batch_size > 0);
    assert_true(info->concurrency > 0);
    assert_true(strlen(embedder->ops->help) > 10);
    assert_true(embedder_knows_language(embedder, ""));
    assert_true(embedder_knows_language(embedder, NULL));
}

static void test_vectors_have_length_one_whatever_the_text(void **test_state)
{
    GET_EMBEDDER(test_state);
    const size_t dimension = embedder->info.dimension;
    char *huge = xmalloc(200000);
    for (size_t i = 0; i < 200000; i++)
        huge[i] = "word salad "[i % 11];
    const struct str texts[] = {
        STR("The boiling point of water depends on the pressure."),
        STR(""),
        STR(" \t\n "),
        {"nul\0inside", 10},
        STR("\xff\xfe not UTF-8 \xc3"),
        STR("\xe6\xbc\xa2\xe5\xad\x97 \xd0\xbf\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82 \xf0\x9f\x98\x80"),
        {huge, 200000},
        {huge, 3000},
    };
    float *vectors = xcalloc(COUNT_OF(texts) * dimension, sizeof *vectors);
    assert_ok(embedder_embed(embedder, EMBED_PASSAGE, texts, COUNT_OF(texts), vectors, err));
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const float *vector = vectors + i * dimension;
        assert_true(fabs(dot(vector, vector, dimension) - 1) < 1e-5);
    }
    free(vectors);
    free(huge);
}

static void test_a_text_has_one_vector_alone_or_in_company(void **test_state)
{
    GET_EMBEDDER(test_state);
    const size_t dimension = embedder->info.dimension;
    enum { COUNT = 40 };
    char text[COUNT][600];
    struct str texts[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        size_t size = (size_t)snprintf(text[i], sizeof text[i], "text number %zu", i);
        for (size_t word = 0; word < i * 2; word++)
            size += (size_t)snprintf(text[i] + size, sizeof text[i] - size, " w%zu", (word * 7 + i) % 90);
        texts[i] = str_from(text[i]);
    }
    float *together = xcalloc(COUNT * dimension, sizeof *together);
    float *alone = xcalloc(dimension, sizeof *alone);
    assert_ok(embedder_embed(embedder, EMBED_PASSAGE, texts, COUNT, together, err));
    for (size_t i = 0; i < COUNT; i++) {
        assert_ok(embedder_embed(embedder, EMBED_PASSAGE, &texts[i], 1, alone, err));
        assert_true(dot(alone, together + i * dimension, dimension) > 0.9999);
    }
    free(alone);
    free(together);
}

static void test_shared_words_bring_texts_together(void **test_state)
{
    GET_EMBEDDER(test_state);
    const size_t dimension = embedder->info.dimension;
    const struct str query = STR("how to bake bread with rye flour");
    const struct str passages[] = {STR("To bake bread with rye flour, let the dough rest for a day."),
                                   STR("Parliament adopted the annual budget on Thursday.")};
    float *vectors = xcalloc(3 * dimension, sizeof *vectors);
    assert_ok(embedder_embed(embedder, EMBED_QUERY, &query, 1, vectors, err));
    assert_ok(embedder_embed(embedder, EMBED_PASSAGE, passages, 2, vectors + dimension, err));
    const double near = dot(vectors, vectors + dimension, dimension);
    const double far = dot(vectors, vectors + 2 * dimension, dimension);
    assert_true(near > far + 0.1);
    free(vectors);
}

static void test_no_text_is_an_error(void **test_state)
{
    GET_EMBEDDER(test_state);
    float nothing;
    ibid_error err = {0};
    assert_int_equal(embedder_embed(embedder, EMBED_QUERY, NULL, 0, &nothing, &err), IBID_EINVAL);
    assert_true(strlen(err.message) > 0);
}

static void test_counts_tokens(void **test_state)
{
    GET_EMBEDDER(test_state);
    const struct token_counter *counter = &embedder->token_counter;
    assert_int_equal(counter->count(counter, STR("")), 0);
    const size_t one = counter->count(counter, STR("bread"));
    assert_true(one >= 1);
    assert_true(counter->count(counter, STR("bread and butter")) > one);
    assert_true(counter->max_tokens == 0 || counter->max_tokens > counter->special_tokens);
}

struct worker {
    pthread_t thread;
    struct embedder *embedder;
    ibid_code code;
    float *vectors;
};

static const struct str worker_texts[] = {STR("first text of a thread"), STR("second"),
                                          STR("the third one is a little longer than the others are")};

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (int round = 0; round < 5 && worker->code == IBID_OK; round++)
        worker->code = embedder_embed(worker->embedder, EMBED_PASSAGE, worker_texts, COUNT_OF(worker_texts),
                                      worker->vectors, NULL);
    return NULL;
}

static void test_threads_share_one_embedder(void **test_state)
{
    GET_EMBEDDER(test_state);
    const size_t dimension = embedder->info.dimension;
    struct worker workers[4] = {0};
    for (size_t i = 0; i < COUNT_OF(workers); i++) {
        workers[i].embedder = embedder;
        workers[i].vectors = xcalloc(COUNT_OF(worker_texts) * dimension, sizeof(float));
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (size_t i = 0; i < COUNT_OF(workers); i++)
        pthread_join(workers[i].thread, NULL);
    for (size_t i = 0; i < COUNT_OF(workers); i++) {
        assert_int_equal(workers[i].code, IBID_OK);
        assert_memory_equal(workers[i].vectors, workers[0].vectors,
                            COUNT_OF(worker_texts) * dimension * sizeof(float));
    }
    for (size_t i = 0; i < COUNT_OF(workers); i++)
        free(workers[i].vectors);
}

static void test_every_member_has_fixtures(void **test_state)
{
    for (size_t i = 0; embedder_registry[i]; i++) {
        contract_expect_fixture(CONTRACT_FIXTURES(fixtures), "embedder", embedder_registry[i]->name);
        assert_ptr_equal(embedder_find(embedder_registry[i]->name), embedder_registry[i]);
    }
    assert_null(embedder_find("no such embedder"));
}

int main(void)
{
    static const struct {
        const char *name;
        CMUnitTestFunction run;
    } checks[] = {
        {"says what it is", test_says_what_it_is},
        {"vectors have length one", test_vectors_have_length_one_whatever_the_text},
        {"alone or in company", test_a_text_has_one_vector_alone_or_in_company},
        {"shared words", test_shared_words_bring_texts_together},
        {"no text", test_no_text_is_an_error},
        {"counts tokens", test_counts_tokens},
        {"threads", test_threads_share_one_embedder},
    };
    struct member members[COUNT_OF(fixtures)] = {0};
    char names[COUNT_OF(fixtures)][COUNT_OF(checks)][80];
    struct CMUnitTest tests[1 + COUNT_OF(fixtures) * COUNT_OF(checks)] = {
        cmocka_unit_test(test_every_member_has_fixtures)};
    size_t count = 1;
    for (size_t i = 0; i < COUNT_OF(fixtures); i++) {
        members[i].fixture = &fixtures[i];
        for (size_t j = 0; j < COUNT_OF(checks); j++) {
            snprintf(names[i][j], sizeof names[i][j], "%s: %s", fixtures[i].name, checks[j].name);
            tests[count++] = (struct CMUnitTest){names[i][j], checks[j].run, NULL, NULL, &members[i]};
        }
    }
    const int failed = cmocka_run_group_tests_name("embedder", tests, NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(fixtures); i++)
        close_member(&members[i]);
    return failed;
}
