/* No statement of records/ reads a table from end to end that grows with the documents, but for those named
 * below.
 *
 * A metadata store of the test's own stands before the real one and notes every statement that the functions
 * of records/ prepare; SQLite is then asked how it would carry each of them out. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "records/chunk_record.h"
#include "records/ledger.h"
#include "records/revision.h"
#include "records/run.h"
#include "records/workspace.h"
#include "tests/store.h"

/* Tables whose size is that of the documents, chunks or runs. */
static const char *const large_tables[] = {
    "documents",
    "document_workspaces",
    "document_collections",
    "document_metadata",
    "revisions",
    "chunk_sets",
    "chunks",
    "chunk_metadata",
    "canonical_texts",
    "page_layouts",
    "embeddings",
    "embeddings_ahead",
    "rows",
    "ledger",
    "runs",
    "jobs",
    "audit",
    "cached_answers",
    "cached_answer_documents",
};

/* Statements that count everything, by their beginning. Each says so in its header. */
static const char *const allowed[] = {
    "SELECT id FROM documents WHERE state = 'sensitive'", /* an index that has only those */
    "SELECT outcome, count(*) FROM ledger",               /* ledger_count: coverage */
    "SELECT id, source_id, kind, state, reason",          /* run_list: newest first, with a limit */
};

static struct metadata_store_ops spy;
static const struct metadata_store_ops *real;
static const char *seen[300];
static size_t seen_count;

static ibid_code spy_prepare(struct transaction *transaction, const char *sql, struct statement **ret,
                             ibid_error *err)
{
    size_t i = 0;
    while (i < seen_count && seen[i] != sql)
        i++;
    if (i == seen_count) {
        assert_true(seen_count < COUNT_OF(seen));
        seen[seen_count++] = sql;
    }
    return real->prepare(transaction, sql, ret, err);
}

static ibid_code spy_begin(struct metadata_store *store, enum transaction_mode mode, struct transaction **ret,
                           ibid_error *err)
{
    TRY(real->begin(store, mode, ret, err));
    (*ret)->ops = &spy;
    return IBID_OK;
}

static void watch(struct test_store *store)
{
    real = store->store->ops;
    spy = *real;
    spy.begin = spy_begin;
    spy.prepare = spy_prepare;
    store->store->ops = &spy;
    seen_count = 0;
}

/* ---- everything that runs often ----------------------------------------------------------------- */

static void use_documents(struct test_store *store, struct transaction *transaction, int64_t source,
                          int64_t id)
{
    struct arena *arena = &store->arena;
    const struct scope scope = {(const int64_t[]){1}, 1, (const int64_t[]){1}, 1};
    struct document document, *documents;
    struct sha256 hash = sha256_of("x", 1);
    int64_t *ids, found, counts[PROCESSING_STATE_COUNT];
    size_t count;
    bool more;
    assert_ok(document_read(transaction, &scope, id, arena, &document, err));
    assert_ok(document_find_key(transaction, source, STR("a"), &found, err));
    assert_ok(document_find_file_id(transaction, document.file_id, &found, err));
    assert_ok(document_find_sha256(transaction, &hash, 10, arena, &ids, &count, err));
    const struct document_query queries[] = {
        {.limit = 5, .processing_state = -1},
        {.limit = 5, .processing_state = PROCESSING_FAILED},
        {.limit = 5, .processing_state = -1, .source_id = source},
        {.limit = 5, .processing_state = -1, .collection_id = 1},
    };
    for (size_t i = 0; i < COUNT_OF(queries); i++)
        assert_ok(document_list(transaction, &scope, &queries[i], arena, &documents, &count, &more, err));
    assert_ok(document_count(transaction, &scope, counts, err));
    assert_ok(document_start(transaction, id, "x", err));
    assert_ok(document_reset(transaction, &id, 1, err));
    assert_ok(document_reset_interrupted(transaction, &found, err));
    assert_ok(document_end(transaction, id, PROCESSING_FAILED, "x", STR("y"), err));
    assert_ok(document_move(transaction, id, STR("b"), STR("b"), STR(""), STR("b"), err));
    assert_ok(document_touch(transaction, id, 1, 2, STR("3"), err));
    assert_ok(document_set_state(transaction, id, DOCUMENT_SENSITIVE, err));
    assert_ok(document_set_metadata(transaction, id, STR("{\"k\": \"v\"}"), err));
    assert_ok(document_share(transaction, id, 1, err));
    assert_ok(document_unshare(transaction, id, 1, err));
}

static void use_content(struct test_store *store, struct transaction *transaction, int64_t id,
                        int64_t revision)
{
    struct arena *arena = &store->arena;
    struct chunk_record chunk, *chunks;
    struct text_box *boxes;
    struct pending_row *pending;
    struct revision loaded;
    struct page_layout page;
    struct str text;
    size_t count;
    int64_t total, embedding;
    const struct sha256 key = sha256_of("ahead", 5);
    const float vector[TEST_DIMENSION] = {1};
    assert_ok(chunk_record_list(transaction, id, 1, 0, 5, arena, &chunks, &count, &total, err));
    assert_ok(chunk_record_at(transaction, id, 1, 0, arena, &chunk, err));
    assert_ok(chunk_record_find(transaction, id, 1, chunk.chunk_id, arena, &chunk, err));
    assert_ok(revision_load(transaction, revision, arena, &loaded, err));
    assert_ok(revision_text(transaction, revision, 0, 5, arena, &text, err));
    assert_ok(revision_boxes(transaction, revision, 0, 5, 5, arena, &boxes, &count, err));
    assert_int_equal(revision_page(transaction, revision, 1, arena, &page, NULL), IBID_ENOTFOUND);
    assert_ok(row_pending(transaction, 1, 0, 5, arena, &pending, &count, err));
    assert_ok(embedding_put(transaction, &key, vector, TEST_DIMENSION, &embedding, err));
    assert_ok(row_set_embedding(transaction, 1, embedding, err));
    assert_ok(collection_set_embedder(transaction, 1,
                                      &(struct collection_embedder){.id = STR("m"),
                                                                    .fingerprint = STR("other"),
                                                                    .dimension = TEST_DIMENSION},
                                      err));
}

static void use_ledger(struct test_store *store, struct transaction *transaction, int64_t source)
{
    struct ledger_line line = {.source_id = source, .external_key = STR("a"), .size = -1}, *lines;
    struct run *runs;
    size_t count;
    int64_t run, counts[LEDGER_OUTCOME_COUNT], interrupted;
    bool found;
    assert_ok(ledger_put(transaction, &line, err));
    assert_ok(ledger_see(transaction, source, STR("a"), 1, &found, err));
    assert_ok(ledger_find(transaction, source, STR("a"), &store->arena, &line, &found, err));
    assert_ok(ledger_unseen(transaction, source, 2, STR(""), 5, &store->arena, &lines, &count, err));
    assert_ok(
        ledger_list(transaction, source, LEDGER_FAILED, STR(""), 5, &store->arena, &lines, &count, err));
    assert_ok(ledger_move(transaction, source, STR("a"), STR("b"), err));
    assert_ok(ledger_count(transaction, source, counts, err));
    assert_ok(run_start(transaction, source, "index", &run, err));
    assert_ok(run_beat(transaction, run, &(struct run_progress){0}, err));
    assert_ok(run_end_interrupted(transaction, &interrupted, err));
    assert_ok(run_list(transaction, 0, 5, &store->arena, &runs, &count, err));
}

static void use_rows(struct test_store *store)
{
    static const char *const filters[] = {
        "{\"k\": \"v\"}",
        "{\"k\": 1}",
        "{\"k\": true}",
        "{\"k\": {\"lt\": 1}}",
        "{\"k\": {\"gte\": \"v\"}}",
        "{\"k\": {\"contains\": \"v\"}}",
    };
    struct row *rows;
    struct row_record *records;
    float vector[TEST_DIMENSION];
    size_t count;
    int64_t *ids;
    test_changes(store, 0, &rows);
    test_changes(store, 1, &rows);
    assert_ok(store->rows->vectors(store->rows, 1, (const int64_t[]){1}, 1, vector, err));
    for (size_t i = 0; i < COUNT_OF(filters); i++) {
        AUTO_JSON *json = NULL;
        const struct filter *filter;
        assert_ok(json_parse(str_from(filters[i]), &json, err));
        assert_ok(filter_from_json(json, &store->arena, &filter, err));
        assert_ok(store->rows->select(store->rows, 1, filter, &store->arena, &ids, &count, err));
    }
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_READ);
    const struct scope scope = {(const int64_t[]){1}, 1, NULL, 0};
    assert_ok(
        row_record_read(transaction, &scope, (const int64_t[]){1}, 1, &store->arena, &records, &count, err));
}

static void use_deleting(struct test_store *store, int64_t source, int64_t id)
{
    struct removal removal;
    struct sweep_result swept;
    bool gone;
    int64_t after = 0;
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    assert_ok(source_map(transaction, source, 1, err));
    assert_ok(source_mapping_apply(transaction, source, 10, &after, err));
    const int64_t inner = test_source(transaction, "/inner");
    test_document(transaction, inner, "twice");
    bool alike, more = true;
    assert_ok(source_is_alike(transaction, inner, source, &alike, err));
    assert_true(alike);
    while (more)
        assert_ok(source_absorb(transaction, inner, source, STR("inner/"), 10, &more, err));
    assert_ok(watermark_set(transaction, STR("v"), 1, 0, err));
    assert_ok(document_withdraw(transaction, id, 1, err));
    test_publish(transaction, id, "and again");
    assert_ok(document_remove(transaction, id, "x", &removal, err));
    assert_ok(watermark_forget(transaction, STR("v"), 1, err));
    assert_ok(sweep(transaction, 10, &swept, err));
    assert_ok(document_is_gone(transaction, id, &gone, err));
    assert_true(gone);
    test_commit(transaction);
}

static void use_everything(struct test_store *store)
{
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    const int64_t source = test_source(transaction, "/notes"), id = test_document(transaction, source, "a");
    test_publish(transaction, id, "one\n\ntwo");
    const int64_t revision = test_publish(transaction, id, "one\n\nthree").revision_id;
    use_documents(store, transaction, source, id);
    use_content(store, transaction, id, revision);
    use_ledger(store, transaction, source);
    test_commit(transaction);
    use_rows(store);
    use_deleting(store, source, id);
}

/* ---- plans ------------------------------------------------------------------------------------ */

static bool is_allowed(const char *sql)
{
    for (size_t i = 0; i < COUNT_OF(allowed); i++)
        if (strncmp(sql, allowed[i], strlen(allowed[i])) == 0)
            return true;
    return false;
}

/* What EXPLAIN QUERY PLAN calls a table: its name or the alias that the statement gives it. */
static bool scans_large_table(const char *sql, const char *step)
{
    if (strncmp(step, "SCAN ", 5) != 0)
        return false;
    const struct str name = str_slice(str_from(step + 5), 0, strcspn(step + 5, " "));
    for (size_t i = 0; i < COUNT_OF(large_tables); i++) {
        if (str_is(name, large_tables[i]))
            return true;
        AUTO_FREE char *aliased = xasprintf(" %s %.*s", large_tables[i], STR_ARG(name));
        const char *at = strstr(sql, aliased);
        if (at && strchr(" ,;", at[strlen(aliased)]))
            return true;
    }
    return false;
}

/* How many steps of the statement's plan scan a large table. */
static int check_plan(sqlite3 *db, const char *sql)
{
    int scans = 0;
    AUTO_FREE char *explain = xasprintf("EXPLAIN QUERY PLAN %s", sql);
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_prepare_v2(db, explain, -1, &stmt, NULL), SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(stmt, 3);
        if (scans_large_table(sql, step)) {
            print_error("%s\n  of: %s\n", step, sql);
            scans++;
        }
    }
    sqlite3_finalize(stmt);
    return scans;
}

static void no_statement_reads_a_large_table_through(void **state)
{
    struct test_store *store = *state;
    watch(store);
    use_everything(store);
    store->store->ops = real;
    assert_true(seen_count > 100);
    sqlite3 *db;
    AUTO_FREE char *path = path_join(store->folder, "records.db");
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    int scans = 0;
    for (size_t i = 0; i < seen_count; i++)
        scans += is_allowed(seen[i]) ? 0 : check_plan(db, seen[i]);
    sqlite3_close(db);
    assert_int_equal(scans, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_statement_reads_a_large_table_through, test_store_set_up,
                                        test_store_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
