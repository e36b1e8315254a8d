/* The embedded vector store against the exact one under random changes: small and large ones, reopening,
 * compacting, verifying, all with codes in use and files written early. */
#include "tests/test.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/memory.h"
#include "tests/support/duel.h"
#include "vector_store/embedded/collection.h"

static struct duel *start(int64_t direct_rows, int64_t seal_rows)
{
    struct embedded_options options = {.direct_rows = direct_rows, .seal_rows = seal_rows};
    return duel_new(vector_store_find("embedded"), &options, 64);
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

static struct vector_store_stats stats_of(struct duel *duel)
{
    struct vector_store_stats stats;
    assert_ok(vector_store_stats(duel->store, DUEL_COLLECTION, &stats, err));
    return stats;
}

static void any_changes_give_what_the_oracle_gives(void **state)
{
    static const unsigned sizes[] = {1, 3, 20, 150, 900, 2500};
    static const char *const filters[] = {NULL, "language=de", "page>10", "shelf<5", "label=evidence"};
    for (unsigned seed = 1; seed <= 3; seed++) {
        random_seed(seed);
        struct duel *duel = start(0, seed == 1 ? 64 : 1024);
        for (unsigned round = 0; round < 30; round++) {
            duel_change(duel, sizes[random_below(COUNT_OF(sizes))], 6000);
            duel_follow(duel);
            if (random_below(4) == 0)
                truth_sweep(duel->truth, stats_of(duel).durable);
            if (random_below(6) == 0)
                duel_reopen(duel);
            duel_follow(duel);
            if (random_below(8) == 0) {
                assert_ok(vector_store_compact(duel->store, DUEL_COLLECTION, NULL, err));
                assert_int_equal(stats_of(duel).tombstones, 0);
                assert_int_equal(stats_of(duel).durable, stats_of(duel).watermark);
            }
            assert_near_answers(duel, &scope_all, filters[random_below(COUNT_OF(filters))], 10, 0.95);
            assert_near_answers(duel, &scope_one, filters[random_below(COUNT_OF(filters))], 40, 0.9);
        }
        assert_int_equal(stats_of(duel).watermark, duel->truth->latest);
        assert_clean(duel);
        duel_free(duel);
    }
}

static void small_changes_cost_little_and_leave_few_segments(void **state)
{
    struct duel *duel = start(20000, 1024);
    for (int64_t row_id = 1; row_id <= 3000; row_id++) {
        duel_put_random(duel, row_id);
        truth_commit(duel->truth);
        if (row_id % 3 == 0)
            assert_ok(vector_store_follow(duel->store, DUEL_COLLECTION, NULL, err));
    }
    assert_ok(vector_store_follow(duel->oracle, DUEL_COLLECTION, NULL, err));
    assert_true(stats_of(duel).segments < 40);
    assert_same_everywhere(duel);
    duel_free(duel);
}

/* More rows share a seq than make one segment, and the follower is stopped and started again. */
static void many_rows_may_share_a_seq(void **state)
{
    random_seed(9);
    struct duel *duel = start(0, 1024);
    for (int64_t row_id = 1; row_id <= 20000; row_id++)
        duel_put_text(duel, row_id, row_id % 7 ? "steam engine" : "water boils");
    duel_follow(duel);
    assert_int_equal(stats_of(duel).rows, 20000);
    for (int64_t row_id = 1; row_id <= 20000; row_id += 2)
        truth_remove(duel->truth, row_id);
    duel_follow(duel);
    assert_int_equal(stats_of(duel).rows, 10000);
    duel_reopen(duel);
    duel_follow(duel);
    assert_int_equal(stats_of(duel).rows, 10000);
    assert_near_answers(duel, &scope_all, NULL, 20, 0.9);
    assert_clean(duel);
    duel_free(duel);
}

static void a_store_that_cannot_write_says_so_and_goes_on_later(void **state)
{
    random_seed(11);
    struct duel *duel = start(20000, 64);
    duel_change(duel, 500, 1000);
    duel_follow(duel);
    /* No file may grow beyond a few bytes: what the system does when the disk is full, but for the number. */
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){512, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    duel_change(duel, 500, 1000);
    truth_commit(duel->truth);
    ibid_error error = {0};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const ibid_code code = vector_store_follow(duel->store, DUEL_COLLECTION, NULL, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_not_equal(code, IBID_OK);
    assert_true(strlen(error.message) > 0);
    duel_follow(duel);
    assert_same_everywhere(duel);
    assert_clean(duel);
    duel_free(duel);
}

static bool folder_holds(const char *folder, const char *text)
{
    AUTO_FREE char *inner = xasprintf("%s/%d", folder, DUEL_COLLECTION);
    DIR *directory = opendir(inner);
    assert_non_null(directory);
    bool found = false;
    for (struct dirent *entry; (entry = readdir(directory));) {
        AUTO_FREE char *path = path_join(inner, entry->d_name);
        AUTO_BUFFER bytes = BUFFER(64 * 1024 * 1024);
        if (entry->d_name[0] == '.')
            continue;
        assert_ok(file_read(path, &bytes, err));
        found |= bytes.size && memmem(bytes.data, bytes.size, text, strlen(text));
    }
    closedir(directory);
    return found;
}

static void deleted_text_leaves_the_disk(void **state)
{
    random_seed(12);
    struct duel *duel = start(20000, 64);
    duel_change(duel, 300, 400);
    duel_put_text(duel, 1000, "the unmistakable word xyzzyplugh");
    duel_follow(duel);
    duel_reopen(duel);
    duel_follow(duel);
    assert_true(folder_holds(duel->folder, "xyzzyplugh"));
    truth_remove(duel->truth, 1000);
    duel_follow(duel);
    assert_ok(vector_store_compact(duel->store, DUEL_COLLECTION, NULL, err));
    assert_false(folder_holds(duel->folder, "xyzzyplugh"));
    assert_same_everywhere(duel);
    duel_free(duel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_changes_give_what_the_oracle_gives),
        cmocka_unit_test(small_changes_cost_little_and_leave_few_segments),
        cmocka_unit_test(many_rows_may_share_a_seq),
        cmocka_unit_test(a_store_that_cannot_write_says_so_and_goes_on_later),
        cmocka_unit_test(deleted_text_leaves_the_disk),
    };
    return cmocka_run_group_tests_name("index_model", tests, NULL, NULL);
}
