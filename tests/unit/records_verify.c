#include "records/verify.h"

#include <stdio.h>
#include <string.h>

#include "tests/store.h"

static void run_sql(struct test_store *store, const char *sql)
{
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    struct statement *statement;
    assert_ok(statement_prepare(transaction, sql, &statement, err));
    assert_ok(statement_run(statement, err));
    test_commit(transaction);
}

static size_t verify(struct test_store *store, bool repair, struct record_finding **ret)
{
    size_t count;
    struct transaction *transaction = test_begin(store, repair ? TRANSACTION_WRITE : TRANSACTION_READ);
    assert_ok(records_verify(transaction, repair, NULL, &store->arena, ret, &count, err));
    test_commit(transaction);
    return count;
}

/* Documents that were published, edited, shared between collections, and removed. */
static void fill(struct test_store *store)
{
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    const int64_t first = test_document(transaction, UPLOAD_SOURCE_ID, "a");
    const int64_t second = test_document(transaction, UPLOAD_SOURCE_ID, "b");
    test_publish(transaction, first, "one\n\ntwo\n\nthree");
    test_publish(transaction, first, "one\n\nthree\n\nfour");
    test_publish(transaction, second, "one\n\nfive");
    const int64_t third = test_document(transaction, UPLOAD_SOURCE_ID, "c");
    test_publish(transaction, third, "six");
    struct removal removal;
    assert_ok(document_remove(transaction, third, "test", &removal, err));
    assert_ok(watermark_set(transaction, STR("v"), DEFAULT_COLLECTION_ID, 0, err));
    test_commit(transaction);
}

static void sound_records_have_no_findings(void **state)
{
    struct test_store *store = *state;
    struct record_finding *findings;
    assert_int_equal(verify(store, false, &findings), 0);
    fill(store);
    assert_int_equal(verify(store, false, &findings), 0);
    assert_int_equal(verify(store, true, &findings), 0);
}

static const struct {
    const char *damage;
    const char *finding;
} damages[] = {
    {"DELETE FROM chunks WHERE chunk_index = 1 AND chunk_set_id IS NOT NULL", "has no chunk"},
    {"DELETE FROM rows WHERE row_id = (SELECT min(row_id) FROM rows WHERE removed = 0)", "without rows"},
    {"DELETE FROM rows WHERE removed = 1", "used by no row"},
    {"UPDATE rows SET removed = 0 WHERE removed = 1 AND document_id = 1", "does not have in that collection"},
    {"UPDATE rows SET document_id = 77 WHERE document_id = 2", "document that is not there"},
    {"UPDATE rows SET seq = 1000 WHERE document_id = 2", "newer than it knows"},
    {"UPDATE rows SET embedding_id = 99 WHERE document_id = 2", "vector that is not there"},
    {"UPDATE embeddings SET vector = x'00'", "another dimension"},
    {"UPDATE embeddings SET dimension = 7", "another dimension"},
    {"UPDATE rows SET embedding_id = NULL", "used by no row"},
    {"DELETE FROM document_collections WHERE document_id = 2", "has no chunks"},
    {"DELETE FROM document_collections WHERE document_id = 2", "serves no collection"},
    {"UPDATE documents SET revision_id = 99 WHERE id = 1", "revision that it does not have"},
    {"UPDATE canonical_texts SET text = 'One' || substr(text, 4)", "not what was stored"},
    {"DELETE FROM canonical_texts", "not what was stored"},
};

/* Publishes the pending documents again, as the next run would. */
static void index_again(struct test_store *store)
{
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    for (int64_t id = 1; id <= 2; id++) {
        struct document document;
        assert_ok(document_load(transaction, id, &store->arena, &document, err));
        if (document.processing_state == PROCESSING_PENDING)
            test_publish(transaction, id, id == 1 ? "one\n\nthree\n\nfour" : "one\n\nfive");
    }
    test_commit(transaction);
}

static void damage_is_found_and_repaired(void **state)
{
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        struct test_store *store;
        struct record_finding *findings;
        test_store_set_up((void **)&store);
        fill(store);
        run_sql(store, damages[i].damage);
        size_t count = verify(store, false, &findings);
        bool found = false;
        for (size_t j = 0; j < count; j++)
            found |= strstr(findings[j].problem, damages[i].finding) != NULL && !findings[j].repaired;
        if (!found)
            fail_msg("no finding '%s' after: %s", damages[i].finding, damages[i].damage);
        count = verify(store, true, &findings);
        assert_true(count > 0 && findings[0].repaired);
        index_again(store);
        count = verify(store, true, &findings); /* old content that the new one replaced */
        count = verify(store, false, &findings);
        if (count)
            fail_msg("%s %s, still, after: %s", findings[0].place, findings[0].problem, damages[i].damage);
        struct row *rows;
        const size_t row_count = test_changes(store, 0, &rows);
        if (row_count != 5)
            fail_msg("%zu rows after: %s", row_count, damages[i].damage);
        test_store_tear_down((void **)&store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sound_records_have_no_findings, test_store_set_up,
                                        test_store_tear_down),
        cmocka_unit_test(damage_is_found_and_repaired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
