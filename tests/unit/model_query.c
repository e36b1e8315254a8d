#include "tests/test.h"

#include <math.h>

#include "model/query.h"

static void strings_go_both_ways(void **state)
{
    enum search_mode mode;
    enum group_by group_by;
    enum confidence_band band;
    assert_true(search_mode_from_string(STR("keyword"), &mode) && mode == SEARCH_KEYWORD);
    assert_string_equal(search_mode_string(SEARCH_HYBRID), "hybrid");
    assert_false(search_mode_from_string(STR("Hybrid"), &mode));
    assert_true(group_by_from_string(STR("none"), &group_by) && group_by == GROUP_BY_NONE);
    assert_string_equal(group_by_string(GROUP_BY_DOCUMENT), "document");
    assert_false(group_by_from_string(STR(""), &group_by));
    assert_true(confidence_band_from_string(STR("medium"), &band) && band == CONFIDENCE_MEDIUM);
    assert_string_equal(confidence_band_string(CONFIDENCE_HIGH), "high");
    assert_false(confidence_band_from_string(STR("certain"), &band));
}

static void bands_meet_where_the_requirement_says(void **state)
{
    assert_int_equal(confidence_band_of(0), CONFIDENCE_LOW);
    assert_int_equal(confidence_band_of(0.599), CONFIDENCE_LOW);
    assert_int_equal(confidence_band_of(0.6), CONFIDENCE_MEDIUM);
    assert_int_equal(confidence_band_of(0.85), CONFIDENCE_MEDIUM);
    assert_int_equal(confidence_band_of(0.851), CONFIDENCE_HIGH);
}

static void the_default_query_is_sound(void **state)
{
    struct query query = QUERY_DEFAULT;
    assert_ok(query_check(&query, err));
    assert_int_equal(query.top_k, 10);
    assert_int_equal(query.mode, SEARCH_HYBRID);
    assert_int_equal(query.group_by, GROUP_BY_DOCUMENT);
}

#define CHECK_REFUSED(expected_code, part, ...)                       \
    do {                                                              \
        struct query query = QUERY_DEFAULT;                           \
        ibid_error error = {0};                                       \
        __VA_ARGS__;                                                  \
        assert_int_equal(query_check(&query, &error), expected_code); \
        if (!strstr(error.message, part))                             \
            fail_msg("'%s' lacks '%s'", error.message, part);         \
    } while (0)

static void says_what_is_wrong(void **state)
{
    static const struct str broken[] = {{"\xff", 1}}, facets[] = {{"shoe_size", 9}},
                            times[] = {{"created_at", 10}};
    static const float zero[2] = {0, 0}, infinite[2] = {1, INFINITY}, one[2] = {1, 0};
    AUTO_FREE char *big = xcalloc(QUERY_TEXT_LIMIT + 1, 1);
    struct str long_text[] = {{big, QUERY_TEXT_LIMIT + 1}};

    CHECK_REFUSED(IBID_EINVAL, "UTF-8", query.texts = broken, query.text_count = 1);
    CHECK_REFUSED(IBID_ETOOBIG, "32768 bytes", query.texts = long_text, query.text_count = 1);
    CHECK_REFUSED(IBID_ETOOBIG, "16 texts", query.texts = broken, query.text_count = QUERY_TEXTS_LIMIT + 1);
    CHECK_REFUSED(IBID_EINVAL, "zero", query.vector = zero, query.dimension = 2);
    CHECK_REFUSED(IBID_EINVAL, "not finite", query.vector = infinite, query.dimension = 2);
    CHECK_REFUSED(IBID_EINVAL, "by keyword", query.vector = one, query.dimension = 2,
                  query.mode = SEARCH_KEYWORD);
    CHECK_REFUSED(IBID_EINVAL, "top_k", query.top_k = 0);
    CHECK_REFUSED(IBID_ETOOBIG, "1000", query.top_k = QUERY_TOP_K_LIMIT + 1);
    CHECK_REFUSED(IBID_ETOOBIG, "1000", query.top_k = 1, query.offset = SIZE_MAX);
    CHECK_REFUSED(IBID_EINVAL, "score_threshold", query.score_threshold = 1.5);
    CHECK_REFUSED(IBID_EINVAL, "similarity_threshold", query.similarity_threshold = NAN);
    CHECK_REFUSED(IBID_EINVAL, "recency", query.weights.recency = -1);
    CHECK_REFUSED(IBID_EINVAL, "all 0", query.weights = (struct ranking_weights){0});
    CHECK_REFUSED(IBID_EINVAL, "shoe_size", query.facets = facets, query.facet_count = 1);
    CHECK_REFUSED(IBID_EINVAL, "created_at", query.facets = times, query.facet_count = 1);
    CHECK_REFUSED(IBID_ETOOBIG, "16 facets", query.facets = facets,
                  query.facet_count = QUERY_FACETS_LIMIT + 1);
    CHECK_REFUSED(IBID_ETOOBIG, "neighbours", query.neighbours = QUERY_NEIGHBOURS_LIMIT + 1);
    CHECK_REFUSED(IBID_ETOOBIG, "passage", query.passage_bytes = QUERY_PASSAGE_LIMIT + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_go_both_ways),
        cmocka_unit_test(bands_meet_where_the_requirement_says),
        cmocka_unit_test(the_default_query_is_sound),
        cmocka_unit_test(says_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
