/* From a folder to rows that can be searched, through every stage with the hash embedder. */
#include "tests/test.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/thread.h"
#include "ingest/run.h"
#include "ingest/upload.h"
#include "instance/instance.h"
#include "records/bootstrap.h"
#include "records/chunk_record.h"
#include "records/collection.h"
#include "records/document.h"
#include "records/source.h"
#include "records/workspace.h"
#include "tests/place.h"

static void assert_counts(const struct ingest_status *status, int64_t indexed, int64_t unchanged,
                          int64_t skipped, int64_t failed, int64_t removed)
{
    const struct run_progress *counts = &status->progress;
    if (counts->indexed != indexed || counts->unchanged != unchanged || counts->skipped != skipped ||
        counts->failed != failed || counts->removed != removed)
        fail_msg("indexed %lld, unchanged %lld, skipped %lld, failed %lld, removed %lld",
                 (long long)counts->indexed, (long long)counts->unchanged, (long long)counts->skipped,
                 (long long)counts->failed, (long long)counts->removed);
}

static struct transaction *reading(struct place *place)
{
    struct transaction *transaction = NULL;
    assert_ok(transaction_begin(instance_metadata(place->instance), TRANSACTION_READ, &transaction, err));
    return transaction;
}

static int64_t document_id(struct place *place, int64_t source_id, const char *key)
{
    struct transaction *transaction = reading(place);
    int64_t id;
    assert_ok(document_find_key(transaction, source_id, str_from(key), &id, err));
    transaction_rollback(transaction);
    return id;
}

static struct collection_counts collection_counts(struct place *place)
{
    struct transaction *transaction = reading(place);
    struct collection_counts counts;
    assert_ok(collection_count(transaction, DEFAULT_COLLECTION_ID, &counts, err));
    transaction_rollback(transaction);
    return counts;
}

/* Rows that the index finds for a word, as a reader of the default workspace. */
static size_t matches(struct place *place, const char *word)
{
    static const int64_t workspaces[] = {DEFAULT_WORKSPACE_ID};
    const struct scope scope = {.workspaces = workspaces, .workspace_count = 1};
    const struct str term = str_from(word);
    const struct term_query query = {.terms = &term, .count = 1, .k1 = 0.9f, .b = 0.4f};
    struct selection *selection;
    struct candidate candidates[50];
    size_t count;
    assert_ok(vector_store_select(instance_vectors(place->instance), DEFAULT_COLLECTION_ID, &scope, NULL,
                                  &selection, err));
    assert_ok(selection_match(selection, &query, COUNT_OF(candidates), candidates, &count, err));
    selection_free(selection);
    return count;
}

static void a_folder_becomes_searchable(void **state)
{
    struct place place = new_place("hash");
    write_examples(&place);
    write_document(&place, ".hidden.txt", "nobody looks here");
    write_document(&place, "empty.txt", "");
    write_document(&place, "picture.png", "\x89PNG\r\n\x1a\n not really");
    struct ingest_status status = run(&place);
    assert_counts(&status, 3, 0, 2, 1, 0);
    assert_true(status.progress.chunks >= 4);
    assert_int_equal(status.embedded + status.reused, status.progress.chunks);
    assert_int_equal(status.pending, 0);
    const struct collection_counts counts = collection_counts(&place);
    assert_int_equal(counts.documents, 3);
    assert_int_equal(counts.rows, status.progress.chunks);
    assert_int_equal(counts.pending_rows, 0);
    assert_true(matches(&place, "bread") >= 1);
    assert_int_equal(matches(&place, "nobody"), 0);
    struct meaning meaning;
    assert_ok(instance_meaning(place.instance, DEFAULT_COLLECTION_ID, &meaning, err));
    assert_int_equal(meaning.state, MEANING_READY);
    bool empty_named = false;
    for (size_t i = 0; i < status.reason_count; i++)
        empty_named |= strcmp(status.reasons[i].reason, "no_text") == 0 && status.reasons[i].count == 1;
    assert_true(empty_named);
    status = run(&place); /* again: nothing to do but to try the failed one */
    assert_counts(&status, 0, 3, 2, 1, 0);
    end_place(&place);
}

static void changes_are_followed(void **state)
{
    struct place place = new_place("hash");
    write_examples(&place);
    run(&place);
    const int64_t bread = document_id(&place, place.source_id, "bread.txt");
    const int64_t water = document_id(&place, place.source_id, "water.md");
    assert_true(bread && water);

    write_document(&place, "bread.txt", "Sourdough needs patience.\n"); /* changed */
    AUTO_FREE char *from = path_join(place.documents, "water.md");
    AUTO_FREE char *to = path_join(place.documents, "fluids.md");
    assert_int_equal(rename(from, to), 0); /* moved */
    AUTO_FREE char *gone = path_join(place.documents, "budget.txt");
    assert_int_equal(unlink(gone), 0); /* deleted */
    const struct ingest_status status = run(&place);
    assert_counts(&status, 1, 1, 0, 0, 1);
    assert_int_equal(status.moved, 1);

    assert_int_equal(document_id(&place, place.source_id, "bread.txt"), bread);
    assert_int_equal(document_id(&place, place.source_id, "fluids.md"), water);
    assert_int_equal(document_id(&place, place.source_id, "water.md"), 0);
    assert_int_equal(document_id(&place, place.source_id, "budget.txt"), 0);
    assert_int_equal(matches(&place, "rye"), 0);
    assert_int_equal(matches(&place, "parliament"), 0);
    assert_true(matches(&place, "sourdough") > 0);
    assert_true(matches(&place, "boils") > 0);
    end_place(&place);
}

static void a_touched_file_is_unchanged(void **state)
{
    struct place place = new_place("hash");
    write_examples(&place);
    run(&place);
    AUTO_FREE char *path = path_join(place.documents, "bread.txt");
    const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    struct ingest_status status = run(&place);
    assert_counts(&status, 0, 3, 0, 0, 0);
    const struct ingest_request forced = {.source_ids = &place.source_id, .source_count = 1, .force = true};
    status = run_as(&place, &forced);
    assert_counts(&status, 3, 0, 0, 0, 0);
    assert_int_equal(status.embedded, 0); /* every vector was there */
    end_place(&place);
}

static void a_copy_is_a_document_of_its_own(void **state)
{
    struct place place = new_place("hash");
    write_examples(&place);
    run(&place);
    write_document(&place, "copy.txt", "Parliament adopted the annual budget on Thursday.\n");
    const struct ingest_status status = run(&place);
    assert_counts(&status, 1, 3, 0, 0, 0);
    assert_int_equal(status.moved, 0);
    assert_int_equal(matches(&place, "parliament"), 2);
    end_place(&place);
}

static void what_is_removed_by_request_stays_away(void **state)
{
    struct place place = new_place("hash");
    write_examples(&place);
    run(&place);
    struct removal removal;
    assert_ok(ingest_remove(instance_ingest(place.instance),
                            document_id(&place, place.source_id, "bread.txt"), &removal, err));
    struct ingest_status status = run(&place);
    assert_counts(&status, 0, 2, 1, 0, 0);
    assert_int_equal(matches(&place, "bread"), 0);
    write_document(&place, "bread.txt", "Fresh bread, another text.\n");
    status = run(&place);
    assert_counts(&status, 1, 2, 0, 0, 0);
    assert_ok(instance_compact(place.instance, NULL, clock_monotonic_us() + 60 * SECOND_US, err));
    assert_int_equal(collection_counts(&place).removed_rows, 0);
    end_place(&place);
}

static void without_a_model_words_are_found_and_vectors_come_later(void **state)
{
    struct place place = new_place("local");
    write_examples(&place);
    struct ingest_status status = run(&place);
    assert_counts(&status, 3, 0, 0, 0, 0);
    assert_int_equal(status.embedded, 0);
    assert_true(matches(&place, "bread") > 0);
    struct meaning meaning;
    assert_ok(instance_meaning(place.instance, DEFAULT_COLLECTION_ID, &meaning, err));
    assert_int_equal(meaning.state, MEANING_EMBEDDER_MISSING);
    assert_true(strlen(meaning.reason) > 0);
    assert_true(collection_counts(&place).pending_rows > 0);
    close_place(&place);

    open_place(&place, "hash"); /* the model has come */
    assert_ok(instance_meaning(place.instance, DEFAULT_COLLECTION_ID, &meaning, err));
    assert_int_equal(meaning.state, MEANING_NOTHING_EMBEDDED);
    status = run(&place);
    assert_int_equal(collection_counts(&place).pending_rows, 0);
    assert_ok(instance_meaning(place.instance, DEFAULT_COLLECTION_ID, &meaning, err));
    assert_int_equal(meaning.state, MEANING_READY);
    close_place(&place);

    open_place(&place, "local"); /* and gone again: nothing is thrown away */
    status = run(&place);
    assert_counts(&status, 0, 3, 0, 0, 0);
    assert_int_equal(collection_counts(&place).pending_rows, 0);
    const struct ingest_request anew = {.source_ids = &place.source_id, .source_count = 1, .force = true};
    int64_t run_id;
    assert_ok(ingest_start(instance_ingest(place.instance), &anew, &run_id, err));
    assert_true(ingest_wait(instance_ingest(place.instance), clock_monotonic_us() + 60 * SECOND_US));
    assert_true(ingest_status(instance_ingest(place.instance), &status));
    assert_int_equal(status.state, RUN_FAILED);
    assert_non_null(strstr(status.message, "hash/words-64"));
    assert_int_equal(collection_counts(&place).pending_rows, 0);
    end_place(&place);
}

static void a_long_document_is_stored_in_parts_and_shown_whole(void **state)
{
    place_chunk_size = "16";
    struct place place = new_place("hash");
    place_chunk_size = "512";
    AUTO_BUFFER text = BUFFER(1024 * 1024);
    for (int i = 0; i < 2000; i++)
        buffer_printf(&text, "Sentence number %d of a document that is long but dull, to its end. ", i);
    write_document(&place, "long.txt", text.data);
    const struct ingest_status status = run(&place);
    assert_counts(&status, 1, 0, 0, 0, 0);
    assert_true(status.progress.chunks >= 2000);
    assert_int_equal(status.embedded + status.reused, status.progress.chunks);
    assert_int_equal(status.done_bytes, status.total_bytes);
    const struct collection_counts counts = collection_counts(&place);
    assert_int_equal(counts.rows, status.progress.chunks);
    assert_int_equal(counts.pending_rows, 0);
    end_place(&place);
}

static int64_t count_in_progress(struct place *place)
{
    static const int64_t workspaces[] = {DEFAULT_WORKSPACE_ID};
    const struct scope scope = {.workspaces = workspaces, .workspace_count = 1};
    int64_t counts[PROCESSING_STATE_COUNT];
    struct transaction *transaction = reading(place);
    assert_ok(document_count(transaction, &scope, counts, err));
    transaction_rollback(transaction);
    return counts[PROCESSING_IN_PROGRESS];
}

static void one_run_at_a_time(void **state)
{
    struct place place = new_place("hash");
    char name[32];
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "document-%d.txt", i);
        write_document(&place, name, "Words that are the same in every one of these documents.\n");
    }
    struct ingest *ingest = instance_ingest(place.instance);
    const struct ingest_request request = {.source_ids = &place.source_id, .source_count = 1};
    int64_t first, second;
    assert_ok(ingest_start(ingest, &request, &first, err));
    ibid_error err = {0};
    assert_int_equal(ingest_start(ingest, &request, &second, &err), IBID_ECONFLICT);
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)first);
    assert_non_null(strstr(err.message, number));
    ingest_cancel(ingest);
    assert_true(ingest_wait(ingest, clock_monotonic_us() + 120 * SECOND_US));
    struct ingest_status status;
    assert_true(ingest_status(ingest, &status));
    assert_int_equal(status.state, RUN_CANCELED);
    assert_int_equal(count_in_progress(&place), 0);
    status = run(&place); /* goes on where that stopped */
    assert_int_equal(status.progress.indexed + status.progress.unchanged, 300);
    assert_int_equal(collection_counts(&place).documents, 300);
    assert_int_equal(status.progress.failed, 0);
    end_place(&place);
}

/* A run that is being started while others write. */
struct start {
    struct place *place;
    pthread_t thread;
    int64_t run_id;
    ibid_code code;
};

static void *start_run(void *argument)
{
    struct start *start = argument;
    const struct ingest_request request = {.source_ids = &start->place->source_id, .source_count = 1};
    start->code = ingest_start(instance_ingest(start->place->instance), &request, &start->run_id, NULL);
    return NULL;
}

static void nobody_waits_for_a_run_that_waits_to_start(void **state)
{
    struct place place = new_place("hash");
    struct start start = {.place = &place};
    struct ingest *ingest = instance_ingest(place.instance);
    struct ingest_status status;
    struct source_removal removal;
    struct transaction *transaction;
    int64_t run_id;
    write_examples(&place);
    assert_ok(transaction_begin(instance_metadata(place.instance), TRANSACTION_WRITE, &transaction, err));
    thread_start(&start.thread, "test-start", start_run, &start);
    while (ingest_wait(ingest, clock_monotonic_us() + 1000))
        ;
    assert_false(ingest_status(ingest, &status));
    const struct ingest_request request = {.source_ids = &place.source_id, .source_count = 1};
    assert_int_equal(ingest_start(ingest, &request, &run_id, NULL), IBID_ECONFLICT);
    assert_int_equal(ingest_remove_source(ingest, place.source_id, NULL, NULL, &removal, NULL),
                     IBID_ECONFLICT);
    ingest_cancel(ingest);
    transaction_rollback(transaction);
    pthread_join(start.thread, NULL);
    assert_int_equal(start.code, IBID_OK);
    assert_true(ingest_wait(ingest, clock_monotonic_us() + 60 * SECOND_US));
    assert_true(ingest_status(ingest, &status));
    assert_int_equal(status.run_id, start.run_id);
    assert_int_equal(status.state, RUN_CANCELED);
    const int64_t nowhere = 1 << 30;
    const struct ingest_request wrong = {.source_ids = &nowhere, .source_count = 1};
    assert_int_equal(ingest_start(ingest, &wrong, &run_id, NULL), IBID_ENOTFOUND);
    assert_true(ingest_wait(ingest, 0));
    status = run(&place);
    assert_counts(&status, 3, 0, 0, 0, 0);
    end_place(&place);
}

static const struct principal owner = {
    .user_id = OWNER_USER_ID, .system_admin = true, .every_workspace = true};

static int64_t upload(struct place *place, const char *name, const char *text, bool *ret_replaced)
{
    char path[] = "/tmp/ibid-upload-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    assert_ok(file_write_fd(fd, text, strlen(text), err));
    const struct ingest_upload request = {.fd = fd,
                                          .name = str_from(name),
                                          .media_type = STR_EMPTY,
                                          .title = STR_EMPTY,
                                          .metadata = STR("{\"project\": \"x\"}"),
                                          .workspace_id = DEFAULT_WORKSPACE_ID,
                                          .principal = &owner};
    int64_t id;
    assert_ok(ingest_upload(instance_ingest(place->instance), &request, &id, ret_replaced, err));
    close(fd);
    assert_ok(ingest_wait_document(instance_ingest(place->instance), id,
                                   clock_monotonic_us() + 60 * SECOND_US, err));
    assert_ok(instance_index_settled(place->instance, clock_monotonic_us() + 60 * SECOND_US, err));
    return id;
}

static void uploads_are_kept_replaced_and_removed(void **state)
{
    struct place place = new_place("hash");
    bool replaced;
    const int64_t id = upload(&place, "notes.txt", "Remember the milk.", &replaced);
    assert_false(replaced);
    assert_int_equal(matches(&place, "milk"), 1);
    assert_int_equal(upload(&place, "notes.txt", "Remember the bread.", &replaced), id);
    assert_true(replaced);
    assert_int_equal(matches(&place, "milk"), 0);
    assert_int_equal(matches(&place, "bread"), 1);
    const struct sha256 old = sha256_of("Remember the milk.", 18);
    int fd;
    assert_int_equal(blob_store_open_blob(instance_blobs(place.instance), &old, true, &fd, NULL),
                     IBID_ENOTFOUND);
    assert_ok(ingest_retry(instance_ingest(place.instance), id, err));
    assert_ok(ingest_wait_document(instance_ingest(place.instance), id, clock_monotonic_us() + 60 * SECOND_US,
                                   err));
    struct removal removal;
    assert_ok(ingest_remove(instance_ingest(place.instance), id, &removal, err));
    assert_ok(instance_index_settled(place.instance, 0, err));
    assert_int_equal(matches(&place, "bread"), 0);
    const struct sha256 kept = sha256_of("Remember the bread.", 19);
    assert_int_equal(blob_store_open_blob(instance_blobs(place.instance), &kept, true, &fd, NULL),
                     IBID_ENOTFOUND);
    end_place(&place);
}

static size_t count_findings(struct place *place, bool repair)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct instance_finding *findings;
    size_t count;
    assert_ok(instance_verify(place->instance, repair, NULL, &arena, &findings, &count, err));
    for (size_t i = 0; i < count; i++)
        print_message("# %s: %s\n", findings[i].place, findings[i].problem);
    return count;
}

static void verify_looks_at_the_bytes_of_uploads(void **state)
{
    struct place place = new_place("hash");
    bool replaced;
    upload(&place, "notes.txt", "Remember the milk.", &replaced);
    assert_int_equal(count_findings(&place, false), 0);
    AUTO_FREE char *path = path_join(place.root, "stray");
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_ok(file_write_fd(fd, "left by a crash", 15, err));
    struct sha256 stray;
    int64_t size;
    assert_ok(blob_store_put(instance_blobs(place.instance), fd, 1000, &stray, &size, err));
    close(fd);
    assert_int_equal(count_findings(&place, false), 1);
    assert_int_equal(count_findings(&place, true), 1);
    assert_int_equal(count_findings(&place, false), 0);
    const struct sha256 kept = sha256_of("Remember the milk.", 18);
    assert_ok(blob_store_remove(instance_blobs(place.instance), &kept, err));
    assert_int_equal(count_findings(&place, true), 1); /* what is lost is lost */
    end_place(&place);
}

static void names_of_uploads_are_checked(void **state)
{
    struct place place = new_place("hash");
    static const char *const names[] = {"", "..", "a/b", "line\nbreak", "\xff"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct ingest_upload request = {.fd = -1, .name = str_from(names[i])};
        int64_t id;
        bool replaced;
        assert_int_equal(ingest_upload(instance_ingest(place.instance), &request, &id, &replaced, NULL),
                         IBID_EINVAL);
    }
    end_place(&place);
}

static void a_document_with_much_to_say_of_itself_is_indexed(void **state)
{
    enum { VALUES = 60, SIZE = 1900 };
    struct place place = new_place("hash");
    AUTO_BUFFER text = BUFFER(1 << 20);
    AUTO_ARENA arena = ARENA_INIT;
    buffer_append_string(&text, "---\n");
    for (int i = 0; i < VALUES; i++) {
        buffer_printf(&text, "key%d: ", i);
        for (int j = 0; j < SIZE; j++)
            buffer_append_byte(&text, 'y');
        buffer_append_string(&text, "\n");
    }
    buffer_append_string(&text, "---\n\n# Water\n\nIt boils at 100 degrees.\n");
    write_document(&place, "rich.md", text.data);
    const struct ingest_status status = run(&place);
    assert_counts(&status, 1, 0, 0, 0, 0);
    struct transaction *transaction = reading(&place);
    struct document document;
    AUTO_JSON *metadata = NULL;
    int64_t id;
    assert_ok(document_find_key(transaction, place.source_id, STR("rich.md"), &id, err));
    assert_ok(document_load(transaction, id, &arena, &document, err));
    assert_ok(json_parse(document.metadata, &metadata, err));
    assert_int_equal(json_string_length(json_object_get(metadata, "key0")), SIZE);
    assert_true(json_object_size(metadata) > 20 && json_object_size(metadata) < VALUES);
    assert_string_equal(json_string_value(json_object_get(metadata, "document_type")), "markdown");
    transaction_rollback(transaction);
    end_place(&place);
}

static void verify_finds_nothing_wrong(void **state)
{
    struct place place = new_place("hash");
    write_examples(&place);
    run(&place);
    assert_int_equal(count_findings(&place, false), 0);
    end_place(&place);
}

static void a_path_within_a_source_is_no_source_of_its_own(void **state)
{
    struct place place = new_place("hash");
    struct ingest *ingest = instance_ingest(place.instance);
    write_examples(&place);
    AUTO_FREE char *file = path_join(place.documents, "bread.txt");
    AUTO_FREE char *hidden = path_join(place.documents, ".hidden");
    AUTO_FREE char *beside = xasprintf("%s-2", place.documents);
    assert_ok(folder_make(hidden, err));
    assert_ok(folder_make(beside, err));
    int64_t id;
    assert_ok(ingest_source(ingest, "folder", file, NULL, &id, err));
    assert_int_equal(id, place.source_id);
    assert_ok(ingest_source(ingest, "folder", hidden, NULL, &id, err));
    assert_int_not_equal(id, place.source_id);
    assert_ok(ingest_source(ingest, "folder", beside, NULL, &id, err));
    assert_int_not_equal(id, place.source_id);
    AUTO_JSON *narrower = json_pack("{s:[s]}", "include", "*.txt");
    assert_ok(ingest_source(ingest, "folder", file, narrower, &id, err));
    assert_int_equal(id, place.source_id);
    AUTO_JSON *wider = json_pack("{s:s}", "max_file_size", "1GB");
    assert_ok(ingest_source(ingest, "folder", file, wider, &id, err));
    assert_int_not_equal(id, place.source_id);
    assert_ok(ingest_source(ingest, "folder", place.documents, narrower, &id, err));
    AUTO_FREE char *within = path_join(place.documents, "within");
    assert_ok(folder_make(within, err));
    assert_ok(ingest_source(ingest, "folder", within, narrower, &id, err));
    assert_int_not_equal(id, place.source_id);
    assert_int_equal(ingest_source(ingest, "folder", "/no/such/folder", NULL, &id, NULL), IBID_ENOTFOUND);
    end_place(&place);
}

static struct str kept_options(const struct place *place, struct arena *arena)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct source source;
    assert_ok(transaction_begin(instance_metadata(place->instance), TRANSACTION_READ, &transaction, err));
    assert_ok(source_load(transaction, place->source_id, arena, &source, err));
    return source.options;
}

static void options_of_a_folder_are_kept_until_taken_away(void **state)
{
    struct place place = new_place("hash");
    struct ingest *ingest = instance_ingest(place.instance);
    AUTO_ARENA arena = ARENA_INIT;
    const struct {
        const char *changes, *kept;
    } steps[] = {
        {"{\"exclude\":[\"a\"]}", "{\"exclude\":[\"a\"]}"},
        {"{\"hidden\":true}", "{\"exclude\":[\"a\"],\"hidden\":true}"},
        {"{\"exclude\":[\"b\"]}", "{\"exclude\":[\"b\"],\"hidden\":true}"},
        {"{\"exclude\":null,\"include\":null}", "{\"hidden\":true}"},
        {"{\"hidden\":null}", "{}"},
    };
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        AUTO_JSON *changes = NULL;
        int64_t id;
        assert_ok(json_parse(str_from(steps[i].changes), &changes, err));
        assert_ok(ingest_source(ingest, "folder", place.documents, changes, &id, err));
        assert_int_equal(id, place.source_id);
        assert_ok(ingest_source(ingest, "folder", place.documents, NULL, &id, err));
        assert_true(str_is(kept_options(&place, &arena), steps[i].kept));
    }
    end_place(&place);
}

/* Notes what a watch was shown last, and stops the task if it is to. */
struct onlooker {
    int64_t done, total;
    bool stops;
};

static void look(void *context, const char *stage, int64_t done, int64_t total)
{
    struct onlooker *onlooker = context;
    assert_string_equal(stage, "documents");
    onlooker->done = done;
    onlooker->total = total;
}

static bool wants_stop(void *context)
{
    return ((const struct onlooker *)context)->stops;
}

static void a_folder_is_removed_with_its_documents(void **state)
{
    struct place place = new_place("hash");
    struct ingest *ingest = instance_ingest(place.instance);
    struct source_removal removal;
    struct onlooker onlooker = {.stops = true};
    const struct watch watch = {look, wants_stop, &onlooker};
    write_examples(&place);
    run(&place);
    assert_int_equal(ingest_remove_source(ingest, place.source_id, NULL, &watch, &removal, NULL),
                     IBID_ECANCELED);
    assert_int_equal(collection_counts(&place).documents, 3);
    onlooker.stops = false;
    assert_ok(ingest_remove_source(ingest, place.source_id, NULL, &watch, &removal, err));
    assert_int_equal(onlooker.done, 3);
    assert_int_equal(onlooker.total, 3);
    assert_int_equal(removal.documents, 3);
    assert_true(removal.rows >= 3);
    assert_int_equal(collection_counts(&place).documents, 0);
    assert_int_equal(ingest_remove_source(ingest, place.source_id, NULL, NULL, &removal, NULL),
                     IBID_ENOTFOUND);
    assert_int_equal(ingest_remove_source(ingest, UPLOAD_SOURCE_ID, NULL, NULL, &removal, NULL), IBID_EINVAL);
    assert_ok(instance_compact(place.instance, NULL, 0, err));
    assert_int_equal(count_findings(&place, false), 0);
    assert_ok(ingest_source(ingest, "folder", place.documents, NULL, &place.source_id, err));
    const struct ingest_status status = run(&place);
    assert_counts(&status, 3, 0, 0, 0, 0);
    end_place(&place);
}

static void write_below(const char *folder, const char *name, const char *text)
{
    AUTO_FREE char *path = path_join(folder, name);
    assert_ok(file_write_atomically(path, text, strlen(text), 0600, err));
}

static int64_t source_of(struct place *place, const char *path, const json_t *options)
{
    assert_ok(
        ingest_source(instance_ingest(place->instance), "folder", path, options, &place->source_id, err));
    return place->source_id;
}

static bool has_source(struct place *place, int64_t id)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct source source;
    struct transaction *transaction = reading(place);
    const ibid_code code = source_load(transaction, id, &arena, &source, NULL);
    transaction_rollback(transaction);
    return code == IBID_OK;
}

static void a_folder_takes_in_those_that_lie_within_it(void **state)
{
    struct place place = new_place("hash");
    AUTO_FREE char *outer = path_join(place.root, "outer");
    AUTO_FREE char *inner = path_join(outer, "a\\b");
    AUTO_FREE char *file = path_join(outer, "bread.txt");
    AUTO_FREE char *patterned = path_join(outer, "patterned");
    assert_ok(folder_make(inner, err));
    assert_ok(folder_make(patterned, err));
    write_below(outer, "bread.txt", "To bake bread with rye flour, let the dough rest for a day.\n");
    write_below(inner, "water.md", "# Water\n\nIt boils at 100 degrees.\n");
    write_below(inner, "budget.txt", "Parliament adopted the annual budget on Thursday.\n");
    write_below(patterned, "p.txt", "Patterned.\n");

    const int64_t inner_source = source_of(&place, inner, NULL);
    run(&place);
    const int64_t water = document_id(&place, inner_source, "water.md");
    struct removal removal;
    assert_ok(ingest_remove(instance_ingest(place.instance), document_id(&place, inner_source, "budget.txt"),
                            &removal, err));
    const int64_t file_source = source_of(&place, file, NULL);
    run(&place);
    const int64_t bread = document_id(&place, file_source, "bread.txt");
    AUTO_JSON *options = json_pack("{s:[s]}", "include", "*.txt");
    const int64_t patterned_source = source_of(&place, patterned, options);
    run(&place);
    const int64_t pattern = document_id(&place, patterned_source, "p.txt");
    assert_true(water && bread && pattern);

    const int64_t outer_source = source_of(&place, outer, NULL);
    assert_int_not_equal(outer_source, inner_source);
    struct ingest_status status = run(&place);
    assert_counts(&status, 0, 3, 1, 0, 0); /* the removed one stays away */
    assert_int_equal(status.moved, 0);
    assert_false(has_source(&place, inner_source) || has_source(&place, file_source) ||
                 has_source(&place, patterned_source));
    assert_int_equal(document_id(&place, outer_source, "patterned/p.txt"), pattern);
    assert_int_equal(document_id(&place, outer_source, "a\\\\b/water.md"), water);
    assert_int_equal(document_id(&place, outer_source, "bread.txt"), bread);
    assert_int_equal(collection_counts(&place).pending_rows, 0);
    assert_int_equal(matches(&place, "boils"), 1);
    assert_int_equal(matches(&place, "rye"), 1);
    assert_int_equal(matches(&place, "parliament"), 0);
    assert_int_equal(source_of(&place, inner, NULL), outer_source);
    assert_int_equal(count_findings(&place, false), 0);
    AUTO_FREE char *gone = path_join(inner, "water.md");
    assert_int_equal(unlink(gone), 0);
    place.source_id = outer_source;
    status = run(&place);
    assert_counts(&status, 0, 2, 1, 0, 1);
    end_place(&place);
}

static void folders_within_folders_go_into_the_outermost(void **state)
{
    struct place place = new_place("hash");
    AUTO_FREE char *outer = path_join(place.root, "outer");
    AUTO_FREE char *middle = path_join(outer, "middle");
    AUTO_FREE char *inner = path_join(middle, "inner");
    AUTO_FREE char *beside = path_join(outer, "middle beside");
    assert_ok(folder_make(inner, err));
    assert_ok(folder_make(beside, err));
    write_below(inner, "water.md", "# Water\n\nIt boils at 100 degrees.\n");
    write_below(middle, "bread.txt", "To bake bread with rye flour, let the dough rest for a day.\n");
    write_below(beside, "budget.txt", "Parliament adopted the annual budget on Thursday.\n");
    int64_t sources[4];
    const char *const folders[] = {inner, middle, beside, outer};
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        sources[i] = source_of(&place, folders[i], NULL);
    const struct ingest_request request = {.source_ids = sources, .source_count = COUNT_OF(sources)};
    struct ingest *ingest = instance_ingest(place.instance);
    int64_t run_id;
    struct ingest_status status;
    assert_ok(ingest_start(ingest, &request, &run_id, err));
    assert_true(ingest_wait(ingest, clock_monotonic_us() + 60 * SECOND_US));
    assert_true(ingest_status(ingest, &status));
    assert_counts(&status, 3, 0, 0, 0, 0);
    for (size_t i = 0; i < 3; i++)
        assert_false(has_source(&place, sources[i]));
    assert_true(document_id(&place, sources[3], "middle/inner/water.md") != 0);
    assert_true(document_id(&place, sources[3], "middle/bread.txt") != 0);
    assert_true(document_id(&place, sources[3], "middle beside/budget.txt") != 0);
    end_place(&place);
}

static void a_folder_for_other_readers_is_not_taken_in(void **state)
{
    struct place place = new_place("hash");
    AUTO_FREE char *outer = path_join(place.root, "outer");
    AUTO_FREE char *inner = path_join(outer, "inner");
    assert_ok(folder_make(inner, err));
    write_below(inner, "water.md", "# Water\n\nIt boils at 100 degrees.\n");
    const int64_t inner_source = source_of(&place, inner, NULL);
    AUTO_TRANSACTION *transaction = NULL;
    int64_t workspace;
    assert_ok(transaction_begin(instance_metadata(place.instance), TRANSACTION_WRITE, &transaction, err));
    assert_ok(workspace_create(transaction, STR("others"), false, OWNER_USER_ID, &workspace, err));
    assert_ok(source_map(transaction, inner_source, workspace, err));
    assert_ok(transaction_commit(transaction_take(&transaction), err));
    run(&place);
    source_of(&place, outer, NULL);
    run(&place);
    assert_true(has_source(&place, inner_source));
    assert_true(document_id(&place, inner_source, "water.md") != 0);
    end_place(&place);
}

static void a_folder_that_is_gone_loses_nothing(void **state)
{
    struct place place = new_place("hash");
    write_examples(&place);
    run(&place);
    AUTO_FREE char *elsewhere = path_join(place.root, "elsewhere");
    assert_int_equal(rename(place.documents, elsewhere), 0); /* a disk that is not mounted */
    struct ingest *ingest = instance_ingest(place.instance);
    const struct ingest_request request = {.source_ids = &place.source_id, .source_count = 1};
    int64_t run_id;
    struct ingest_status status;
    assert_ok(ingest_start(ingest, &request, &run_id, err));
    assert_true(ingest_wait(ingest, clock_monotonic_us() + 60 * SECOND_US));
    assert_true(ingest_status(ingest, &status));
    assert_int_equal(status.state, RUN_FAILED);
    assert_true(strlen(status.message) > 0);
    assert_int_equal(collection_counts(&place).documents, 3);
    assert_int_equal(rename(elsewhere, place.documents), 0);
    status = run(&place);
    assert_counts(&status, 0, 3, 0, 0, 0);
    end_place(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_becomes_searchable),
        cmocka_unit_test(changes_are_followed),
        cmocka_unit_test(a_touched_file_is_unchanged),
        cmocka_unit_test(a_copy_is_a_document_of_its_own),
        cmocka_unit_test(what_is_removed_by_request_stays_away),
        cmocka_unit_test(without_a_model_words_are_found_and_vectors_come_later),
        cmocka_unit_test(a_long_document_is_stored_in_parts_and_shown_whole),
        cmocka_unit_test(one_run_at_a_time),
        cmocka_unit_test(nobody_waits_for_a_run_that_waits_to_start),
        cmocka_unit_test(uploads_are_kept_replaced_and_removed),
        cmocka_unit_test(verify_looks_at_the_bytes_of_uploads),
        cmocka_unit_test(names_of_uploads_are_checked),
        cmocka_unit_test(a_document_with_much_to_say_of_itself_is_indexed),
        cmocka_unit_test(verify_finds_nothing_wrong),
        cmocka_unit_test(a_path_within_a_source_is_no_source_of_its_own),
        cmocka_unit_test(options_of_a_folder_are_kept_until_taken_away),
        cmocka_unit_test(a_folder_is_removed_with_its_documents),
        cmocka_unit_test(a_folder_takes_in_those_that_lie_within_it),
        cmocka_unit_test(folders_within_folders_go_into_the_outermost),
        cmocka_unit_test(a_folder_for_other_readers_is_not_taken_in),
        cmocka_unit_test(a_folder_that_is_gone_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
