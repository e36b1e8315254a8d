#include "tests/support/duel.h"

#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

void *duel_options(const struct vector_store_ops *ops, struct arena *arena)
{
    void *options = arena_alloc(arena, ops->options_size);
    option_set_defaults(ops->options, options, arena);
    return options;
}

static void open_store(struct duel *duel)
{
    const struct vector_store_context context = {duel->folder, &duel->truth->source};
    assert_ok(vector_store_open(duel->ops, &context, duel->options, &duel->store, err));
    duel_attach(duel, duel->store);
}

void duel_attach(struct duel *duel, struct vector_store *store)
{
    const struct vector_space space = {DUEL_COLLECTION, duel->dimension, "test/model@1",
                                       store->ops->capabilities & VECTOR_STORE_SCOPE_INSIDE};
    assert_ok(vector_store_attach(store, &space, err));
}

struct duel *duel_new(const struct vector_store_ops *ops, void *options, uint32_t dimension)
{
    static const char folder[] = "/tmp/ibid-test-XXXXXX";
    struct duel *duel = xcalloc(1, sizeof *duel);
    duel->ops = ops;
    duel->dimension = dimension;
    duel->truth = truth_new(DUEL_COLLECTION, dimension);
    memcpy(duel->folder, folder, sizeof folder);
    assert_non_null(mkdtemp(duel->folder));
    duel->options = duel_options(duel->ops, &duel->arena);
    if (options)
        memcpy(duel->options, options, duel->ops->options_size);
    open_store(duel);
    const struct vector_store_context context = {NULL, &duel->truth->source};
    const struct vector_store_ops *memory = vector_store_find("memory");
    assert_ok(vector_store_open(memory, &context, duel_options(memory, &duel->arena), &duel->oracle, err));
    duel_attach(duel, duel->oracle);
    return duel;
}

void duel_free(struct duel *duel)
{
    vector_store_close(duel->store);
    vector_store_close(duel->oracle);
    truth_free(duel->truth);
    assert_ok(folder_remove(duel->folder, err));
    arena_release(&duel->arena);
    free(duel);
}

void duel_reopen(struct duel *duel)
{
    vector_store_close(duel->store);
    open_store(duel);
}

void duel_follow(struct duel *duel)
{
    truth_commit(duel->truth);
    assert_ok(vector_store_follow(duel->store, DUEL_COLLECTION, NULL, err));
    assert_ok(vector_store_follow(duel->oracle, DUEL_COLLECTION, NULL, err));
}

/* ---- rows ---- */

static uint64_t random_state = 88172645463325252u;

void random_seed(uint64_t seed)
{
    random_state = seed * 2654435761u + 88172645463325252u;
}

uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

unsigned random_below(unsigned limit)
{
    return (unsigned)(random_next() >> 33) % limit;
}

void random_vector(float *out, size_t dimension)
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

struct attribute text_attribute(const char *key, const char *value)
{
    return (struct attribute){key_position(key), {.type = VALUE_STRING, .string = str_from(value)}};
}

struct attribute number_attribute(const char *key, double value)
{
    return (struct attribute){key_position(key), {.type = VALUE_NUMBER, .number = value}};
}

/* A row in workspace 1, with text only. */
void duel_put_text(struct duel *duel, int64_t row_id, const char *text)
{
    static const int64_t workspaces[] = {1};
    const struct row row = {.row_id = row_id,
                            .document_id = row_id,
                            .chunk_id = row_id,
                            .workspaces = workspaces,
                            .workspace_count = 1,
                            .text = str_from(text),
                            .language = STR("en")};
    truth_put(duel->truth, &row, NULL, 0);
}

static const char *const vocabulary[] = {
    "water", "boils", "under",     "pressure", "the", "river",   "flows", "into",   "sea",    "engine",
    "steam", "power", "camelCase", "index",    "of",  "passage", "cited", "folder", "people", "agents",
};
enum { RARE_WORDS = 3000 };

/* A row with everything that varies: text, vector (not always), workspaces, state, attributes, metadata. */
void duel_put_random(struct duel *duel, int64_t row_id)
{
    static const char *const languages[] = {"en", "de", "fr"};
    static const char *const labels[] = {"definition", "conclusion", "evidence"};
    char text[600];
    size_t size = 0;
    for (unsigned word = 0, words = 3 + random_below(40); word < words; word++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s ",
                                 vocabulary[random_below(1 + random_below(COUNT_OF(vocabulary)))]);
    size += (size_t)snprintf(text + size, sizeof text - size, "rare%u", random_below(RARE_WORDS));
    float *vector = xcalloc(duel->dimension, sizeof *vector);
    random_vector(vector, duel->dimension);
    int64_t workspaces[3];
    size_t workspace_count = 0;
    const bool scoped = duel_can(duel, VECTOR_STORE_SCOPE_INSIDE); /* else everyone may read everything */
    for (int64_t id = 1; id <= 3; id++)
        if (random_below(2) || !scoped)
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
        .state = random_below(8) == 0 && scoped ? (enum document_state)random_below(4) : DOCUMENT_ACTIVE,
        .workspaces = workspaces,
        .workspace_count = workspace_count,
        .vector = random_below(10) && duel->dimension ? vector : NULL,
        .text = {text, size},
        .language = STR("en"),
        .attributes = attributes,
        .attribute_count = count,
    };
    truth_put(duel->truth, &row, &metadata, random_below(2));
    free(vector);
}

void duel_change(struct duel *duel, unsigned changes, unsigned most)
{
    for (unsigned i = 0; i < changes; i++) {
        const int64_t row_id = 1 + random_below(most);
        if (random_below(4) == 0)
            truth_remove(duel->truth, row_id);
        else
            duel_put_random(duel, row_id);
    }
}

/* ---- searching ---- */

static const int64_t one[] = {1}, all_workspaces[] = {1, 2, 3};
const struct scope scope_one = {one, 1, NULL, 0};
const struct scope scope_all = {all_workspaces, 3, all_workspaces, 3};

struct selection *select_rows(struct vector_store *store, const struct scope *scope, const char *filter)
{
    AUTO_ARENA arena = ARENA_INIT;
    const struct filter *parsed = NULL;
    struct selection *selection;
    if (filter)
        assert_ok(filter_from_text(str_from(filter), &arena, &parsed, err));
    assert_ok(vector_store_select(store, DUEL_COLLECTION, scope, parsed, &selection, err));
    return selection;
}

/* Row ids of a selection as text: "1 2 5". */
const char *duel_listed(struct duel *duel, const struct scope *scope, const char *filter)
{
    struct selection *selection = select_rows(duel->store, scope, filter);
    int64_t ids[256];
    size_t count;
    assert_ok(selection_list(selection, INT64_MIN, COUNT_OF(ids), ids, &count, err));
    assert_int_equal(selection->count, count);
    AUTO_BUFFER text = BUFFER(8192);
    for (size_t i = 0; i < count; i++)
        buffer_printf(&text, i ? " %lld" : "%lld", (long long)ids[i]);
    selection_free(selection);
    return arena_strdup(&duel->arena, text.data ? text.data : "");
}

struct term_query query_of(const struct str *terms, size_t count)
{
    return (struct term_query){.terms = terms, .count = count, .k1 = 0.9f, .b = 0.4f};
}

bool duel_can(const struct duel *duel, enum vector_store_capability capability)
{
    return duel->ops->capabilities & capability;
}

/* ---- comparing ---- */

static float score_of(const struct candidate *candidate)
{
    return isnan(candidate->bm25) ? candidate->similarity : candidate->bm25;
}

static const struct candidate *find_candidate(const struct candidate *candidates, size_t count,
                                              int64_t row_id)
{
    for (size_t i = 0; i < count; i++)
        if (candidates[i].row_id == row_id)
            return &candidates[i];
    return NULL;
}

/* Same rows with the same scores; rows whose scores are as good as equal may stand in each other's place. */
static void assert_same_candidates(const struct candidate *got, size_t got_count,
                                   const struct candidate *expected, size_t expected_count)
{
    assert_int_equal(got_count, expected_count);
    for (size_t i = 0; i < got_count; i++) {
        const float left = score_of(&got[i]), right = score_of(&expected[i]);
        if (!(fabsf(left - right) <= 1e-4f))
            fail_msg("place %zu: row %lld with %g, expected row %lld with %g", i, (long long)got[i].row_id,
                     (double)left, (long long)expected[i].row_id, (double)right);
        const struct candidate *twin = find_candidate(expected, expected_count, got[i].row_id);
        const float least = twin ? score_of(twin) : score_of(&expected[expected_count - 1]);
        if (!(fabsf(left - least) <= 1e-4f))
            fail_msg("place %zu: row %lld with %g is not expected there", i, (long long)got[i].row_id,
                     (double)left);
    }
}

/* One selection of each store. */
struct pair {
    struct duel *duel;
    struct selection *got, *expected;
};

static struct pair pair_open(struct duel *duel, const struct scope *scope, const char *filter)
{
    return (struct pair){duel, select_rows(duel->store, scope, filter),
                         select_rows(duel->oracle, scope, filter)};
}

static void pair_close(struct pair *pair)
{
    selection_free(pair->got);
    selection_free(pair->expected);
}

static void compare_lists(const struct pair *pair)
{
    const size_t limit = pair->expected->count + 1;
    int64_t *got = xcalloc(limit, sizeof *got), *expected = xcalloc(limit, sizeof *expected);
    size_t got_count, expected_count;
    assert_int_equal(pair->got->count, pair->expected->count);
    assert_ok(selection_list(pair->got, INT64_MIN, limit, got, &got_count, err));
    assert_ok(selection_list(pair->expected, INT64_MIN, limit, expected, &expected_count, err));
    assert_int_equal(got_count, expected_count);
    assert_memory_equal(got, expected, got_count * sizeof *got);
    const int64_t after = got_count ? got[random_below((unsigned)got_count)] : 5;
    assert_ok(selection_list(pair->got, after, 7, got, &got_count, err));
    assert_ok(selection_list(pair->expected, after, 7, expected, &expected_count, err));
    assert_int_equal(got_count, expected_count);
    assert_memory_equal(got, expected, got_count * sizeof *got);
    free(got);
    free(expected);
}

/* Compares one search by vector; `strict`: the rows have to be the same. Returns the share of them that are.
 */
static double compare_nearest(const struct pair *pair, size_t k, bool strict)
{
    struct candidate *got = xcalloc(k, sizeof *got), *expected = xcalloc(k, sizeof *expected);
    float *vector = xcalloc(pair->duel->dimension, sizeof *vector);
    size_t got_count, expected_count, same = 0;
    random_vector(vector, pair->duel->dimension);
    assert_ok(selection_nearest(pair->got, vector, k, got, &got_count, err));
    assert_ok(selection_nearest(pair->expected, vector, k, expected, &expected_count, err));
    if (strict)
        assert_same_candidates(got, got_count, expected, expected_count);
    assert_int_equal(got_count, expected_count);
    for (size_t i = 0; i < got_count; i++) {
        const struct candidate *twin = find_candidate(expected, expected_count, got[i].row_id);
        same += twin != NULL;
        assert_true(!twin || fabsf(twin->similarity - got[i].similarity) <= 1e-5f);
        assert_true(i == 0 || got[i].similarity <= got[i - 1].similarity);
    }
    free(got);
    free(expected);
    free(vector);
    return got_count ? (double)same / (double)got_count : 1;
}

/* Up to four terms, common and rare, in `terms`. */
static struct term_query random_query(struct str terms[4], float weights[4], char rare[16])
{
    for (size_t i = 0; i < 4; i++) {
        terms[i] = str_from(vocabulary[random_below(COUNT_OF(vocabulary))]);
        weights[i] = (float)(1 + random_below(3));
    }
    snprintf(rare, 16, "rare%u", random_below(RARE_WORDS));
    if (random_below(2))
        terms[random_below(4)] = random_below(3)   ? str_from(rare)
                                 : random_below(2) ? STR("camel")
                                                   : STR("nowhere");
    struct term_query query = query_of(terms, 1 + random_below(4));
    query.weights = random_below(2) ? weights : NULL;
    return query;
}

static void compare_matches(const struct pair *pair, size_t k)
{
    struct candidate *got = xcalloc(k, sizeof *got), *expected = xcalloc(k, sizeof *expected);
    struct str terms[4];
    float weights[4];
    char rare[16];
    size_t got_count, expected_count;
    struct term_query query = random_query(terms, weights, rare);
    float got_idf[4], expected_idf[4];
    query.idf = got_idf;
    const ibid_code code = selection_match(pair->got, &query, k, got, &got_count, NULL);
    if (duel_can(pair->duel, VECTOR_STORE_KEYWORD)) {
        assert_int_equal(code, IBID_OK);
        query.idf = expected_idf;
        assert_ok(selection_match(pair->expected, &query, k, expected, &expected_count, err));
        assert_same_candidates(got, got_count, expected, expected_count);
        for (size_t i = 0; i < query.count; i++) /* a member may keep it to itself */
            assert_true(isnan(got_idf[i]) || fabsf(got_idf[i] - expected_idf[i]) <= 1e-5f);
    } else {
        assert_int_equal(code, IBID_EUNSUPPORTED);
    }
    free(got);
    free(expected);
}

static bool is_close(float a, float b, float tolerance)
{
    return isnan(a) ? isnan(b) : fabsf(a - b) <= tolerance;
}

static void compare_scores(const struct pair *pair, size_t count)
{
    struct candidate *got = xcalloc(count, sizeof *got), *expected = xcalloc(count, sizeof *expected);
    float *vector = xcalloc(pair->duel->dimension, sizeof *vector);
    struct str terms[4];
    float weights[4];
    char rare[16];
    const struct term_query query = random_query(terms, weights, rare);
    random_vector(vector, pair->duel->dimension);
    for (size_t i = 0; i < count; i++)
        got[i].row_id = expected[i].row_id = (int64_t)random_below(3 * (unsigned)count);
    const float *asked = pair->duel->dimension ? vector : NULL;
    const struct term_query *words = duel_can(pair->duel, VECTOR_STORE_KEYWORD) ? &query : NULL;
    const ibid_code code = selection_score(pair->got, asked, words, got, count, NULL);
    if (duel_can(pair->duel, VECTOR_STORE_EXACT_SCORES)) {
        assert_int_equal(code, IBID_OK);
        assert_ok(selection_score(pair->expected, asked, words, expected, count, err));
        for (size_t i = 0; i < count; i++) {
            assert_true(is_close(got[i].similarity, expected[i].similarity, 1e-5f));
            assert_true(is_close(got[i].bm25, expected[i].bm25, 1e-4f));
        }
    } else {
        assert_int_equal(code, IBID_EUNSUPPORTED);
    }
    free(got);
    free(expected);
    free(vector);
}

static void compare_value_counts(const struct pair *pair, const char *key)
{
    AUTO_ARENA arena = ARENA_INIT;
    const uint32_t position = (uint32_t)(filter_key_find(str_from(key)) - filter_keys);
    struct value_count *got, *expected;
    size_t got_count, expected_count;
    const ibid_code code = selection_count_values(pair->got, position, 1000, &arena, &got, &got_count, NULL);
    assert_int_equal(code, duel_can(pair->duel, VECTOR_STORE_FACETS) ? IBID_OK : IBID_EUNSUPPORTED);
    if (code != IBID_OK)
        return;
    assert_ok(
        selection_count_values(pair->expected, position, 1000, &arena, &expected, &expected_count, err));
    assert_int_equal(got_count, expected_count);
    for (size_t i = 0; i < got_count; i++) {
        assert_int_equal(got[i].rows, expected[i].rows);
        assert_int_equal(got[i].value.type, expected[i].value.type);
        if (got[i].value.type == VALUE_STRING)
            assert_true(str_equal(got[i].value.string, expected[i].value.string));
        else
            assert_true(got[i].value.number == expected[i].value.number);
    }
}

/* Over one text, a text of several values, a number, a number of several values, and what follows from the
 * row. */
static void compare_facets(const struct pair *pair)
{
    static const char *const keys[] = {"language", "label", "size", "page", "state", "workspace_id"};
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        compare_value_counts(pair, keys[i]);
}

void assert_near_answers(struct duel *duel, const struct scope *scope, const char *filter, size_t k,
                         double recall)
{
    enum { QUERIES = 10 };
    struct pair pair = pair_open(duel, scope, filter);
    compare_lists(&pair);
    double share = 0;
    for (unsigned i = 0; i < QUERIES && duel->dimension; i++)
        share += compare_nearest(&pair, k, false) / QUERIES;
    if (duel->dimension && share < recall)
        fail_msg("recall is %g with filter %s", share, filter ? filter : "none");
    compare_matches(&pair, k);
    compare_scores(&pair, k);
    compare_facets(&pair);
    pair_close(&pair);
}

void assert_same_answers(struct duel *duel, const struct scope *scope, const char *filter, size_t k)
{
    struct pair pair = pair_open(duel, scope, filter);
    compare_lists(&pair);
    if (duel->dimension)
        compare_nearest(&pair, k, true);
    compare_matches(&pair, k);
    compare_scores(&pair, k);
    compare_facets(&pair);
    pair_close(&pair);
}

void assert_same_everywhere(struct duel *duel)
{
    static const char *const filters[] = {
        NULL, "language=de", "page>10", "label=evidence and language!=fr", "shelf<5", "document_id=12",
    };
    for (size_t i = 0; i < COUNT_OF(filters); i++) {
        assert_same_answers(duel, &scope_all, filters[i], 50);
        assert_same_answers(duel, &scope_one, filters[i], 5);
    }
}
