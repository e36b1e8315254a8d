#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "connector/connector.h"
#include "connector/folder_name.h"
#include "tests/folder.h"

/* A folder to list, and what the last listing said: lines "key: reason" in the order of their keys. */
struct tree {
    char *root;
    struct arena arena;
    void *options;
    const struct connector_ops *ops;
    struct connector *connector;
    char *lines[600];
    size_t count;
    bool complete;
    struct str last_url;
};

static int set_up(void **state)
{
    struct tree *tree = xcalloc(1, sizeof *tree);
    tree->root = test_folder_new();
    tree->ops = connector_find("folder");
    tree->options = arena_alloc(&tree->arena, tree->ops->source_options_size);
    option_set_defaults(tree->ops->source_options, tree->options, &tree->arena);
    assert_ok(connector_open(tree->ops, NULL, &tree->connector, err));
    *state = tree;
    return 0;
}

static int tear_down(void **state)
{
    struct tree *tree = *state;
    connector_close(tree->connector);
    test_folder_free(tree->root);
    arena_release(&tree->arena);
    free(tree);
    return 0;
}

static void set_option(struct tree *tree, const char *name, const char *value)
{
    assert_ok(option_set(option_find(tree->ops->source_options, str_from(name)), tree->options,
                         str_from(value), &tree->arena, err));
}

static char *path_in(struct tree *tree, const char *name)
{
    return arena_printf(&tree->arena, "%s/%s", tree->root, name);
}

static void make_file(struct tree *tree, const char *name, const char *data, size_t size)
{
    char *path = path_in(tree, name);
    AUTO_FREE char *parent = xmemdup0(path, strlen(path) - path_base_name(str_from(path)).size - 1);
    assert_ok(folder_make(parent, err));
    assert_ok(file_write_atomically(path, data, size, 0600, err));
}

static void make_text(struct tree *tree, const char *name)
{
    make_file(tree, name, name, strlen(name));
}

static void make_link(struct tree *tree, const char *name, const char *target)
{
    assert_int_equal(symlink(target, path_in(tree, name)), 0);
}

static ibid_code note(const struct connector_item *item, void *context, ibid_error *err)
{
    struct tree *tree = context;
    assert_true(tree->count < COUNT_OF(tree->lines));
    tree->last_url = arena_str(&tree->arena, item->url);
    tree->lines[tree->count++] =
        arena_printf(&tree->arena, "%.*s: %s", STR_ARG(item->external_key), item->skip ? item->skip : "ok");
    return IBID_OK;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list(struct tree *tree, const char *source)
{
    tree->count = 0;
    assert_ok(
        connector_discover(tree->connector, source, tree->options, NULL, note, tree, &tree->complete, err));
    qsort(tree->lines, tree->count, sizeof tree->lines[0], compare_lines);
}

static void expect(struct tree *tree, const char *const *lines, size_t count)
{
    list(tree, tree->root);
    for (size_t i = 0; i < tree->count && i < count; i++)
        assert_string_equal(tree->lines[i], lines[i]);
    assert_int_equal(tree->count, count);
}
#define EXPECT(tree, ...)                            \
    expect(tree, (const char *const[]){__VA_ARGS__}, \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static ibid_code fetch(struct tree *tree, const char *source, struct str key, struct buffer *bytes,
                       ibid_error *err)
{
    struct connector_item item;
    int fd;
    TRY(connector_fetch(tree->connector, source, tree->options, key, 1 << 20, &tree->arena, &item, &fd, err));
    const ibid_code code = file_read_fd(fd, bytes, err);
    close(fd);
    return code;
}

static void expect_bytes(struct tree *tree, const char *key, const char *text)
{
    AUTO_BUFFER bytes = BUFFER(1 << 20);
    assert_ok(fetch(tree, tree->root, str_from(key), &bytes, err));
    assert_true(str_is(buffer_str(&bytes), text));
}

static void expect_missing(struct tree *tree, const char *key)
{
    AUTO_BUFFER bytes = BUFFER(1 << 20);
    assert_int_equal(fetch(tree, tree->root, str_from(key), &bytes, NULL), IBID_ENOTFOUND);
}

static void what_is_skipped_has_a_reason(void **state)
{
    struct tree *tree = *state;
    make_text(tree, "a.txt");
    make_text(tree, "empty-name-less");
    make_text(tree, ".git/config");
    make_text(tree, ".env");
    make_text(tree, "photo.JPG");
    make_file(tree, "program",
              "\x7f"
              "ELF\0\0",
              6);
    make_file(tree, "utf16.txt", "\xFF\xFEh\0i\0", 6);
    make_file(tree, "scan.pdf", "\0\0\0", 3);
    make_file(tree, "empty.txt", "", 0);
    make_link(tree, "link", "a.txt");
    assert_int_equal(mkfifo(path_in(tree, "pipe"), 0600), 0);
    EXPECT(tree, ".env: hidden", ".git/: hidden", "a.txt: ok", "empty-name-less: ok", "empty.txt: ok",
           "link: symbolic link", "photo.JPG: binary", "pipe: special file", "program: binary",
           "scan.pdf: ok", "utf16.txt: ok");
    assert_true(tree->complete);
    expect_missing(tree, "pipe");
    expect_missing(tree, "link");
}

static void patterns_choose(void **state)
{
    struct tree *tree = *state;
    make_text(tree, "a.md");
    make_text(tree, "b.txt");
    make_text(tree, "draft/c.md");
    make_text(tree, "team/deep/d.md");
    make_text(tree, "team/deep/e.txt");
    set_option(tree, "exclude", "draft");
    set_option(tree, "include", "*.md");
    EXPECT(tree, "a.md: ok", "b.txt: not included", "draft/: excluded", "team/deep/d.md: ok",
           "team/deep/e.txt: not included");
    set_option(tree, "include", "team/**"); /* one more */
    EXPECT(tree, "a.md: ok", "b.txt: not included", "draft/: excluded", "team/deep/d.md: ok",
           "team/deep/e.txt: ok");
}

static void large_files_are_skipped(void **state)
{
    struct tree *tree = *state;
    set_option(tree, "max_file_size", "10");
    make_file(tree, "small", "0123456789", 10);
    make_file(tree, "large", "0123456789a", 11);
    EXPECT(tree, "large: larger than max_file_size (10 bytes)", "small: ok");
}

static void links_are_followed_when_asked(void **state)
{
    struct tree *tree = *state;
    char *outside = test_folder_new();
    AUTO_FREE char *secret = path_join(outside, "outside.txt");
    assert_ok(file_write_atomically(secret, "outside", 7, 0600, err));
    make_text(tree, "real/a.txt");
    make_link(tree, "real/circle", "..");
    make_link(tree, "also", "real");
    make_link(tree, "away", outside);
    make_link(tree, "file", "real/a.txt");
    make_link(tree, "broken", "nowhere");
    make_link(tree, "self", "self");
    EXPECT(tree, "also: symbolic link", "away: symbolic link", "broken: symbolic link", "file: symbolic link",
           "real/a.txt: ok", "real/circle: symbolic link", "self: symbolic link");
    expect_missing(tree, "away/outside.txt");
    set_option(tree, "follow_links", "yes");
    EXPECT(tree, "also/: another link to a folder that is listed already", "away/outside.txt: ok",
           "broken: broken symbolic link", "file: ok", "real/a.txt: ok",
           "real/circle/: another link to a folder that is listed already",
           "self: symbolic link in a circle");
    expect_bytes(tree, "away/outside.txt", "outside");
    expect_bytes(tree, "file", "real/a.txt");
    test_folder_free(outside);
}

static void keys_do_not_lead_out_of_the_folder(void **state)
{
    struct tree *tree = *state;
    make_text(tree, "sub/a.txt");
    char *outside =
        arena_printf(&tree->arena, "../%.*s/sub/a.txt", STR_ARG(path_base_name(str_from(tree->root))));
    const char *const keys[] = {
        outside, "/etc/passwd", "sub/../sub/a.txt", "sub//a.txt", "./sub/a.txt", "",
        "sub",   "sub/",        "\\x2e\\x2e/x",     "sub/\\",     "\\x",         "sub/a.txt/b"};
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        expect_missing(tree, keys[i]);
    expect_bytes(tree, "sub/a.txt", "sub/a.txt");
}

static void any_bytes_can_be_a_name(void **state)
{
    struct tree *tree = *state;
    static const struct {
        const char *name, *key;
    } rows[] = {
        {"caf\xe9.txt", "caf\\xe9.txt"},
        {"back\\slash", "back\\\\slash"},
        {"\\xe9", "\\\\xe9"},
        {"n\xc3\xa4h.txt", "n\xc3\xa4h.txt"},
        {"new\nline", "new\nline"},
        {"\xf0\x9f\x98", "\\xf0\\x9f\\x98"},
        {"a b%20c#?.txt", "a b%20c#?.txt"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        make_file(tree, rows[i].name, rows[i].key, strlen(rows[i].key));
    list(tree, tree->root);
    assert_int_equal(tree->count, COUNT_OF(rows));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *line = arena_printf(&tree->arena, "%s: ok", rows[i].key);
        bool found = false;
        for (size_t j = 0; j < tree->count; j++)
            found |= strcmp(tree->lines[j], line) == 0;
        if (!found)
            fail_msg("no '%s'", line);
        expect_bytes(tree, rows[i].key, rows[i].key);
    }
}

static void urls_are_percent_encoded(void **state)
{
    AUTO_BUFFER url = BUFFER(1000);
    folder_name_append_url(&url, STR("/a b/caf\xe9%\xc3\xa4#?.txt"));
    assert_string_equal(url.data, "file:///a%20b/caf%E9%25%C3%A4%23%3F.txt");
    struct tree *tree = *state;
    make_text(tree, "x y");
    list(tree, tree->root);
    assert_true(str_starts_with(tree->last_url, "file:///"));
    assert_true(str_ends_with(tree->last_url, "/x%20y"));
}

static void a_source_may_be_one_file(void **state)
{
    struct tree *tree = *state;
    make_text(tree, "a.txt");
    make_text(tree, "b.txt");
    const char *source = path_in(tree, "a.txt");
    list(tree, source);
    assert_int_equal(tree->count, 1);
    assert_string_equal(tree->lines[0], "a.txt: ok");
    AUTO_BUFFER bytes = BUFFER(100);
    assert_ok(fetch(tree, source, STR("a.txt"), &bytes, err));
    assert_true(str_is(buffer_str(&bytes), "a.txt"));
    assert_int_equal(fetch(tree, source, STR("b.txt"), &bytes, NULL), IBID_ENOTFOUND);
}

static void a_missing_source_is_an_error(void **state)
{
    struct tree *tree = *state;
    ibid_error err = {0};
    assert_int_equal(connector_discover(tree->connector, path_in(tree, "none"), tree->options, NULL, note,
                                        tree, &tree->complete, &err),
                     IBID_ENOTFOUND);
    assert_non_null(strstr(err.message, "none"));
}

/* As another user where the tests run as root, whom no permission stops. */
static void unreadable_folders_make_the_listing_incomplete(void **state)
{
    struct tree *tree = *state;
    make_text(tree, "closed/a.txt");
    make_text(tree, "open.txt");
    make_text(tree, "closed.txt");
    assert_int_equal(chmod(tree->root, 0755), 0);
    assert_int_equal(chmod(path_in(tree, "closed"), 0), 0);
    assert_int_equal(chmod(path_in(tree, "open.txt"), 0644), 0);
    assert_int_equal(chmod(path_in(tree, "closed.txt"), 0), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
            _exit(2);
        list(tree, tree->root);
        const bool right = tree->count == 3 && !tree->complete &&
                           strcmp(tree->lines[0], "closed.txt: unreadable: Permission denied") == 0 &&
                           strcmp(tree->lines[1], "closed/: unreadable: Permission denied") == 0 &&
                           strcmp(tree->lines[2], "open.txt: ok") == 0;
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(chmod(path_in(tree, "closed"), 0700), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void depth_has_a_limit(void **state)
{
    struct tree *tree = *state;
    int fd = open(tree->root, O_PATH | O_DIRECTORY);
    for (int i = 0; i < 300; i++) { /* deeper than a path can say */
        assert_int_equal(mkdirat(fd, "a-folder-with-a-long-name", 0700), 0);
        const int next = openat(fd, "a-folder-with-a-long-name", O_PATH | O_DIRECTORY);
        close(fd);
        fd = next;
        assert_true(fd >= 0);
    }
    close(fd);
    list(tree, tree->root);
    assert_int_equal(tree->count, 1);
    assert_true(tree->complete);
    assert_non_null(strstr(tree->lines[0], ": nested too deep"));
}

static void a_file_that_changes_while_it_is_read_is_noticed(void **state)
{
    struct tree *tree = *state;
    make_text(tree, "a.txt");
    struct connector_item item;
    int fd;
    assert_ok(connector_fetch(tree->connector, tree->root, tree->options, STR("a.txt"), 100, &tree->arena,
                              &item, &fd, err));
    assert_true(connector_item_is_unchanged(tree->connector, &item, fd));
    const int writer = open(path_in(tree, "a.txt"), O_WRONLY | O_APPEND);
    assert_int_equal(write(writer, "more", 4), 4);
    close(writer);
    assert_false(connector_item_is_unchanged(tree->connector, &item, fd));
    close(fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_is_skipped_has_a_reason),
        TEST(patterns_choose),
        TEST(large_files_are_skipped),
        TEST(links_are_followed_when_asked),
        TEST(keys_do_not_lead_out_of_the_folder),
        TEST(any_bytes_can_be_a_name),
        TEST(urls_are_percent_encoded),
        TEST(a_source_may_be_one_file),
        TEST(a_missing_source_is_an_error),
        TEST(unreadable_folders_make_the_listing_incomplete),
        TEST(depth_has_a_limit),
        TEST(a_file_that_changes_while_it_is_read_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
