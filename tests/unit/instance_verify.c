/* Checking and repairing a whole data directory: what is damaged is named, what the records know is made
 * anew, and searching works again. */
#include "tests/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "ingest/run.h"
#include "instance/instance.h"
#include "model/terms.h"
#include "records/bootstrap.h"
#include "records/succession.h"
#include "tests/folder.h"

enum { DOCUMENTS = 12 };

/* A data directory with an index on disk. */
struct place {
    char *root, *data;
    struct instance_settings *settings;
    struct instance *instance;
};

static struct instance_settings *make_settings(void)
{
    static const char *const set[][2] = {{"embedder.provider", "hash"}, {"embedder.hash.dimension", "64"}};
    struct instance_settings *settings = instance_settings_new();
    struct settings *table = instance_settings_table(settings);
    for (size_t i = 0; i < COUNT_OF(set); i++)
        assert_ok(settings_set(table, str_from(set[i][0]), str_from(set[i][1]), "test", err));
    return settings;
}

static void open_place(struct place *place)
{
    place->settings = make_settings();
    assert_ok(instance_open(place->data, place->settings, INSTANCE_CREATE, &place->instance, err));
}

static void close_place(struct place *place)
{
    instance_close(place->instance);
    instance_settings_free(place->settings);
}

static void index_documents(struct place *place)
{
    AUTO_FREE char *documents = path_join(place->root, "documents");
    assert_ok(folder_make(documents, err));
    for (unsigned i = 0; i < DOCUMENTS; i++) {
        AUTO_FREE char *path = xasprintf("%s/note%u.txt", documents, i);
        AUTO_FREE char *text = xasprintf("Note %u: bake bread with rye flour, and let it rest.\n", i);
        assert_ok(file_write_atomically(path, text, strlen(text), 0600, err));
    }
    struct ingest *ingest = instance_ingest(place->instance);
    struct ingest_request request = {.source_count = 1};
    int64_t source_id, run_id;
    assert_ok(ingest_source(ingest, "folder", documents, NULL, &source_id, err));
    request.source_ids = &source_id;
    assert_ok(ingest_start(ingest, &request, &run_id, err));
    assert_true(ingest_wait(ingest, clock_monotonic_us() + 120 * SECOND_US));
    assert_ok(instance_compact(place->instance, NULL, 0, err));
}

static struct place new_place(void)
{
    struct place place = {.root = test_folder_new()};
    place.data = path_join(place.root, "data");
    open_place(&place);
    index_documents(&place);
    return place;
}

static void end_place(struct place *place)
{
    close_place(place);
    test_folder_free(place->root);
    free(place->data);
}

/* ---- stopping ---- */

struct countdown {
    int steps;
    char stage[40];
};

static void remember_stage(void *context, const char *stage, int64_t done, int64_t total)
{
    struct countdown *countdown = context;
    snprintf(countdown->stage, sizeof countdown->stage, "%s", stage);
    assert_true(total == 0 || done <= total);
}

static bool count_down(void *context)
{
    return ((struct countdown *)context)->steps-- <= 0;
}

/* Wherever it is stopped, nothing is broken and nothing is held. */
static void verify_can_be_stopped_everywhere(void **state)
{
    struct place place = new_place();
    ibid_code code = IBID_ECANCELED;
    struct countdown countdown;
    for (int steps = 0; code == IBID_ECANCELED; steps++) {
        AUTO_ARENA arena = ARENA_INIT;
        struct instance_finding *findings;
        size_t count;
        ibid_error error = {0};
        countdown = (struct countdown){.steps = steps};
        const struct watch watch = {remember_stage, count_down, &countdown};
        code = instance_verify(place.instance, steps % 2, &watch, &arena, &findings, &count, &error);
        assert_true(code == IBID_OK || code == IBID_ECANCELED);
        assert_true(steps < 100000);
        if (code == IBID_OK) {
            assert_int_equal(count, 0);
            assert_true(steps > 20); /* it asked often */
        }
    }
    end_place(&place);
}

/* ---- damage to the index ---- */

enum damage { GARBAGE, HALF, EMPTY, MISSING, DAMAGES };

static void damage_file(const char *path, enum damage damage)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    if (damage == HALF)
        assert_int_equal(truncate(path, info.st_size / 2), 0);
    else if (damage == EMPTY)
        assert_int_equal(truncate(path, 0), 0);
    else if (damage == MISSING)
        assert_int_equal(unlink(path), 0);
    else {
        static const char garbage[] = "this was not here before";
        const int fd = open(path, O_WRONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        for (off_t at = info.st_size / 8; at < info.st_size; at += info.st_size / 8 + 1)
            assert_int_equal(pwrite(fd, garbage, sizeof garbage, at), sizeof garbage);
        close(fd);
    }
}

/* The first file of the index whose name ends so; in the arena. */
static const char *index_file(const struct place *place, const char *end, struct arena *arena)
{
    const char *folder = arena_printf(arena, "%s/index/%d", place->data, (int)DEFAULT_COLLECTION_ID);
    const char *found = NULL;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        if (str_ends_with(str_from(entry->d_name), end))
            found = arena_printf(arena, "%s/%s", folder, entry->d_name);
    closedir(directory);
    assert_non_null(found);
    return found;
}

static size_t bread(struct place *place)
{
    static const int64_t workspaces[] = {DEFAULT_WORKSPACE_ID};
    const struct scope scope = {.workspaces = workspaces, .workspace_count = 1};
    const struct str term = STR("bread");
    const struct term_query query = {.terms = &term, .count = 1, .k1 = 0.9f, .b = 0.4f};
    struct selection *selection;
    struct candidate candidates[2 * DOCUMENTS];
    size_t count;
    assert_ok(vector_store_select(instance_vectors(place->instance), DEFAULT_COLLECTION_ID, &scope, NULL,
                                  &selection, err));
    assert_ok(selection_match(selection, &query, COUNT_OF(candidates), candidates, &count, err));
    selection_free(selection);
    return count;
}

/* How many findings, and how many of them were repaired. */
static size_t verify(struct place *place, bool repair, size_t *ret_repaired)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct instance_finding *findings;
    size_t count;
    assert_ok(instance_verify(place->instance, repair, NULL, &arena, &findings, &count, err));
    *ret_repaired = 0;
    for (size_t i = 0; i < count; i++) {
        print_message("# %s: %s%s\n", findings[i].place, findings[i].problem,
                      findings[i].repaired ? " (repaired)" : "");
        *ret_repaired += findings[i].repaired;
    }
    return count;
}

static void assert_repairable(struct place *place)
{
    size_t repaired;
    verify(place, false, &repaired);
    assert_int_equal(repaired, 0);
    assert_int_equal(verify(place, true, &repaired), repaired);
    assert_int_equal(verify(place, false, &repaired), 0);
    assert_int_equal(bread(place), DOCUMENTS);
}

static void each_file_of_the_index_can_be_lost(void **state)
{
    static const char *const ends[] = {"manifest", ".seg"};
    struct place place = new_place();
    AUTO_ARENA arena = ARENA_INIT;
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        for (enum damage damage = 0; damage < DAMAGES; damage++) {
            assert_ok(instance_compact(place.instance, NULL, 0, err));
            close_place(&place);
            damage_file(index_file(&place, ends[i], &arena), damage);
            open_place(&place);
            assert_repairable(&place);
        }
    end_place(&place);
}

static void a_damaged_file_in_use_is_repaired(void **state)
{
    struct place place = new_place();
    AUTO_ARENA arena = ARENA_INIT;
    size_t repaired;
    damage_file(index_file(&place, ".seg", &arena), GARBAGE);
    damage_file(index_file(&place, "manifest", &arena), GARBAGE);
    assert_true(verify(&place, false, &repaired) > 0);
    assert_repairable(&place);
    end_place(&place);
}

static void an_index_that_is_gone_is_made_anew(void **state)
{
    struct place place = new_place();
    close_place(&place);
    AUTO_FREE char *index = path_join(place.data, "index");
    assert_ok(folder_remove(index, err));
    open_place(&place);
    assert_repairable(&place);
    end_place(&place);
}

/* ---- damage to the records ---- */

static void run_sql(struct place *place, const char *sql)
{
    struct transaction *transaction;
    struct statement *statement;
    assert_ok(transaction_begin(instance_metadata(place->instance), TRANSACTION_WRITE, &transaction, err));
    assert_ok(statement_prepare(transaction, sql, &statement, err));
    assert_ok(statement_run(statement, err));
    assert_ok(transaction_commit(transaction, err));
}

/* The index cannot be made from such records: that must not keep them from being repaired. */
static void records_that_stop_the_index_are_repaired(void **state)
{
    struct place place = new_place();
    size_t repaired;
    run_sql(&place, "UPDATE embeddings SET vector = x'00' WHERE id = (SELECT min(id) FROM embeddings)");
    close_place(&place);
    AUTO_FREE char *index = path_join(place.data, "index");
    assert_ok(folder_remove(index, err));
    open_place(&place);
    assert_int_not_equal(instance_index_settled(place.instance, 0, NULL), IBID_OK);
    assert_true(verify(&place, false, &repaired) >= 2); /* the vector; an index that does not follow */
    assert_true(verify(&place, true, &repaired) > 0);
    assert_true(repaired > 0);
    assert_int_equal(verify(&place, false, &repaired), 0);
    assert_int_equal(bread(&place), DOCUMENTS);
    end_place(&place);
}

/* What only the database knew cannot be made anew: that is said, at opening or by verify. */
static void a_damaged_database_is_said_so(void **state)
{
    struct place place = new_place();
    AUTO_FREE char *path = path_join(place.data, "records.db");
    AUTO_BUFFER sound = BUFFER(64 * 1024 * 1024);
    close_place(&place);
    assert_ok(file_read(path, &sound, err));
    for (enum damage damage = GARBAGE; damage < MISSING; damage++) {
        assert_ok(file_write_atomically(path, sound.data, sound.size, 0600, err));
        damage_file(path, damage);
        ibid_error error = {0};
        place.settings = make_settings();
        const ibid_code code =
            instance_open(place.data, place.settings, INSTANCE_EXISTING, &place.instance, &error);
        if (code == IBID_OK) {
            size_t repaired;
            assert_true(verify(&place, true, &repaired) > repaired);
            instance_close(place.instance);
        } else {
            print_message("# %s\n", error.message);
            assert_int_equal(code, damage == EMPTY ? IBID_ENOTFOUND : IBID_ECORRUPT);
            assert_non_null(strstr(error.message, path));
        }
        instance_settings_free(place.settings);
    }
    assert_ok(file_write_atomically(path, sound.data, sound.size, 0600, err));
    open_place(&place);
    assert_repairable(&place);
    end_place(&place);
}

/* An index over documents that the records do not know any more shows none of them. */
static void a_new_database_empties_the_index(void **state)
{
    struct place place = new_place();
    AUTO_FREE char *path = path_join(place.data, "records.db");
    size_t repaired;
    close_place(&place);
    assert_int_equal(unlink(path), 0);
    open_place(&place);
    verify(&place, true, &repaired);
    assert_int_equal(verify(&place, false, &repaired), 0);
    assert_int_equal(bread(&place), 0);
    index_documents(&place);
    assert_int_equal(verify(&place, false, &repaired), 0);
    assert_int_equal(bread(&place), DOCUMENTS);
    end_place(&place);
}

/* What an indexing run may begin while the index stands still. */
static void begin_succession(void *context, const char *stage, int64_t done, int64_t total)
{
    (void)total;
    if (strcmp(stage, "records") != 0 || done > 0)
        return;
    const struct collection_embedder other = {
        .id = STR("hash/words-96@1"), .fingerprint = STR("hash/words-96@1;f32"), .dimension = 96};
    struct transaction *transaction;
    assert_ok(transaction_begin(context, TRANSACTION_WRITE, &transaction, err));
    assert_ok(collection_set_embedder(transaction, DEFAULT_COLLECTION_ID, &other, err));
    assert_ok(transaction_commit(transaction, err));
}

static void a_successor_that_was_just_begun_is_no_fault(void **state)
{
    struct place place = new_place();
    AUTO_ARENA arena = ARENA_INIT;
    struct instance_finding *findings;
    size_t count;
    const struct watch watch = {.show = begin_succession, .context = instance_metadata(place.instance)};
    assert_ok(instance_verify(place.instance, false, &watch, &arena, &findings, &count, err));
    assert_int_equal(count, 0);
    end_place(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verify_can_be_stopped_everywhere),
        cmocka_unit_test(each_file_of_the_index_can_be_lost),
        cmocka_unit_test(a_damaged_file_in_use_is_repaired),
        cmocka_unit_test(an_index_that_is_gone_is_made_anew),
        cmocka_unit_test(records_that_stop_the_index_are_repaired),
        cmocka_unit_test(a_damaged_database_is_said_so),
        cmocka_unit_test(a_new_database_empties_the_index),
        cmocka_unit_test(a_successor_that_was_just_begun_is_no_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
