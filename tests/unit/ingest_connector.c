/* A connector that ingest knows nothing of: its sources are indexed, followed and removed by the contract
 * alone. */
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "connector/members.h"
#include "ingest/run.h"
#include "ingest/upload.h"
#include "instance/instance.h"
#include "records/bootstrap.h"
#include "records/document.h"
#include "records/source.h"
#include "tests/folder.h"

/* ---- a shelf of pages with numbers, revisions and declared types ---- */

struct leaf {
    const char *key, *title, *type, *revision, *text;
};

static const struct leaf *pages;
static size_t page_count;
static _Atomic size_t fetches; /* counted by the threads that read */

struct shelf_options {
    const char *language; /* of the pages that are listed; empty: all */
};

static const struct option no_options[] = {OPTION_END};
static const struct option shelf_options[] = {{.name = "language",
                                               .type = OPTION_STRING,
                                               .offset = offsetof(struct shelf_options, language),
                                               .default_text = "",
                                               .placeholder = "CODE",
                                               .help = "Pages in this language."},
                                              OPTION_END};

extern const struct connector_ops connector_shelf;

static ibid_code shelf_open(const void *options, struct connector **ret, ibid_error *err)
{
    struct connector *connector = xcalloc(1, sizeof *connector);
    connector->ops = &connector_shelf;
    *ret = connector;
    return IBID_OK;
}

static void shelf_close(struct connector *connector)
{
    free(connector);
}

static struct connector_item item_of(const struct leaf *page)
{
    return (struct connector_item){.external_key = str_from(page->key),
                                   .title = str_from(page->title),
                                   .url = STR("https://shelf.example/page"),
                                   .media_type = str_from(page->type),
                                   .version = str_from(page->revision),
                                   .size = -1};
}

static ibid_code shelf_discover(struct connector *connector, const char *source, const void *source_options,
                                const _Atomic bool *cancel, connector_receive *receive, void *context,
                                bool *ret_complete, ibid_error *err)
{
    const struct shelf_options *options = source_options;
    assert_string_equal(source, "shelf://books");
    assert_string_equal(options->language, "en");
    for (size_t i = 0; i < page_count; i++) {
        const struct connector_item item = item_of(&pages[i]);
        TRY(receive(&item, context, err));
    }
    *ret_complete = true;
    return IBID_OK;
}

/* Deletes a document while its page is fetched. */
static struct instance *_Atomic deleting; /* where; NULL: nothing is deleted */
static int64_t deleted_id;

static void delete_one(void)
{
    struct instance *instance = atomic_exchange(&deleting, NULL);
    struct removal removal;
    if (instance)
        assert_ok(ingest_remove(instance_ingest(instance), deleted_id, &removal, err));
}

static ibid_code shelf_fetch(struct connector *connector, const char *source, const void *source_options,
                             struct str external_key, int64_t limit, struct arena *arena,
                             struct connector_item *ret_item, int *ret_fd, ibid_error *err)
{
    for (size_t i = 0; i < page_count; i++)
        if (str_is(external_key, pages[i].key)) {
            const int fd = memfd_create("page", MFD_CLOEXEC);
            fetches++;
            if (str_is(external_key, "17"))
                delete_one();
            *ret_item = item_of(&pages[i]);
            ret_item->size = (int64_t)strlen(pages[i].text);
            *ret_fd = fd;
            return file_write_fd(fd, pages[i].text, strlen(pages[i].text), err);
        }
    return fail(err, IBID_ENOTFOUND, "there is no such page");
}

const struct connector_ops connector_shelf = {
    .name = "shelf",
    .help = "Pages of a test.",
    .source_word = "shelf",
    .options = no_options,
    .source_options = shelf_options,
    .source_options_size = sizeof(struct shelf_options),
    .open = shelf_open,
    .close = shelf_close,
    .discover = shelf_discover,
    .fetch = shelf_fetch,
};

/* In the place of src/connector/registry.c. */
const struct connector_ops *const connector_registry[] = {&connector_folder, &connector_upload,
                                                          &connector_shelf, NULL};

/* ---- the test ---- */

static struct run_progress run(struct instance *instance, int64_t source_id)
{
    struct ingest *ingest = instance_ingest(instance);
    const struct ingest_request request = {.source_ids = &source_id, .source_count = 1};
    struct ingest_status status;
    int64_t run_id;
    assert_ok(ingest_start(ingest, &request, &run_id, err));
    assert_true(ingest_wait(ingest, clock_monotonic_us() + 120 * SECOND_US));
    assert_true(ingest_status(ingest, &status));
    if (status.state != RUN_COMPLETED)
        fail_msg("the run %s: %s", run_state_string(status.state), status.message);
    return status.progress;
}

static struct document load(struct instance *instance, int64_t source_id, const char *key,
                            struct arena *arena)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct document document = {0};
    int64_t id;
    assert_ok(transaction_begin(instance_metadata(instance), TRANSACTION_READ, &transaction, err));
    assert_ok(document_find_key(transaction, source_id, str_from(key), &id, err));
    if (id)
        assert_ok(document_load(transaction, id, arena, &document, err));
    return document;
}

static const struct leaf first_pages[] = {
    {"17", "On water", "text/markdown", "1", "# Water\n\nIt boils.\n"},
    {"18", "On bread", "text/plain", "1", "Rye needs time."},
    {"19", "On nothing", "text/plain", "1", " "},
};
static const struct leaf later_pages[] = {
    {"17", "On water", "text/markdown", "2", "# Water\n\nIt freezes.\n"},
    {"19", "On nothing", "text/plain", "2", "There is something now."},
};

static const struct leaf last_pages[] = {
    {"17", "On water", "text/markdown", "3", "# Water\n\nIt evaporates.\n"},
    {"19", "On nothing", "text/plain", "3", "There is more."},
};

static void a_connector_is_followed_by_its_contract(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    char *folder = test_folder_new();
    AUTO_FREE char *data = path_join(folder, "data");
    struct instance_settings *settings = instance_settings_new();
    struct settings *table = instance_settings_table(settings);
    assert_ok(settings_set(table, STR("extract.sandbox"), STR("auto"), "test", err));
    assert_ok(settings_set(table, STR("embedder.provider"), STR("hash"), "test", err));
    struct instance *instance;
    assert_ok(instance_open(data, settings, INSTANCE_CREATE, &instance, err));
    struct ingest *ingest = instance_ingest(instance);
    AUTO_JSON *options = json_pack("{s:s}", "language", "en");
    AUTO_JSON *wrong = json_pack("{s:s}", "colour", "red");
    int64_t id, again;
    assert_int_equal(ingest_source(ingest, "no such", "x", NULL, &id, NULL), IBID_EUNSUPPORTED);
    assert_int_equal(ingest_source(ingest, "shelf", "shelf://books", wrong, &id, NULL), IBID_EINVAL);
    assert_ok(ingest_source(ingest, "shelf", "shelf://books", options, &id, err));
    assert_ok(ingest_source(ingest, "shelf", "shelf://books", NULL, &again, err));
    assert_int_equal(again, id);

    pages = first_pages;
    page_count = COUNT_OF(first_pages);
    struct run_progress counts = run(instance, id);
    assert_int_equal(counts.indexed, 2);
    assert_int_equal(counts.failed, 1);
    struct document document = load(instance, id, "17", &arena);
    assert_true(str_is(document.document_title, "Water"));
    assert_true(str_is(document.media_type, "text/markdown")); /* as declared */
    assert_true(str_is(document.source_url, "https://shelf.example/page"));
    assert_true(str_is(document.version, "1"));
    assert_true(str_is(load(instance, id, "18", &arena).document_title, "On bread"));

    const size_t fetched = fetches;
    counts = run(instance, id);
    assert_int_equal(counts.unchanged, 2);
    assert_int_equal(fetches, fetched + 1); /* what failed */

    pages = later_pages;
    page_count = COUNT_OF(later_pages);
    counts = run(instance, id);
    assert_int_equal(counts.indexed, 2);
    assert_int_equal(counts.removed, 1);
    document = load(instance, id, "17", &arena);
    assert_true(str_is(document.version, "2"));
    assert_int_equal(load(instance, id, "18", &arena).id, 0);

    /* One that is deleted while it is read was not indexed, and does not come back. */
    pages = last_pages;
    page_count = COUNT_OF(last_pages);
    deleted_id = document.id;
    atomic_store(&deleting, instance);
    counts = run(instance, id);
    assert_null(atomic_load(&deleting));
    assert_int_equal(counts.indexed, 1);
    assert_int_equal(load(instance, id, "17", &arena).id, 0);
    assert_true(str_is(load(instance, id, "19", &arena).version, "3"));

    struct source_removal removal;
    assert_ok(ingest_remove_source(ingest, id, NULL, NULL, &removal, err));
    assert_int_equal(removal.documents, 1);
    instance_close(instance);
    instance_settings_free(settings);
    test_folder_free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connector_is_followed_by_its_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
