/* What every connector must do. A member of the registry without a row in `fixtures` fails. */
#include "tests/contract/contract.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "connector/connector.h"
#include "tests/folder.h"

/* How a member gets a source with three things to index ("one", "two", "three" in their bytes) and one to
 * skip. */
struct fixture {
    const char *name;
    bool lists; /* false: the connector has nothing to list by its nature */
    /* Fills `folder`; returns the source. */
    const char *(*prepare)(const char *folder, struct arena *arena);
};

static void write_file(const char *folder, const char *name, const char *text)
{
    AUTO_FREE char *path = path_join(folder, name);
    assert_ok(file_write_atomically(path, text, strlen(text), 0600, err));
}

static const char *prepare_folder(const char *folder, struct arena *arena)
{
    AUTO_FREE char *sub = path_join(folder, "sub");
    assert_ok(folder_make(sub, err));
    write_file(folder, "one.txt", "one");
    write_file(folder, "sub/two.md", "two");
    write_file(folder, "sub/three", "three");
    write_file(folder, ".hidden", "hidden");
    return arena_strdup(arena, folder);
}

static const char *prepare_nothing(const char *folder, struct arena *arena)
{
    return "uploads";
}

static const struct fixture fixtures[] = {
    {"folder", true, prepare_folder},
    {"upload", false, prepare_nothing},
};

struct bench {
    const struct fixture *fixture;
    struct arena arena;
    char *folder;
    const char *source;
    void *source_options;
    struct connector *connector;
};

static int set_up(void **state)
{
    struct bench *bench = xcalloc(1, sizeof *bench);
    bench->fixture = *state;
    bench->folder = test_folder_new();
    const struct connector_ops *ops = connector_find(bench->fixture->name);
    assert_non_null(ops);
    void *options = arena_alloc(&bench->arena, ops->options_size + 1);
    bench->source_options = arena_alloc(&bench->arena, ops->source_options_size + 1);
    option_set_defaults(ops->options, options, &bench->arena);
    option_set_defaults(ops->source_options, bench->source_options, &bench->arena);
    bench->source = bench->fixture->prepare(bench->folder, &bench->arena);
    assert_ok(connector_open(ops, options, &bench->connector, err));
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    connector_close(bench->connector);
    test_folder_free(bench->folder);
    arena_release(&bench->arena);
    free(bench);
    return 0;
}

/* What a discovery gave. */
struct listing {
    struct arena *arena;
    struct connector_item items[16];
    size_t count;
};

static ibid_code note(const struct connector_item *item, void *context, ibid_error *err)
{
    struct listing *listing = context;
    struct connector_item *copy = &listing->items[listing->count++];
    *copy = *item;
    copy->external_key = arena_str(listing->arena, item->external_key);
    copy->title = arena_str(listing->arena, item->title);
    copy->url = arena_str(listing->arena, item->url);
    copy->skip = item->skip ? arena_strdup(listing->arena, item->skip) : NULL;
    return IBID_OK;
}

static struct listing discover(struct bench *bench, bool *ret_complete)
{
    struct listing listing = {.arena = &bench->arena};
    assert_ok(connector_discover(bench->connector, bench->source, bench->source_options, NULL, note, &listing,
                                 ret_complete, err));
    return listing;
}

static void test_lists_everything_once(void **state)
{
    struct bench *bench = *state;
    bool complete;
    const struct listing listing = discover(bench, &complete);
    if (!bench->fixture->lists) {
        assert_int_equal(listing.count, 0);
        assert_false(complete); /* so that nothing is ever taken as gone */
        return;
    }
    assert_true(complete);
    size_t usable = 0;
    for (size_t i = 0; i < listing.count; i++) {
        const struct connector_item *item = &listing.items[i];
        usable += item->skip == NULL;
        assert_true(item->external_key.size > 0 && utf8_is_valid(item->external_key));
        assert_true(item->skip == NULL || strlen(item->skip) > 0);
        for (size_t j = 0; j < i; j++)
            assert_false(str_equal(item->external_key, listing.items[j].external_key));
    }
    assert_int_equal(usable, 3);
    assert_int_equal(listing.count, 4);
}

static void test_fetches_what_it_lists(void **state)
{
    struct bench *bench = *state;
    bool complete;
    const struct listing listing = discover(bench, &complete);
    size_t found = 0;
    for (size_t i = 0; i < listing.count; i++) {
        if (listing.items[i].skip)
            continue;
        struct connector_item item;
        int fd;
        AUTO_BUFFER bytes = BUFFER(100);
        assert_ok(connector_fetch(bench->connector, bench->source, bench->source_options,
                                  listing.items[i].external_key, 100, &bench->arena, &item, &fd, err));
        assert_ok(file_read_fd(fd, &bytes, err));
        assert_true(connector_item_is_unchanged(bench->connector, &item, fd));
        close(fd);
        assert_true(str_equal(item.external_key, listing.items[i].external_key));
        assert_int_equal(item.size, bytes.size);
        assert_true(listing.items[i].size == -1 || listing.items[i].size == item.size);
        assert_true(listing.items[i].modified_us == 0 || listing.items[i].modified_us == item.modified_us);
        found += strcmp(bytes.data, "one") == 0 || strcmp(bytes.data, "two") == 0 ||
                 strcmp(bytes.data, "three") == 0;
    }
    assert_int_equal(found, bench->fixture->lists ? 3 : 0);
}

static void test_fetching_has_a_limit(void **state)
{
    struct bench *bench = *state;
    bool complete;
    const struct listing listing = discover(bench, &complete);
    for (size_t i = 0; i < listing.count; i++) {
        struct connector_item item;
        int fd;
        ibid_error err;
        if (!listing.items[i].skip)
            assert_int_equal(connector_fetch(bench->connector, bench->source, bench->source_options,
                                             listing.items[i].external_key, 2, &bench->arena, &item, &fd,
                                             &err),
                             IBID_ETOOBIG);
    }
}

static void test_what_is_not_there_is_not_found(void **state)
{
    struct bench *bench = *state;
    struct connector_item item;
    int fd;
    ibid_error err;
    const ibid_code code = connector_fetch(bench->connector, bench->source, bench->source_options,
                                           STR("no such key"), 100, &bench->arena, &item, &fd, &err);
    assert_int_equal(code, bench->fixture->lists ? IBID_ENOTFOUND : IBID_EUNSUPPORTED);
}

static ibid_code refuse(const struct connector_item *item, void *context, ibid_error *err)
{
    return fail(err, IBID_ENOSPACE, "no more");
}

static void test_ends_when_told(void **state)
{
    struct bench *bench = *state;
    if (!bench->fixture->lists)
        return;
    bool complete;
    ibid_error err = {0};
    assert_int_equal(connector_discover(bench->connector, bench->source, bench->source_options, NULL, refuse,
                                        NULL, &complete, &err),
                     IBID_ENOSPACE);
    assert_string_equal(err.message, "no more");
    const _Atomic bool cancel = true;
    struct listing listing = {.arena = &bench->arena};
    assert_int_equal(connector_discover(bench->connector, bench->source, bench->source_options, &cancel, note,
                                        &listing, &complete, &err),
                     IBID_ECANCELED);
}

static void test_every_member_has_fixtures(void **state)
{
    for (size_t i = 0; connector_registry[i]; i++)
        contract_expect_fixture(CONTRACT_FIXTURES(fixtures), "connector", connector_registry[i]->name);
    assert_null(connector_find("no such connector"));
}

int main(void)
{
    static const struct contract_check checks[] = {
        {"lists everything once", test_lists_everything_once},
        {"fetches what it lists", test_fetches_what_it_lists},
        {"fetching has a limit", test_fetching_has_a_limit},
        {"what is not there is not found", test_what_is_not_there_is_not_found},
        {"ends when told", test_ends_when_told},
    };
    return contract_run("connector", test_every_member_has_fixtures, CONTRACT_FIXTURES(fixtures), checks,
                        COUNT_OF(checks), set_up, tear_down);
}
