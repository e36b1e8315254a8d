/* What every vector store must do. A member of the registry without a row in `fixtures` fails. Every member
 * is compared with `memory`, the exact one, which the checks by hand keep honest. What a member says that it
 * cannot do has to be refused. */
#include "tests/contract/contract.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "tests/support/duel.h"
#include "vector_store/vector_store.h"

/* How a member is opened for this test. */
struct fixture {
    const char *name;
    /* Sets options (those not set keep their defaults). NULL on success, else why the member cannot be tested
     * here, and the test is skipped. */
    const char *(*prepare)(const struct vector_store_ops *ops, void *options, struct arena *arena);
    const struct vector_store_ops *ops; /* NULL: the member of that name */
};

/* ---- members that can less: `memory` without the calls for what they cannot do ---- */

static struct vector_store_ops by_vector_ops, unscoped_ops;

static ibid_code open_limited(const struct vector_store_ops *ops, const struct vector_store_context *context,
                              const void *options, struct vector_store **ret, ibid_error *error)
{
    TRY(vector_store_find("memory")->open(context, options, ret, error));
    (*ret)->ops = ops;
    return IBID_OK;
}

static ibid_code open_by_vector(const struct vector_store_context *context, const void *options,
                                struct vector_store **ret, ibid_error *error)
{
    return open_limited(&by_vector_ops, context, options, ret, error);
}

static ibid_code open_unscoped(const struct vector_store_context *context, const void *options,
                               struct vector_store **ret, ibid_error *error)
{
    return open_limited(&unscoped_ops, context, options, ret, error);
}

static ibid_code select_limited(struct vector_store *store, int64_t collection_id, const struct scope *scope,
                                const struct filter *filter, struct selection **ret, ibid_error *error)
{
    const bool scoped = store->ops->capabilities & VECTOR_STORE_SCOPE_INSIDE;
    TRY(vector_store_find("memory")->select(store, collection_id, scoped ? scope : &scope_all, filter, ret,
                                            error));
    (*ret)->ops = store->ops;
    return IBID_OK;
}

static void make_limited_members(void)
{
    by_vector_ops = unscoped_ops = *vector_store_find("memory");
    by_vector_ops.select = unscoped_ops.select = select_limited;
    by_vector_ops.name = "by vector alone";
    by_vector_ops.open = open_by_vector;
    by_vector_ops.capabilities = VECTOR_STORE_SCOPE_INSIDE;
    by_vector_ops.match = NULL;
    by_vector_ops.score = NULL;
    by_vector_ops.count_values = NULL;
    unscoped_ops.name = "without scope";
    unscoped_ops.open = open_unscoped;
    unscoped_ops.capabilities &= ~(unsigned)VECTOR_STORE_SCOPE_INSIDE;
}

static const char *prepare_nothing(const struct vector_store_ops *ops, void *options, struct arena *arena)
{
    return NULL;
}

static const struct fixture fixtures[] = {
    {"embedded", prepare_nothing, NULL},
    {"memory", prepare_nothing, NULL},
    {"by vector alone", prepare_nothing, &by_vector_ops},
    {"without scope", prepare_nothing, &unscoped_ops},
};

enum { COLLECTION = DUEL_COLLECTION, DIMENSION = 96 };

static struct duel *start(void **state, uint32_t dimension)
{
    const struct fixture *fixture = *state;
    AUTO_ARENA arena = ARENA_INIT;
    const struct vector_store_ops *ops = fixture->ops ? fixture->ops : vector_store_find(fixture->name);
    assert_non_null(ops);
    void *options = duel_options(ops, &arena);
    const char *missing = fixture->prepare(ops, options, &arena);
    if (missing) {
        print_message("SKIPPED: vector store %s: %s\n", fixture->name, missing);
        skip();
    }
    return duel_new(ops, options, dimension);
}

/* How many rows match; 0 where the member has no keyword side and says so. */
static size_t match_rows(const struct duel *duel, struct selection *selection, const struct term_query *query,
                         size_t k, struct candidate *found)
{
    size_t count = 0;
    const ibid_code code = selection_match(selection, query, k, found, &count, NULL);
    assert_int_equal(code, duel_can(duel, VECTOR_STORE_KEYWORD) ? IBID_OK : IBID_EUNSUPPORTED);
    return count;
}

static const int64_t one[] = {1};

/* ---- checks ---- */

static void test_an_empty_collection_finds_nothing(void **state)
{
    struct duel *duel = start(state, DIMENSION);
    duel_follow(duel);
    struct selection *selection = select_rows(duel->store, &scope_all, NULL);
    assert_int_equal(selection->count, 0);
    float vector[DIMENSION] = {1};
    struct candidate found[3];
    size_t count = 9;
    assert_ok(selection_nearest(selection, vector, 3, found, &count, err));
    assert_int_equal(count, 0);
    const struct str term = STR("water");
    const struct term_query query = query_of(&term, 1);
    assert_int_equal(match_rows(duel, selection, &query, 3, found), 0);
    selection_free(selection);
    struct selection *unknown = NULL;
    ibid_error error = {0};
    assert_int_equal(vector_store_select(duel->store, 99, &scope_all, NULL, &unknown, &error),
                     IBID_ENOTFOUND);
    duel_free(duel);
}

static void put_in(struct duel *duel, int64_t row_id, enum document_state state, const int64_t *workspaces,
                   size_t count)
{
    const struct row row = {.row_id = row_id,
                            .document_id = row_id,
                            .chunk_id = row_id,
                            .state = state,
                            .workspaces = workspaces,
                            .workspace_count = count,
                            .text = STR("water")};
    truth_put(duel->truth, &row, NULL, 0);
}

static void test_shared_collections_need_a_scope(void **state)
{
    struct duel *duel = start(state, DIMENSION);
    const struct vector_space shared = {8, DIMENSION, "test/model@1", .shared = true};
    const struct vector_space own = {9, DIMENSION, "test/model@1", .shared = false};
    ibid_error error = {0};
    assert_int_equal(vector_store_attach(duel->store, &shared, &error),
                     duel_can(duel, VECTOR_STORE_SCOPE_INSIDE) ? IBID_OK : IBID_EUNSUPPORTED);
    assert_ok(vector_store_attach(duel->store, &own, err));
    struct vector_store_stats stats;
    assert_int_equal(vector_store_stats(duel->store, 8, &stats, &error),
                     duel_can(duel, VECTOR_STORE_SCOPE_INSIDE) ? IBID_OK : IBID_ENOTFOUND);
    duel_free(duel);
}

static void test_the_scope_decides_what_is_there(void **state)
{
    struct duel *duel = start(state, DIMENSION);
    if (!duel_can(duel, VECTOR_STORE_SCOPE_INSIDE)) { /* it never gets rows that not everyone may read */
        duel_free(duel);
        return;
    }
    static const int64_t two[] = {2}, one_two[] = {1, 2};
    put_in(duel, 1, DOCUMENT_ACTIVE, one, 1);
    put_in(duel, 2, DOCUMENT_ACTIVE, two, 1);
    put_in(duel, 3, DOCUMENT_ARCHIVED, one_two, 2);
    put_in(duel, 4, DOCUMENT_EXPIRED, one_two, 2);
    put_in(duel, 5, DOCUMENT_SENSITIVE, one_two, 2);
    put_in(duel, 6, DOCUMENT_ACTIVE, NULL, 0);
    duel_follow(duel);
    assert_string_equal(duel_listed(duel, &scope_one, NULL), "1 3");
    const struct scope second = {two, 1, NULL, 0}, second_admin = {two, 1, two, 1}, nobody = {0};
    const struct scope odd = {one, 1, two, 1}; /* reads sensitive documents only where it reads at all */
    assert_string_equal(duel_listed(duel, &second, NULL), "2 3");
    assert_string_equal(duel_listed(duel, &second_admin, NULL), "2 3 5");
    assert_string_equal(duel_listed(duel, &odd, NULL), "1 3");
    assert_string_equal(duel_listed(duel, &nobody, NULL), "");
    assert_string_equal(duel_listed(duel, &scope_all, NULL), "1 2 3 5");
    assert_string_equal(duel_listed(duel, &scope_all, "state=sensitive"), "5");
    assert_string_equal(duel_listed(duel, &scope_one, "state=sensitive"), "");
    assert_string_equal(duel_listed(duel, &scope_one, "{\"not\": {\"state\": \"archived\"}}"), "1");

    /* Scores do not tell of rows that may not be read. */
    const struct str term = STR("water");
    const struct term_query query = query_of(&term, 1);
    struct candidate before[4], after[4];
    const size_t expected = duel_can(duel, VECTOR_STORE_KEYWORD) ? 2 : 0;
    struct selection *selection = select_rows(duel->store, &scope_one, NULL);
    assert_int_equal(match_rows(duel, selection, &query, 4, before), expected);
    selection_free(selection);
    for (int64_t row_id = 100; row_id < 150; row_id++)
        put_in(duel, row_id, DOCUMENT_ACTIVE, two, 1);
    duel_follow(duel);
    selection = select_rows(duel->store, &scope_one, NULL);
    assert_int_equal(match_rows(duel, selection, &query, 4, after), expected);
    assert_true(expected == 0 || before[0].bm25 == after[0].bm25);
    selection_free(selection);
    duel_free(duel);
}

static void put_with(struct duel *duel, int64_t row_id, const struct attribute *attributes, size_t count,
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
    truth_put(duel->truth, &row, metadata, metadata_count);
}

static void test_filters_mean_what_they_say(void **state)
{
    struct duel *duel = start(state, DIMENSION);
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
    put_with(duel, 1, first, COUNT_OF(first), metadata, 1);
    put_with(duel, 2, second, COUNT_OF(second), metadata, 2);
    put_with(duel, 3, third, COUNT_OF(third), NULL, 0);
    put_with(duel, 4, NULL, 0, metadata + 1, 1);
    duel_follow(duel);
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
        const char *got = duel_listed(duel, &scope_one, rows[i].filter);
        if (strcmp(got, rows[i].expected) != 0)
            fail_msg("%s gives '%s', not '%s'", rows[i].filter, got, rows[i].expected);
    }
    duel_free(duel);
}

static void test_counts_the_values_of_a_key(void **state)
{
    struct duel *duel = start(state, 0);
    AUTO_ARENA arena = ARENA_INIT;
    duel_put_text(duel, 1, "one");
    duel_put_text(duel, 2, "two");
    duel_follow(duel);
    struct selection *selection = select_rows(duel->store, &scope_one, NULL);
    struct value_count *counts;
    size_t count;
    const uint32_t state_key = (uint32_t)(filter_key_find(STR("state")) - filter_keys);
    const uint32_t id_key = (uint32_t)(filter_key_find(STR("document_id")) - filter_keys);
    const ibid_code code = selection_count_values(selection, state_key, 10, &arena, &counts, &count, NULL);
    assert_int_equal(code, duel_can(duel, VECTOR_STORE_FACETS) ? IBID_OK : IBID_EUNSUPPORTED);
    if (code == IBID_OK) {
        assert_int_equal(count, 1);
        assert_true(str_is(counts[0].value.string, "active") && counts[0].rows == 2);
        assert_ok(selection_count_values(selection, id_key, 1, &arena, &counts, &count, err));
        assert_int_equal(count, 1);
        assert_true(counts[0].value.number == 1 && counts[0].rows == 1);
    }
    selection_free(selection);
    selection = select_rows(duel->store, &(const struct scope){0}, NULL);
    assert_ok(selection_count_values(selection, state_key, 10, &arena, &counts, &count, err));
    assert_int_equal(count, 0);
    selection_free(selection);
    duel_free(duel);
}

static void test_keyword_scores_are_bm25(void **state)
{
    struct duel *duel = start(state, 0);
    duel_put_text(duel, 1, "Water, water, everywhere.");
    duel_put_text(duel, 2, "The pressure of water boils it over.");
    duel_put_text(duel, 3, "Nothing of the kind");
    duel_put_text(duel, 4, "");
    duel_follow(duel);
    struct selection *selection = select_rows(duel->store, &scope_one, NULL);
    const struct str terms[] = {STR("water"), STR("pressur"), STR("water")};
    float idf[3] = {-1, -1, -1};
    const struct term_query query = {.terms = terms, .count = 3, .k1 = 1.2f, .b = 0.75f, .idf = idf};
    struct candidate found[4];
    const size_t count = match_rows(duel, selection, &query, 4, found);
    if (!duel_can(duel, VECTOR_STORE_KEYWORD)) {
        selection_free(selection);
        duel_free(duel);
        return;
    }
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
    size_t nothing;
    assert_int_equal(selection_nearest(selection, vector, 4, found, &nothing, NULL), IBID_EUNSUPPORTED);
    selection_free(selection);

    /* A filter narrows what is found, not what is counted. */
    selection = select_rows(duel->store, &scope_one, "document_id=1");
    struct candidate narrowed[4];
    assert_int_equal(match_rows(duel, selection, &query, 4, narrowed), 1);
    assert_true(fabs(narrowed[0].bm25 - first) < 1e-5);
    selection_free(selection);
    duel_free(duel);
}

static void test_everything_agrees_with_the_oracle(void **state)
{
    struct duel *duel = start(state, DIMENSION);
    for (unsigned round = 0; round < 12; round++) {
        duel_change(duel, 60, 400);
        duel_follow(duel);
        assert_same_everywhere(duel);
    }
    duel_free(duel);
}

static void test_dimensions_from_least_to_most(void **state)
{
    static const uint32_t dimensions[] = {64, 65, 100, 384, 1024, 4096};
    for (size_t i = 0; i < COUNT_OF(dimensions); i++) {
        struct duel *duel = start(state, dimensions[i]);
        for (int64_t row_id = 1; row_id <= 150; row_id++)
            duel_put_random(duel, row_id);
        duel_follow(duel);
        assert_same_answers(duel, &scope_all, NULL, 20);
        duel_free(duel);
    }
    struct duel *duel = start(state, DIMENSION);
    ibid_error error = {0};
    assert_int_equal(vector_store_attach(duel->store, &(struct vector_space){8, 63, "x"}, &error),
                     IBID_EUNSUPPORTED);
    assert_int_equal(vector_store_attach(duel->store, &(struct vector_space){8, 4097, "x"}, &error),
                     IBID_EUNSUPPORTED);
    duel_free(duel);
}

static void test_a_selection_keeps_its_state(void **state)
{
    struct duel *duel = start(state, DIMENSION);
    for (int64_t row_id = 1; row_id <= 5; row_id++)
        duel_put_text(duel, row_id, "water flows");
    duel_follow(duel);
    struct selection *selection = select_rows(duel->store, &scope_one, NULL);
    truth_remove(duel->truth, 2);
    duel_put_text(duel, 3, "steam");
    duel_put_text(duel, 6, "water");
    duel_follow(duel);
    const struct str term = STR("water");
    const struct term_query query = query_of(&term, 1);
    const bool by_word = duel_can(duel, VECTOR_STORE_KEYWORD);
    struct candidate found[9];
    int64_t page[9];
    size_t count;
    assert_ok(selection_list(selection, INT64_MIN, 9, page, &count, err));
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(page[i], i + 1);
    count = match_rows(duel, selection, &query, 9, found);
    assert_int_equal(count, by_word ? 5 : 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(found[i].row_id, i + 1); /* equal scores: by row_id */
    selection_free(selection);
    selection = select_rows(duel->store, &scope_one, NULL);
    assert_int_equal(match_rows(duel, selection, &query, 9, found), by_word ? 4 : 0);
    assert_string_equal(duel_listed(duel, &scope_one, NULL), "1 3 4 5 6");
    assert_ok(selection_list(selection, 3, 2, page, &count, err));
    assert_int_equal(count, 2);
    assert_int_equal(page[0], 4);
    assert_int_equal(page[1], 5);
    selection_free(selection);
    duel_free(duel);
}

static void test_another_fingerprint_starts_anew(void **state)
{
    struct duel *duel = start(state, DIMENSION);
    duel_put_text(duel, 1, "water");
    duel_follow(duel);
    assert_string_equal(duel_listed(duel, &scope_one, NULL), "1");
    duel_attach(duel, duel->store); /* the same again changes nothing */
    assert_string_equal(duel_listed(duel, &scope_one, NULL), "1");
    const struct vector_space other = {COLLECTION, DIMENSION, "test/model@2", false};
    assert_ok(vector_store_attach(duel->store, &other, err));
    assert_string_equal(duel_listed(duel, &scope_one, NULL), "");
    struct vector_store_stats stats;
    assert_ok(vector_store_stats(duel->store, COLLECTION, &stats, err));
    assert_int_equal(stats.watermark, 0);
    assert_ok(vector_store_follow(duel->store, COLLECTION, NULL, err));
    assert_string_equal(duel_listed(duel, &scope_one, NULL), "1");
    struct selection *old = select_rows(duel->store, &scope_one, NULL);
    assert_ok(vector_store_drop(duel->store, COLLECTION, err));
    int64_t row_id = 0;
    size_t count;
    const ibid_code code = selection_list(old, 0, 1, &row_id, &count, NULL);
    assert_true(code == IBID_ENOTFOUND || (code == IBID_OK && count == 1 && row_id == 1));
    selection_free(old);
    struct selection *selection = NULL;
    ibid_error error = {0};
    assert_int_equal(vector_store_select(duel->store, COLLECTION, &scope_one, NULL, &selection, &error),
                     IBID_ENOTFOUND);
    duel_free(duel);
}

static void test_statistics_and_verification(void **state)
{
    struct duel *duel = start(state, DIMENSION);
    for (int64_t row_id = 1; row_id <= 300; row_id++)
        duel_put_random(duel, row_id);
    duel_follow(duel);
    for (int64_t row_id = 1; row_id <= 300; row_id += 3)
        truth_remove(duel->truth, row_id);
    duel_follow(duel);
    struct vector_store_stats stats, expected;
    assert_ok(vector_store_stats(duel->store, COLLECTION, &stats, err));
    assert_ok(vector_store_stats(duel->oracle, COLLECTION, &expected, err));
    assert_int_equal(stats.watermark, duel->truth->latest);
    assert_true(stats.durable <= stats.watermark);
    assert_int_equal(stats.rows, 200);
    assert_int_equal(stats.rows, expected.rows);
    assert_int_equal(stats.vectors, expected.vectors);
    assert_ok(vector_store_compact(duel->store, COLLECTION, NULL, err));
    assert_ok(vector_store_stats(duel->store, COLLECTION, &stats, err));
    assert_int_equal(stats.durable, stats.watermark);
    assert_int_equal(stats.tombstones, 0);
    assert_int_equal(stats.rows, 200);
    truth_sweep(duel->truth, stats.durable);
    struct vector_store_finding *findings;
    size_t count;
    assert_ok(
        vector_store_verify(duel->store, COLLECTION, false, NULL, &duel->arena, &findings, &count, err));
    for (size_t i = 0; i < count; i++)
        print_error("%s: %s\n", findings[i].place, findings[i].problem);
    assert_int_equal(count, 0);
    assert_same_answers(duel, &scope_all, NULL, 30);
    duel_free(duel);
}

static void test_wrong_calls_are_refused(void **state)
{
    struct duel *duel = start(state, DIMENSION);
    duel_put_text(duel, 1, "water");
    duel_follow(duel);
    struct selection *selection = select_rows(duel->store, &scope_one, NULL);
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
    const ibid_code refused = duel_can(duel, VECTOR_STORE_KEYWORD) ? IBID_EINVAL : IBID_EUNSUPPORTED;
    struct term_query query = {.terms = &term, .count = 1, .k1 = -1, .b = 0.4f};
    assert_int_equal(selection_match(selection, &query, 4, found, &count, &error), refused);
    query = (struct term_query){.terms = &term, .count = 1, .k1 = 1, .b = NAN};
    assert_int_equal(selection_match(selection, &query, 4, found, &count, &error), refused);
    query = query_of(&term, 0);
    assert_int_equal(match_rows(duel, selection, &query, 4, found), 0);
    selection_free(selection);
    const _Atomic bool cancel = true;
    duel_put_text(duel, 2, "water");
    truth_commit(duel->truth);
    assert_int_equal(vector_store_follow(duel->store, COLLECTION, &cancel, &error), IBID_ECANCELED);
    assert_int_equal(vector_store_follow(duel->store, 99, NULL, &error), IBID_ENOTFOUND);
    duel_free(duel);
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
        const unsigned can = selection->ops->capabilities;
        if (searcher->code == IBID_OK && can & VECTOR_STORE_KEYWORD)
            searcher->code = selection_match(selection, &query, 20, found, &count, NULL);
        if (searcher->code == IBID_OK && can & VECTOR_STORE_EXACT_SCORES)
            searcher->code = selection_score(selection, vector, can & VECTOR_STORE_KEYWORD ? &query : NULL,
                                             found, count, NULL);
        selection_free(selection);
        searcher->searches++;
    }
    return NULL;
}

static void test_searches_go_on_while_following(void **state)
{
    struct duel *duel = start(state, DIMENSION);
    _Atomic bool stop = false;
    struct searcher searchers[2] = {0};
    for (size_t i = 0; i < COUNT_OF(searchers); i++) {
        searchers[i].store = duel->store;
        searchers[i].stop = &stop;
        assert_int_equal(pthread_create(&searchers[i].thread, NULL, search_repeatedly, &searchers[i]), 0);
    }
    for (unsigned round = 0; round < 60; round++) {
        for (unsigned i = 0; i < 30; i++) {
            const int64_t row_id = 1 + random_below(800);
            if (random_below(5) == 0)
                truth_remove(duel->truth, row_id);
            else
                duel_put_random(duel, row_id);
            truth_commit(duel->truth);
        }
        duel_follow(duel);
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < COUNT_OF(searchers); i++) {
        pthread_join(searchers[i].thread, NULL);
        assert_int_equal(searchers[i].code, IBID_OK);
        assert_true(searchers[i].searches > 0);
    }
    assert_same_answers(duel, &scope_all, NULL, 50);
    duel_free(duel);
}

static void test_every_member_has_fixtures(void **state)
{
    for (size_t i = 0; vector_store_registry[i]; i++) {
        contract_expect_fixture(CONTRACT_FIXTURES(fixtures), "vector_store", vector_store_registry[i]->name);
        assert_ptr_equal(vector_store_find(vector_store_registry[i]->name), vector_store_registry[i]);
        assert_true(vector_store_registry[i]->options_size > 0);
    }
    assert_null(vector_store_find("no such store"));
}

int main(void)
{
    static const struct contract_check checks[] = {
        {"empty collection", test_an_empty_collection_finds_nothing},
        {"shared collections", test_shared_collections_need_a_scope},
        {"scope", test_the_scope_decides_what_is_there},
        {"filters", test_filters_mean_what_they_say},
        {"facets", test_counts_the_values_of_a_key},
        {"BM25", test_keyword_scores_are_bm25},
        {"oracle", test_everything_agrees_with_the_oracle},
        {"dimensions", test_dimensions_from_least_to_most},
        {"snapshots", test_a_selection_keeps_its_state},
        {"fingerprint", test_another_fingerprint_starts_anew},
        {"verification", test_statistics_and_verification},
        {"wrong calls", test_wrong_calls_are_refused},
        {"threads", test_searches_go_on_while_following},
    };
    make_limited_members();
    return contract_run("vector_store", test_every_member_has_fixtures, CONTRACT_FIXTURES(fixtures), checks,
                        COUNT_OF(checks), NULL, NULL);
}
