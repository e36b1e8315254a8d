/* Checking and repairing a whole data directory: what is damaged is named, what the records know is made
 * anew, and searching works again. */
#include "tests/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "ingest/run.h"
#include "instance/instance.h"
#include "model/terms.h"
#include "records/bootstrap.h"
#include "tests/folder.h"

enum { DOCUMENTS = 12 };

/* A data directory with an index on disk. */
struct place {
    char *root, *data;
    struct instance_settings *settings;
    struct instance *instance;
};

static void open_place(struct place *place)
{
    static const char *const set[][2] = {{"embedder.provider", "hash"}, {"embedder.hash.dimension", "64"}};
    place->settings = instance_settings_new();
    struct settings *table = instance_settings_table(place->settings);
    for (size_t i = 0; i < COUNT_OF(set); i++)
        assert_ok(settings_set(table, str_from(set[i][0]), str_from(set[i][1]), "test", err));
    const char *libexec = getenv("IBID_LIBEXEC");
    if (libexec)
        assert_ok(settings_set(table, STR("extract.libexec"), str_from(libexec), "test", err));
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
    assert_ok(ingest_folder_source(ingest, documents, NULL, &source_id, err));
    request.source_ids = &source_id;
    assert_ok(ingest_start(ingest, &request, &run_id, err));
    assert_true(ingest_wait(ingest, clock_monotonic_us() + 120 * SECOND_US));
    assert_ok(instance_compact(place->instance, 0, err));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verify_can_be_stopped_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
