/* A change of embedder in the records: what serves, what is being made, what goes. */
#include "tests/test.h"

#include <stdlib.h>

#include "base/memory.h"
#include "records/chunk_record.h"
#include "records/succession.h"
#include "records/verify.h"
#include "tests/store.h"

static const struct collection_embedder first = {.id = {"test/model@1", sizeof "test/model@1" - 1},
                                                 .fingerprint = {"test", sizeof "test" - 1},
                                                 .dimension = TEST_DIMENSION};
static const struct collection_embedder second = {.id = {"test/model@2", sizeof "test/model@2" - 1},
                                                  .fingerprint = {"other", sizeof "other" - 1},
                                                  .dimension = TEST_DIMENSION};
static const struct collection_embedder third = {.id = {"test/model@3", sizeof "test/model@3" - 1},
                                                 .fingerprint = {"third", sizeof "third" - 1},
                                                 .dimension = 8};

static void set_embedder(struct test_store *store, const struct collection_embedder *embedder)
{
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    assert_ok(collection_set_embedder(transaction, DEFAULT_COLLECTION_ID, embedder, err));
    test_commit(transaction);
}

static struct collection serving(struct test_store *store)
{
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_READ);
    struct collection collection;
    assert_ok(collection_load_serving(transaction, DEFAULT_COLLECTION_ID, &store->arena, &collection, err));
    return collection;
}

/* Its id, or 0. */
static int64_t successor(struct test_store *store)
{
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_READ);
    struct collection collection = {0};
    bool found;
    assert_ok(collection_load_successor(transaction, DEFAULT_COLLECTION_ID, &store->arena, &collection,
                                        &found, err));
    return found ? collection.id : 0;
}

static struct collection_counts counts(struct test_store *store, int64_t id)
{
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_READ);
    struct collection_counts ret;
    assert_ok(collection_count(transaction, id, &ret, err));
    return ret;
}

static int64_t make_document(struct test_store *store, const char *key, const char *text)
{
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    const int64_t id = test_document(transaction, UPLOAD_SOURCE_ID, key);
    test_publish(transaction, id, text);
    test_commit(transaction);
    return id;
}

static void carry(struct test_store *store, int64_t document_id, int64_t to)
{
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    assert_ok(succession_carry(transaction, document_id, serving(store).id, to, err));
    test_commit(transaction);
}

/* Gives so many rows of the collection that have no vector one. */
static void embed_some(struct test_store *store, int64_t collection_id, size_t limit)
{
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    struct pending_row *rows;
    size_t count;
    assert_ok(row_pending(transaction, collection_id, 0, limit, &store->arena, &rows, &count, err));
    for (size_t i = 0; i < count; i++) {
        float vector[TEST_DIMENSION];
        int64_t id;
        AUTO_FREE char *text = xasprintf("other:%.*s", STR_ARG(rows[i].embed_text));
        const struct sha256 key = sha256_of(text, strlen(text));
        test_vector(rows[i].embed_text, vector);
        assert_ok(embedding_put(transaction, &key, vector, TEST_DIMENSION, &id, err));
        assert_ok(row_set_embedding(transaction, rows[i].row_id, id, err));
    }
    test_commit(transaction);
}

static void embed(struct test_store *store, int64_t collection_id)
{
    embed_some(store, collection_id, 100);
}

static bool complete(struct test_store *store)
{
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    bool ret;
    assert_ok(succession_complete(transaction, DEFAULT_COLLECTION_ID, &ret, err));
    test_commit(transaction);
    return ret;
}

static bool take_over(struct test_store *store)
{
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    bool ret;
    assert_ok(succession_switch(transaction, DEFAULT_COLLECTION_ID, &ret, err));
    test_commit(transaction);
    return ret;
}

/* Until nothing is left of it. */
static void retire(struct test_store *store, int64_t id)
{
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    bool more, gone;
    struct sweep_result swept;
    do
        assert_ok(succession_withdraw(transaction, id, 2, &more, err));
    while (more);
    assert_ok(succession_forget(transaction, id, &gone, err));
    assert_false(gone); /* its rows are there still, for stores that follow */
    assert_ok(sweep(transaction, 1000, &swept, err));
    assert_ok(succession_forget(transaction, id, &gone, err));
    assert_true(gone);
    test_commit(transaction);
}

static void assert_sound(struct test_store *store)
{
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_READ);
    struct record_finding *findings;
    size_t count;
    assert_ok(records_verify(transaction, false, NULL, &store->arena, &findings, &count, err));
    for (size_t i = 0; i < count; i++)
        fail_msg("%s %s", findings[i].place, findings[i].problem);
}

/* The texts that a reader of the collection sees, as they are in the records. */
static void assert_shown(struct test_store *store, int64_t document_id, const char *text)
{
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_READ);
    struct chunk_record *chunks;
    size_t count;
    int64_t total;
    assert_ok(chunk_record_list(transaction, document_id, DEFAULT_COLLECTION_ID, 0, 10, &store->arena,
                                &chunks, &count, &total, err));
    assert_true(count > 0);
    assert_true(str_is(chunks[0].text, text));
}

static void nothing_is_begun_without_need(void **state)
{
    struct test_store *store = *state;
    set_embedder(store, &second); /* there is no vector yet */
    assert_int_equal(successor(store), 0);
    assert_true(str_is(serving(store).embedder_fingerprint, "other"));
    set_embedder(store, &first);
    make_document(store, "a", "one\n\ntwo");
    set_embedder(store, &first);
    assert_int_equal(successor(store), 0);
    struct collection_embedder renamed = first;
    renamed.id = STR("test/model@1a");
    renamed.options = STR("{\"model\": \"a\"}");
    set_embedder(store, &renamed); /* the same vectors under another name */
    assert_int_equal(successor(store), 0);
    assert_true(str_is(serving(store).embedder, "test/model@1a"));
    assert_true(str_is(serving(store).embedder_options, "{\"model\": \"a\"}"));
    assert_int_equal(counts(store, DEFAULT_COLLECTION_ID).pending_rows, 0);
}

static void the_old_vectors_serve_until_the_new_ones_are_there(void **state)
{
    struct test_store *store = *state;
    const int64_t a = make_document(store, "a", "one\n\ntwo"), b = make_document(store, "b", "three\n\nfour");
    set_embedder(store, &second);
    const int64_t next = successor(store);
    assert_true(next != 0);
    set_embedder(store, &second); /* another run, or another process */
    assert_int_equal(successor(store), next);
    assert_int_equal(serving(store).id, DEFAULT_COLLECTION_ID);
    assert_int_equal(counts(store, DEFAULT_COLLECTION_ID).pending_rows, 0);
    assert_false(complete(store)); /* nothing is in it */

    carry(store, a, next);
    carry(store, a, next); /* done already */
    assert_int_equal(counts(store, next).rows, 2);
    assert_int_equal(counts(store, next).pending_rows, 2);
    embed(store, next);
    assert_false(complete(store)); /* b is missing */
    assert_false(take_over(store));
    carry(store, b, next);
    assert_false(complete(store)); /* and lacks its vectors */
    embed(store, next);
    assert_false(take_over(store)); /* nobody said that it is complete */
    assert_true(complete(store));
    assert_sound(store);

    assert_true(take_over(store));
    assert_int_equal(serving(store).id, next);
    assert_int_equal(serving(store).parent_id, DEFAULT_COLLECTION_ID);
    assert_true(str_is(serving(store).name, "default"));
    assert_int_equal(successor(store), 0);
    assert_shown(store, a, "one");
    assert_false(take_over(store));
    retire(store, DEFAULT_COLLECTION_ID);
    assert_shown(store, a, "one");
    assert_shown(store, b, "three");
    assert_sound(store);
    assert_int_equal(counts(store, next).rows, 4);

    /* The next change works as the first, and now the one that goes leaves nothing behind. */
    set_embedder(store, &first);
    const int64_t last = successor(store);
    carry(store, a, last);
    carry(store, b, last);
    embed(store, last);
    assert_true(complete(store));
    assert_true(take_over(store));
    retire(store, next);
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_READ);
    struct collection *list, collection;
    size_t count;
    assert_ok(collection_list(transaction, &store->arena, &list, &count, err));
    assert_int_equal(count, 2);
    assert_int_equal(list[0].role, COLLECTION_RETIRED); /* it has the name to the outside */
    assert_int_equal(list[1].role, COLLECTION_SERVING);
    assert_int_equal(collection_load_serving(transaction, last, &store->arena, &collection, NULL),
                     IBID_ENOTFOUND);
    struct chunk_record *chunks;
    int64_t total;
    assert_ok(chunk_record_list(transaction, a, last, 0, 10, &store->arena, &chunks, &count, &total, err));
    assert_int_equal(count, 0);
}

static void another_change_gives_up_what_was_begun(void **state)
{
    struct test_store *store = *state;
    const int64_t a = make_document(store, "a", "one\n\ntwo");
    set_embedder(store, &second);
    const int64_t begun = successor(store);
    carry(store, a, begun);
    embed(store, begun);
    assert_true(complete(store));
    set_embedder(store, &third);
    const int64_t next = successor(store);
    assert_int_not_equal(next, begun);
    assert_false(take_over(store)); /* what was complete is not what is wanted now */
    set_embedder(store, &first);    /* back again */
    assert_int_equal(successor(store), 0);
    assert_int_equal(serving(store).id, DEFAULT_COLLECTION_ID);
    assert_int_equal(counts(store, DEFAULT_COLLECTION_ID).pending_rows, 0);
    retire(store, begun);
    assert_sound(store);
    assert_shown(store, a, "one");
}

/* As ingest does it: a document under its new embedder, and under the old one by word alone. */
static struct publication_result publish_to_both(struct test_store *store, int64_t id, int64_t next,
                                                 const char *text, const char *chunking)
{
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    struct test_content content;
    struct publication_result result;
    test_content(&content, id, text);
    const struct placement placements[] = {
        {.collection_id = next, .embeddings = content.embeddings},
        {.collection_id = DEFAULT_COLLECTION_ID, .unless_shown = true},
    };
    content.publication.placements = placements;
    content.publication.placement_count = 2;
    content.publication.chunking = str_from(chunking);
    assert_ok(document_publish(transaction, &content.publication, &result, err));
    test_commit(transaction);
    return result;
}

static void what_changes_meanwhile_is_shown_by_both(void **state)
{
    struct test_store *store = *state;
    const int64_t a = make_document(store, "a", "one\n\ntwo");
    set_embedder(store, &second);
    const int64_t next = successor(store);

    /* The same text, cut otherwise: the old rows keep their vectors. */
    struct publication_result result = publish_to_both(store, a, next, "one\n\ntwo", "paragraphs/2");
    assert_int_equal(result.rows_added, 2);
    assert_int_equal(result.rows_pending, 0);
    assert_int_equal(counts(store, DEFAULT_COLLECTION_ID).rows, 2);
    assert_int_equal(counts(store, DEFAULT_COLLECTION_ID).pending_rows, 0);
    assert_int_equal(counts(store, next).rows, 2);

    /* Other text: nobody finds the old one any more. */
    result = publish_to_both(store, a, next, "six", "paragraphs/2");
    assert_int_equal(result.rows_pending, 0); /* what has words alone for a while is not waited for */
    assert_int_equal(counts(store, DEFAULT_COLLECTION_ID).rows, 1);
    assert_int_equal(counts(store, DEFAULT_COLLECTION_ID).pending_rows, 1);
    assert_shown(store, a, "six");

    /* A new document is found at once. */
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    const int64_t b = test_document(transaction, UPLOAD_SOURCE_ID, "b");
    test_commit(transaction);
    publish_to_both(store, b, next, "seven\n\neight", "paragraphs/2");
    assert_shown(store, b, "seven");
    assert_sound(store);
    assert_true(complete(store));
    assert_true(take_over(store));
    retire(store, DEFAULT_COLLECTION_ID);
    assert_shown(store, a, "six");
    assert_shown(store, b, "seven");
    assert_sound(store);

    struct removal removal;
    transaction = test_begin(store, TRANSACTION_WRITE);
    assert_ok(document_remove(transaction, b, "test", &removal, err));
    test_commit(transaction);
    assert_int_equal(removal.rows, 2);
    assert_sound(store);
}

/* One text that the embedder refuses must not stand in the way for ever. */
static void a_hundredth_may_be_without_vector(void **state)
{
    struct test_store *store = *state;
    AUTO_BUFFER text = BUFFER(1024 * 1024);
    int64_t ids[4];
    for (int i = 0; i < 4; i++) {
        buffer_clear(&text);
        for (int j = 0; j < 50; j++)
            buffer_printf(&text, "%sparagraph %d of %d", j ? "\n\n" : "", j, i);
        AUTO_FREE char *key = xasprintf("%d", i);
        ids[i] = make_document(store, key, text.data);
    }
    set_embedder(store, &second);
    const int64_t next = successor(store);
    for (int i = 0; i < 4; i++)
        carry(store, ids[i], next);
    embed(store, next); /* a hundred of two hundred */
    assert_int_equal(counts(store, next).pending_rows, 100);
    assert_false(complete(store));
    embed(store, next);
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    struct statement *statement;
    assert_ok(statement_prepare(transaction,
                                "UPDATE rows SET embedding_id = NULL WHERE row_id IN (SELECT row_id FROM rows"
                                " WHERE collection_id = ?1 ORDER BY row_id LIMIT 2)",
                                &statement, err));
    statement_bind_int(statement, 1, next);
    assert_ok(statement_run(statement, err));
    test_commit(transaction);
    assert_true(complete(store));
    assert_true(take_over(store));
}

/* An embedder may refuse a text for good, and a small collection has no hundred others. */
static void one_may_be_without_vector(void **state)
{
    struct test_store *store = *state;
    const int64_t id = make_document(store, "a", "one\n\ntwo\n\nthree");
    set_embedder(store, &second);
    const int64_t next = successor(store);
    carry(store, id, next);
    embed_some(store, next, 1);
    assert_false(complete(store)); /* more than one, and most of them */
    embed_some(store, next, 1);
    assert_true(complete(store));
    assert_true(take_over(store));
}

static void an_embedder_that_refuses_all_does_not_take_over(void **state)
{
    struct test_store *store = *state;
    const int64_t id = make_document(store, "a", "one");
    set_embedder(store, &second);
    carry(store, id, successor(store));
    assert_false(complete(store));
    assert_false(take_over(store));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_store_set_up, test_store_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_begun_without_need),
        TEST(the_old_vectors_serve_until_the_new_ones_are_there),
        TEST(another_change_gives_up_what_was_begun),
        TEST(what_changes_meanwhile_is_shown_by_both),
        TEST(a_hundredth_may_be_without_vector),
        TEST(one_may_be_without_vector),
        TEST(an_embedder_that_refuses_all_does_not_take_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
