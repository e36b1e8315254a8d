/* What every metadata store must do. A member of the registry without a row in `fixtures` fails. */
#include "tests/contract/contract.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "metadata_store/metadata_store.h"
#include "tests/folder.h"

/* How a member is opened for this test. */
struct fixture {
    const char *name;
    /* NULL on success, else why the member cannot be tested here, and the test is skipped. */
    const char *(*prepare)(const struct metadata_store_ops *ops, void *options, struct arena *arena);
};

static const char *prepare_nothing(const struct metadata_store_ops *ops, void *options, struct arena *arena)
{
    return NULL;
}

static const struct fixture fixtures[] = {
    {"sqlite", prepare_nothing},
};

/* A store under test in a folder of its own, made anew for each check. */
struct bench {
    struct arena arena;
    const struct metadata_store_ops *ops;
    void *options;
    char *folder;
    struct metadata_store *store;
};

static int set_up(void **state)
{
    const struct fixture *fixture = *state;
    struct bench *bench = xcalloc(1, sizeof *bench);
    bench->ops = metadata_store_find(fixture->name);
    assert_non_null(bench->ops);
    bench->options = arena_alloc(&bench->arena, bench->ops->options_size);
    option_set_defaults(bench->ops->options, bench->options, &bench->arena);
    const char *missing = fixture->prepare(bench->ops, bench->options, &bench->arena);
    bench->folder = test_folder_new();
    if (missing)
        print_message("SKIPPED: metadata store %s: %s\n", fixture->name, missing);
    else
        assert_ok(metadata_store_open(
            bench->ops, &(struct metadata_store_context){.folder = bench->folder, .create = true},
            bench->options, &bench->store, err));
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    metadata_store_close(bench->store);
    test_folder_free(bench->folder);
    arena_release(&bench->arena);
    free(bench);
    return 0;
}

static struct bench *bench_of(void **state)
{
    struct bench *bench = *state;
    if (!bench->store)
        skip();
    return bench;
}

static struct transaction *begin(struct bench *bench, enum transaction_mode mode)
{
    struct transaction *transaction;
    assert_ok(transaction_begin(bench->store, mode, &transaction, err));
    return transaction;
}

static struct statement *prepare(struct transaction *transaction, const char *sql)
{
    struct statement *statement;
    assert_ok(statement_prepare(transaction, sql, &statement, err));
    return statement;
}

static bool step(struct statement *statement)
{
    bool row;
    assert_ok(statement_step(statement, &row, err));
    return row;
}

static void run(struct transaction *transaction, const char *sql)
{
    assert_ok(statement_run(prepare(transaction, sql), err));
}

static int64_t query_int(struct transaction *transaction, const char *sql)
{
    struct statement *statement = prepare(transaction, sql);
    assert_true(step(statement));
    const int64_t value = statement_int(statement, 0);
    statement_reset(statement);
    return value;
}

static int64_t count_now(struct bench *bench, const char *sql)
{
    AUTO_TRANSACTION *transaction = begin(bench, TRANSACTION_READ);
    return query_int(transaction, sql);
}

#define COUNTERS "SELECT count(*) FROM counters"
#define ADD_COUNTER "INSERT INTO counters (name, value) VALUES ('one', 1)"

static void test_a_new_store_holds_the_local_owner(void **state)
{
    struct bench *bench = bench_of(state);
    AUTO_TRANSACTION *transaction = begin(bench, TRANSACTION_READ);
    struct statement *statement = prepare(transaction, "SELECT u.id, u.name, m.role, w.name FROM users u"
                                                       " JOIN memberships m ON m.user_id = u.id"
                                                       " JOIN workspaces w ON w.id = m.workspace_id");
    assert_true(step(statement));
    assert_int_equal(statement_int(statement, 0), 1);
    assert_true(str_is(statement_text(statement, 1), "owner"));
    assert_true(str_is(statement_text(statement, 2), "owner"));
    assert_true(str_is(statement_text(statement, 3), "default"));
    assert_false(step(statement));
}

static void test_what_was_committed_is_there_after_opening_again(void **state)
{
    struct bench *bench = bench_of(state);
    struct transaction *transaction = begin(bench, TRANSACTION_WRITE);
    run(transaction, ADD_COUNTER);
    assert_ok(transaction_commit(transaction, err));
    metadata_store_close(bench->store);
    assert_ok(metadata_store_open(bench->ops, &(struct metadata_store_context){.folder = bench->folder},
                                  bench->options, &bench->store, err));
    assert_int_equal(count_now(bench, COUNTERS), 2);
}

static void test_rolling_back_leaves_nothing(void **state)
{
    struct bench *bench = bench_of(state);
    {
        AUTO_TRANSACTION *transaction = begin(bench, TRANSACTION_WRITE);
        run(transaction, ADD_COUNTER);
        assert_int_equal(query_int(transaction, COUNTERS), 2);
    }
    assert_int_equal(count_now(bench, COUNTERS), 1);
}

static void test_a_reader_stays_in_its_snapshot(void **state)
{
    struct bench *bench = bench_of(state);
    AUTO_TRANSACTION *before = begin(bench, TRANSACTION_READ);
    assert_int_equal(query_int(before, COUNTERS), 1);
    struct transaction *writer = begin(bench, TRANSACTION_WRITE);
    run(writer, ADD_COUNTER);
    assert_int_equal(count_now(bench, COUNTERS), 1);
    assert_ok(transaction_commit(writer, err));
    assert_int_equal(query_int(before, COUNTERS), 1);
    assert_int_equal(count_now(bench, COUNTERS), 2);
}

static void test_a_reader_cannot_write(void **state)
{
    struct bench *bench = bench_of(state);
    AUTO_TRANSACTION *transaction = begin(bench, TRANSACTION_READ);
    struct statement *statement = prepare(transaction, ADD_COUNTER);
    ibid_error err;
    assert_int_not_equal(statement_run(statement, &err), IBID_OK);
}

static void test_values_come_back_as_they_were(void **state)
{
    struct bench *bench = bench_of(state);
    const size_t big = 20 << 20;
    char *bytes = xmalloc(big);
    for (size_t i = 0; i < big; i++)
        bytes[i] = (char)(i * 131 >> 3);
    AUTO_TRANSACTION *transaction = begin(bench, TRANSACTION_WRITE);
    struct statement *statement = prepare(
        transaction, "INSERT INTO cached_answers (scope, collection_id, question, vector, answer, seq,"
                     " created_at, expires_at) VALUES (?1, 1, ?2, ?3, ?4, ?5, 0, 0) RETURNING id");
    const struct str text = {"naïve\0“quoted”'", sizeof "naïve\0“quoted”'" - 1};
    statement_bind_int(statement, 1, INT64_MIN);
    statement_bind_text(statement, 2, text);
    statement_bind_blob(statement, 3, bytes, big);
    statement_bind_text(statement, 4, STR_EMPTY);
    statement_bind_int(statement, 5, INT64_MAX);
    assert_true(step(statement));
    assert_int_equal(statement_int(statement, 0), 1);
    assert_false(step(statement));
    statement =
        prepare(transaction, "SELECT scope, question, vector, answer, seq, NULL, 0.1 FROM cached_answers");
    assert_true(step(statement));
    assert_true(statement_int(statement, 0) == INT64_MIN);
    assert_true(str_equal(statement_text(statement, 1), text));
    assert_true(str_equal(statement_blob(statement, 2), (struct str){bytes, big}));
    assert_non_null(statement_text(statement, 3).data);
    assert_int_equal(statement_text(statement, 3).size, 0);
    assert_true(statement_int(statement, 4) == INT64_MAX);
    assert_null(statement_text(statement, 5).data);
    assert_null(statement_blob(statement, 5).data);
    assert_int_equal(statement_int(statement, 5), 0);
    assert_true(statement_real(statement, 6) == 0.1);
    free(bytes);
}

static void test_null_is_bound_and_told_from_empty(void **state)
{
    struct bench *bench = bench_of(state);
    AUTO_TRANSACTION *transaction = begin(bench, TRANSACTION_READ);
    struct statement *statement = prepare(
        transaction, "SELECT CAST(?1 AS TEXT) IS NULL, CAST(?2 AS TEXT) IS NULL, ?3 IS NULL, ?4 IS NULL");
    statement_bind_text(statement, 1, (struct str){NULL, 0});
    statement_bind_text(statement, 2, STR_EMPTY);
    statement_bind_blob(statement, 3, NULL, 0);
    statement_bind_blob(statement, 4, "", 0);
    assert_true(step(statement));
    assert_int_equal(statement_int(statement, 0), 1);
    assert_int_equal(statement_int(statement, 1), 0);
    assert_int_equal(statement_int(statement, 2), 1);
    assert_int_equal(statement_int(statement, 3), 0);
}

static void test_a_statement_comes_without_its_old_bindings(void **state)
{
    struct bench *bench = bench_of(state);
    static const char sql[] = "SELECT CAST(?1 AS TEXT)";
    AUTO_TRANSACTION *transaction = begin(bench, TRANSACTION_READ);
    struct statement *statement = prepare(transaction, sql);
    statement_bind_text(statement, 1, STR("old"));
    assert_true(step(statement));
    assert_true(str_is(statement_text(statement, 0), "old"));
    statement = prepare(transaction, sql); /* without reset */
    assert_true(step(statement));
    assert_null(statement_text(statement, 0).data);
}

static void test_a_broken_constraint_is_a_conflict(void **state)
{
    struct bench *bench = bench_of(state);
    static const char *const wrong[] = {
        "INSERT INTO users (name, created_at) VALUES ('owner', 0)", /* unique */
        "INSERT INTO tokens (user_id, name, hash, hint, created_at) VALUES (99, '', x'00', '', 0)", /* reference
                                                                                                     */
        "INSERT INTO users (name, role, created_at) VALUES ('x', 'emperor', 0)", /* check */
        "INSERT INTO users (name, created_at) VALUES (NULL, 0)",                 /* not null */
    };
    AUTO_TRANSACTION *transaction = begin(bench, TRANSACTION_WRITE);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        ibid_error err = {0};
        assert_int_equal(statement_run(prepare(transaction, wrong[i]), &err), IBID_ECONFLICT);
        assert_true(strlen(err.message) > 0);
    }
    run(transaction, ADD_COUNTER); /* the transaction goes on */
    assert_ok(transaction_commit(transaction_take(&transaction), err));
    assert_int_equal(count_now(bench, COUNTERS), 2);
}

static void test_ids_are_never_used_again(void **state)
{
    struct bench *bench = bench_of(state);
    AUTO_TRANSACTION *transaction = begin(bench, TRANSACTION_WRITE);
    run(transaction, "INSERT INTO users (name, created_at) VALUES ('a', 0)");
    const int64_t first = query_int(transaction, "SELECT max(id) FROM users");
    run(transaction, "DELETE FROM users WHERE name = 'a'");
    run(transaction, "INSERT INTO users (name, created_at) VALUES ('b', 0)");
    assert_true(query_int(transaction, "SELECT max(id) FROM users") > first);
}

enum { WORKERS = 4, ROUNDS = 50 };

static void *count_up(void *argument)
{
    struct bench *bench = argument;
    for (int i = 0; i < ROUNDS; i++) {
        struct transaction *transaction = NULL;
        struct statement *statement;
        if (transaction_begin(bench->store, TRANSACTION_WRITE, &transaction, NULL) != IBID_OK)
            return (void *)"begin";
        if (statement_prepare(transaction, "UPDATE counters SET value = value + 1 WHERE name = 'commit_seq'",
                              &statement, NULL) != IBID_OK ||
            statement_run(statement, NULL) != IBID_OK) {
            transaction_rollback(transaction);
            return (void *)"update";
        }
        if (transaction_commit(transaction, NULL) != IBID_OK)
            return (void *)"commit";
        if (transaction_begin(bench->store, TRANSACTION_READ, &transaction, NULL) != IBID_OK)
            return (void *)"begin to read";
        transaction_rollback(transaction);
    }
    return NULL;
}

static void test_writers_take_turns(void **state)
{
    struct bench *bench = bench_of(state);
    pthread_t threads[WORKERS];
    for (size_t i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, bench), 0);
    for (size_t i = 0; i < WORKERS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        if (failed)
            fail_msg("a worker failed to %s", (const char *)failed);
    }
    assert_int_equal(count_now(bench, "SELECT value FROM counters WHERE name = 'commit_seq'"),
                     WORKERS * ROUNDS);
}

static void test_a_data_directory_has_one_owner(void **state)
{
    struct bench *bench = bench_of(state);
    struct metadata_store *second;
    ibid_error err = {0};
    assert_int_equal(metadata_store_open(bench->ops,
                                         &(struct metadata_store_context){.folder = bench->folder},
                                         bench->options, &second, &err),
                     IBID_EBUSY);
    char pid[24];
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    assert_non_null(strstr(err.message, pid));
}

static void test_without_create_nothing_is_made(void **state)
{
    struct bench *bench = bench_of(state);
    char *empty = test_folder_new();
    struct metadata_store *store;
    ibid_error err = {0};
    assert_int_equal(metadata_store_open(bench->ops, &(struct metadata_store_context){.folder = empty},
                                         bench->options, &store, &err),
                     IBID_ENOTFOUND);
    assert_non_null(strstr(err.message, empty));
    test_folder_free(empty);
}

static void test_a_sound_store_checks_clean(void **state)
{
    struct bench *bench = bench_of(state);
    const char **problems;
    size_t count;
    assert_ok(metadata_store_check(bench->store, NULL, &bench->arena, &problems, &count, err));
    assert_int_equal(count, 0);
    assert_ok(metadata_store_maintain(bench->store, err));
    AUTO_TRANSACTION *reader = begin(bench, TRANSACTION_READ);
    assert_int_equal(query_int(reader, COUNTERS), 1);
    assert_ok(metadata_store_maintain(bench->store, err)); /* beside a reader, too */
}

static void test_every_member_has_fixtures(void **state)
{
    for (size_t i = 0; metadata_store_registry[i]; i++)
        contract_expect_fixture(CONTRACT_FIXTURES(fixtures), "metadata_store", metadata_store_registry[i]->name);
    assert_null(metadata_store_find("no such store"));
}

int main(void)
{
    static const struct contract_check checks[] = {
        {"a new store holds the local owner", test_a_new_store_holds_the_local_owner},
        {"committed is there after opening again", test_what_was_committed_is_there_after_opening_again},
        {"rolling back leaves nothing", test_rolling_back_leaves_nothing},
        {"a reader stays in its snapshot", test_a_reader_stays_in_its_snapshot},
        {"a reader cannot write", test_a_reader_cannot_write},
        {"values come back as they were", test_values_come_back_as_they_were},
        {"null is told from empty", test_null_is_bound_and_told_from_empty},
        {"no old bindings", test_a_statement_comes_without_its_old_bindings},
        {"a broken constraint is a conflict", test_a_broken_constraint_is_a_conflict},
        {"ids are never used again", test_ids_are_never_used_again},
        {"writers take turns", test_writers_take_turns},
        {"one owner", test_a_data_directory_has_one_owner},
        {"without create nothing is made", test_without_create_nothing_is_made},
        {"checks clean", test_a_sound_store_checks_clean},
    };
    return contract_run("metadata_store", test_every_member_has_fixtures, CONTRACT_FIXTURES(fixtures), checks,
                        COUNT_OF(checks), set_up, tear_down);
}
