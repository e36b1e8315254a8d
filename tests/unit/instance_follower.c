/* Following collections: one that fails keeps none of the others from being followed. */
#include "tests/test.h"

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "instance/follower.h"
#include "records/sweep.h"
#include "tests/store.h"

enum { DIMENSION = 64, READY = 1, NO_ATTACHING, NO_FOLLOWING, SLOW_FOLLOWING };

/* `memory`, but that the default collection fails as long as a test wants it to. */
static struct vector_store_ops fragile_ops;
static _Atomic int state_of_default;
static _Atomic int failures;

static ibid_code fragile_open(const struct vector_store_context *context, const void *options,
                              struct vector_store **ret, ibid_error *error)
{
    TRY(vector_store_find("memory")->open(context, options, ret, error));
    (*ret)->ops = &fragile_ops;
    return IBID_OK;
}

static ibid_code fail_when(int state, int64_t collection_id, ibid_error *error)
{
    if (collection_id != DEFAULT_COLLECTION_ID || atomic_load(&state_of_default) != state)
        return IBID_OK;
    atomic_fetch_add(&failures, 1);
    return fail(error, IBID_EIO, "the disk of this collection is full");
}

static ibid_code fragile_attach(struct vector_store *store, const struct vector_space *space,
                                ibid_error *error)
{
    TRY(fail_when(NO_ATTACHING, space->collection_id, error));
    return vector_store_find("memory")->attach(store, space, error);
}

/* Called, by the follower's thread, when the store has just followed a collection; NULL: nothing is. */
static void (*followed)(int64_t collection_id);

static ibid_code fragile_follow(struct vector_store *store, int64_t collection_id, const _Atomic bool *cancel,
                                ibid_error *error)
{
    TRY(fail_when(NO_FOLLOWING, collection_id, error));
    if (atomic_load(&state_of_default) == SLOW_FOLLOWING)
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    TRY(vector_store_find("memory")->follow(store, collection_id, cancel, error));
    if (followed)
        followed(collection_id);
    return IBID_OK;
}

static struct vector_store *open_fragile(struct test_store *records)
{
    fragile_ops = *vector_store_find("memory");
    fragile_ops.open = fragile_open;
    fragile_ops.attach = fragile_attach;
    fragile_ops.follow = fragile_follow;
    struct vector_store *store;
    const struct vector_store_context context = {.rows = records->rows};
    assert_ok(vector_store_open(&fragile_ops, &context, NULL, &store, err));
    return store;
}

static int64_t publish(struct test_store *records, int64_t source, int64_t collection_id, const char *key)
{
    struct transaction *transaction = test_begin(records, TRANSACTION_WRITE);
    struct test_content content;
    struct publication_result result;
    const int64_t document = test_document(transaction, source, key);
    test_content(&content, document, key);
    content.placement = (struct placement){.collection_id = collection_id};
    assert_ok(document_publish(transaction, &content.publication, &result, err));
    test_commit(transaction);
    return document;
}

static int64_t removed_rows(struct test_store *records)
{
    AUTO_TRANSACTION *transaction = test_begin(records, TRANSACTION_READ);
    struct statement *statement;
    bool row;
    assert_ok(statement_prepare(transaction, "SELECT count(*) FROM rows WHERE removed = 1", &statement, err));
    assert_ok(statement_step(statement, &row, err));
    const int64_t count = statement_int(statement, 0);
    statement_reset(statement);
    return count;
}

static int64_t watermark_of(struct vector_store *store, int64_t collection_id)
{
    struct vector_store_stats stats;
    const ibid_code code = vector_store_stats(store, collection_id, &stats, NULL);
    return code == IBID_OK ? stats.watermark : -1;
}

static int64_t latest_of(struct test_store *records, int64_t collection_id)
{
    int64_t latest;
    assert_ok(records->rows->latest_seq(records->rows, collection_id, &latest, err));
    return latest;
}

/* One that fails, and another beside it. */
struct pair {
    struct test_store *records;
    struct vector_store *store;
    struct follower *follower;
    int64_t other, source;
};

static void open_pair(struct pair *pair, struct test_store *records, int state)
{
    pair->records = records;
    struct transaction *transaction = test_begin(records, TRANSACTION_WRITE);
    assert_ok(collection_set_embedder(transaction, DEFAULT_COLLECTION_ID,
                                      &(struct collection_embedder){.id = STR("test/model@1"),
                                                                    .fingerprint = STR("wide"),
                                                                    .dimension = DIMENSION},
                                      err));
    assert_ok(collection_create(transaction, &(struct collection){.name = STR("other")}, &pair->other, err));
    pair->source = test_source(transaction, "/notes");
    test_commit(transaction);
    atomic_store(&state_of_default, state);
    atomic_store(&failures, 0);
    pair->store = open_fragile(records);
    assert_ok(follower_open(records->store, pair->store, &pair->follower, err));
}

static void close_pair(struct pair *pair)
{
    follower_close(pair->follower);
    vector_store_close(pair->store);
}

static void check_failing(void **state, int how)
{
    struct pair pair;
    ibid_error error = {0};
    open_pair(&pair, *state, how);
    publish(pair.records, pair.source, DEFAULT_COLLECTION_ID, "first");
    publish(pair.records, pair.source, pair.other, "second");

    assert_int_equal(follower_settle(pair.follower, false, 0, &error), IBID_EIO);
    assert_int_equal(watermark_of(pair.store, pair.other), latest_of(pair.records, pair.other));
    assert_true(watermark_of(pair.store, DEFAULT_COLLECTION_ID) <= 0);
    assert_int_equal(follower_check(pair.follower, DEFAULT_COLLECTION_ID, &error), IBID_EIO);
    assert_string_equal(error.message, "the disk of this collection is full");
    assert_int_equal(follower_check(pair.follower, pair.other, &error), IBID_OK);

    /* A commit is followed at once where it can be; what failed is left alone for a while. */
    const int before = atomic_load(&failures);
    publish(pair.records, pair.source, pair.other, "third");
    follower_wake(pair.follower);
    const int64_t latest = latest_of(pair.records, pair.other);
    for (unsigned i = 0; i < 3000 && watermark_of(pair.store, pair.other) < latest; i++)
        usleep(1000);
    assert_int_equal(watermark_of(pair.store, pair.other), latest);
    assert_int_equal(atomic_load(&failures), before);

    /* Who waits makes it try at once: in vain, and then with success. */
    assert_int_equal(follower_settle(pair.follower, true, 0, &error), IBID_EIO);
    assert_true(atomic_load(&failures) > before);
    atomic_store(&state_of_default, READY);
    assert_ok(follower_settle(pair.follower, true, 0, err));
    assert_ok(follower_check(pair.follower, DEFAULT_COLLECTION_ID, err));
    assert_int_equal(watermark_of(pair.store, DEFAULT_COLLECTION_ID),
                     latest_of(pair.records, DEFAULT_COLLECTION_ID));
    close_pair(&pair);
}

static void what_cannot_be_attached_stands_alone(void **state)
{
    check_failing(state, NO_ATTACHING);
}

static void what_cannot_be_followed_stands_alone(void **state)
{
    check_failing(state, NO_FOLLOWING);
}

/* The store has a row in memory and nothing durable yet: only from the records can it learn that the row is
 * gone. */
static void what_is_removed_waits_for_a_store_that_is_behind(void **state)
{
    struct pair pair;
    struct removal removal;
    open_pair(&pair, *state, READY);
    const int64_t document = publish(pair.records, pair.source, DEFAULT_COLLECTION_ID, "first");
    assert_ok(follower_settle(pair.follower, false, 0, err));
    atomic_store(&state_of_default, NO_FOLLOWING);
    struct transaction *transaction = test_begin(pair.records, TRANSACTION_WRITE);
    assert_ok(document_remove(transaction, document, "test", &removal, err));
    test_commit(transaction);
    assert_int_equal(follower_settle(pair.follower, true, 0, NULL), IBID_EIO);
    assert_true(removed_rows(pair.records) > 0);
    atomic_store(&state_of_default, READY);
    assert_ok(follower_settle(pair.follower, true, 0, err));
    assert_int_equal(removed_rows(pair.records), 0);
    close_pair(&pair);
}

/* Each round takes longer than a part of the wait. */
static void who_waits_in_parts_is_served(void **state)
{
    struct pair pair;
    open_pair(&pair, *state, SLOW_FOLLOWING);
    publish(pair.records, pair.source, DEFAULT_COLLECTION_ID, "first");
    const struct follower_ticket ticket = follower_ask(pair.follower, true);
    ibid_code code;
    unsigned parts = 0;
    do
        code = follower_wait(pair.follower, ticket, clock_monotonic_us() + 10000, NULL);
    while (code == IBID_ETIMEOUT && ++parts < 3000);
    assert_int_equal(code, IBID_OK);
    assert_true(parts > 0);
    assert_int_equal(watermark_of(pair.store, DEFAULT_COLLECTION_ID),
                     latest_of(pair.records, DEFAULT_COLLECTION_ID));
    close_pair(&pair);
}

/* ---- a change of embedder ---- */

/* A collection with a complete successor, and what becomes of them. */
static struct change {
    struct pair pair;
    int64_t document, successor;
    int follows;        /* of the successor */
    int64_t serving[2]; /* what served when the successor had been followed the first and the second time */
} change;

static void publish_to_both(const char *text)
{
    static float vectors[2][DIMENSION];
    struct transaction *transaction = test_begin(change.pair.records, TRANSACTION_WRITE);
    struct test_content content;
    struct publication_result result;
    if (!change.document)
        change.document = test_document(transaction, change.pair.source, "document");
    test_content(&content, change.document, text);
    struct chunk_embedding embeddings[2];
    struct placement placements[2];
    for (int i = 0; i < 2; i++) {
        AUTO_FREE char *name = xasprintf("%s under %d", text, i);
        vectors[i][i] = 1;
        embeddings[i] = (struct chunk_embedding){sha256_of(name, strlen(name)), vectors[i]};
        placements[i] = (struct placement){.collection_id = i ? change.successor : DEFAULT_COLLECTION_ID,
                                           .embeddings = &embeddings[i]};
    }
    content.publication.placements = placements;
    content.publication.placement_count = change.successor ? 2 : 1;
    assert_ok(document_publish(transaction, &content.publication, &result, err));
    test_commit(transaction);
}

static void set_other_embedder(void)
{
    struct transaction *transaction = test_begin(change.pair.records, TRANSACTION_WRITE);
    struct collection successor;
    bool found;
    assert_ok(collection_set_embedder(transaction, DEFAULT_COLLECTION_ID,
                                      &(struct collection_embedder){.id = STR("test/model@2"),
                                                                    .fingerprint = STR("other"),
                                                                    .dimension = DIMENSION},
                                      err));
    assert_ok(collection_load_successor(transaction, DEFAULT_COLLECTION_ID, &change.pair.records->arena,
                                        &successor, &found, err));
    assert_true(found);
    change.successor = successor.id;
    test_commit(transaction);
}

static int64_t serving_id(void)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = test_begin(change.pair.records, TRANSACTION_READ);
    struct collection serving;
    assert_ok(collection_load_serving(transaction, DEFAULT_COLLECTION_ID, &arena, &serving, err));
    return serving.id;
}

static void publish_when_followed(int64_t collection_id)
{
    if (collection_id != change.successor || change.follows == 2)
        return;
    change.serving[change.follows++] = serving_id();
    if (change.follows == 1) {
        publish_to_both("late");
        follower_wake(change.pair.follower);
    }
}

/* A document that is committed between the following and the switch would not be found for a moment. */
static void what_is_not_followed_yet_does_not_serve(void **state)
{
    change = (struct change){0};
    open_pair(&change.pair, *state, READY);
    publish_to_both("first");
    assert_ok(follower_settle(change.pair.follower, false, 0, err));
    set_other_embedder();
    publish_to_both("first");
    struct transaction *transaction = test_begin(change.pair.records, TRANSACTION_WRITE);
    bool complete;
    assert_ok(succession_complete(transaction, DEFAULT_COLLECTION_ID, &complete, err));
    assert_true(complete);
    test_commit(transaction);

    followed = publish_when_followed;
    assert_ok(follower_settle(change.pair.follower, false, 0, err));
    assert_ok(follower_settle(change.pair.follower, false, 0, err));
    assert_int_equal(change.follows, 2);
    assert_int_equal(change.serving[0], DEFAULT_COLLECTION_ID);
    assert_int_equal(change.serving[1], DEFAULT_COLLECTION_ID);
    assert_int_equal(serving_id(), change.successor);
    close_pair(&change.pair);
    followed = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_cannot_be_attached_stands_alone, test_store_set_up,
                                        test_store_tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_followed_stands_alone, test_store_set_up,
                                        test_store_tear_down),
        cmocka_unit_test_setup_teardown(who_waits_in_parts_is_served, test_store_set_up,
                                        test_store_tear_down),
        cmocka_unit_test_setup_teardown(what_is_removed_waits_for_a_store_that_is_behind, test_store_set_up,
                                        test_store_tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_followed_yet_does_not_serve, test_store_set_up,
                                        test_store_tear_down),
    };
    return cmocka_run_group_tests_name("instance_follower", tests, NULL, NULL);
}
