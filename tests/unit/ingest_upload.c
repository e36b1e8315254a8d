/* Uploads among themselves: what is replaced while it is worked on, what waits and is taken up again, and
 * whose bytes are kept. */
#include "tests/test.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "ingest/blobs.h"
#include "ingest/upload.h"
#include "records/chunk_record.h"
#include "records/workspace.h"
#include "tests/ingest_host.h"

/* ---- an ingest whose surroundings are under the test's thumb ---- */

struct bench {
    struct test_ingest base;
    struct blob_store blobs;  /* passes on to the instance's */
    _Atomic bool no_pool;     /* documents cannot be read here at the moment */
    _Atomic bool no_embedder; /* likewise embedded */
    bool write_while_opening; /* a write transaction is begun when the embedder is asked for */
    _Atomic int writes;
    _Atomic bool no_removal;         /* of bytes that are kept */
    _Atomic int fetches;             /* of bytes that are kept */
    int uploads;                     /* each has its number in its metadata */
    _Atomic int64_t cancel_over;     /* when its bytes are fetched the run under way is canceled; or 0 */
    const char *_Atomic replacement; /* comes as new bytes of "notes.txt" when its old ones are fetched */
    bool replacement_first;          /* and is indexed before the old ones are read */
};

static struct bench *bench_of(const struct blob_store *blobs)
{
    return (struct bench *)((char *)(uintptr_t)blobs - offsetof(struct bench, blobs));
}

static struct bench *bench_of_host(const struct ingest_host *host)
{
    return (struct bench *)((char *)test_ingest_of(host) - offsetof(struct bench, base));
}

static int64_t bring(struct bench *bench, const char *name, const char *text);

static ibid_code put(struct blob_store *store, int fd, int64_t limit, struct sha256 *ret_hash,
                     int64_t *ret_size, ibid_error *err)
{
    return blob_store_put(instance_blobs(bench_of(store)->base.instance), fd, limit, ret_hash, ret_size, err);
}

/* As when the run has been working on the document for a while. */
static void cancel_over(struct bench *bench, int64_t id)
{
    AUTO_TRANSACTION *transaction = NULL;
    assert_ok(transaction_begin(bench->base.host.metadata, TRANSACTION_WRITE, &transaction, err));
    assert_ok(document_start(transaction, id, "extract", err));
    assert_ok(transaction_commit(transaction_take(&transaction), err));
    ingest_cancel(bench->base.ingest);
}

static void replace(struct bench *bench, const char *text)
{
    const int64_t id = bring(bench, "notes.txt", text);
    if (bench->replacement_first)
        assert_ok(ingest_wait_document(bench->base.ingest, id, clock_monotonic_us() + 60 * SECOND_US, err));
}

static ibid_code open_blob(struct blob_store *store, const struct sha256 *hash, bool verify, int *ret_fd,
                           ibid_error *err)
{
    struct bench *bench = bench_of(store);
    const ibid_code code =
        blob_store_open_blob(instance_blobs(bench->base.instance), hash, verify, ret_fd, err);
    bench->fetches++;
    /* Several threads fetch: one of them takes what is to happen. */
    const char *replacement = atomic_exchange(&bench->replacement, NULL);
    const int64_t canceled = atomic_exchange(&bench->cancel_over, 0);
    if (canceled)
        cancel_over(bench, canceled);
    if (replacement)
        replace(bench, replacement);
    return code;
}

static ibid_code remove_blob(struct blob_store *store, const struct sha256 *hash, ibid_error *err)
{
    struct bench *bench = bench_of(store);
    if (atomic_load(&bench->no_removal))
        return fail(err, IBID_EIO, "the test lets nothing be removed");
    return blob_store_remove(instance_blobs(bench->base.instance), hash, err);
}

static ibid_code list_blobs(struct blob_store *store,
                            ibid_code (*each)(const struct sha256 *hash, int64_t size, void *context,
                                              ibid_error *err),
                            void *context, ibid_error *err)
{
    return blob_store_list(instance_blobs(bench_of(store)->base.instance), each, context, err);
}

static const struct blob_store_ops passing_on = {
    .name = "passing on", .put = put, .open_blob = open_blob, .remove = remove_blob, .list = list_blobs};

static ibid_code lend_extract_pool(struct ingest_host *host, struct extract_pool **ret, ibid_error *err)
{
    struct bench *bench = bench_of_host(host);
    if (atomic_load(&bench->no_pool))
        return fail(err, IBID_EUNAVAILABLE, "the test lends none");
    return instance_extract_pool(bench->base.instance, ret, err);
}

static struct embedder *lend_embedder(struct ingest_host *host)
{
    struct bench *bench = bench_of_host(host);
    if (bench->write_while_opening) {
        AUTO_TRANSACTION *transaction = NULL;
        assert_ok(transaction_begin(host->metadata, TRANSACTION_WRITE, &transaction, err));
        bench->writes++;
    }
    return atomic_load(&bench->no_embedder) ? NULL : bench->base.embedder;
}

static const struct principal owner = {
    .user_id = OWNER_USER_ID, .system_admin = true, .every_workspace = true};
static struct principal uploader; /* of the next ones */

static int open_bench(void **state)
{
    struct bench *bench = xcalloc(1, sizeof *bench);
    uploader = owner;
    test_ingest_make(&bench->base);
    assert_ok(instance_settings_open_embedder(bench->base.instance_settings, &bench->base.embedder, err));
    bench->blobs.ops = &passing_on;
    bench->base.host.blobs = &bench->blobs;
    bench->base.host.extract_pool = lend_extract_pool;
    bench->base.host.embedder = lend_embedder;
    test_ingest_start(&bench->base);
    *state = bench;
    return 0;
}

static int close_bench(void **state)
{
    struct bench *bench = *state;
    struct embedder *embedder = bench->base.embedder;
    test_ingest_release(&bench->base);
    embedder_close(embedder);
    free(bench);
    return 0;
}

static ibid_code try_bringing_with(struct bench *bench, const char *name, const char *media_type,
                                   const char *metadata, const char *text, int64_t *ret_id, ibid_error *error)
{
    AUTO_FREE char *path = path_join(bench->base.root, "upload-XXXXXX");
    const int fd = mkostemp(path, O_CLOEXEC);
    assert_true(fd >= 0);
    unlink(path);
    assert_ok(file_write_fd(fd, text, strlen(text), err));
    const struct ingest_upload upload = {.fd = fd,
                                         .name = str_from(name),
                                         .media_type = str_from(media_type),
                                         .title = STR_EMPTY,
                                         .metadata = str_from(metadata),
                                         .workspace_id = DEFAULT_WORKSPACE_ID,
                                         .principal = &uploader};
    bool replaced;
    const ibid_code code = ingest_upload(bench->base.ingest, &upload, ret_id, &replaced, error);
    close(fd);
    return code;
}

static ibid_code try_bringing(struct bench *bench, const char *name, const char *media_type, const char *text,
                              int64_t *ret_id, ibid_error *error)
{
    AUTO_FREE char *metadata = xasprintf("{\"number\": %d}", ++bench->uploads);
    return try_bringing_with(bench, name, media_type, metadata, text, ret_id, error);
}

static int64_t bring(struct bench *bench, const char *name, const char *text)
{
    int64_t id;
    assert_ok(try_bringing(bench, name, "", text, &id, err));
    return id;
}

static struct document load(struct bench *bench, int64_t id, struct arena *arena)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct document document;
    assert_ok(transaction_begin(bench->base.host.metadata, TRANSACTION_READ, &transaction, err));
    assert_ok(document_load(transaction, id, arena, &document, err));
    return document;
}

/* Waits for the document; its state, and its first chunk's text in *ret_text (may be NULL). */
static enum processing_state settle(struct bench *bench, int64_t id, struct arena *arena,
                                    struct str *ret_text)
{
    assert_ok(ingest_wait_document(bench->base.ingest, id, clock_monotonic_us() + 60 * SECOND_US, err));
    const struct document document = load(bench, id, arena);
    if (ret_text) {
        AUTO_TRANSACTION *transaction = NULL;
        struct chunk_record chunk;
        assert_ok(transaction_begin(bench->base.host.metadata, TRANSACTION_READ, &transaction, err));
        assert_ok(chunk_record_at(transaction, id, DEFAULT_COLLECTION_ID, 0, arena, &chunk, err));
        *ret_text = chunk.text;
    }
    return document.processing_state;
}

static bool is_kept(struct bench *bench, const char *text)
{
    const struct sha256 hash = sha256_of(text, strlen(text));
    int fd;
    const ibid_code code = blob_store_open_blob(instance_blobs(bench->base.instance), &hash, true, &fd, NULL);
    if (code == IBID_OK)
        close(fd);
    return code == IBID_OK;
}

static ibid_code count_one(const struct sha256 *hash, int64_t size, void *context, ibid_error *err)
{
    ++*(size_t *)context;
    return IBID_OK;
}

static size_t count_blobs(struct bench *bench)
{
    size_t count = 0;
    assert_ok(blob_store_list(instance_blobs(bench->base.instance), count_one, &count, err));
    return count;
}

/* ---- replacing ---- */

static void new_bytes_win_over_old_ones_that_are_worked_on(void **state)
{
    struct bench *bench = *state;
    AUTO_ARENA arena = ARENA_INIT;
    struct str text;
    bench->replacement = "Remember the bread.";
    const int64_t id = bring(bench, "notes.txt", "Remember the milk.");
    assert_int_equal(settle(bench, id, &arena, &text), PROCESSING_COMPLETED);
    assert_true(str_is(text, "Remember the bread."));
    const struct document document = load(bench, id, &arena);
    const struct sha256 hash = sha256_of("Remember the bread.", 19);
    assert_true(document.has_sha256 && sha256_equal(&document.sha256, &hash));
    ingest_close(bench->base.ingest); /* all that is to be dropped is */
    assert_ok(ingest_open(&bench->base.host, &bench->base.ingest, err));
    assert_true(is_kept(bench, "Remember the bread."));
    assert_int_equal(count_blobs(bench), 1);
}

static void new_bytes_win_over_a_failure_of_old_ones(void **state)
{
    struct bench *bench = *state;
    AUTO_ARENA arena = ARENA_INIT;
    struct str text;
    bench->replacement = "Not empty any more.";
    const int64_t id = bring(bench, "notes.txt", "");
    assert_int_equal(settle(bench, id, &arena, &text), PROCESSING_COMPLETED);
    assert_true(str_is(text, "Not empty any more."));
}

/* A run that tries old bytes again is slower than the new ones, which are indexed beside it. */
static void old_bytes_that_come_late_do_not_undo_new_ones(void **state)
{
    struct bench *bench = *state;
    AUTO_ARENA arena = ARENA_INIT;
    struct str text;
    const struct ingest_request request = {.kind = INGEST_RETRY};
    int64_t run_id;
    const int64_t id = bring(bench, "notes.txt", " \n");
    assert_int_equal(settle(bench, id, &arena, NULL), PROCESSING_FAILED);
    bench->replacement_first = true;
    bench->replacement = "Not empty any more.";
    assert_ok(ingest_start(bench->base.ingest, &request, &run_id, err));
    assert_true(ingest_wait(bench->base.ingest, clock_monotonic_us() + 60 * SECOND_US));
    assert_null(bench->replacement);
    assert_int_equal(settle(bench, id, &arena, &text), PROCESSING_COMPLETED);
    assert_true(str_is(text, "Not empty any more."));
}

static void the_same_bytes_with_other_metadata_are_an_upload_of_their_own(void **state)
{
    struct bench *bench = *state;
    AUTO_ARENA arena = ARENA_INIT;
    bench->replacement = "The same.";
    const int64_t id = bring(bench, "notes.txt", "The same.");
    assert_int_equal(settle(bench, id, &arena, NULL), PROCESSING_COMPLETED);
    const struct str metadata = load(bench, id, &arena).metadata;
    AUTO_JSON *object = NULL;
    assert_ok(json_parse(metadata, &object, err));
    assert_int_equal(json_integer_value(json_object_get(object, "number")), 2);
    assert_true(is_kept(bench, "The same."));
}

static void a_replacement_has_its_own_size_and_type(void **state)
{
    struct bench *bench = *state;
    AUTO_ARENA arena = ARENA_INIT;
    int64_t id;
    assert_ok(try_bringing(bench, "notes", "text/plain", "# No heading", &id, err));
    assert_int_equal(settle(bench, id, &arena, NULL), PROCESSING_COMPLETED);
    struct document document = load(bench, id, &arena);
    assert_int_equal(document.size, 12);
    assert_true(str_is(document.media_type, "text/plain"));
    assert_ok(try_bringing(bench, "notes", "text/markdown", "# A heading\n\nAnd more.", &id, err));
    assert_int_equal(settle(bench, id, &arena, NULL), PROCESSING_COMPLETED);
    document = load(bench, id, &arena);
    assert_int_equal(document.size, 22);
    assert_true(str_is(document.media_type, "text/markdown"));
    assert_true(str_is(document.document_title, "A heading"));
}

/* ---- whose bytes are kept ---- */

static void note_finding(const char *problem, bool repaired, void *context)
{
    print_message("# %s\n", problem);
    ++*(size_t *)context;
}

static void bytes_of_a_failed_replacement_are_kept(void **state)
{
    struct bench *bench = *state;
    AUTO_ARENA arena = ARENA_INIT;
    size_t findings = 0;
    const int64_t id = bring(bench, "notes.txt", "Remember the milk.");
    assert_int_equal(settle(bench, id, &arena, NULL), PROCESSING_COMPLETED);
    bring(bench, "notes.txt", " \n");
    assert_int_equal(settle(bench, id, &arena, NULL), PROCESSING_FAILED);
    assert_ok(ingest_check_blobs(bench->base.ingest, true, NULL, note_finding, &findings, err));
    assert_int_equal(findings, 0);
    assert_true(is_kept(bench, "Remember the milk.") && is_kept(bench, " \n"));
    struct removal removal;
    assert_ok(ingest_remove(bench->base.ingest, id, &removal, err));
    assert_int_equal(count_blobs(bench), 0);
}

static void bytes_that_another_upload_waits_with_are_kept(void **state)
{
    struct bench *bench = *state;
    AUTO_ARENA arena = ARENA_INIT;
    struct str text;
    const int64_t a = bring(bench, "a.txt", "The text of a.");
    const int64_t b = bring(bench, "b.txt", "A text for both.");
    assert_int_equal(settle(bench, a, &arena, NULL), PROCESSING_COMPLETED);
    assert_int_equal(settle(bench, b, &arena, NULL), PROCESSING_COMPLETED);
    atomic_store(&bench->no_pool, true);
    bring(bench, "a.txt", "A text for nobody.");
    bring(bench, "a.txt", "A text for both."); /* waits */
    assert_false(is_kept(bench, "A text for nobody."));
    struct removal removal;
    assert_ok(ingest_remove(bench->base.ingest, b, &removal, err));
    assert_true(is_kept(bench, "A text for both."));
    atomic_store(&bench->no_pool, false);
    assert_int_equal(settle(bench, a, &arena, &text), PROCESSING_COMPLETED);
    assert_true(str_is(text, "A text for both."));
    assert_true(is_kept(bench, "A text for both."));
}

static void bytes_of_a_refused_upload_go(void **state)
{
    struct bench *bench = *state;
    int64_t id;
    assert_int_equal(try_bringing_with(bench, "notes.txt", "", "[1]", "Nobody's.", &id, NULL), IBID_EINVAL);
    assert_int_equal(count_blobs(bench), 0);
    bring(bench, "theirs.txt", "Somebody's.");
    assert_int_equal(try_bringing_with(bench, "notes.txt", "", "[1]", "Somebody's.", &id, NULL), IBID_EINVAL);
    assert_true(is_kept(bench, "Somebody's."));
}

static void what_is_done_is_done_whether_its_bytes_can_be_removed_or_not(void **state)
{
    struct bench *bench = *state;
    AUTO_ARENA arena = ARENA_INIT;
    struct str text;
    struct removal removal = {0};
    size_t findings = 0;
    const int64_t id = bring(bench, "notes.txt", "Remember the milk.");
    assert_int_equal(settle(bench, id, &arena, NULL), PROCESSING_COMPLETED);
    atomic_store(&bench->no_removal, true);
    bring(bench, "notes.txt", "Remember the bread.");
    assert_int_equal(settle(bench, id, &arena, &text), PROCESSING_COMPLETED);
    assert_true(str_is(text, "Remember the bread."));
    assert_ok(ingest_remove(bench->base.ingest, id, &removal, err));
    assert_true(removal.rows > 0);
    assert_int_equal(count_blobs(bench), 2);
    atomic_store(&bench->no_removal, false);
    assert_ok(ingest_check_blobs(bench->base.ingest, true, NULL, note_finding, &findings, err));
    assert_int_equal(findings, 2);
    assert_int_equal(count_blobs(bench), 0);
}

/* ---- taken up again ---- */

static void what_could_not_be_read_is_read_when_it_can_be(void **state)
{
    struct bench *bench = *state;
    AUTO_ARENA arena = ARENA_INIT;
    atomic_store(&bench->no_pool, true);
    const int64_t id = bring(bench, "notes.txt", "Remember the milk.");
    assert_int_equal(ingest_wait_document(bench->base.ingest, id, clock_monotonic_us() + SECOND_US / 5, NULL),
                     IBID_ETIMEOUT);
    atomic_store(&bench->no_pool, false);
    assert_int_equal(settle(bench, id, &arena, NULL), PROCESSING_COMPLETED);
}

static void what_waits_for_several_reasons_is_read_once(void **state)
{
    struct bench *bench = *state;
    AUTO_ARENA arena = ARENA_INIT;
    atomic_store(&bench->no_pool, true);
    const int64_t id = bring(bench, "notes.txt", "Remember the milk.");
    for (int i = 0; i < 3; i++)
        assert_ok(ingest_retry(bench->base.ingest, id, err));
    atomic_store(&bench->no_pool, false);
    assert_int_equal(settle(bench, id, &arena, NULL), PROCESSING_COMPLETED);
    ingest_close(bench->base.ingest); /* nobody works on it any more */
    assert_ok(ingest_open(&bench->base.host, &bench->base.ingest, err));
    assert_int_equal(bench->fetches, 1);
}

static void what_was_published_without_vectors_gets_them(void **state)
{
    struct bench *bench = *state;
    AUTO_ARENA arena = ARENA_INIT;
    assert_int_equal(settle(bench, bring(bench, "first.txt", "One."), &arena, NULL), PROCESSING_COMPLETED);
    assert_int_equal(test_ingest_pending_rows(&bench->base), 0);
    atomic_store(&bench->no_embedder, true);
    assert_int_equal(settle(bench, bring(bench, "second.txt", "Two."), &arena, NULL), PROCESSING_COMPLETED);
    assert_int_equal(test_ingest_pending_rows(&bench->base), 1);
    atomic_store(&bench->no_embedder, false);
    const int64_t deadline = clock_monotonic_us() + 60 * SECOND_US;
    while (test_ingest_pending_rows(&bench->base) > 0 && clock_monotonic_us() < deadline)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    assert_int_equal(test_ingest_pending_rows(&bench->base), 0);
}

static void what_a_canceled_retry_leaves_is_read(void **state)
{
    struct bench *bench = *state;
    AUTO_ARENA arena = ARENA_INIT;
    const int64_t id = bring(bench, "empty.txt", " \n");
    assert_int_equal(settle(bench, id, &arena, NULL), PROCESSING_FAILED);
    const struct ingest_request request = {.kind = INGEST_RETRY};
    struct ingest_status status;
    int64_t run_id;
    bench->cancel_over = id;
    assert_ok(ingest_start(bench->base.ingest, &request, &run_id, err));
    assert_true(ingest_wait(bench->base.ingest, clock_monotonic_us() + 60 * SECOND_US));
    assert_true(ingest_status(bench->base.ingest, &status));
    assert_int_equal(status.state, RUN_CANCELED);
    assert_int_equal(bench->cancel_over, 0);
    assert_int_equal(settle(bench, id, &arena, NULL), PROCESSING_FAILED);
}

static void only_so_many_wait(void **state)
{
    struct bench *bench = *state;
    AUTO_ARENA arena = ARENA_INIT;
    ibid_error error = {0};
    int64_t id, other;
    bench->base.settings.max_waiting = 2;
    atomic_store(&bench->no_pool, true);
    id = bring(bench, "1.txt", "One.");
    bring(bench, "2.txt", "Two.");
    assert_int_equal(try_bringing(bench, "3.txt", "", "Three.", &other, &error), IBID_EBUSY);
    assert_non_null(strstr(error.message, "ingest.max_waiting"));
    assert_true(error.retry_after_s > 0);
    assert_int_equal(ingest_retry(bench->base.ingest, id, NULL), IBID_EBUSY);
    assert_false(is_kept(bench, "Three."));
    atomic_store(&bench->no_pool, false);
    assert_int_equal(settle(bench, id, &arena, NULL), PROCESSING_COMPLETED);
    const int64_t deadline = clock_monotonic_us() + 60 * SECOND_US;
    ibid_code code;
    while ((code = try_bringing(bench, "3.txt", "", "Three.", &id, NULL)) == IBID_EBUSY &&
           clock_monotonic_us() < deadline)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    assert_int_equal(code, IBID_OK);
    assert_int_equal(settle(bench, id, &arena, NULL), PROCESSING_COMPLETED);
}

/* ---- beside others ---- */

static void the_end_of_a_run_leaves_the_work_of_others_alone(void **state)
{
    struct bench *bench = *state;
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_FREE char *folder = path_join(bench->base.root, "folder");
    assert_ok(folder_make(folder, err));
    int64_t source_id;
    assert_ok(ingest_source(bench->base.ingest, "folder", folder, NULL, &source_id, err));
    const int64_t id = bring(bench, "notes.txt", "Remember the milk.");
    assert_int_equal(settle(bench, id, &arena, NULL), PROCESSING_COMPLETED);
    AUTO_TRANSACTION *transaction = NULL;
    assert_ok(transaction_begin(bench->base.host.metadata, TRANSACTION_WRITE, &transaction, err));
    assert_ok(document_start(transaction, id, "extract", err)); /* as if it were worked on */
    assert_ok(transaction_commit(transaction_take(&transaction), err));
    test_ingest_run(&bench->base, source_id);
    assert_int_equal(load(bench, id, &arena).processing_state, PROCESSING_IN_PROGRESS);
}

/* Whoever opens the embedder must not keep others from writing. */
static void the_embedder_is_opened_outside_of_transactions(void **state)
{
    struct bench *bench = *state;
    AUTO_ARENA arena = ARENA_INIT;
    bench->write_while_opening = true;
    const int64_t id = bring(bench, "notes.txt", "Remember the milk.");
    assert_int_equal(settle(bench, id, &arena, NULL), PROCESSING_COMPLETED);
    assert_true(bench->writes > 0);
}

/* Nobody learns from an upload of their own whether there were others of that name. */
static void what_others_had_of_a_name_changes_nothing(void **state)
{
    struct bench *bench = *state;
    struct transaction *transaction;
    struct removal removal;
    const int64_t others = bring(bench, "notes.txt", "Remember the milk.");
    struct principal editor = {0};
    assert_ok(transaction_begin(bench->base.host.metadata, TRANSACTION_WRITE, &transaction, err));
    assert_ok(user_create(transaction, &(struct user){.name = STR("editor"), .display_name = STR("Editor")},
                          &editor.user_id, err));
    assert_ok(membership_set(transaction, DEFAULT_WORKSPACE_ID, editor.user_id, ROLE_EDITOR, err));
    assert_ok(transaction_commit(transaction, err));
    uploader = editor;
    const int64_t own = bring(bench, "notes.txt", "Remember the bread.");
    assert_int_not_equal(own, others);
    assert_int_equal(bring(bench, "notes.txt", "Remember the butter."), own);
    assert_ok(ingest_remove(bench->base.ingest, others, &removal, err));
    assert_int_equal(bring(bench, "notes.txt", "Remember the salt."), own);

    uploader = owner; /* who may change both: the free place comes after what is there */
    assert_int_equal(bring(bench, "notes.txt", "Remember it all."), own);
    assert_ok(ingest_remove(bench->base.ingest, own, &removal, err));
    AUTO_ARENA arena = ARENA_INIT;
    const int64_t last = bring(bench, "notes.txt", "Forget it.");
    assert_true(str_is(load(bench, last, &arena).external_key, "1/notes.txt"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_bench, close_bench)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_others_had_of_a_name_changes_nothing),
        TEST(new_bytes_win_over_old_ones_that_are_worked_on),
        TEST(new_bytes_win_over_a_failure_of_old_ones),
        TEST(old_bytes_that_come_late_do_not_undo_new_ones),
        TEST(the_same_bytes_with_other_metadata_are_an_upload_of_their_own),
        TEST(a_replacement_has_its_own_size_and_type),
        TEST(bytes_of_a_failed_replacement_are_kept),
        TEST(bytes_that_another_upload_waits_with_are_kept),
        TEST(bytes_of_a_refused_upload_go),
        TEST(what_is_done_is_done_whether_its_bytes_can_be_removed_or_not),
        TEST(what_could_not_be_read_is_read_when_it_can_be),
        TEST(what_waits_for_several_reasons_is_read_once),
        TEST(what_was_published_without_vectors_gets_them),
        TEST(what_a_canceled_retry_leaves_is_read),
        TEST(only_so_many_wait),
        TEST(the_end_of_a_run_leaves_the_work_of_others_alone),
        TEST(the_embedder_is_opened_outside_of_transactions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
