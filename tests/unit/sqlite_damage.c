/* The SQLite member against full disks, damaged files, other programs' files, and the death of its process.
 */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "records/chunk_record.h"
#include "tests/store.h"

static char *database_path(struct test_store *store)
{
    return arena_printf(&store->arena, "%s/records.db", store->folder);
}

static ibid_code try_open(struct test_store *store, bool create, ibid_error *err)
{
    const struct metadata_store_ops *ops = metadata_store_find("sqlite");
    void *options = arena_alloc(&store->arena, ops->options_size);
    option_set_defaults(ops->options, options, &store->arena);
    struct metadata_store *opened;
    TRY(metadata_store_open(ops, &(struct metadata_store_context){.folder = store->folder, .create = create},
                            options, &opened, err));
    metadata_store_close(opened);
    return IBID_OK;
}

static void expect_refused(struct test_store *store, bool create, ibid_code code, const char *part_of_message)
{
    ibid_error err = {0};
    assert_int_equal(try_open(store, create, &err), code);
    if (!strstr(err.message, part_of_message))
        fail_msg("'%s' does not say '%s'", err.message, part_of_message);
    assert_null(strchr(err.message, '\n'));
}

static void write_database(struct test_store *store, const void *data, size_t size)
{
    assert_ok(file_write_atomically(database_path(store), data, size, 0600, err));
}

static void expect_clean(struct test_store *store)
{
    const char **problems;
    size_t count;
    assert_ok(metadata_store_check(store->store, NULL, &store->arena, &problems, &count, err));
    for (size_t i = 0; i < count; i++)
        print_error("%s\n", problems[i]);
    assert_int_equal(count, 0);
}

static int64_t put_document(struct test_store *store, const char *key, const char *text)
{
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    const int64_t id = test_document(transaction, UPLOAD_SOURCE_ID, key);
    test_publish(transaction, id, text);
    test_commit(transaction);
    return id;
}

/* ---- files ------------------------------------------------------------------------------------ */

static void files_that_are_none_of_ours_are_refused(void **state)
{
    struct test_store *store = *state;
    test_store_shut(store);
    write_database(store, "just some text, and long enough to be read", 42);
    expect_refused(store, false, IBID_ECORRUPT, "records.db");
    expect_refused(store, true, IBID_ECORRUPT, "records.db");
    write_database(store, "SQL", 3);
    expect_refused(store, true, IBID_ECORRUPT, "records.db");
    write_database(store, "", 0);
    expect_refused(store, false, IBID_ENOTFOUND, "records.db");
    assert_int_equal(unlink(database_path(store)), 0);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(database_path(store), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE t (x)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    expect_refused(store, true, IBID_ECORRUPT, "another program");
    assert_int_equal(unlink(database_path(store)), 0);
    assert_int_equal(mkdir(database_path(store), 0700), 0);
    expect_refused(store, true, IBID_ECORRUPT, "not a file");
}

static void an_empty_file_is_what_a_kill_leaves(void **state)
{
    struct test_store *store = *state;
    test_store_shut(store);
    write_database(store, "", 0);
    test_store_open(store, true);
    expect_clean(store);
}

static void a_newer_store_is_refused(void **state)
{
    struct test_store *store = *state;
    test_store_shut(store);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(database_path(store), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    expect_refused(store, false, IBID_EUNSUPPORTED, "newer ibid");
}

static void a_truncated_file_is_damage(void **state)
{
    struct test_store *store = *state;
    for (int i = 0; i < 50; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        put_document(store, key, "one\n\ntwo\n\nthree");
    }
    test_store_shut(store);
    AUTO_BUFFER bytes = BUFFER(64 << 20);
    assert_ok(file_read(database_path(store), &bytes, err));
    static const size_t cuts[] = {1, 50, 99, 512, 16384, 100000};
    for (size_t i = 0; i < COUNT_OF(cuts); i++) {
        assert_true(cuts[i] < bytes.size);
        write_database(store, bytes.data, cuts[i]);
        expect_refused(store, false, IBID_ECORRUPT, "damaged");
    }
    write_database(store, bytes.data, bytes.size - 16384); /* the last page alone */
    expect_refused(store, false, IBID_ECORRUPT, "damaged");
    write_database(store, bytes.data, bytes.size);
    test_store_open(store, false);
    expect_clean(store);
}

/* Reads what it can; every code is fine but success with wrong content is not looked for here: check is. */
static void read_all(struct test_store *store)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct row *rows;
    size_t count;
    (void)!store->rows->changes(store->rows, DEFAULT_COLLECTION_ID, 0, 1000, &arena, &rows, &count, NULL);
}

static void damaged_pages_are_found_by_checking(void **state)
{
    struct test_store *store = *state;
    for (int i = 0; i < 50; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        put_document(store, key, "one\n\ntwo\n\nthree");
    }
    test_store_shut(store);
    AUTO_BUFFER bytes = BUFFER(64 << 20);
    assert_ok(file_read(database_path(store), &bytes, err));
    const size_t pages = bytes.size / 16384;
    size_t noticed = 0, damaged = 0;
    for (size_t page = 1; page < pages; page += 5) {
        damaged++;
        AUTO_FREE char *copy = xmemdup0(bytes.data, bytes.size);
        memset(copy + page * 16384, 0xA5, 64); /* header of the page and first pointers */
        write_database(store, copy, bytes.size);
        ibid_error err = {0};
        if (try_open(store, false, &err) != IBID_OK) {
            assert_int_equal(err.code, IBID_ECORRUPT);
            noticed++;
            continue;
        }
        test_store_open(store, false);
        read_all(store);
        const char **problems;
        size_t count = 0;
        const ibid_code code =
            metadata_store_check(store->store, NULL, &store->arena, &problems, &count, &err);
        assert_true(code == IBID_OK || code == IBID_ECORRUPT);
        noticed += code != IBID_OK || count > 0;
        test_store_shut(store);
    }
    assert_int_equal(noticed, damaged);
}

/* ---- places ----------------------------------------------------------------------------------- */

static int exit_code_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_folder_that_cannot_be_written_is_said_so(void **state)
{
    struct test_store *store = *state;
    test_store_shut(store);
    assert_int_equal(chmod(store->folder, 0755), 0);
    const pid_t child = fork();
    if (child == 0) {
        ibid_error err = {0};
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
            _exit(2);
        if (geteuid() != 65534)
            chmod(store->folder, 0555);
        const ibid_code code = try_open(store, false, &err);
        _exit(code == IBID_EDENIED && strstr(err.message, store->folder) ? 0 : 1);
    }
    assert_int_equal(exit_code_of(child), 0);
    assert_int_equal(chmod(store->folder, 0700), 0);
}

static void the_owner_of_a_folder_is_named(void **state)
{
    struct test_store *store = *state;
    const pid_t child = fork();
    if (child == 0) {
        ibid_error err = {0};
        char pid[24];
        snprintf(pid, sizeof pid, "process %ld", (long)getppid());
        const ibid_code code = try_open(store, false, &err);
        _exit(code == IBID_EBUSY && strstr(err.message, pid) ? 0 : 1);
    }
    assert_int_equal(exit_code_of(child), 0);
}

/* Publishes until the disk is full; what was committed before stays, and goes on once there is room. */
static void a_full_disk_loses_nothing(void **state)
{
    struct test_store *store = *state;
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, small = {4 << 20, 4 << 20};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const size_t size = 100000;
    char *text = xmalloc(size + 1);
    memset(text, 'w', size);
    text[size] = '\0';
    int committed = 0;
    ibid_error failure = {0};
    for (ibid_code code = IBID_OK; code == IBID_OK && committed < 1000;) {
        char key[16];
        struct test_content content;
        struct publication_result result;
        struct transaction *transaction = NULL;
        int64_t id = 0;
        snprintf(key, sizeof key, "%d", committed);
        code = transaction_begin(store->store, TRANSACTION_WRITE, &transaction, &failure);
        if (code == IBID_OK)
            code = document_create(
                transaction, &(struct document){.source_id = UPLOAD_SOURCE_ID, .external_key = str_from(key)},
                &id, &failure);
        test_content(&content, id, text);
        if (code == IBID_OK)
            code = document_publish(transaction, &content.publication, &result, &failure);
        if (code == IBID_OK)
            code = transaction_commit(transaction_take(&transaction), &failure);
        transaction_rollback(transaction);
        committed += code == IBID_OK;
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(failure.code, IBID_ENOSPACE);
    assert_non_null(strstr(failure.message, "no space left"));
    assert_true(committed > 3);
    struct row *rows;
    assert_int_equal(test_changes(store, 0, &rows), committed);
    put_document(store, "more", "room again");
    expect_clean(store);
    test_store_shut(store);
    test_store_open(store, false);
    assert_int_equal(test_changes(store, 0, &rows), committed + 1);
    expect_clean(store);
    free(text);
}

/* ---- death ------------------------------------------------------------------------------------ */

/* A pause of up to `limit_us`, different each time but the same in every test run. */
static void pause_for(unsigned *seed, unsigned limit_us)
{
    *seed = *seed * 1664525 + 1013904223;
    usleep((*seed >> 8) % limit_us);
}

static void a_kill_while_a_store_is_made_does_no_harm(void **state)
{
    struct test_store *store = *state;
    test_store_shut(store);
    unsigned seed = 1;
    for (int round = 0; round < 8; round++) {
        assert_ok(folder_remove(store->folder, err));
        const pid_t child = fork();
        if (child == 0) {
            (void)!try_open(store, true, NULL);
            _exit(0);
        }
        pause_for(&seed, 30000);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        test_store_open(store, true);
        expect_clean(store);
        AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_READ);
        struct collection collection;
        assert_ok(collection_load(transaction, DEFAULT_COLLECTION_ID, &store->arena, &collection, err));
        transaction_rollback(transaction_take(&transaction));
        test_store_shut(store);
    }
}

/* The text of a document's n-th version: as many chunks as its number says. */
static char *version_text(struct arena *arena, int document, int version)
{
    AUTO_BUFFER text = BUFFER(1 << 16);
    const int chunks = 1 + (document + version * 3) % 7;
    for (int i = 0; i < chunks; i++)
        buffer_printf(&text, "%sdocument %d version %d of %d chunks: %d", i ? "\n\n" : "", document, version,
                      chunks, i);
    return arena_strdup(arena, text.data);
}

/* Publishes new versions of ten documents for ever; each commit is acknowledged through the pipe. */
static void publish_for_ever(struct test_store *store, int acknowledge)
{
    test_store_open(store, false);
    for (int version = 1;; version++)
        for (int document = 0; document < 10; document++) {
            AUTO_ARENA arena = ARENA_INIT;
            struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
            test_publish(transaction, document + 1, version_text(&arena, document, version));
            struct sweep_result swept;
            if (document == 9)
                assert_ok(sweep(transaction, 1000, &swept, err));
            test_commit(transaction);
            const int done[] = {document, version};
            if (write(acknowledge, done, sizeof done) != sizeof done)
                _exit(1);
        }
}

/* Every document shows one version whole, and not an older one than was acknowledged. */
static void expect_whole(struct test_store *store, const int acknowledged[10])
{
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_READ);
    for (int document = 0; document < 10; document++) {
        AUTO_ARENA arena = ARENA_INIT;
        struct chunk_record *chunks;
        size_t count;
        int64_t total;
        assert_ok(chunk_record_list(transaction, document + 1, DEFAULT_COLLECTION_ID, 0, 100, &arena, &chunks,
                                    &count, &total, err));
        int version = 0, told = 0;
        for (size_t i = 0; i < count; i++) {
            int number, of, index, this_version;
            assert_int_equal(sscanf(chunks[i].text.data, "document %d version %d of %d chunks: %d", &number,
                                    &this_version, &of, &index),
                             4);
            assert_true(number == document && of == (int)count && index == (int)i);
            assert_true(i == 0 || this_version == version);
            version = this_version;
            told = of;
        }
        assert_int_equal(told, count);
        assert_true(version >= acknowledged[document]);
        struct statement *statement;
        bool row;
        assert_ok(statement_prepare(transaction,
                                    "SELECT count(*), count(e.id) FROM rows r LEFT JOIN embeddings e"
                                    " ON e.id = r.embedding_id WHERE r.document_id = ?1 AND r.removed = 0",
                                    &statement, err));
        statement_bind_int(statement, 1, document + 1);
        assert_ok(statement_step(statement, &row, err));
        assert_int_equal(statement_int(statement, 0), count);
        assert_int_equal(statement_int(statement, 1), count);
    }
}

static void a_kill_while_publishing_loses_nothing_acknowledged(void **state)
{
    struct test_store *store = *state;
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    for (int i = 0; i < 10; i++) {
        char key[8];
        snprintf(key, sizeof key, "%d", i);
        assert_int_equal(test_document(transaction, UPLOAD_SOURCE_ID, key), i + 1);
    }
    test_commit(transaction);
    test_store_shut(store);
    const char *rounds_text = getenv("IBID_TEST_KILLS");
    const int rounds = rounds_text ? (int)strtol(rounds_text, NULL, 10) : 8;
    int acknowledged[10] = {0};
    unsigned seed = 42;
    for (int round = 0; round < rounds; round++) {
        int pipe_fds[2];
        assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
        const pid_t child = fork();
        if (child == 0)
            publish_for_ever(store, pipe_fds[1]);
        close(pipe_fds[1]);
        pause_for(&seed, 200000);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        for (int done[2]; read(pipe_fds[0], done, sizeof done) == sizeof done;)
            acknowledged[done[0]] = done[1];
        close(pipe_fds[0]);
        test_store_open(store, false);
        if (acknowledged[9])
            expect_whole(store, acknowledged);
        expect_clean(store);
        test_store_shut(store);
        memset(acknowledged, 0, sizeof acknowledged); /* versions begin anew */
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_store_set_up, test_store_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(files_that_are_none_of_ours_are_refused),
        TEST(an_empty_file_is_what_a_kill_leaves),
        TEST(a_newer_store_is_refused),
        TEST(a_truncated_file_is_damage),
        TEST(damaged_pages_are_found_by_checking),
        TEST(a_folder_that_cannot_be_written_is_said_so),
        TEST(the_owner_of_a_folder_is_named),
        TEST(a_full_disk_loses_nothing),
        TEST(a_kill_while_a_store_is_made_does_no_harm),
        TEST(a_kill_while_publishing_loses_nothing_acknowledged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
