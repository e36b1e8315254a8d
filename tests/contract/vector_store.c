/* What every vector store must do. A member of the registry without a row in `fixtures` fails. Every member
 * is compared with `memory`, the exact one, which the checks by hand keep honest. */
#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "tests/support/truth.h"
#include "vector_store/vector_store.h"

/* How a member is opened for this test. */
struct fixture {
    const char *name;
    /* Sets options (those not set keep their defaults). NULL on success, else why the member cannot be tested
     * here, and the test is skipped. */
    const char *(*prepare)(const struct vector_store_ops *ops, void *options, struct arena *arena);
};

static const char *prepare_nothing(const struct vector_store_ops *ops, void *options, struct arena *arena)
{
    return NULL;
}

static const struct fixture fixtures[] = {
    {"embedded", prepare_nothing},
    {"memory", prepare_nothing},
};

enum { COLLECTION = 7, DIMENSION = 96 };

/* A truth, the member under test and the oracle, both following it. */
struct bench {
    struct arena arena;
    char folder[64];
    struct truth *truth;
    struct vector_store *store, *oracle;
    uint32_t dimension;
};

static void *default_options(const struct vector_store_ops *ops, struct arena *arena)
{
    void *options = arena_alloc(arena, ops->options_size);
    option_set_defaults(ops->options, options, arena);
    return options;
}

static void open_store(struct bench *bench, const struct fixture *fixture)
{
    const struct vector_store_ops *ops = vector_store_find(fixture->name);
    assert_non_null(ops);
    void *options = default_options(ops, &bench->arena);
    const char *missing = fixture->prepare(ops, options, &bench->arena);
    if (missing) {
        print_message("SKIPPED: vector store %s: %s\n", fixture->name, missing);
        skip();
    }
    const struct vector_store_context context = {bench->folder, &bench->truth->source};
    assert_ok(vector_store_open(ops, &context, options, &bench->store, err));
}

static void attach(struct bench *bench, struct vector_store *store)
{
    const struct vector_space space = {COLLECTION, bench->dimension, "test/model@1"};
    assert_ok(vector_store_attach(store, &space, err));
}

static struct bench *bench_new(void **state, uint32_t dimension)
{
    const struct fixture *fixture = *state;
    struct bench *bench = xcalloc(1, sizeof *bench);
    bench->dimension = dimension;
    bench->truth = truth_new(COLLECTION, dimension);
    memcpy(bench->folder, "/tmp/ibid-test-XXXXXX", sizeof "/tmp/ibid-test-XXXXXX");
    assert_non_null(mkdtemp(bench->folder));
    open_store(bench, fixture);
    const struct vector_store_context context = {NULL, &bench->truth->source};
    const struct vector_store_ops *memory = vector_store_find("memory");
    assert_ok(
        vector_store_open(memory, &context, default_options(memory, &bench->arena), &bench->oracle, err));
    attach(bench, bench->store);
    attach(bench, bench->oracle);
    return bench;
}

static void bench_free(struct bench *bench)
{
    vector_store_close(bench->store);
    vector_store_close(bench->oracle);
    truth_free(bench->truth);
    assert_ok(folder_remove(bench->folder, err));
    arena_release(&bench->arena);
    free(bench);
}

static void follow(struct bench *bench)
{
    truth_commit(bench->truth);
    assert_ok(vector_store_follow(bench->store, COLLECTION, NULL, err));
    assert_ok(vector_store_follow(bench->oracle, COLLECTION, NULL, err));
}

/* ---- rows ---- */

static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static unsigned random_below(unsigned limit)
{
    return (unsigned)(random_next() >> 33) % limit;
}

static void random_vector(float *out, size_t dimension)
{
    double sum = 0;
    for (size_t i = 0; i < dimension; i++) {
        out[i] = (float)random_below(20001) / 10000 - 1;
        sum += (double)out[i] * out[i];
    }
    for (size_t i = 0; i < dimension; i++)
        out[i] /= (float)sqrt(sum);
}

static uint32_t key_position(const char *name)
{
    const struct filter_key *key = filter_key_find(str_from(name));
    assert_non_null(key);
    return (uint32_t)(key - filter_keys);
}

static struct attribute text_attribute(const char *key, const char *value)
{
    return (struct attribute){key_position(key), {.type = VALUE_STRING, .string = str_from(value)}};
}

static struct attribute number_attribute(const char *key, double value)
{
    return (struct attribute){key_position(key), {.type = VALUE_NUMBER, .number = value}};
}

/* A row in workspace 1, with text only. */
static void put_text(struct bench *bench, int64_t row_id, const char *text)
{
    static const int64_t workspaces[] = {1};
    const struct row row = {.row_id = row_id,
                            .document_id = row_id,
                            .chunk_id = row_id,
                            .workspaces = workspaces,
                            .workspace_count = 1,
                            .text = str_from(text),
                            .language = STR("en")};
    truth_put(bench->truth, &row, NULL, 0);
}

static const char *const vocabulary[] = {
    "water", "boils", "under",     "pressure", "the", "river",   "flows", "into",   "sea",    "engine",
    "steam", "power", "camelCase", "index",    "of",  "passage", "cited", "folder", "people", "agents",
};

/* A row with everything that varies: text, vector (not always), workspaces, state, attributes, metadata. */
static void put_random(struct bench *bench, int64_t row_id)
{
    static const char *const languages[] = {"en", "de", "fr"};
    static const char *const labels[] = {"definition", "conclusion", "evidence"};
    char text[600];
    size_t size = 0;
    for (unsigned word = 0, words = 3 + random_below(40); word < words; word++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s ",
                                 vocabulary[random_below(1 + random_below(COUNT_OF(vocabulary)))]);
    float *vector = xcalloc(bench->dimension, sizeof *vector);
    random_vector(vector, bench->dimension);
    int64_t workspaces[3];
    size_t workspace_count = 0;
    for (int64_t id = 1; id <= 3; id++)
        if (random_below(2))
            workspaces[workspace_count++] = id;
    struct attribute attributes[6];
    size_t count = 0;
    attributes[count++] = text_attribute("language", languages[random_below(3)]);
    if (random_below(2))
        attributes[count++] = number_attribute("page", 1 + random_below(20));
    if (random_below(4) == 0)
        attributes[count++] = number_attribute("page", 1 + random_below(20));
    for (unsigned i = 0; i < 2; i++)
        if (random_below(3) == 0)
            attributes[count++] = text_attribute("label", labels[random_below(3)]);
    const struct truth_metadata metadata = {"shelf", {.type = VALUE_NUMBER, .number = random_below(10)}};
    const struct row row = {
        .row_id = row_id,
        .document_id = row_id / 4,
        .chunk_id = row_id,
        .state = random_below(8) == 0 ? (enum document_state)random_below(4) : DOCUMENT_ACTIVE,
        .workspaces = workspaces,
        .workspace_count = workspace_count,
        .vector = random_below(10) && bench->dimension ? vector : NULL,
        .text = {text, size},
        .language = STR("en"),
        .attributes = attributes,
        .attribute_count = count,
    };
    truth_put(bench->truth, &row, &metadata, random_below(2));
    free(vector);
}

/* ---- searching ---- */

static const int64_t one[] = {1}, all_workspaces[] = {1, 2, 3};
static const struct scope scope_one = {one, 1, NULL, 0};
static const struct scope scope_all = {all_workspaces, 3, all_workspaces, 3};

static struct selection *select_rows(struct vector_store *store, const struct scope *scope,
                                     const char *filter)
{
    AUTO_ARENA arena = ARENA_INIT;
    const struct filter *parsed = NULL;
    struct selection *selection;
    if (filter)
        assert_ok(filter_from_text(str_from(filter), &arena, &parsed, err));
    assert_ok(vector_store_select(store, COLLECTION, scope, parsed, &selection, err));
    return selection;
}

/* Row ids of a selection as text: "1 2 5". */
static const char *listed(struct bench *bench, const struct scope *scope, const char *filter)
{
    struct selection *selection = select_rows(bench->store, scope, filter);
    int64_t ids[256];
    size_t count;
    assert_ok(selection_list(selection, INT64_MIN, COUNT_OF(ids), ids, &count, err));
    assert_int_equal(selection->count, count);
    AUTO_BUFFER text = BUFFER(8192);
    for (size_t i = 0; i < count; i++)
        buffer_printf(&text, i ? " %lld" : "%lld", (long long)ids[i]);
    selection_free(selection);
    return arena_strdup(&bench->arena, text.data ? text.data : "");
}

static struct term_query query_of(const struct str *terms, size_t count)
{
    return (struct term_query){.terms = terms, .count = count, .k1 = 0.9f, .b = 0.4f};
}

/* Same rows with the same scores; rows whose scores are as good as equal may stand in another order. */
static void assert_same_candidates(const struct candidate *got, size_t got_count,
                                   const struct candidate *expected, size_t expected_count)
{
    assert_int_equal(got_count, expected_count);
    for (size_t i = 0; i < got_count; i++) {
        const bool vector = isnan(expected[i].bm25);
        const float left = vector ? got[i].similarity : got[i].bm25;
        const float right = vector ? expected[i].similarity : expected[i].bm25;
        if (!(fabsf(left - right) <= 1e-4f))
            fail_msg("place %zu: row %lld with %g, expected row %lld with %g", i, (long long)got[i].row_id,
                     (double)left, (long long)expected[i].row_id, (double)right);
        if (got[i].row_id != expected[i].row_id) {
            bool found = false;
            for (size_t j = 0; j < expected_count; j++)
                found |= expected[j].row_id == got[i].row_id &&
                         fabsf((vector ? expected[j].similarity : expected[j].bm25) - left) <= 1e-4f;
            if (!found && i + 1 < got_count)
                fail_msg("place %zu: row %lld is not expected", i, (long long)got[i].row_id);
        }
    }
}

/* Both stores give the same for the same search, on every side. */
static void assert_agrees_with_oracle(struct bench *bench, const struct scope *scope, const char *filter,
                                      size_t k)
{
    enum { LISTED = 4096 };
    struct selection *got = select_rows(bench->store, scope, filter);
    struct selection *expected = select_rows(bench->oracle, scope, filter);
    assert_int_equal(got->count, expected->count);
    int64_t *ids = xcalloc(2 * LISTED, sizeof *ids);
    size_t count, other_count;
    assert_ok(selection_list(got, INT64_MIN, LISTED, ids, &count, err));
    assert_ok(selection_list(expected, INT64_MIN, LISTED, ids + LISTED, &other_count, err));
    assert_int_equal(count, other_count);
    assert_memory_equal(ids, ids + LISTED, count * sizeof *ids);

    struct candidate *left = xcalloc(k, sizeof *left), *right = xcalloc(k, sizeof *right);
    float *vector = xcalloc(bench->dimension, sizeof *vector);
    random_vector(vector, bench->dimension);
    if (bench->dimension) {
        assert_ok(selection_nearest(got, vector, k, left, &count, err));
        assert_ok(selection_nearest(expected, vector, k, right, &other_count, err));
        assert_same_candidates(left, count, right, other_count);
    }
    struct str terms[4];
    float weights[4];
    for (size_t i = 0; i < COUNT_OF(terms); i++) {
        terms[i] = str_from(vocabulary[random_below(COUNT_OF(vocabulary))]);
        weights[i] = (float)(1 + random_below(3));
    }
    terms[3] = random_below(2) ? STR("camel") : STR("nowhere");
    struct term_query query = query_of(terms, 1 + random_below(4));
    query.weights = random_below(2) ? weights : NULL;
    assert_ok(selection_match(got, &query, k, left, &count, err));
    assert_ok(selection_match(expected, &query, k, right, &other_count, err));
    assert_same_candidates(left, count, right, other_count);

    for (size_t i = 0; i < k; i++)
        left[i].row_id = right[i].row_id = (int64_t)random_below(3 * (unsigned)k);
    assert_ok(selection_score(got, bench->dimension ? vector : NULL, &query, left, k, err));
    assert_ok(selection_score(expected, bench->dimension ? vector : NULL, &query, right, k, err));
    for (size_t i = 0; i < k; i++) {
        assert_true(isnan(left[i].similarity) == isnan(right[i].similarity));
        assert_true(isnan(left[i].bm25) == isnan(right[i].bm25));
        assert_true(isnan(left[i].bm25) || fabsf(left[i].bm25 - right[i].bm25) <= 1e-4f);
        assert_true(isnan(left[i].similarity) || fabsf(left[i].similarity - right[i].similarity) <= 1e-5f);
    }
    free(vector);
    free(left);
    free(right);
    free(ids);
    selection_free(got);
    selection_free(expected);
}

/* ---- checks ---- */

static void test_an_empty_collection_finds_nothing(void **state)
{
    struct bench *bench = bench_new(state, DIMENSION);
    follow(bench);
    struct selection *selection = select_rows(bench->store, &scope_all, NULL);
    assert_int_equal(selection->count, 0);
    float vector[DIMENSION] = {1};
    struct candidate found[3];
    size_t count = 9;
    assert_ok(selection_nearest(selection, vector, 3, found, &count, err));
    assert_int_equal(count, 0);
    const struct str term = STR("water");
    const struct term_query query = query_of(&term, 1);
    assert_ok(selection_match(selection, &query, 3, found, &count, err));
    assert_int_equal(count, 0);
    selection_free(selection);
    struct selection *unknown = NULL;
    ibid_error error = {0};
    assert_int_equal(vector_store_select(bench->store, 99, &scope_all, NULL, &unknown, &error),
                     IBID_ENOTFOUND);
    bench_free(bench);
}

static void put_in(struct bench *bench, int64_t row_id, enum document_state state, const int64_t *workspaces,
                   size_t count)
{
    const struct row row = {.row_id = row_id,
                            .document_id = row_id,
                            .chunk_id = row_id,
                            .state = state,
                            .workspaces = workspaces,
                            .workspace_count = count,
                            .text = STR("water")};
    truth_put(bench->truth, &row, NULL, 0);
}

static void test_the_scope_decides_what_is_there(void **state)
{
    struct bench *bench = bench_new(state, DIMENSION);
    static const int64_t two[] = {2}, one_two[] = {1, 2};
    put_in(bench, 1, DOCUMENT_ACTIVE, one, 1);
    put_in(bench, 2, DOCUMENT_ACTIVE, two, 1);
    put_in(bench, 3, DOCUMENT_ARCHIVED, one_two, 2);
    put_in(bench, 4, DOCUMENT_EXPIRED, one_two, 2);
    put_in(bench, 5, DOCUMENT_SENSITIVE, one_two, 2);
    put_in(bench, 6, DOCUMENT_ACTIVE, NULL, 0);
    follow(bench);
    assert_string_equal(listed(bench, &scope_one, NULL), "1 3");
    const struct scope second = {two, 1, NULL, 0}, second_admin = {two, 1, two, 1}, nobody = {0};
    const struct scope odd = {one, 1, two, 1}; /* reads sensitive documents only where it reads at all */
    assert_string_equal(listed(bench, &second, NULL), "2 3");
    assert_string_equal(listed(bench, &second_admin, NULL), "2 3 5");
    assert_string_equal(listed(bench, &odd, NULL), "1 3");
    assert_string_equal(listed(bench, &nobody, NULL), "");
    assert_string_equal(listed(bench, &scope_all, NULL), "1 2 3 5");
    assert_string_equal(listed(bench, &scope_all, "state=sensitive"), "5");
    assert_string_equal(listed(bench, &scope_one, "state=sensitive"), "");
    assert_string_equal(listed(bench, &scope_one, "{\"not\": {\"state\": \"archived\"}}"), "1");

    /* Scores do not tell of rows that may not be read. */
    const struct str term = STR("water");
    const struct term_query query = query_of(&term, 1);
    struct candidate before[4], after[4];
    size_t count;
    struct selection *selection = select_rows(bench->store, &scope_one, NULL);
    assert_ok(selection_match(selection, &query, 4, before, &count, err));
    assert_int_equal(count, 2);
    selection_free(selection);
    for (int64_t row_id = 100; row_id < 150; row_id++)
        put_in(bench, row_id, DOCUMENT_ACTIVE, two, 1);
    follow(bench);
    selection = select_rows(bench->store, &scope_one, NULL);
    assert_ok(selection_match(selection, &query, 4, after, &count, err));
    assert_int_equal(count, 2);
    assert_true(before[0].bm25 == after[0].bm25);
    selection_free(selection);
    bench_free(bench);
}

static void put_with(struct bench *bench, int64_t row_id, const struct attribute *attributes, size_t count,
                     const struct truth_metadata *metadata, size_t metadata_count)
{
    const struct row row = {.row_id = row_id,
                            .document_id = 10 * row_id,
                            .chunk_id = row_id,
                            .workspaces = one,
                            .workspace_count = 1,
                            .text = STR("text"),
                            .attributes = attributes,
                            .attribute_count = count};
    truth_put(bench->truth, &row, metadata, metadata_count);
}

static void test_filters_mean_what_they_say(void **state)
{
    struct bench *bench = bench_new(state, DIMENSION);
    const struct attribute first[] = {
        text_attribute("language", "de"), text_attribute("title", "Annual report"),
        number_attribute("page", 3),      number_attribute("page", 4),
        text_attribute("label", "a"),     text_attribute("label", "b")};
    const struct attribute second[] = {text_attribute("language", "en"), text_attribute("title", "Report"),
                                       number_attribute("page", 5), text_attribute("label", "b")};
    const struct attribute third[] = {text_attribute("language", "en"), number_attribute("size", -1.5),
                                      text_attribute("page", "5") /* of a wrong type: counts as missing */};
    const struct truth_metadata metadata[] = {
        {"shelf", {.type = VALUE_NUMBER, .number = 3}},
        {"color", {.type = VALUE_STRING, .string = STR("dark red")}},
    };
    put_with(bench, 1, first, COUNT_OF(first), metadata, 1);
    put_with(bench, 2, second, COUNT_OF(second), metadata, 2);
    put_with(bench, 3, third, COUNT_OF(third), NULL, 0);
    put_with(bench, 4, NULL, 0, metadata + 1, 1);
    follow(bench);
    static const struct {
        const char *filter, *expected;
    } rows[] = {
        {"language=de", "1"},
        {"language!=de", "2 3 4"}, /* a missing key is unequal to everything */
        {"{\"language\": {\"in\": [\"de\", \"en\"]}}", "1 2 3"},
        {"{\"language\": {\"nin\": [\"de\", \"fr\"]}}", "2 3 4"},
        {"title~eport", "1 2"},
        {"title~nothing", ""},
        {"title~\"Annual \"", "1"},
        {"page=4", "1"},
        {"page!=4", "2 3 4"},
        {"page>3", "1 2"},
        {"page>=3 and page<4", "1"},
        {"page<0", ""},
        {"page<=5", "1 2"},
        {"size<0", "3"},
        {"size>=-1.5", "3"},
        {"{\"not\": {\"page\": {\"gt\": 3}}}", "3 4"},
        {"label=b", "1 2"},
        {"{\"label\": {\"all\": [\"a\", \"b\"]}}", "1"},
        {"{\"label\": {\"any\": [\"a\", \"c\"]}}", "1"},
        {"{\"label\": {\"contains\": \"a\"}}", "1"},
        {"{\"or\": [{\"label\": \"a\"}, {\"size\": {\"lt\": 0}}]}", "1 3"},
        {"{\"and\": [{\"language\": \"en\"}, {\"not\": {\"label\": \"b\"}}]}", "3"},
        {"{\"not\": {\"not\": {\"language\": \"en\"}}}", "2 3"},
        {"document_id=20", "2"},
        {"{\"document_id\": {\"in\": [10, 40, 50]}}", "1 4"},
        {"workspace_id=1", "1 2 3 4"},
        {"workspace_id=2", ""},
        {"state=active", "1 2 3 4"},
        {"shelf=3", "1 2"},
        {"shelf!=3", "3 4"},
        {"color~red", "2 4"},
        {"color~red and page=5", "2"},
        {"{\"or\": [{\"color\": \"dark red\"}, {\"language\": \"de\"}]}", "1 2 4"},
        {"{\"not\": {\"or\": [{\"shelf\": {\"lt\": 9}}, {\"size\": {\"lt\": 0}}]}}", "4"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *got = listed(bench, &scope_one, rows[i].filter);
        if (strcmp(got, rows[i].expected) != 0)
            fail_msg("%s gives '%s', not '%s'", rows[i].filter, got, rows[i].expected);
    }
    bench_free(bench);
}

static void test_keyword_scores_are_bm25(void **state)
{
    struct bench *bench = bench_new(state, 0);
    put_text(bench, 1, "Water, water, everywhere.");
    put_text(bench, 2, "The pressure of water boils it over.");
    put_text(bench, 3, "Nothing of the kind");
    put_text(bench, 4, "");
    follow(bench);
    struct selection *selection = select_rows(bench->store, &scope_one, NULL);
    const struct str terms[] = {STR("water"), STR("pressur"), STR("water")};
    float idf[3] = {-1, -1, -1};
    const struct term_query query = {.terms = terms, .count = 3, .k1 = 1.2f, .b = 0.75f, .idf = idf};
    struct candidate found[4];
    size_t count;
    assert_ok(selection_match(selection, &query, 4, found, &count, err));
    assert_int_equal(count, 2);
    /* Lengths 3, 7, 4 and 0: mean 3.5. "water" is in 2 of 4 rows, the stem of "pressure" in 1. */
    const double water = log(1 + (4 - 2 + 0.5) / (2 + 0.5)), pressure = log(1 + (4 - 1 + 0.5) / (1 + 0.5));
    const double first = water * 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 3.5));
    const double second = (water + pressure) / (1 + 1.2 * (0.25 + 0.75 * 7 / 3.5));
    assert_int_equal(found[0].row_id, first > second ? 1 : 2);
    for (size_t i = 0; i < count; i++) {
        assert_true(fabs(found[i].bm25 - (found[i].row_id == 1 ? first : second)) < 1e-5);
        assert_true(isnan(found[i].similarity));
    }
    if (!isnan(idf[0])) { /* the member tells */
        assert_true(fabs(idf[0] - water) < 1e-5 && fabs(idf[1] - pressure) < 1e-5);
        assert_true(idf[2] == 0);
    }
    float vector[DIMENSION] = {1};
    ibid_error error = {0};
    assert_int_equal(selection_nearest(selection, vector, 4, found, &count, &error), IBID_EUNSUPPORTED);
    selection_free(selection);

    /* A filter narrows what is found, not what is counted. */
    selection = select_rows(bench->store, &scope_one, "document_id=1");
    struct candidate narrowed[4];
    assert_ok(selection_match(selection, &query, 4, narrowed, &count, err));
    assert_int_equal(count, 1);
    assert_true(fabs(narrowed[0].bm25 - first) < 1e-5);
    selection_free(selection);
    bench_free(bench);
}

static void test_everything_agrees_with_the_oracle(void **state)
{
    static const char *const filters[] = {
        NULL, "language=de", "page>10", "label=evidence and language!=fr", "shelf<5", "document_id=12",
    };
    struct bench *bench = bench_new(state, DIMENSION);
    for (unsigned round = 0; round < 12; round++) {
        for (unsigned i = 0; i < 60; i++) {
            const int64_t row_id = 1 + random_below(400);
            if (random_below(4) == 0)
                truth_remove(bench->truth, row_id);
            else
                put_random(bench, row_id);
        }
        follow(bench);
        for (size_t i = 0; i < COUNT_OF(filters); i++) {
            assert_agrees_with_oracle(bench, &scope_all, filters[i], 50);
            assert_agrees_with_oracle(bench, &scope_one, filters[i], 5);
        }
    }
    bench_free(bench);
}

static void test_dimensions_from_least_to_most(void **state)
{
    static const uint32_t dimensions[] = {64, 65, 100, 384, 1024, 4096};
    for (size_t i = 0; i < COUNT_OF(dimensions); i++) {
        struct bench *bench = bench_new(state, dimensions[i]);
        for (int64_t row_id = 1; row_id <= 150; row_id++)
            put_random(bench, row_id);
        follow(bench);
        assert_agrees_with_oracle(bench, &scope_all, NULL, 20);
        bench_free(bench);
    }
    struct bench *bench = bench_new(state, DIMENSION);
    ibid_error error = {0};
    assert_int_equal(vector_store_attach(bench->store, &(struct vector_space){8, 63, "x"}, &error),
                     IBID_EUNSUPPORTED);
    assert_int_equal(vector_store_attach(bench->store, &(struct vector_space){8, 4097, "x"}, &error),
                     IBID_EUNSUPPORTED);
    bench_free(bench);
}

static void test_a_selection_keeps_its_state(void **state)
{
    struct bench *bench = bench_new(state, DIMENSION);
    for (int64_t row_id = 1; row_id <= 5; row_id++)
        put_text(bench, row_id, "water flows");
    follow(bench);
    struct selection *selection = select_rows(bench->store, &scope_one, NULL);
    truth_remove(bench->truth, 2);
    put_text(bench, 3, "steam");
    put_text(bench, 6, "water");
    follow(bench);
    const struct str term = STR("water");
    const struct term_query query = query_of(&term, 1);
    struct candidate found[9];
    size_t count;
    assert_ok(selection_match(selection, &query, 9, found, &count, err));
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(found[i].row_id, i + 1); /* equal scores: by row_id */
    selection_free(selection);
    selection = select_rows(bench->store, &scope_one, NULL);
    assert_ok(selection_match(selection, &query, 9, found, &count, err));
    assert_int_equal(count, 4);
    assert_string_equal(listed(bench, &scope_one, NULL), "1 3 4 5 6");
    int64_t page[2];
    assert_ok(selection_list(selection, 3, 2, page, &count, err));
    assert_int_equal(count, 2);
    assert_int_equal(page[0], 4);
    assert_int_equal(page[1], 5);
    selection_free(selection);
    bench_free(bench);
}

static void test_another_fingerprint_starts_anew(void **state)
{
    struct bench *bench = bench_new(state, DIMENSION);
    put_text(bench, 1, "water");
    follow(bench);
    assert_string_equal(listed(bench, &scope_one, NULL), "1");
    attach(bench, bench->store); /* the same again changes nothing */
    assert_string_equal(listed(bench, &scope_one, NULL), "1");
    const struct vector_space other = {COLLECTION, DIMENSION, "test/model@2"};
    assert_ok(vector_store_attach(bench->store, &other, err));
    assert_string_equal(listed(bench, &scope_one, NULL), "");
    struct vector_store_stats stats;
    assert_ok(vector_store_stats(bench->store, COLLECTION, &stats, err));
    assert_int_equal(stats.watermark, 0);
    assert_ok(vector_store_follow(bench->store, COLLECTION, NULL, err));
    assert_string_equal(listed(bench, &scope_one, NULL), "1");
    assert_ok(vector_store_drop(bench->store, COLLECTION, err));
    struct selection *selection = NULL;
    ibid_error error = {0};
    assert_int_equal(vector_store_select(bench->store, COLLECTION, &scope_one, NULL, &selection, &error),
                     IBID_ENOTFOUND);
    bench_free(bench);
}

static void test_statistics_and_verification(void **state)
{
    struct bench *bench = bench_new(state, DIMENSION);
    for (int64_t row_id = 1; row_id <= 300; row_id++)
        put_random(bench, row_id);
    follow(bench);
    for (int64_t row_id = 1; row_id <= 300; row_id += 3)
        truth_remove(bench->truth, row_id);
    follow(bench);
    struct vector_store_stats stats, expected;
    assert_ok(vector_store_stats(bench->store, COLLECTION, &stats, err));
    assert_ok(vector_store_stats(bench->oracle, COLLECTION, &expected, err));
    assert_int_equal(stats.watermark, bench->truth->latest);
    assert_true(stats.durable <= stats.watermark);
    assert_int_equal(stats.rows, 200);
    assert_int_equal(stats.vectors, expected.vectors);
    assert_ok(vector_store_compact(bench->store, COLLECTION, NULL, err));
    assert_ok(vector_store_stats(bench->store, COLLECTION, &stats, err));
    assert_int_equal(stats.durable, stats.watermark);
    assert_int_equal(stats.tombstones, 0);
    assert_int_equal(stats.rows, 200);
    truth_sweep(bench->truth, stats.durable);
    struct vector_store_finding *findings;
    size_t count;
    assert_ok(vector_store_verify(bench->store, COLLECTION, false, &bench->arena, &findings, &count, err));
    for (size_t i = 0; i < count; i++)
        print_error("%s: %s\n", findings[i].place, findings[i].problem);
    assert_int_equal(count, 0);
    assert_agrees_with_oracle(bench, &scope_all, NULL, 30);
    bench_free(bench);
}

static void test_wrong_calls_are_refused(void **state)
{
    struct bench *bench = bench_new(state, DIMENSION);
    put_text(bench, 1, "water");
    follow(bench);
    struct selection *selection = select_rows(bench->store, &scope_one, NULL);
    float vector[DIMENSION] = {1};
    struct candidate found[4];
    size_t count;
    ibid_error error = {0};
    assert_int_equal(selection_nearest(selection, vector, 0, found, &count, &error), IBID_EINVAL);
    assert_int_equal(selection_nearest(selection, vector, 10001, found, &count, &error), IBID_ETOOBIG);
    vector[0] = NAN;
    assert_int_equal(selection_nearest(selection, vector, 4, found, &count, &error), IBID_EINVAL);
    vector[0] = 0;
    assert_int_equal(selection_nearest(selection, vector, 4, found, &count, &error), IBID_EINVAL);
    const struct str term = STR("water");
    struct term_query query = {.terms = &term, .count = 1, .k1 = -1, .b = 0.4f};
    assert_int_equal(selection_match(selection, &query, 4, found, &count, &error), IBID_EINVAL);
    query = (struct term_query){.terms = &term, .count = 1, .k1 = 1, .b = NAN};
    assert_int_equal(selection_match(selection, &query, 4, found, &count, &error), IBID_EINVAL);
    query = query_of(&term, 0);
    assert_ok(selection_match(selection, &query, 4, found, &count, err));
    assert_int_equal(count, 0);
    selection_free(selection);
    const _Atomic bool cancel = true;
    put_text(bench, 2, "water");
    truth_commit(bench->truth);
    assert_int_equal(vector_store_follow(bench->store, COLLECTION, &cancel, &error), IBID_ECANCELED);
    assert_int_equal(vector_store_follow(bench->store, 99, NULL, &error), IBID_ENOTFOUND);
    bench_free(bench);
}

struct searcher {
    pthread_t thread;
    struct vector_store *store;
    _Atomic bool *stop;
    size_t searches;
    ibid_code code;
};

static void *search_repeatedly(void *argument)
{
    struct searcher *searcher = argument;
    float vector[DIMENSION] = {1};
    const struct str terms[] = {STR("water"), STR("steam")};
    const struct term_query query = query_of(terms, 2);
    while (!atomic_load(searcher->stop) && searcher->code == IBID_OK) {
        struct selection *selection;
        struct candidate found[20];
        size_t count;
        searcher->code = vector_store_select(searcher->store, COLLECTION, &scope_all, NULL, &selection, NULL);
        if (searcher->code != IBID_OK)
            break;
        searcher->code = selection_nearest(selection, vector, 20, found, &count, NULL);
        if (searcher->code == IBID_OK)
            searcher->code = selection_match(selection, &query, 20, found, &count, NULL);
        if (searcher->code == IBID_OK)
            searcher->code = selection_score(selection, vector, &query, found, count, NULL);
        selection_free(selection);
        searcher->searches++;
    }
    return NULL;
}

static void test_searches_go_on_while_following(void **state)
{
    struct bench *bench = bench_new(state, DIMENSION);
    _Atomic bool stop = false;
    struct searcher searchers[2] = {0};
    for (size_t i = 0; i < COUNT_OF(searchers); i++) {
        searchers[i].store = bench->store;
        searchers[i].stop = &stop;
        assert_int_equal(pthread_create(&searchers[i].thread, NULL, search_repeatedly, &searchers[i]), 0);
    }
    for (unsigned round = 0; round < 60; round++) {
        for (unsigned i = 0; i < 30; i++) {
            const int64_t row_id = 1 + random_below(800);
            if (random_below(5) == 0)
                truth_remove(bench->truth, row_id);
            else
                put_random(bench, row_id);
            truth_commit(bench->truth);
        }
        follow(bench);
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < COUNT_OF(searchers); i++) {
        pthread_join(searchers[i].thread, NULL);
        assert_int_equal(searchers[i].code, IBID_OK);
        assert_true(searchers[i].searches > 0);
    }
    assert_agrees_with_oracle(bench, &scope_all, NULL, 50);
    bench_free(bench);
}

static void test_every_member_has_fixtures(void **state)
{
    for (size_t i = 0; vector_store_registry[i]; i++) {
        bool found = false;
        for (size_t j = 0; j < COUNT_OF(fixtures); j++)
            found |= strcmp(fixtures[j].name, vector_store_registry[i]->name) == 0;
        if (!found)
            fail_msg("vector store '%s' has no fixtures in tests/contract/vector_store.c",
                     vector_store_registry[i]->name);
        assert_ptr_equal(vector_store_find(vector_store_registry[i]->name), vector_store_registry[i]);
        assert_true(vector_store_registry[i]->options_size > 0);
    }
    assert_null(vector_store_find("no such store"));
}

int main(void)
{
    static const struct {
        const char *name;
        CMUnitTestFunction run;
    } checks[] = {
        {"empty collection", test_an_empty_collection_finds_nothing},
        {"scope", test_the_scope_decides_what_is_there},
        {"filters", test_filters_mean_what_they_say},
        {"BM25", test_keyword_scores_are_bm25},
        {"oracle", test_everything_agrees_with_the_oracle},
        {"dimensions", test_dimensions_from_least_to_most},
        {"snapshots", test_a_selection_keeps_its_state},
        {"fingerprint", test_another_fingerprint_starts_anew},
        {"verification", test_statistics_and_verification},
        {"wrong calls", test_wrong_calls_are_refused},
        {"threads", test_searches_go_on_while_following},
    };
    char names[COUNT_OF(fixtures)][COUNT_OF(checks)][80];
    struct CMUnitTest tests[1 + COUNT_OF(fixtures) * COUNT_OF(checks)] = {
        cmocka_unit_test(test_every_member_has_fixtures)};
    size_t count = 1;
    for (size_t i = 0; i < COUNT_OF(fixtures); i++)
        for (size_t j = 0; j < COUNT_OF(checks); j++) {
            snprintf(names[i][j], sizeof names[i][j], "%s: %s", fixtures[i].name, checks[j].name);
            tests[count++] =
                (struct CMUnitTest){names[i][j], checks[j].run, NULL, NULL, (void *)(uintptr_t)&fixtures[i]};
        }
    return cmocka_run_group_tests_name("vector_store", tests, NULL, NULL);
}
