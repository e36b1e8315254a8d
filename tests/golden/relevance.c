/* Relevance on the judged collections that the project is measured by: the floors it is held to, and the
 * figures of the reference (all-MiniLM-L6-v2 in f32, BM25) that the two sides must reach.
 *
 * IBID_RELEVANCE_DATA names the folder of the collections (default: ../shared/data/ir beside the source),
 * IBID_TEST_MODEL a model's name or folder (default: the program's). It takes minutes: built with
 * sanitizers it runs only when IBID_RELEVANCE_DATA is set. */
#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/file.h"
#include "search/eval.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* nDCG@10 of the references: vectors of the model in ONNX Runtime, searched exactly; scripts/compare_bm25.py.
 */
static const struct collection {
    const char *name;
    bool english;
    double vector, keyword;
} collections[] = {
    {"cranfield", true, 38.17, 35.01}, {"npl", true, 43.35, 43.54},       {"xquad-en", true, 94.16, 96.69},
    {"xquad-de", false, 67.66, 94.07}, {"xquad-es", false, 60.16, 95.82}, {"xquad-ru", false, 17.85, 95.35},
    {"xquad-zh", false, 24.58, 96.72}, {"xquad-ar", false, 4.06, 93.46},
};

struct fixture {
    struct arena arena;
    const char *data;
    struct embedder *embedder;
    struct search_settings settings;
};

static const char *data_folder(struct arena *arena)
{
    const char *named = getenv("IBID_RELEVANCE_DATA"), *root = getenv("IBID_SOURCE_ROOT");
    if (named || SANITIZED)
        return named;
    return arena_printf(arena, "%s/../shared/data/ir", root ? root : ".");
}

static int set_up(void **state)
{
    struct fixture *fixture = xcalloc(1, sizeof *fixture);
    *state = fixture;
    fixture->data = data_folder(&fixture->arena);
    option_set_defaults(search_section.table, &fixture->settings, &fixture->arena);
    const struct embedder_ops *local = embedder_find("local");
    void *options = arena_alloc(&fixture->arena, local->options_size);
    option_set_defaults(local->options, options, &fixture->arena);
    const char *model = getenv("IBID_TEST_MODEL");
    if (model)
        assert_ok(option_set(option_find(local->options, STR("model")), options, str_from(model),
                             &fixture->arena, err));
    if (fixture->data && folder_exists(fixture->data) &&
        embedder_open(local, NULL, options, &fixture->embedder, NULL) != IBID_OK)
        fixture->embedder = NULL;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    embedder_close(fixture->embedder);
    arena_release(&fixture->arena);
    free(fixture);
    return 0;
}

/* What keeps the test from running here; NULL when nothing does. */
static const char *what_is_missing(const struct fixture *fixture)
{
    if (!fixture->data)
        return "IBID_RELEVANCE_DATA is not set, and this is a build with sanitizers";
    if (!folder_exists(fixture->data))
        return "the judged collections are not here (IBID_RELEVANCE_DATA)";
    if (!fixture->embedder)
        return "the model all-MiniLM-L6-v2 is not here (IBID_TEST_MODEL)";
    return NULL;
}

static struct eval_report measure(const struct fixture *fixture, const char *name)
{
    AUTO_FREE char *folder = path_join(fixture->data, name);
    const struct eval_options options = {.embedder = fixture->embedder, .settings = &fixture->settings};
    struct eval_report report;
    assert_ok(eval_run(folder, &options, &report, err));
    return report;
}

static void relevance_is_what_the_project_is_held_to(void **state)
{
    const struct fixture *fixture = *state;
    const char *missing = what_is_missing(fixture);
    if (missing)
        SKIP_TEST("%s", missing);
    double gain = 0;
    unsigned english = 0, failures = 0;
    for (size_t i = 0; i < COUNT_OF(collections); i++) {
        const struct collection *collection = &collections[i];
        const struct eval_report report = measure(fixture, collection->name);
        const double keyword = 100 * report.keyword.ndcg10, vector = 100 * report.vector.ndcg10;
        const double hybrid = 100 * report.hybrid.ndcg10, best = keyword > vector ? keyword : vector;
        print_message("# %-10s keyword %5.2f vector %5.2f hybrid %5.2f (%+.2f)\n", collection->name, keyword,
                      vector, hybrid, hybrid - best);
        failures += hybrid < best - 0.5;
        failures += fabs(vector - collection->vector) > 0.5;
        failures += fabs(keyword - collection->keyword) > 1;
        gain += collection->english ? hybrid - best : 0;
        english += collection->english;
    }
    print_message("# mean gain on English %+.2f\n", gain / english);
    assert_int_equal(failures, 0);
    assert_true(gain / english >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(relevance_is_what_the_project_is_held_to, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
