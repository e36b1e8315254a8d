/* What a run decides from a listing and the ledger. */
#include "tests/test.h"

#include "extract/extract.h"
#include "ingest/compare.h"

static struct embedder some_embedder;

static const struct recipe recipe = {.chunking_fingerprint = "structural/1 size=512",
                                     .embedder = &some_embedder,
                                     .embedder_fingerprint = "model"};

static struct connector_item listed(void)
{
    return (struct connector_item){.external_key = STR("a.txt"),
                                   .title = STR_EMPTY,
                                   .url = STR_EMPTY,
                                   .media_type = STR_EMPTY,
                                   .version = STR_EMPTY,
                                   .size = 100,
                                   .modified_us = 5000};
}

static struct ledger_line line_with(enum ledger_outcome outcome, const char *reason)
{
    return (struct ledger_line){.external_key = STR("a.txt"),
                                .document_id = 7,
                                .outcome = outcome,
                                .reason = str_from(reason),
                                .size = 100,
                                .modified_at = 5000,
                                .version = STR_EMPTY,
                                .has_sha256 = true,
                                .sha256 = sha256_of("x", 1),
                                .extractor = str_from(extract_extractor_version("text/plain")),
                                .chunker = str_from(recipe.chunking_fingerprint),
                                .embedder = STR("model")};
}

static void assert_verdict(const struct connector_item *item, const struct ledger_line *line, bool force,
                           enum verdict expected)
{
    assert_int_equal(compare_item(item, line, &recipe, force), expected);
}

static void size_and_time_tell_what_is_unchanged(void **state)
{
    struct connector_item item = listed();
    struct ledger_line line = line_with(LEDGER_INDEXED, "");
    assert_verdict(&item, &line, false, VERDICT_UNCHANGED);
    assert_verdict(&item, &line, true, VERDICT_WORK);
    item.modified_us++;
    assert_verdict(&item, &line, false, VERDICT_WORK);
    item = listed();
    item.size++;
    assert_verdict(&item, &line, false, VERDICT_WORK);
    item = listed();
    item.version = STR("etag-2");
    assert_verdict(&item, &line, false, VERDICT_WORK);
    item = listed();
    item.modified_us = line.modified_at = 0; /* a source that tells no time and no version */
    assert_verdict(&item, &line, false, VERDICT_WORK);
}

static void another_program_makes_other_chunks(void **state)
{
    const struct connector_item item = listed();
    struct ledger_line line = line_with(LEDGER_INDEXED, "");
    line.extractor = STR("text/0");
    assert_verdict(&item, &line, false, VERDICT_WORK);
    line = line_with(LEDGER_INDEXED, "");
    line.chunker = STR("structural/1 size=64");
    assert_verdict(&item, &line, false, VERDICT_WORK);
}

static void a_missing_embedder_throws_nothing_away(void **state)
{
    const struct connector_item item = listed();
    struct ledger_line line = line_with(LEDGER_INDEXED, "");
    line.chunker = STR("cut by the model that is missing now");
    struct recipe without = recipe;
    without.embedder = NULL;
    without.embedder_fingerprint = "";
    assert_int_equal(compare_item(&item, &line, &without, false), VERDICT_UNCHANGED);
    line.embedder = STR_EMPTY; /* made without a model, by another guess */
    assert_int_equal(compare_item(&item, &line, &without, false), VERDICT_WORK);
}

static void what_is_not_known_is_new(void **state)
{
    struct connector_item item = listed();
    struct ledger_line line = line_with(LEDGER_SKIPPED, "hidden");
    assert_verdict(&item, NULL, false, VERDICT_NEW);
    line.document_id = 0;
    assert_verdict(&item, &line, false, VERDICT_NEW);
    item.skip = "binary";
    assert_verdict(&item, NULL, false, VERDICT_SKIP);
    line = line_with(LEDGER_INDEXED, "");
    assert_verdict(&item, &line, true, VERDICT_SKIP);
}

static void failures_are_tried_again_unless_it_is_hopeless(void **state)
{
    struct connector_item item = listed();
    static const char *const again[] = {"encrypted: needs a password", "needs_ocr", "corrupt: no header",
                                        "upstream_failed: x", "vanished: gone"};
    for (size_t i = 0; i < COUNT_OF(again); i++) {
        const struct ledger_line line = line_with(LEDGER_FAILED, again[i]);
        assert_verdict(&item, &line, false, VERDICT_WORK);
    }
    static const char *const hopeless[] = {"crashed: signal 11", "timeout: 30 s", "limit_exceeded: memory",
                                           "unsupported"};
    for (size_t i = 0; i < COUNT_OF(hopeless); i++) {
        struct ledger_line line = line_with(LEDGER_FAILED, hopeless[i]);
        assert_verdict(&item, &line, false, VERDICT_REFUSED);
        assert_verdict(&item, &line, true, VERDICT_WORK);
        const struct sha256 same = sha256_of("x", 1), other = sha256_of("y", 1);
        assert_true(is_refused_still(&line, &same));
        assert_false(is_refused_still(&line, &other));
        line.extractor = STR("text/0"); /* the next version may fare better */
        assert_verdict(&item, &line, false, VERDICT_WORK);
        assert_false(is_refused_still(&line, &same));
    }
}

static void what_was_removed_by_request_stays_away(void **state)
{
    struct connector_item item = listed();
    struct ledger_line line = line_with(LEDGER_REMOVED, REASON_REMOVED_BY_REQUEST);
    assert_verdict(&item, &line, false, VERDICT_REFUSED);
    assert_verdict(&item, &line, true, VERDICT_NEW);
    item.modified_us++;
    assert_verdict(&item, &line, false, VERDICT_NEW);
    line = line_with(LEDGER_REMOVED, "gone from the source");
    item = listed();
    assert_verdict(&item, &line, false, VERDICT_NEW);
}

static void the_bytes_decide_where_the_listing_differs(void **state)
{
    const struct ledger_line line = line_with(LEDGER_INDEXED, "");
    const char *extractor = extract_extractor_version("text/plain");
    const struct sha256 same = sha256_of("x", 1), other = sha256_of("y", 1);
    assert_true(is_up_to_date(&line, &same, extractor, &recipe));
    assert_false(is_up_to_date(&line, &other, extractor, &recipe));
    assert_false(is_up_to_date(&line, &same, "text/0", &recipe));
    assert_false(is_up_to_date(&line, &same, NULL, &recipe));
    const struct ledger_line seen = line_with(LEDGER_SEEN, "");
    assert_false(is_up_to_date(&seen, &same, extractor, &recipe));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(size_and_time_tell_what_is_unchanged),
        cmocka_unit_test(another_program_makes_other_chunks),
        cmocka_unit_test(a_missing_embedder_throws_nothing_away),
        cmocka_unit_test(what_is_not_known_is_new),
        cmocka_unit_test(failures_are_tried_again_unless_it_is_hopeless),
        cmocka_unit_test(what_was_removed_by_request_stays_away),
        cmocka_unit_test(the_bytes_decide_where_the_listing_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
