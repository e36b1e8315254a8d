#include "tests/test.h"

#include <math.h>

#include "base/clock.h"
#include "base/memory.h"
#include "search/fusion.h"
#include "search/ranking.h"

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) < 1e-6))
        fail_msg("%.9f is not %.9f", a, b);
}

static void dense_side_measures_the_pool(void **state)
{
    /* Mean 0.4, deviation sqrt((0.25 + 0.0225 * 2 + 0.04) / 4)... by hand: 0.9 0.25 0.25 0.2 */
    const float best[] = {0.9f, 0.25f, 0.25f, 0.2f};
    struct fusion_side side = fusion_dense_side(best, 4);
    double mean = 0.4, deviation = sqrt((0.25 + 2 * 0.0225 + 0.04) / 4);
    assert_true(side.found);
    assert_near(side.low, 0.2f);
    assert_near(side.high, 0.9f);
    assert_true(fabs(side.prominence - (0.9 - mean) / deviation) < 1e-5);
    assert_near(fusion_normalise(&side, 0.9f), 1);
    assert_near(fusion_normalise(&side, 0.2f), 0);
    assert_true(fabs(fusion_normalise(&side, 0.1) + 0.1 / 0.7) < 1e-6); /* beyond the pool */
    assert_true(fabs(fusion_normalise(&side, 0.55) - 0.5) < 1e-6);
    assert_near(fusion_normalise(&side, NAN), 0);
}

static void keyword_side_fills_its_pool_with_zeros(void **state)
{
    const float best[] = {4, 2};
    struct fusion_side few = fusion_keyword_side(best, 2, 4), many = fusion_keyword_side(best, 2, 1000000);
    assert_near(few.prominence, (4 - 1.5) / sqrt((2.5 * 2.5 + 0.25 + 2 * 2.25) / 4));
    assert_true(many.prominence > few.prominence); /* two of fifty stand out more than two of four */
    assert_near(fusion_normalise(&few, 2), 0.5);
    assert_near(fusion_normalise(&few, 0), 0);
    assert_false(fusion_keyword_side(best, 0, 10).found);
}

static void only_the_pool_counts(void **state)
{
    float best[150];
    for (size_t i = 0; i < COUNT_OF(best); i++)
        best[i] = 1.0f - (float)i / 200;
    struct fusion_side all = fusion_dense_side(best, 150), pool = fusion_dense_side(best, FUSION_POOL);
    assert_near(all.low, pool.low);
    assert_near(all.prominence, pool.prominence);
}

static void weight_follows_the_evidence(void **state)
{
    const struct fusion_side flat = {true, 0, 1, 2}, sharp = {true, 0, 1, 6}, nothing = {0};
    assert_near(fusion_dense_weight(&flat, &flat, 1, 1), 0.5);
    assert_near(fusion_dense_weight(&sharp, &flat, 1, 1), 0.9);
    assert_near(fusion_dense_weight(&flat, &sharp, 1, 1), 0.1);
    assert_near(fusion_dense_weight(&flat, &flat, 1, FUSION_FOREIGN_LANGUAGE), 0.2);
    assert_near(fusion_dense_weight(&flat, &flat, 0, 1), 1.0 / 3); /* the sides disagree */
    assert_near(fusion_dense_weight(&nothing, &flat, 1, 1), 0);
    assert_near(fusion_dense_weight(&flat, &nothing, 1, FUSION_FOREIGN_LANGUAGE), 1);
    assert_near(fusion_dense_weight(&nothing, &nothing, 1, 1), 0);
}

static void rows_that_are_all_alike_weigh_by_language(void **state)
{
    const float same[] = {0.5f, 0.5f, 0.5f}, one[] = {3};
    struct fusion_side dense = fusion_dense_side(same, 3), keyword = fusion_keyword_side(one, 1, 1);
    assert_near(dense.prominence, 0);
    assert_near(keyword.prominence, 0);
    assert_near(fusion_dense_weight(&dense, &keyword, 1, 1), 0.5);
    assert_near(fusion_dense_weight(&dense, &keyword, 1, FUSION_FOREIGN_LANGUAGE), 0.2);
    assert_near(fusion_normalise(&dense, 0.5), 1);
    assert_near(fusion_normalise(&dense, 0.4), -1);
}

static void recency_halves_with_age(void **state)
{
    const int64_t year = INT64_C(365) * 86400 * SECOND_US, now = 50 * year;
    assert_near(ranking_recency(now, now, year), 1);
    assert_near(ranking_recency(now + year, now, year), 1);
    assert_near(ranking_recency(now - year, now, year), 0.5);
    assert_near(ranking_recency(now - 2 * year, now, year), 0.25);
    assert_true(isnan(ranking_recency(0, now, year)));
}

static void trust_follows_the_rate_of_updates(void **state)
{
    const int64_t month = INT64_C(30) * 86400 * SECOND_US, now = 500 * month;
    assert_true(isnan(ranking_trust(0, now - month / 2, now)));
    assert_near(ranking_trust(0, now - 2 * month, now), 0);
    assert_near(ranking_trust(1, now - month, now), 0.5);
    assert_near(ranking_trust(6, now - 2 * month, now), 0.75);
    assert_near(ranking_trust(1, now, now), 0.5);
}

static void unknown_counts_as_the_median(void **state)
{
    double odd[] = {0.1, NAN, 0.9, 0.3, NAN}, even[] = {0.2, 0.4, NAN}, none[] = {NAN, NAN}, known[] = {0.7};
    ranking_fill_unknown(odd, sizeof(double), 5);
    assert_near(odd[1], 0.3);
    assert_near(odd[4], 0.3);
    assert_near(odd[0], 0.1);
    ranking_fill_unknown(even, sizeof(double), 3);
    assert_near(even[2], 0.3);
    ranking_fill_unknown(none, sizeof(double), 2);
    assert_near(none[0], 0.5);
    ranking_fill_unknown(known, sizeof(double), 1);
    assert_near(known[0], 0.7);
}

static void confidence_needs_one_sure_side(void **state)
{
    assert_near(ranking_confidence(0.8, 0.1, 0.8, 1, 0), 1);
    assert_near(ranking_confidence(0.05, 0.1, 0.8, 1, 1), 1);
    assert_near(ranking_confidence(0.1, 0.1, 0.8, 1, 0), 0);
    assert_near(ranking_confidence(NAN, 0.1, 0.8, 1, 0.25), 0.125);
    assert_near(ranking_confidence(0.45, 0.1, 0.8, 1, 0), 0.25);
    assert_near(ranking_confidence(0.45, 0.1, 0.8, 0.5, 0), 0.0625);
    assert_true(ranking_confidence(0.45, 0.1, 0.8, 1, 0.5) > ranking_confidence(0.45, 0.1, 0.8, 1, 0.4));
}

static void final_is_the_weighted_sum(void **state)
{
    const struct hit_score score = {.relevance = 0.5, .recency = 1, .trust = 0.5, .overlap = 0.2};
    const struct ranking_weights weights = RANKING_WEIGHTS_DEFAULT, pure = {.relevance = 0.3};
    assert_near(ranking_final(&score, &weights), 0.3 + 0.2 + 0.05 + 0.02);
    assert_near(ranking_final(&score, &pure), 0.5);
}

static void similarity_is_clamped(void **state)
{
    assert_near(ranking_similarity(-0.3), 0);
    assert_near(ranking_similarity(0.3), 0.3);
    assert_near(ranking_similarity(1.0000002), 1);
    assert_true(isnan(ranking_similarity(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_side_measures_the_pool),
        cmocka_unit_test(keyword_side_fills_its_pool_with_zeros),
        cmocka_unit_test(only_the_pool_counts),
        cmocka_unit_test(weight_follows_the_evidence),
        cmocka_unit_test(rows_that_are_all_alike_weigh_by_language),
        cmocka_unit_test(recency_halves_with_age),
        cmocka_unit_test(trust_follows_the_rate_of_updates),
        cmocka_unit_test(unknown_counts_as_the_median),
        cmocka_unit_test(confidence_needs_one_sure_side),
        cmocka_unit_test(final_is_the_weighted_sum),
        cmocka_unit_test(similarity_is_clamped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
