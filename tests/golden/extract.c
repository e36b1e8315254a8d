/* Every sample under tests/golden/extract/<format>/ goes through the real brokers; what comes out is
 * compared with <sample>.expected beside it. `golden_extract --update [FORMAT...]` rewrites those
 * files: read the difference before you commit it. `golden_extract --show FILE...` only prints. */
#include "tests/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "extract/extract.h"
#include "tests/golden/dump.h"
#include "tests/support/extraction_check.h"

static struct extract_pool *pool;
static char *root;

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int is_sample(const struct dirent *entry)
{
    return is_visible(entry) && !str_ends_with(str_from(entry->d_name), ".expected") &&
           !str_ends_with(str_from(entry->d_name), ".password");
}

/* "<sample>.password" holds what a reader would type. */
static char *read_password(const char *sample)
{
    AUTO_FREE char *path = xasprintf("%s.password", sample);
    AUTO_BUFFER text = BUFFER(1000);
    ibid_error err;
    if (file_read(path, &text, &err) != IBID_OK)
        return NULL;
    struct str line = str_trim(buffer_str(&text));
    return xmemdup0(line.data, line.size);
}

static void extract_sample(const char *path, struct buffer *out)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_FREE char *password = read_password(path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    struct extract_request request = {.fd = fd, .name = path, .password = password, .words = true};
    struct extraction extraction;
    assert_ok(extract_document(pool, &request, NULL, &arena, &extraction, err));
    close(fd);
    const char *fault = extraction_find_fault(&extraction);
    if (fault)
        fail_msg("%s: %s", path, fault);
    dump_extraction(&extraction, out);
}

static bool matches(const char *sample, const char *expected_path, struct str found)
{
    AUTO_BUFFER expected = BUFFER(16 << 20);
    ibid_error err;
    if (file_read(expected_path, &expected, &err) != IBID_OK) {
        print_error("%s: %s; --update makes it\n", sample, err.message);
        return false;
    }
    if (str_equal(buffer_str(&expected), found))
        return true;
    struct str old = buffer_str(&expected), new = found, old_line = STR_EMPTY, new_line = STR_EMPTY;
    unsigned line = 0;
    bool more_old, more_new;
    do {
        line++;
        more_old = str_split(&old, '\n', &old_line);
        more_new = str_split(&new, '\n', &new_line);
    } while (more_old && more_new && str_equal(old_line, new_line));
    print_error("%s differs in line %u of the dump\n  expected: %.*s\n  found:    %.*s\n", sample, line,
                STR_ARG(old_line), STR_ARG(new_line));
    return false;
}

/* How many samples of a format do not match. */
static size_t check_format(const char *format, bool update)
{
    AUTO_FREE char *folder = path_join(root, format);
    struct dirent **entries;
    int count = scandir(folder, &entries, is_sample, by_name);
    assert_true(count > 0);
    size_t wrong = 0;
    for (int i = 0; i < count; i++) {
        AUTO_FREE char *sample = path_join(folder, entries[i]->d_name);
        AUTO_FREE char *expected = xasprintf("%s.expected", sample);
        AUTO_BUFFER found = BUFFER(16 << 20);
        extract_sample(sample, &found);
        if (update)
            assert_ok(file_write_atomically(expected, found.data, found.size, 0644, err));
        else
            wrong += !matches(sample, expected, buffer_str(&found));
        free(entries[i]);
    }
    free(entries);
    return wrong;
}

static void a_sample_gives_what_is_expected(void **state)
{
    const char *format = *state;
    size_t wrong = check_format(format, false);
    if (wrong)
        fail_msg("%zu samples of %s differ", wrong, format);
}

static void open_pool(void)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct extract_settings settings = {0};
    option_set_defaults(extract_section.table, &settings, &arena);
    assert_ok(extract_pool_open(&settings, &pool, err));
}

static int set_up(void **state)
{
    open_pool();
    return 0;
}

static int tear_down(void **state)
{
    extract_pool_close(pool);
    return 0;
}

static void update(int count, char **formats, struct dirent **all, int all_count)
{
    open_pool();
    for (int i = 0; i < all_count; i++) {
        bool wanted = count == 0;
        for (int j = 0; j < count; j++)
            wanted |= strcmp(formats[j], all[i]->d_name) == 0;
        if (wanted)
            check_format(all[i]->d_name, true);
    }
    extract_pool_close(pool);
}

static void show(int count, char **files)
{
    open_pool();
    for (int i = 0; i < count; i++) {
        AUTO_BUFFER dump = BUFFER(256 << 20);
        extract_sample(files[i], &dump);
        printf("==> %s\n%s", files[i], dump.data);
    }
    extract_pool_close(pool);
}

static int check(struct dirent **formats, int count)
{
    struct CMUnitTest *tests = xcalloc((size_t)count, sizeof *tests);
    for (int i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){.name = formats[i]->d_name,
                                       .test_func = a_sample_gives_what_is_expected,
                                       .initial_state = formats[i]->d_name};
    int failed = _cmocka_run_group_tests("extract", tests, (size_t)count, set_up, tear_down);
    free(tests);
    return failed;
}

int main(int argc, char **argv)
{
    const char *source = getenv("IBID_SOURCE_ROOT");
    root = path_join(source ? source : ".", "tests/golden/extract");
    struct dirent **formats;
    int count = scandir(root, &formats, is_visible, by_name);
    if (count <= 0) {
        fprintf(stderr, "no samples in %s: run it from the source folder\n", root);
        return 1;
    }
    int failed = 0;
    if (argc > 1 && strcmp(argv[1], "--show") == 0)
        show(argc - 2, argv + 2);
    else if (argc > 1 && strcmp(argv[1], "--update") == 0)
        update(argc - 2, argv + 2, formats, count);
    else
        failed = check(formats, count);
    for (int i = 0; i < count; i++)
        free(formats[i]);
    free(formats);
    free(root);
    return failed;
}
