#include "records/sweep.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "records/ledger.h"
#include "records/run.h"
#include "tests/store.h"

/* Whether any file of the store holds these bytes. */
static bool files_hold(struct test_store *store, const char *needle)
{
    bool found = false;
    DIR *folder = opendir(store->folder);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        AUTO_FREE char *path = path_join(store->folder, entry->d_name);
        AUTO_BUFFER bytes = BUFFER(256 << 20);
        if (!file_exists(path))
            continue;
        assert_ok(file_read(path, &bytes, err));
        found |= bytes.size && memmem(bytes.data, bytes.size, needle, strlen(needle));
    }
    closedir(folder);
    return found;
}

static struct sweep_result sweep_now(struct test_store *store, size_t limit)
{
    struct sweep_result result;
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    assert_ok(sweep(transaction, limit, &result, err));
    test_commit(transaction);
    return result;
}

static bool is_gone(struct test_store *store, int64_t id)
{
    bool gone;
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_READ);
    assert_ok(document_is_gone(transaction, id, &gone, err));
    return gone;
}

static void follow(struct test_store *store, const char *vector_store, int64_t seq)
{
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    assert_ok(watermark_set(transaction, str_from(vector_store), DEFAULT_COLLECTION_ID, seq, err));
    test_commit(transaction);
}

/* A document with a secret in its text, title, metadata and key; published, with a line in the ledger. */
static int64_t secret_document(struct test_store *store)
{
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    const int64_t source = test_source(transaction, "/notes"),
                  id = test_document(transaction, source, "diary.txt");
    assert_ok(document_set_metadata(transaction, id, STR("{\"topic\": \"xyzzymeta\"}"), err));
    struct test_content content;
    struct publication_result result;
    test_content(&content, id, "the password is xyzzytext\n\nand more");
    content.publication.document_title = STR("xyzzytitle");
    assert_ok(document_publish(transaction, &content.publication, &result, err));
    assert_ok(ledger_put(transaction,
                         &(struct ledger_line){.source_id = source,
                                               .external_key = STR("diary.txt"),
                                               .document_id = id,
                                               .outcome = LEDGER_INDEXED},
                         err));
    test_commit(transaction);
    return id;
}

static struct removal remove_document(struct test_store *store, int64_t id)
{
    struct removal removal;
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    assert_ok(document_remove(transaction, id, "asked for", &removal, err));
    test_commit(transaction);
    return removal;
}

static void deleting_waits_for_every_follower(void **state)
{
    struct test_store *store = *state;
    const int64_t id = secret_document(store);
    follow(store, "embedded", 1);
    follow(store, "remote", 1);
    const struct removal removal = remove_document(store, id);
    assert_int_equal(removal.rows, 2);
    struct row *rows;
    assert_int_equal(test_changes(store, removal.seq - 1, &rows), 2);
    assert_true(rows[0].removed && str_is(rows[0].text, "the password is xyzzytext"));
    follow(store, "embedded", removal.seq);
    assert_int_equal(sweep_now(store, 1000).rows, 0); /* one of the two has not passed yet */
    assert_false(is_gone(store, id));
    follow(store, "remote", removal.seq);
    follow(store, "remote", removal.seq - 1); /* a watermark never goes back */
    const struct sweep_result swept = sweep_now(store, 1000);
    assert_int_equal(swept.rows, 2);
    assert_int_equal(swept.chunks, 2);
    assert_false(swept.more);
    assert_true(is_gone(store, id));
    assert_int_equal(test_changes(store, 0, &rows), 0);
}

static void no_byte_of_a_deleted_document_is_left(void **state)
{
    struct test_store *store = *state;
    const int64_t id = secret_document(store);
    assert_true(files_hold(store, "xyzzytext") && files_hold(store, "xyzzymeta") &&
                files_hold(store, "xyzzytitle"));
    const struct removal removal = remove_document(store, id);
    follow(store, "embedded", removal.seq);
    sweep_now(store, 1000);
    assert_ok(metadata_store_maintain(store->store, err));
    assert_false(files_hold(store, "xyzzytext"));
    assert_false(files_hold(store, "xyzzymeta"));
    assert_false(files_hold(store, "xyzzytitle"));
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_READ);
    struct ledger_line line;
    bool found;
    int64_t source;
    assert_ok(source_find(transaction, FOLDER_CONNECTOR_ID, STR("/notes"), &source, err));
    assert_ok(ledger_find(transaction, source, STR("diary.txt"), &store->arena, &line, &found, err));
    assert_true(found && line.outcome == LEDGER_REMOVED && str_is(line.reason, "asked for"));
}

static void replaced_text_is_swept_too(void **state)
{
    struct test_store *store = *state;
    const int64_t id = secret_document(store);
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    test_publish(transaction, id, "nothing to see\n\nand more");
    test_commit(transaction);
    const struct sweep_result swept = sweep_now(store, 1000); /* nobody follows: at once */
    assert_int_equal(swept.rows, 1);
    assert_int_equal(swept.chunks, 1);
    assert_ok(metadata_store_maintain(store->store, err));
    assert_false(files_hold(store, "xyzzytext"));
    struct row *rows;
    assert_int_equal(test_changes(store, 0, &rows), 2);
}

static void a_sweep_has_a_limit(void **state)
{
    struct test_store *store = *state;
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    for (int i = 0; i < 5; i++) {
        char key[8];
        struct removal removal;
        snprintf(key, sizeof key, "%d", i);
        const int64_t id = test_document(transaction, UPLOAD_SOURCE_ID, key);
        test_publish(transaction, id, "one\n\ntwo");
        assert_ok(document_remove(transaction, id, "test", &removal, err));
    }
    test_commit(transaction);
    int64_t rows = 0;
    size_t calls = 0;
    for (struct sweep_result swept = {.more = true}; swept.more; calls++) {
        swept = sweep_now(store, 3);
        assert_true(swept.rows <= 3);
        rows += swept.rows;
    }
    assert_int_equal(rows, 10);
    assert_int_equal(calls, 4);
}

static void vectors_ahead_of_their_rows_are_kept_for_a_while(void **state)
{
    struct test_store *store = *state;
    const float vector[TEST_DIMENSION] = {1};
    const struct sha256 keys[] = {sha256_of("a", 1), sha256_of("b", 1)};
    int64_t id, ids[2];
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    assert_ok(embedding_put(transaction, &keys[0], vector, TEST_DIMENSION, &id, err));
    assert_ok(embedding_put(transaction, &keys[0], vector, TEST_DIMENSION, &ids[0], err));
    assert_int_equal(id, ids[0]);
    test_commit(transaction);
    assert_int_equal(sweep_now(store, 100).embeddings, 0);
    transaction = test_begin(store, TRANSACTION_WRITE);
    assert_ok(embedding_find(transaction, keys, 2, ids, err));
    assert_true(ids[0] == id && ids[1] == 0);
    float back[TEST_DIMENSION];
    assert_ok(embedding_read(transaction, id, TEST_DIMENSION, back, err));
    assert_memory_equal(back, vector, sizeof vector);
    assert_int_equal(embedding_read(transaction, id, 8, back, NULL), IBID_ECONFLICT);
    assert_int_equal(embedding_read(transaction, 99, TEST_DIMENSION, back, NULL), IBID_ENOTFOUND);
    struct statement *statement; /* as if two hours had passed */
    assert_ok(statement_prepare(
        transaction, "UPDATE embeddings_ahead SET created_at = created_at - 7200000000", &statement, err));
    assert_ok(statement_run(statement, err));
    test_commit(transaction);
    assert_int_equal(sweep_now(store, 100).embeddings, 1);
    AUTO_TRANSACTION *reader = test_begin(store, TRANSACTION_READ);
    assert_ok(embedding_find(reader, keys, 2, ids, err));
    assert_int_equal(ids[0], 0);
}

static void a_shared_blob_stays(void **state)
{
    struct test_store *store = *state;
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_WRITE);
    const struct sha256 hash = sha256_of("bytes", 5);
    int64_t ids[2];
    for (size_t i = 0; i < 2; i++)
        assert_ok(document_create(transaction,
                                  &(struct document){.source_id = UPLOAD_SOURCE_ID,
                                                     .external_key = i ? STR("b") : STR("a"),
                                                     .has_sha256 = true,
                                                     .sha256 = hash,
                                                     .blob = true,
                                                     .size = 5},
                                  &ids[i], err));
    int64_t *same;
    size_t count;
    assert_ok(document_find_sha256(transaction, &hash, 10, &store->arena, &same, &count, err));
    assert_int_equal(count, 2);
    struct removal removal;
    assert_ok(document_remove(transaction, ids[0], "test", &removal, err));
    assert_int_equal(removal.blob_count, 0);
    assert_ok(document_remove(transaction, ids[1], "test", &removal, err));
    assert_int_equal(removal.blob_count, 1);
    assert_true(sha256_equal(&removal.blobs[0], &hash));
    assert_int_equal(document_remove(transaction, ids[1], "test", &removal, NULL), IBID_ENOTFOUND);
}

static void new_bytes_that_wait_are_wanted(void **state)
{
    struct test_store *store = *state;
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_WRITE);
    const struct sha256 old = sha256_of("old", 3), new = sha256_of("new", 3);
    const struct sha256 listed = sha256_of("listed", 6);
    int64_t id;
    bool wanted;
    assert_ok(document_create(transaction,
                              &(struct document){.source_id = UPLOAD_SOURCE_ID,
                                                 .external_key = STR("a"),
                                                 .has_sha256 = true,
                                                 .sha256 = old,
                                                 .blob = true,
                                                 .size = 3},
                              &id, err));
    struct ledger_line line = {.source_id = UPLOAD_SOURCE_ID,
                               .external_key = STR("a"),
                               .document_id = id,
                               .outcome = LEDGER_FAILED,
                               .has_sha256 = true,
                               .sha256 = new,
                               .size = 3};
    assert_ok(ledger_put(transaction, &line, err));
    const int64_t folder = test_source(transaction, "/notes");
    line = (struct ledger_line){.source_id = folder,
                                .external_key = STR("a"),
                                .document_id = test_document(transaction, folder, "a"),
                                .outcome = LEDGER_INDEXED,
                                .has_sha256 = true,
                                .sha256 = listed};
    assert_ok(ledger_put(transaction, &line, err));
    assert_ok(blob_is_wanted(transaction, &old, &wanted, err));
    assert_true(wanted);
    assert_ok(blob_is_wanted(transaction, &new, &wanted, err));
    assert_true(wanted);
    assert_ok(blob_is_wanted(transaction, &listed, &wanted, err));
    assert_false(wanted); /* the folder keeps them */
    struct removal removal;
    assert_ok(document_remove(transaction, id, "test", &removal, err));
    assert_int_equal(removal.blob_count, 2);
    assert_ok(blob_is_wanted(transaction, &new, &wanted, err));
    assert_false(wanted);
}

/* ---- ledger and runs -------------------------------------------------------------------------- */

static void put_line(struct transaction *transaction, int64_t source, const char *key,
                     enum ledger_outcome outcome, int64_t run)
{
    assert_ok(ledger_put(transaction,
                         &(struct ledger_line){.source_id = source,
                                               .external_key = str_from(key),
                                               .outcome = outcome,
                                               .reason = STR("a\nreason"),
                                               .seen_run = run,
                                               .size = 3},
                         err));
}

static void the_ledger_tells_what_became_of_each_thing(void **state)
{
    struct test_store *store = *state;
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_WRITE);
    const int64_t source = test_source(transaction, "/notes");
    put_line(transaction, source, "a", LEDGER_INDEXED, 1);
    put_line(transaction, source, "b", LEDGER_FAILED, 1);
    put_line(transaction, source, "b", LEDGER_FAILED, 1);
    put_line(transaction, source, "c", LEDGER_SKIPPED, 1);
    put_line(transaction, source, "d", LEDGER_REMOVED, 1);
    struct ledger_line line, *lines;
    size_t count;
    bool found;
    assert_ok(ledger_find(transaction, source, STR("b"), &store->arena, &line, &found, err));
    assert_true(found && line.outcome == LEDGER_FAILED && line.attempts == 2 && line.size == 3);
    assert_true(str_is(line.reason, "a reason") && !line.has_sha256 && line.updated_at > 0);
    assert_ok(ledger_see(transaction, source, STR("a"), 2, &found, err));
    assert_true(found);
    assert_ok(ledger_see(transaction, source, STR("z"), 2, &found, err));
    assert_false(found);
    assert_ok(ledger_unseen(transaction, source, 2, STR(""), 10, &store->arena, &lines, &count, err));
    assert_int_equal(count, 2);
    assert_true(str_is(lines[0].external_key, "b") && str_is(lines[1].external_key, "c"));
    assert_ok(ledger_unseen(transaction, source, 2, STR("b"), 10, &store->arena, &lines, &count, err));
    assert_int_equal(count, 1);
    assert_ok(
        ledger_list(transaction, source, LEDGER_FAILED, STR(""), 10, &store->arena, &lines, &count, err));
    assert_int_equal(count, 1);
    int64_t counts[LEDGER_OUTCOME_COUNT];
    assert_ok(ledger_count(transaction, source, counts, err));
    assert_int_equal(counts[LEDGER_FAILED], 1);
    assert_true(ledger_coverage(counts) == 50);
    put_line(transaction, source, "b", LEDGER_INDEXED, 2);
    assert_ok(ledger_find(transaction, source, STR("b"), &store->arena, &line, &found, err));
    assert_int_equal(line.attempts, 0);
    assert_ok(ledger_move(transaction, source, STR("b"), STR("c"), err));
    assert_ok(ledger_find(transaction, source, STR("b"), &store->arena, &line, &found, err));
    assert_false(found);
    assert_ok(ledger_count(transaction, 0, counts, err));
    assert_int_equal(counts[LEDGER_INDEXED], 2);
    assert_int_equal(counts[LEDGER_SKIPPED], 0);
    assert_ok(ledger_forget(transaction, source, STR("c"), err));
    assert_ok(ledger_count(transaction, 0, counts, err));
    assert_true(counts[LEDGER_INDEXED] == 1 && ledger_coverage(counts) == 100);
}

static void an_interrupted_run_is_told_from_one_under_way(void **state)
{
    struct test_store *store = *state;
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_WRITE);
    const int64_t source = test_source(transaction, "/notes");
    int64_t first, second, count;
    const struct run_progress progress = {.discovered = 10, .indexed = 7, .failed = 1, .bytes = 999};
    assert_ok(run_start(transaction, source, "index", &first, err));
    assert_ok(run_beat(transaction, first, &progress, err));
    assert_ok(run_start(transaction, 0, "retry", &second, err));
    assert_ok(run_finish(transaction, second, RUN_FAILED, STR("no\tluck"), &progress, err));
    struct run run, *runs;
    size_t run_count;
    assert_ok(run_load(transaction, first, &store->arena, &run, err));
    assert_int_equal(run.state, RUN_RUNNING);
    assert_memory_equal(&run.progress, &progress, sizeof progress);
    assert_ok(run_end_interrupted(transaction, &count, err));
    assert_int_equal(count, 1);
    assert_ok(run_load(transaction, first, &store->arena, &run, err));
    assert_int_equal(run.state, RUN_INTERRUPTED);
    assert_ok(run_list(transaction, 0, 10, &store->arena, &runs, &run_count, err));
    assert_int_equal(run_count, 2);
    assert_int_equal(runs[0].id, second);
    assert_true(runs[0].state == RUN_FAILED && str_is(runs[0].reason, "no luck") && runs[0].finished_at > 0);
    assert_ok(run_list(transaction, source, 10, &store->arena, &runs, &run_count, err));
    assert_int_equal(run_count, 1);
    assert_int_equal(run_load(transaction, 99, &store->arena, &run, NULL), IBID_ENOTFOUND);
}

/* ---- metadata --------------------------------------------------------------------------------- */

static size_t select_count(struct test_store *store, const char *json)
{
    AUTO_JSON *parsed = NULL;
    const struct filter *filter;
    int64_t *ids;
    size_t count;
    assert_ok(json_parse(str_from(json), &parsed, err));
    assert_ok(filter_from_json(parsed, &store->arena, &filter, err));
    assert_ok(
        store->rows->select(store->rows, DEFAULT_COLLECTION_ID, filter, &store->arena, &ids, &count, err));
    for (size_t i = 1; i < count; i++)
        assert_true(ids[i - 1] < ids[i]);
    return count;
}

static void metadata_can_be_filtered_by(void **state)
{
    struct test_store *store = *state;
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    static const char *const metadata[] = {
        "{\"topic\": \"cats\", \"year\": 2020, \"draft\": true, \"tags\": [\"x\", \"y\"]}",
        ("{\"topic\": \"cathedrals\", \"year\": 2021.5, \"draft\": false, \"tags\": [\"y\", 7],"
         " \"deep\": {\"er\": \"z\"}}"),
        "{\"topic\": null, \"year\": \"2022\"}",
        "{}",
    };
    for (size_t i = 0; i < COUNT_OF(metadata); i++) {
        char key[8];
        snprintf(key, sizeof key, "%zu", i);
        const int64_t id = test_document(transaction, UPLOAD_SOURCE_ID, key);
        test_publish(transaction, id, "one\n\ntwo");
        assert_ok(document_set_metadata(transaction, id, str_from(metadata[i]), err));
    }
    test_commit(transaction);
    static const struct {
        const char *filter;
        size_t documents;
    } rows[] = {
        {"{\"topic\": \"cats\"}", 1},
        {"{\"topic\": \"cat\"}", 0},
        {"{\"topic\": {\"contains\": \"cat\"}}", 2},
        {"{\"topic\": {\"gt\": \"cathedrals\"}}", 1},
        {"{\"topic\": {\"lte\": \"cats\"}}", 2},
        {"{\"topic\": {\"in\": [\"cats\", \"cathedrals\", \"dogs\"]}}", 2},
        {"{\"year\": 2020}", 1},
        {"{\"year\": {\"gte\": 2020}}", 2}, /* the text "2022" is no number */
        {"{\"year\": {\"lt\": 2021}}", 1},
        {"{\"year\": \"2022\"}", 1},
        {"{\"draft\": true}", 1},
        {"{\"draft\": false}", 1},
        {"{\"draft\": 1}", 0},
        {"{\"tags\": \"y\"}", 2},
        {"{\"tags\": {\"all\": [\"x\", \"y\"]}}", 1},
        {"{\"tags\": {\"all\": [\"y\", 7]}}", 1},
        {"{\"tags\": {\"any\": [\"x\", 7]}}", 2},
        {"{\"deep.er\": \"z\"}", 1},
        {"{\"nothing\": \"x\"}", 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (select_count(store, rows[i].filter) != rows[i].documents * 2)
            fail_msg("%s gives %zu rows", rows[i].filter, select_count(store, rows[i].filter));
}

static void metadata_has_limits(void **state)
{
    struct test_store *store = *state;
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_WRITE);
    const int64_t id = test_document(transaction, UPLOAD_SOURCE_ID, "a");
    AUTO_BUFFER big = BUFFER(1 << 20), deep = BUFFER(1 << 20), many = BUFFER(1 << 20);
    buffer_append_string(&big, "{\"a\": \"");
    buffer_append_repeated(&big, 'x', 65536);
    buffer_append_string(&big, "\"}");
    for (int i = 0; i < 10; i++)
        buffer_append_string(&deep, "{\"a\":");
    buffer_append_string(&deep, "1");
    buffer_append_repeated(&deep, '}', 10);
    buffer_append_string(&many, "{\"a\":[1");
    for (int i = 0; i < 5000; i++)
        buffer_append_string(&many, ",1");
    buffer_append_string(&many, "]}");
    assert_int_equal(document_set_metadata(transaction, id, buffer_str(&big), NULL), IBID_ETOOBIG);
    assert_int_equal(document_set_metadata(transaction, id, buffer_str(&deep), NULL), IBID_ETOOBIG);
    assert_int_equal(document_set_metadata(transaction, id, buffer_str(&many), NULL), IBID_ETOOBIG);
    assert_int_equal(document_set_metadata(transaction, id, STR("[1]"), NULL), IBID_EINVAL);
    assert_int_equal(document_set_metadata(transaction, id, STR("{"), NULL), IBID_EINVAL);
    assert_int_equal(document_set_metadata(transaction, 99, STR("{}"), NULL), IBID_ENOTFOUND);
}

/* ---- documents -------------------------------------------------------------------------------- */

static void processing_is_told(void **state)
{
    struct test_store *store = *state;
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_WRITE);
    const int64_t id = test_document(transaction, UPLOAD_SOURCE_ID, "a");
    struct document document;
    char long_reason[2000];
    memset(long_reason, 'r', sizeof long_reason - 1);
    long_reason[sizeof long_reason - 1] = '\0';
    assert_ok(document_start(transaction, id, "extract", err));
    assert_ok(document_end(transaction, id, PROCESSING_FAILED, "extract", str_from(long_reason), err));
    assert_ok(document_load(transaction, id, &store->arena, &document, err));
    assert_int_equal(document.processing_state, PROCESSING_FAILED);
    assert_true(str_is(document.processing_stage, "extract"));
    assert_int_equal(document.processing_reason.size, DOCUMENT_REASON_LIMIT);
    assert_int_equal(document.attempts, 1);
    assert_ok(document_start(transaction, id, "extract", err));
    int64_t count;
    assert_ok(document_reset_interrupted(transaction, &count, err));
    assert_int_equal(count, 1);
    assert_ok(document_load(transaction, id, &store->arena, &document, err));
    assert_int_equal(document.processing_state, PROCESSING_PENDING);
    test_publish(transaction, id, "text");
    assert_ok(document_load(transaction, id, &store->arena, &document, err));
    assert_int_equal(document.processing_state, PROCESSING_COMPLETED);
    assert_int_equal(document.attempts, 0);
    assert_true(document.indexed_at > 0 && document.revision_id > 0 && document.updates == 0);
    test_publish(transaction, id, "other text");
    assert_ok(document_load(transaction, id, &store->arena, &document, err));
    assert_int_equal(document.updates, 1);
    assert_int_equal(document_start(transaction, 99, "extract", NULL), IBID_ENOTFOUND);
}

static void a_moved_document_stays_itself(void **state)
{
    struct test_store *store = *state;
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    const int64_t source = test_source(transaction, "/notes");
    const int64_t id = test_document(transaction, source, "old.txt");
    struct document before, after, other;
    test_publish(transaction, id, "text");
    assert_ok(document_load(transaction, id, &store->arena, &before, err));
    assert_ok(document_move(transaction, id, STR("new.txt"), STR("new"), STR("file:///new.txt"),
                            STR("new.txt"), err));
    assert_ok(document_load(transaction, id, &store->arena, &after, err));
    assert_true(str_equal(before.file_id, after.file_id));
    assert_true(str_is(after.external_key, "new.txt") && str_is(after.source_url, "file:///new.txt"));
    const int64_t again = test_document(transaction, source, "old.txt");
    assert_ok(document_load(transaction, again, &store->arena, &other, err));
    assert_false(str_equal(other.file_id, after.file_id));
    assert_int_equal(document_move(transaction, again, STR("new.txt"), STR(""), STR(""), STR(""), NULL),
                     IBID_ECONFLICT);
    int64_t found;
    assert_ok(document_find_key(transaction, source, STR("new.txt"), &found, err));
    assert_int_equal(found, id);
    assert_ok(document_find_key(transaction, source, STR("none"), &found, err));
    assert_int_equal(found, 0);
    assert_ok(document_find_file_id(transaction, before.file_id, &found, err));
    assert_int_equal(found, id);
    assert_int_equal(document_create(transaction,
                                     &(struct document){.source_id = source, .external_key = STR("new.txt")},
                                     &found, NULL),
                     IBID_ECONFLICT);
    assert_int_equal(document_create(transaction,
                                     &(struct document){.source_id = 99, .external_key = STR("x")}, &found,
                                     NULL),
                     IBID_ENOTFOUND);
    transaction_rollback(transaction);
}

static void touching_tells_followers_only_of_changes(void **state)
{
    struct test_store *store = *state;
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    const int64_t id = test_document(transaction, UPLOAD_SOURCE_ID, "a");
    test_publish(transaction, id, "text");
    assert_ok(document_touch(transaction, id, 4, 5 * SECOND_US, STR("v1"), err));
    test_commit(transaction);
    int64_t before, after;
    assert_ok(store->rows->latest_seq(store->rows, DEFAULT_COLLECTION_ID, &before, err));
    transaction = test_begin(store, TRANSACTION_WRITE);
    assert_ok(document_touch(transaction, id, 4, 5 * SECOND_US, STR("v2"), err));
    test_commit(transaction);
    assert_ok(store->rows->latest_seq(store->rows, DEFAULT_COLLECTION_ID, &after, err));
    assert_int_equal(before, after);
    transaction = test_begin(store, TRANSACTION_WRITE);
    assert_ok(document_touch(transaction, id, 4, 6 * SECOND_US, STR("v2"), err));
    test_commit(transaction);
    assert_ok(store->rows->latest_seq(store->rows, DEFAULT_COLLECTION_ID, &after, err));
    assert_true(after > before);
}

static void rows_of_one_commit_are_never_parted(void **state)
{
    struct test_store *store = *state;
    for (int i = 0; i < 3; i++) {
        struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
        char key[8];
        snprintf(key, sizeof key, "%d", i);
        test_publish(transaction, test_document(transaction, UPLOAD_SOURCE_ID, key), "a\n\nb\n\nc");
        test_commit(transaction);
    }
    struct row *rows;
    size_t count;
    int64_t after = 0;
    static const size_t expected[] = {6, 3, 0};
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_ok(store->rows->changes(store->rows, DEFAULT_COLLECTION_ID, after, 4, &store->arena, &rows,
                                       &count, err));
        assert_int_equal(count, expected[i]);
        after = count ? rows[count - 1].seq : after;
    }
    assert_int_equal(store->rows->changes(store->rows, 99, 0, 4, &store->arena, &rows, &count, NULL),
                     IBID_ENOTFOUND);
}

/* A document of so many chunks that one number is not enough for them, and what comes after it. */
static void many_rows_take_several_numbers(void **state)
{
    struct test_store *store = *state;
    enum { CHUNKS = 5000 };
    struct arena *arena = &store->arena;
    struct chunk *chunks = ARENA_ARRAY(arena, struct chunk, CHUNKS);
    AUTO_BUFFER text = BUFFER(1 << 20);
    for (uint32_t i = 0; i < CHUNKS; i++) {
        const struct str part = str_from(arena_printf(arena, "part %u\n", i));
        chunks[i] = (struct chunk){.text = part, .embed_text = part, .order = i};
        buffer_append_str(&text, part);
    }
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    struct test_content content;
    struct publication_result result;
    for (int i = 0; i < 2; i++) {
        test_content(&content, test_document(transaction, UPLOAD_SOURCE_ID, i ? "b" : "a"), "");
        content.extraction.text = buffer_str(&text);
        content.placement.embeddings = NULL;
        content.publication.chunks = chunks;
        content.publication.chunk_count = i ? 100 : CHUNKS;
        assert_ok(document_publish(transaction, &content.publication, &result, err));
    }
    test_commit(transaction);
    struct row *rows;
    size_t count, total = 0;
    int64_t after = 0, latest;
    do {
        assert_ok(
            store->rows->changes(store->rows, DEFAULT_COLLECTION_ID, after, 1000, arena, &rows, &count, err));
        assert_true(count <= COMMIT_SEQ_ROWS);
        total += count;
        after = count ? rows[count - 1].seq : after;
    } while (count);
    assert_int_equal(total, CHUNKS + 100);
    assert_ok(store->rows->latest_seq(store->rows, DEFAULT_COLLECTION_ID, &latest, err));
    assert_int_equal(latest, after);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_store_set_up, test_store_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(deleting_waits_for_every_follower),
        TEST(no_byte_of_a_deleted_document_is_left),
        TEST(replaced_text_is_swept_too),
        TEST(a_sweep_has_a_limit),
        TEST(vectors_ahead_of_their_rows_are_kept_for_a_while),
        TEST(a_shared_blob_stays),
        TEST(new_bytes_that_wait_are_wanted),
        TEST(the_ledger_tells_what_became_of_each_thing),
        TEST(an_interrupted_run_is_told_from_one_under_way),
        TEST(metadata_can_be_filtered_by),
        TEST(metadata_has_limits),
        TEST(processing_is_told),
        TEST(a_moved_document_stays_itself),
        TEST(touching_tells_followers_only_of_changes),
        TEST(rows_of_one_commit_are_never_parted),
        TEST(many_rows_take_several_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
