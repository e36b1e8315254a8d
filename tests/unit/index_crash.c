/* The embedded vector store killed at any point, and with its files damaged in any way: nothing is lost,
 * nothing wrong is found, nothing has to be mended by hand. */
#include "tests/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "tests/support/duel.h"
#include "vector_store/embedded/collection.h"

enum { DIMENSION = 64, ROWS = 1500 };

static struct embedded_options options = {.direct_rows = 0, .seal_rows = 32};

/* ---- killing ---- */

/* One transaction of the truth: the same for the same number. */
static void change_truth(struct duel *duel, unsigned number)
{
    static const unsigned sizes[] = {1, 5, 40, 200, 1200};
    random_seed(1000 + number);
    duel_change(duel, sizes[random_below(COUNT_OF(sizes))], ROWS);
    truth_commit(duel->truth);
}

static void open_store(struct duel *duel)
{
    const struct vector_store_context context = {duel->folder, &duel->truth->source};
    assert_ok(vector_store_open(duel->ops, &context, duel->options, &duel->store, err));
    duel_attach(duel, duel->store);
}

static void close_store(struct duel *duel)
{
    vector_store_close(duel->store);
    duel->store = NULL;
}

/* The child's life: changes the truth and follows it until it is killed. Tells each transaction that it
 * begins, as the metadata store would have committed it. */
static _Noreturn void follow_until_killed(struct duel *duel, unsigned number, int tell)
{
    open_store(duel);
    for (;; number++) {
        struct vector_store_stats stats;
        if (write(tell, &number, sizeof number) != sizeof number)
            _exit(1);
        change_truth(duel, number);
        if (vector_store_follow(duel->store, DUEL_COLLECTION, NULL, NULL) != IBID_OK)
            _exit(2);
        if (number % 11 == 0 && vector_store_compact(duel->store, DUEL_COLLECTION, NULL, NULL) != IBID_OK)
            _exit(3);
        if (vector_store_stats(duel->store, DUEL_COLLECTION, &stats, NULL) == IBID_OK)
            truth_sweep(duel->truth, stats.durable);
    }
}

/* Runs a child for some time and kills it. Returns the number of the transaction after the one it began last.
 */
static unsigned run_and_kill(struct duel *duel, unsigned number)
{
    int pipe_ends[2];
    assert_int_equal(pipe(pipe_ends), 0);
    fflush(NULL);
    const unsigned microseconds = 5000 + random_below(150000);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(pipe_ends[0]);
        follow_until_killed(duel, number, pipe_ends[1]);
    }
    close(pipe_ends[1]);
    usleep(microseconds);
    kill(child, SIGKILL);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    unsigned next = number, told;
    while (read(pipe_ends[0], &told, sizeof told) == sizeof told)
        next = told + 1;
    close(pipe_ends[0]);
    return next;
}

static void assert_clean(struct duel *duel)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct vector_store_finding *findings;
    size_t count;
    assert_ok(vector_store_verify(duel->store, DUEL_COLLECTION, false, NULL, &arena, &findings, &count, err));
    for (size_t i = 0; i < count; i++)
        print_error("%s: %s\n", findings[i].place, findings[i].problem);
    assert_int_equal(count, 0);
}

static void killed_at_any_point_it_goes_on(void **state)
{
    enum { ROUNDS = 40 };
    struct duel *duel = duel_new(vector_store_find("embedded"), &options, DIMENSION);
    const uint64_t seed = (uint64_t)clock_now_us();
    unsigned number = 0;
    print_message("# killing with seed %llu\n", (unsigned long long)seed);
    for (unsigned round = 0; round < ROUNDS; round++) {
        close_store(duel);
        random_seed(seed + round);
        const unsigned next = run_and_kill(duel, number);
        for (; number < next; number++)
            change_truth(duel, number);
        open_store(duel);
        duel_follow(duel);
        assert_near_answers(duel, &scope_all, NULL, 10, 0.9);
        assert_near_answers(duel, &scope_one, "language=de", 10, 0.9);
        assert_clean(duel);
    }
    print_message("# %u transactions, %d kills\n", number, ROUNDS);
    duel_free(duel);
}

/* ---- damage ---- */

/* The names of the store's files, in the arena. */
static size_t list_files(const struct duel *duel, struct arena *arena, const char *names[], size_t limit)
{
    DIR *directory = opendir(arena_printf(arena, "%s/%d", duel->folder, DUEL_COLLECTION));
    assert_non_null(directory);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(directory)) && count < limit;)
        if (entry->d_name[0] != '.')
            names[count++] = arena_printf(arena, "%s/%d/%s", duel->folder, DUEL_COLLECTION, entry->d_name);
    closedir(directory);
    return count;
}

enum damage { FLIP, TRUNCATE, DELETE, EMPTY, GARBAGE, DAMAGES };

static void damage_file(const char *path, enum damage damage)
{
    struct stat info;
    unsigned char bytes[64];
    assert_int_equal(stat(path, &info), 0);
    const off_t at = info.st_size ? (off_t)(random_next() % (uint64_t)info.st_size) : 0;
    if (damage == DELETE) {
        assert_int_equal(unlink(path), 0);
        return;
    }
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    if (damage == FLIP && info.st_size) {
        assert_int_equal(pread(fd, bytes, 1, at), 1);
        bytes[0] ^= (unsigned char)(1 << random_below(8));
        assert_int_equal(pwrite(fd, bytes, 1, at), 1);
    } else if (damage == GARBAGE) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (unsigned char)random_next();
        assert_int_equal(pwrite(fd, bytes, sizeof bytes, at), sizeof bytes);
    } else if (damage == TRUNCATE || damage == EMPTY) {
        assert_int_equal(ftruncate(fd, damage == EMPTY ? 0 : at), 0);
    }
    close(fd);
}

/* A store with some files and some rows dead in them. */
static struct duel *store_with_files(void)
{
    struct duel *duel = duel_new(vector_store_find("embedded"), &options, DIMENSION);
    for (unsigned i = 0; i < 12; i++) {
        duel_change(duel, 20 + random_below(400), ROWS);
        duel_follow(duel);
    }
    return duel;
}

static void damaged_while_closed_it_is_rebuilt(void **state)
{
    random_seed(21);
    struct duel *duel = store_with_files();
    for (unsigned round = 0; round < 60; round++) {
        AUTO_ARENA arena = ARENA_INIT;
        const char *names[64];
        close_store(duel);
        const size_t count = list_files(duel, &arena, names, COUNT_OF(names));
        assert_true(count >= 2);
        for (unsigned i = 0; i < 1 + round % 2; i++) {
            const char *name = names[random_below((unsigned)count)];
            if (file_exists(name))
                damage_file(name, (enum damage)(round % DAMAGES));
        }
        open_store(duel);
        if (round % 3) { /* else searching comes first, with a manifest that names what is gone */
            duel_change(duel, 30, ROWS);
            duel_follow(duel);
        } else {
            assert_ok(vector_store_follow(duel->store, DUEL_COLLECTION, NULL, err));
        }
        assert_near_answers(duel, &scope_all, NULL, 10, 0.9);
        assert_near_answers(duel, &scope_one, "page>10", 10, 0.9);
        assert_clean(duel);
    }
    duel_free(duel);
}

static void damaged_while_open_it_is_rebuilt(void **state)
{
    random_seed(22);
    struct duel *duel = store_with_files();
    for (unsigned round = 0; round < 60; round++) {
        AUTO_ARENA arena = ARENA_INIT;
        const char *names[64];
        duel_reopen(duel); /* nothing has been read, so nothing has been checked yet */
        const size_t count = list_files(duel, &arena, names, COUNT_OF(names));
        for (unsigned i = 0; i < 4; i++) {
            const char *name = names[random_below((unsigned)count)];
            if (!strstr(name, "manifest"))
                damage_file(name, round % 2 ? FLIP : GARBAGE);
        }
        assert_near_answers(duel, &scope_all, round % 3 ? NULL : "label=evidence", 10, 0.9);
        assert_near_answers(duel, &scope_one, "page>10", 10, 0.9);
        if (round % 2) {
            duel_change(duel, 200, ROWS);
            duel_follow(duel);
        } else {
            assert_ok(vector_store_compact(duel->store, DUEL_COLLECTION, NULL, err));
        }
        assert_near_answers(duel, &scope_all, NULL, 10, 0.9);
    }
    duel_free(duel);
}

static void verify_names_damage_and_mends_it(void **state)
{
    random_seed(23);
    struct duel *duel = store_with_files();
    AUTO_ARENA arena = ARENA_INIT;
    const char *names[64];
    struct vector_store_finding *findings;
    size_t count;
    assert_ok(vector_store_compact(duel->store, DUEL_COLLECTION, NULL, err));
    duel_reopen(duel);
    const size_t files = list_files(duel, &arena, names, COUNT_OF(names));
    size_t damaged = 0;
    for (size_t i = 0; i < files; i++)
        if (!strstr(names[i], "manifest")) {
            damage_file(names[i], GARBAGE);
            damaged++;
        }
    assert_true(damaged > 0);
    assert_ok(vector_store_verify(duel->store, DUEL_COLLECTION, false, NULL, &arena, &findings, &count, err));
    assert_int_equal(count, damaged);
    assert_false(findings[0].repaired);
    assert_non_null(strstr(findings[0].place, "segment"));
    assert_ok(vector_store_verify(duel->store, DUEL_COLLECTION, true, NULL, &arena, &findings, &count, err));
    assert_int_equal(count, damaged);
    assert_true(findings[0].repaired);
    assert_clean(duel);

    /* A truth that says otherwise: rows that the store was never told of, and rows that are gone. */
    const struct row *row = truth_find(duel->truth, 7);
    if (!row) {
        duel_put_random(duel, 7);
        duel_follow(duel);
    }
    truth_remove(duel->truth, 7);
    truth_sweep(duel->truth, INT64_MAX);
    assert_ok(vector_store_verify(duel->store, DUEL_COLLECTION, false, NULL, &arena, &findings, &count, err));
    assert_int_equal(count, 1);
    assert_non_null(strstr(findings[0].problem, "row 7 was removed"));
    assert_ok(vector_store_verify(duel->store, DUEL_COLLECTION, true, NULL, &arena, &findings, &count, err));
    assert_int_equal(count, 1);
    assert_clean(duel);
    assert_ok(vector_store_follow(duel->oracle, DUEL_COLLECTION, NULL, err));
    duel_free(duel);
}

/* ---- threads ---- */

struct searcher {
    pthread_t thread;
    struct vector_store *store;
    _Atomic bool *stop;
    size_t searches;
    ibid_code code;
    ibid_error error;
};

static ibid_code search_once(struct searcher *searcher, ibid_error *err)
{
    const float vector[DIMENSION] = {1};
    const struct str terms[] = {STR("water"), STR("steam"), STR("rare7")};
    const struct term_query query = query_of(terms, 3);
    struct selection *selection;
    struct candidate found[20];
    int64_t listed[20];
    size_t count;
    TRY(vector_store_select(searcher->store, DUEL_COLLECTION, &scope_all, NULL, &selection, err));
    ibid_code code = selection_nearest(selection, vector, 20, found, &count, err);
    if (code == IBID_OK)
        code = selection_match(selection, &query, 20, found, &count, err);
    if (code == IBID_OK)
        code = selection_score(selection, vector, &query, found, count, err);
    if (code == IBID_OK)
        code = selection_list(selection, 100, 20, listed, &count, err);
    selection_free(selection);
    searcher->searches++;
    return code;
}

static void *search_repeatedly(void *argument)
{
    struct searcher *searcher = argument;
    while (!atomic_load(searcher->stop) && searcher->code == IBID_OK)
        searcher->code = search_once(searcher, &searcher->error);
    return NULL;
}

/* A byte of a random segment goes wrong, whether or not somebody reads it just then. */
static void damage_any_segment(const struct duel *duel)
{
    AUTO_ARENA arena = ARENA_INIT;
    const char *names[64];
    const size_t count = list_files(duel, &arena, names, COUNT_OF(names));
    const char *name = count ? names[random_below((unsigned)count)] : "manifest";
    if (!strstr(name, "manifest") && !strstr(name, "partial"))
        damage_file(name, FLIP);
}

static void searches_go_on_while_all_changes_and_breaks(void **state)
{
    enum { ROUNDS = 60 };
    random_seed(31);
    struct duel *duel = store_with_files();
    _Atomic bool stop = false;
    struct searcher searchers[2] = {0};
    for (size_t i = 0; i < COUNT_OF(searchers); i++) {
        searchers[i].store = duel->store;
        searchers[i].stop = &stop;
        assert_int_equal(pthread_create(&searchers[i].thread, NULL, search_repeatedly, &searchers[i]), 0);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < 40; i++) {
            duel_change(duel, 1, ROWS);
            truth_commit(duel->truth);
        }
        duel_follow(duel);
        if (round % 4 == 0)
            damage_any_segment(duel);
        if (round % 9 == 0)
            assert_ok(vector_store_compact(duel->store, DUEL_COLLECTION, NULL, err));
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < COUNT_OF(searchers); i++) {
        pthread_join(searchers[i].thread, NULL);
        if (searchers[i].code != IBID_OK)
            print_error("search: %s\n", searchers[i].error.message);
        assert_int_equal(searchers[i].code, IBID_OK);
        assert_true(searchers[i].searches > 0);
    }
    duel_reopen(duel); /* what was checked before it broke is checked again */
    duel_follow(duel);
    assert_near_answers(duel, &scope_all, NULL, 20, 0.9);
    assert_clean(duel);
    duel_free(duel);
}

static int files_of(const struct duel *duel)
{
    AUTO_ARENA arena = ARENA_INIT;
    const char *names[64];
    return (int)list_files(duel, &arena, names, COUNT_OF(names));
}

/* What was selected before finds damage, and must not mend it in the folder that is another's by now. */
static void a_dropped_collection_writes_nothing(void **state)
{
    random_seed(41);
    for (unsigned attach = 0; attach < 2; attach++) {
        AUTO_ARENA arena = ARENA_INIT;
        const char *names[64];
        struct duel *duel = store_with_files();
        duel_reopen(duel); /* nothing has been checked yet */
        struct selection *selection = select_rows(duel->store, &scope_all, NULL);
        const size_t count = list_files(duel, &arena, names, COUNT_OF(names));
        for (size_t i = 0; i < count; i++)
            for (unsigned round = 0; round < 200 && !strstr(names[i], "manifest"); round++)
                damage_file(names[i], GARBAGE);
        const struct vector_space other = {DUEL_COLLECTION, DIMENSION, "test/model@2"};
        if (attach) {
            assert_ok(vector_store_attach(duel->store, &other, err));
            assert_ok(vector_store_follow(duel->store, DUEL_COLLECTION, NULL, err));
        } else {
            assert_ok(vector_store_drop(duel->store, DUEL_COLLECTION, err));
        }
        const int before = attach ? files_of(duel) : 0;
        float vector[DIMENSION] = {1};
        struct candidate found[5];
        size_t found_count;
        ibid_error error = {0};
        assert_int_equal(selection_nearest(selection, vector, 5, found, &found_count, &error),
                         IBID_ENOTFOUND);
        assert_non_null(strstr(error.message, "dropped"));
        selection_free(selection);
        AUTO_FREE char *folder = xasprintf("%s/%d", duel->folder, DUEL_COLLECTION);
        assert_int_equal(access(folder, F_OK) == 0, attach);
        if (attach) {
            assert_int_equal(files_of(duel), before);
            vector_store_close(duel->store);
            const struct vector_store_context context = {duel->folder, &duel->truth->source};
            struct vector_store_stats stats;
            assert_ok(vector_store_open(duel->ops, &context, duel->options, &duel->store, err));
            assert_ok(vector_store_attach(duel->store, &other, err));
            assert_ok(vector_store_stats(duel->store, DUEL_COLLECTION, &stats, err));
            assert_int_equal(stats.watermark, duel->truth->latest); /* nothing has to be read again */
            assert_clean(duel);
        }
        duel_free(duel);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_at_any_point_it_goes_on),
        cmocka_unit_test(damaged_while_closed_it_is_rebuilt),
        cmocka_unit_test(damaged_while_open_it_is_rebuilt),
        cmocka_unit_test(verify_names_damage_and_mends_it),
        cmocka_unit_test(searches_go_on_while_all_changes_and_breaks),
        cmocka_unit_test(a_dropped_collection_writes_nothing),
    };
    return cmocka_run_group_tests_name("index_crash", tests, NULL, NULL);
}
