/* What every blob store must do. A member of the registry without a row in `fixtures` fails. */
#include "tests/contract/contract.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blob_store/blob_store.h"
#include "tests/folder.h"

struct fixture {
    const char *name;
    /* Damages the stored bytes of a blob; NULL where a test cannot. */
    void (*damage)(const char *folder, const struct sha256 *hash);
    bool takes_files; /* keeps blobs as files: one without name on its disk becomes the blob */
};

static void damage_local(const char *folder, const struct sha256 *hash)
{
    char hex[SHA256_HEX_SIZE];
    sha256_to_hex(hash, hex);
    AUTO_FREE char *path = xasprintf("%s/%.2s/%s", folder, hex, hex);
    const int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "X", 1, 0), 1);
    close(fd);
}

static const struct fixture fixtures[] = {
    {"local", damage_local, true},
};

struct bench {
    const struct fixture *fixture;
    struct arena arena;
    char *folder;
    struct blob_store *store;
};

static void open_store(struct bench *bench)
{
    const struct blob_store_ops *ops = blob_store_find(bench->fixture->name);
    assert_non_null(ops);
    void *options = arena_alloc(&bench->arena, ops->options_size + 1);
    option_set_defaults(ops->options, options, &bench->arena);
    assert_ok(blob_store_open(ops, bench->folder, options, &bench->store, err));
}

static int set_up(void **state)
{
    struct bench *bench = xcalloc(1, sizeof *bench);
    bench->fixture = *state;
    bench->folder = test_folder_new();
    open_store(bench);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    blob_store_close(bench->store);
    test_folder_free(bench->folder);
    arena_release(&bench->arena);
    free(bench);
    return 0;
}

/* A descriptor with these bytes, its position somewhere else than at the start. */
static int bytes_fd(const void *data, size_t size)
{
    const int fd = memfd_create("bytes", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_ok(file_write_fd(fd, data, size, err));
    return fd;
}

static struct sha256 put_fd(struct bench *bench, int fd, const void *data, size_t size)
{
    struct sha256 hash;
    int64_t stored;
    assert_ok(blob_store_put(bench->store, fd, 100 << 20, &hash, &stored, err));
    assert_int_equal(stored, size);
    const struct sha256 expected = sha256_of(data, size);
    assert_true(sha256_equal(&hash, &expected));
    return hash;
}

static struct sha256 put(struct bench *bench, const void *data, size_t size)
{
    const int fd = bytes_fd(data, size);
    const struct sha256 hash = put_fd(bench, fd, data, size);
    close(fd);
    return hash;
}

static void expect_bytes(struct bench *bench, const struct sha256 *hash, const void *data, size_t size)
{
    int fd;
    AUTO_BUFFER bytes = BUFFER(200 << 20);
    assert_ok(blob_store_open_blob(bench->store, hash, true, &fd, err));
    assert_ok(file_read_fd(fd, &bytes, err));
    close(fd);
    assert_true(str_equal(buffer_str(&bytes), (struct str){data, size}));
}

static ibid_code count_blob(const struct sha256 *hash, int64_t size, void *context, ibid_error *err)
{
    int64_t *totals = context;
    totals[0]++;
    totals[1] += size;
    return IBID_OK;
}

static void test_bytes_come_back(void **state)
{
    struct bench *bench = *state;
    const size_t size = 3000000;
    char *big = xmalloc(size);
    for (size_t i = 0; i < size; i++)
        big[i] = (char)(i * 7 + (i >> 9));
    const struct sha256 small_hash = put(bench, "some\0bytes", 10), big_hash = put(bench, big, size);
    const struct sha256 empty_hash = put(bench, "", 0);
    blob_store_close(bench->store);
    open_store(bench);
    expect_bytes(bench, &small_hash, "some\0bytes", 10);
    expect_bytes(bench, &big_hash, big, size);
    expect_bytes(bench, &empty_hash, "", 0);
    int64_t totals[2] = {0};
    assert_ok(blob_store_list(bench->store, count_blob, totals, err));
    assert_int_equal(totals[0], 3);
    assert_int_equal(totals[1], size + 10);
    free(big);
}

static void test_the_same_bytes_are_kept_once(void **state)
{
    struct bench *bench = *state;
    put(bench, "twice", 5);
    put(bench, "twice", 5);
    int64_t totals[2] = {0};
    assert_ok(blob_store_list(bench->store, count_blob, totals, err));
    assert_int_equal(totals[0], 1);
}

static void test_a_file_without_name_is_kept(void **state)
{
    struct bench *bench = *state;
    int files[3];
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        files[i] = open(bench->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (files[i] < 0)
            SKIP_TEST("the file system of %s has no files without name", bench->folder);
        assert_ok(file_write_fd(files[i], "nameless", 8, err));
    }
    struct sha256 hash;
    int64_t size, totals[2] = {0};
    assert_int_equal(blob_store_put(bench->store, files[0], 7, &hash, &size, NULL), IBID_ETOOBIG);
    assert_ok(blob_store_list(bench->store, count_blob, totals, err));
    assert_int_equal(totals[0], 0);
    hash = put_fd(bench, files[1], "nameless", 8);
    put_fd(bench, files[2], "nameless", 8);
    put_fd(bench, files[1], "nameless", 8);
    struct stat given, kept;
    int fd;
    assert_ok(blob_store_open_blob(bench->store, &hash, true, &fd, err));
    assert_true(fstat(files[1], &given) == 0 && fstat(fd, &kept) == 0);
    assert_int_equal(given.st_ino == kept.st_ino, bench->fixture->takes_files);
    close(fd);
    for (size_t i = 0; i < COUNT_OF(files); i++)
        close(files[i]);
    expect_bytes(bench, &hash, "nameless", 8);
    assert_ok(blob_store_list(bench->store, count_blob, totals, err));
    assert_int_equal(totals[0], 1);
}

static void test_removed_is_gone(void **state)
{
    struct bench *bench = *state;
    const struct sha256 hash = put(bench, "gone", 4);
    assert_ok(blob_store_remove(bench->store, &hash, err));
    assert_ok(blob_store_remove(bench->store, &hash, err));
    int fd;
    assert_int_equal(blob_store_open_blob(bench->store, &hash, false, &fd, NULL), IBID_ENOTFOUND);
}

static void test_the_limit_holds(void **state)
{
    struct bench *bench = *state;
    const int fd = bytes_fd("0123456789", 10);
    struct sha256 hash;
    int64_t size;
    ibid_error refused;
    assert_int_equal(blob_store_put(bench->store, fd, 9, &hash, &size, &refused), IBID_ETOOBIG);
    assert_non_null(strstr(refused.message, "limit of 9 bytes"));
    assert_ok(blob_store_put(bench->store, fd, 10, &hash, &size, err));
    close(fd);
}

static void test_a_full_disk_is_named(void **state)
{
    struct bench *bench = *state;
    const int fd = bytes_fd("0123456789", 10);
    struct sha256 hash;
    int64_t size, totals[2] = {0};
    ibid_error full = {0};
    if (!bench->fixture->takes_files)
        SKIP_TEST("blob store %s: it has no disk of this machine", bench->fixture->name);
    test_files_limit(5);
    const ibid_code code = blob_store_put(bench->store, fd, 10, &hash, &size, &full);
    test_files_limit(RLIM_INFINITY);
    assert_int_not_equal(code, IBID_OK);
    assert_non_null(strstr(full.message, bench->folder));
    assert_ok(blob_store_list(bench->store, count_blob, totals, err));
    assert_int_equal(totals[0], 0);
    assert_ok(blob_store_put(bench->store, fd, 10, &hash, &size, err));
    close(fd);
}

static void test_damage_is_seen_and_mended_by_putting_again(void **state)
{
    struct bench *bench = *state;
    if (!bench->fixture->damage)
        SKIP_TEST("blob store %s: its bytes cannot be damaged from outside", bench->fixture->name);
    const struct sha256 hash = put(bench, "precious", 8);
    bench->fixture->damage(bench->folder, &hash);
    int fd;
    assert_int_equal(blob_store_open_blob(bench->store, &hash, true, &fd, NULL), IBID_ECORRUPT);
    put(bench, "precious", 8);
    expect_bytes(bench, &hash, "precious", 8);
}

static ibid_code stop_at_once(const struct sha256 *hash, int64_t size, void *context, ibid_error *err)
{
    return fail(err, IBID_ECANCELED, "enough");
}

static void test_listing_ends_when_told(void **state)
{
    struct bench *bench = *state;
    put(bench, "a", 1);
    put(bench, "b", 1);
    assert_int_equal(blob_store_list(bench->store, stop_at_once, NULL, NULL), IBID_ECANCELED);
}

static void test_every_member_has_fixtures(void **state)
{
    for (size_t i = 0; blob_store_registry[i]; i++)
        contract_expect_fixture(CONTRACT_FIXTURES(fixtures), "blob_store", blob_store_registry[i]->name);
    assert_null(blob_store_find("no such store"));
}

int main(void)
{
    static const struct contract_check checks[] = {
        {"bytes come back", test_bytes_come_back},
        {"the same bytes are kept once", test_the_same_bytes_are_kept_once},
        {"a file without name is kept", test_a_file_without_name_is_kept},
        {"removed is gone", test_removed_is_gone},
        {"the limit holds", test_the_limit_holds},
        {"a full disk is named", test_a_full_disk_is_named},
        {"damage is seen and mended", test_damage_is_seen_and_mended_by_putting_again},
        {"listing ends when told", test_listing_ends_when_told},
    };
    return contract_run("blob_store", test_every_member_has_fixtures, CONTRACT_FIXTURES(fixtures), checks,
                        COUNT_OF(checks), set_up, tear_down);
}
