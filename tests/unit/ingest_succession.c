/* A change of embedder, from the settings to the searches: the old vectors serve while the new ones are made.
 */
#include "tests/test.h"

#include <stdio.h>

#include "ingest/backlog.h"
#include "ingest/upload.h"
#include "records/bootstrap.h"
#include "records/chunk_record.h"
#include "records/collection.h"
#include "records/ledger.h"
#include "records/succession.h"
#include "search/search.h"
#include "tests/place.h"

static struct collection serving(struct place *place, struct arena *arena)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct collection collection;
    assert_ok(transaction_begin(instance_metadata(place->instance), TRANSACTION_READ, &transaction, err));
    assert_ok(collection_load_serving(transaction, DEFAULT_COLLECTION_ID, arena, &collection, err));
    return collection;
}

static size_t collections(struct place *place)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = NULL;
    struct collection *list;
    size_t count;
    assert_ok(transaction_begin(instance_metadata(place->instance), TRANSACTION_READ, &transaction, err));
    assert_ok(collection_list(transaction, &arena, &list, &count, err));
    return count;
}

static struct collection_counts counts_of(struct place *place, int64_t collection_id)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct collection_counts counts;
    assert_ok(transaction_begin(instance_metadata(place->instance), TRANSACTION_READ, &transaction, err));
    assert_ok(collection_count(transaction, collection_id, &counts, err));
    return counts;
}

/* Opens it with vectors of `dimension`. */
static void reopen(struct place *place, const char *dimension)
{
    close_place(place);
    place_dimension = dimension;
    open_place(place, "hash");
}

static struct meaning meaning_of(struct place *place)
{
    struct meaning meaning;
    assert_ok(instance_meaning(place->instance, DEFAULT_COLLECTION_ID, &meaning, err));
    return meaning;
}

/* The title of the best hit by meaning alone, with vectors of `dimension`. */
static void assert_best(struct place *place, size_t dimension, const char *question, const char *title)
{
    static const int64_t workspaces[] = {DEFAULT_WORKSPACE_ID};
    const struct scope scope = {.workspaces = workspaces, .workspace_count = 1};
    AUTO_ARENA arena = ARENA_INIT;
    struct search_settings settings;
    option_set_defaults(search_section.table, &settings, &arena);
    const struct search_context context = {.metadata_store = instance_metadata(place->instance),
                                           .vector_store = instance_vectors(place->instance),
                                           .slots = instance_compute(place->instance),
                                           .settings = &settings};
    struct searcher *searcher = searcher_new(&context);
    const struct str text = str_from(question);
    struct query query = QUERY_DEFAULT;
    query.texts = &text;
    query.text_count = 1;
    query.mode = SEARCH_VECTOR;
    struct search_result result;
    const struct meaning meaning = meaning_of(place);
    assert_int_equal(meaning.state, MEANING_READY);
    assert_int_equal(meaning.embedder->info.dimension, dimension);
    assert_ok(search_run(searcher, meaning.embedder, &scope, &query, &arena, &result, err));
    assert_true(result.hit_count > 0);
    assert_true(str_is(result.hits[0].path, title) || str_is(result.hits[0].document_title, title));
    assert_int_equal(result.hits[0].collection_id, DEFAULT_COLLECTION_ID);
    searcher_free(searcher);
}

static void assert_sound(struct place *place)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct instance_finding *findings;
    size_t count;
    assert_ok(instance_verify(place->instance, false, NULL, &arena, &findings, &count, err));
    for (size_t i = 0; i < count; i++)
        fail_msg("%s: %s", findings[i].place, findings[i].problem);
}

static int64_t upload(struct place *place, const char *name, const char *text)
{
    static const struct principal owner = {
        .user_id = OWNER_USER_ID, .system_admin = true, .every_workspace = true};
    AUTO_FREE char *path = path_join(place->root, name);
    assert_ok(file_write_atomically(path, text, strlen(text), 0600, err));
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const struct ingest_upload given = {.fd = fd,
                                        .name = str_from(name),
                                        .media_type = STR_EMPTY,
                                        .title = STR_EMPTY,
                                        .metadata = STR_EMPTY,
                                        .workspace_id = DEFAULT_WORKSPACE_ID,
                                        .principal = &owner};
    int64_t id;
    bool replaced;
    struct ingest *ingest = instance_ingest(place->instance);
    assert_ok(ingest_upload(ingest, &given, &id, &replaced, err));
    assert_ok(ingest_wait_document(ingest, id, clock_monotonic_us() + 60 * SECOND_US, err));
    assert_ok(instance_index_settled(place->instance, clock_monotonic_us() + 60 * SECOND_US, err));
    close(fd);
    return id;
}

static size_t chunks_of(struct place *place, int64_t document_id)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = NULL;
    struct chunk_record *chunks;
    size_t count;
    int64_t total;
    assert_ok(transaction_begin(instance_metadata(place->instance), TRANSACTION_READ, &transaction, err));
    assert_ok(chunk_record_list(transaction, document_id, DEFAULT_COLLECTION_ID, 0, 100, &arena, &chunks,
                                &count, &total, err));
    return count;
}

static const char bread[] = "bake bread with rye flour, let the dough rest";
static const char long_text[] =
    "To bake bread with rye flour, let the dough rest for a day, in a cool place. The oven is to be hot. "
    "Walkers need shoes, and water for the way. The committee adopted the budget for the year on Thursday.";

static void a_run_makes_the_new_vectors_while_the_old_ones_serve(void **state)
{
    struct place place = new_place("hash");
    AUTO_ARENA arena = ARENA_INIT;
    write_examples(&place);
    run(&place);
    upload(&place, "shoes.txt", "Walking shoes for rough ground and wet weather.");
    assert_best(&place, 64, bread, "bread.txt");
    assert_string_equal(meaning_of(&place).reason, "");

    reopen(&place, "96"); /* the settings name another one: nothing has happened yet */
    assert_best(&place, 64, bread, "bread.txt");
    assert_non_null(strstr(meaning_of(&place).reason, "hash/words-96"));
    write_document(&place, "bread.txt", "To bake bread with rye flour, let the dough rest for two days.\n");
    struct ingest_status status = run(&place);
    assert_int_equal(status.progress.indexed, 1);
    assert_int_equal(status.progress.unchanged, 2);
    assert_true(status.backlog >= 4); /* the others, the upload as well */
    assert_int_equal(status.backlog_done, status.backlog);
    assert_int_equal(status.pending, 0);

    const struct collection now = serving(&place, &arena);
    assert_int_equal(now.dimension, 96);
    assert_int_not_equal(now.id, DEFAULT_COLLECTION_ID);
    assert_string_equal(meaning_of(&place).reason, "");
    assert_best(&place, 96, bread, "bread.txt");
    assert_best(&place, 96, "walking shoes for wet weather", "shoes.txt");
    assert_int_equal(collections(&place), 2);

    /* What has served goes. */
    assert_ok(instance_compact(place.instance, NULL, clock_monotonic_us() + 60 * SECOND_US, err));
    struct vector_store_stats stats;
    const struct collection_counts counts = counts_of(&place, DEFAULT_COLLECTION_ID);
    assert_int_equal(counts.documents, 0);
    assert_int_equal(counts.rows + counts.removed_rows, 0);
    assert_int_equal(
        vector_store_stats(instance_vectors(place.instance), DEFAULT_COLLECTION_ID, &stats, NULL),
        IBID_ENOTFOUND);
    assert_sound(&place);

    reopen(&place, "96");
    status = run(&place);
    assert_int_equal(status.progress.unchanged, 3);
    assert_int_equal(status.backlog, 0);
    assert_best(&place, 96, bread, "bread.txt");

    reopen(&place, "64"); /* and back: the one that served meanwhile leaves nothing */
    run(&place);
    assert_best(&place, 64, bread, "bread.txt");
    assert_ok(instance_compact(place.instance, NULL, clock_monotonic_us() + 60 * SECOND_US, err));
    assert_int_equal(collections(&place), 2);
    assert_sound(&place);
    end_place(&place);
    place_dimension = "64";
}

/* As the command line does without a server: a process for each command. */
static void the_new_vectors_serve_when_the_run_is_over(void **state)
{
    struct place place = new_place("hash");
    AUTO_ARENA arena = ARENA_INIT;
    write_examples(&place);
    for (int i = 0; i < 200; i++) {
        char name[32], text[64];
        snprintf(name, sizeof name, "note%d.txt", i);
        snprintf(text, sizeof text, "The note number %d of this folder.\n", i);
        write_document(&place, name, text);
    }
    run(&place);
    reopen(&place, "96");
    run_alone(&place, &(struct ingest_request){.source_ids = &place.source_id, .source_count = 1});
    assert_int_equal(serving(&place, &arena).dimension, 96);

    /* No search of another process goes on with those of before: the next process does away with them. */
    reopen(&place, "96");
    assert_ok(instance_index_settled(place.instance, clock_monotonic_us() + 60 * SECOND_US, err));
    const struct collection_counts counts = counts_of(&place, DEFAULT_COLLECTION_ID);
    assert_int_equal(counts.rows + counts.removed_rows, 0);
    assert_best(&place, 96, bread, "bread.txt");
    end_place(&place);
    place_dimension = "64";
}

static int64_t document_at(struct place *place, const char *path)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = NULL;
    struct ledger_line line;
    bool found;
    assert_ok(transaction_begin(instance_metadata(place->instance), TRANSACTION_READ, &transaction, err));
    assert_ok(ledger_find(transaction, place->source_id, str_from(path), &arena, &line, &found, err));
    return found ? line.document_id : 0;
}

/* Who may read it, and what was said of it, go by the document. */
static void a_file_that_moves_meanwhile_stays_the_same_document(void **state)
{
    struct place place = new_place("hash");
    AUTO_FREE char *old = path_join(place.documents, "old.txt"), *new = path_join(place.documents, "new.txt");
    write_document(&place, "old.txt", long_text);
    run(&place);
    const int64_t id = document_at(&place, "old.txt");
    const size_t before = chunks_of(&place, id);
    place_chunk_size = "16"; /* the new embedder takes less at a time */
    reopen(&place, "96");
    assert_int_equal(rename(old, new), 0);
    struct ingest_status status = run(&place);
    assert_int_equal(status.moved, 1);
    assert_int_equal(document_at(&place, "new.txt"), id);
    assert_best(&place, 96, bread, "new.txt");
    status = run(&place);
    assert_int_equal(status.progress.indexed, 1);
    assert_true(chunks_of(&place, id) > before);
    assert_best(&place, 96, bread, "new.txt");
    assert_sound(&place);
    end_place(&place);
    place_dimension = "64";
    place_chunk_size = "512";
}

static void what_was_begun_is_given_up_when_the_settings_change_back(void **state)
{
    struct place place = new_place("hash");
    AUTO_ARENA arena = ARENA_INIT;
    write_examples(&place);
    run(&place);
    struct transaction *transaction;
    const struct collection_embedder other = {
        .id = STR("hash/words-96@1"), .fingerprint = STR("hash/words-96@1;f32"), .dimension = 96};
    assert_ok(transaction_begin(instance_metadata(place.instance), TRANSACTION_WRITE, &transaction, err));
    assert_ok(collection_set_embedder(transaction, DEFAULT_COLLECTION_ID, &other, err));
    assert_ok(transaction_commit(transaction, err));
    instance_committed(place.instance);
    assert_int_equal(collections(&place), 2);

    run(&place); /* with the embedder of before */
    assert_ok(instance_compact(place.instance, NULL, clock_monotonic_us() + 60 * SECOND_US, err));
    assert_int_equal(collections(&place), 1);
    assert_int_equal(serving(&place, &arena).id, DEFAULT_COLLECTION_ID);
    assert_best(&place, 64, bread, "bread.txt");
    assert_sound(&place);
    end_place(&place);
}

/* Where there is no source that a run could list. */
static void an_upload_changes_the_vectors_of_all(void **state)
{
    struct place place = new_place("hash");
    AUTO_ARENA arena = ARENA_INIT;
    const int64_t id = upload(&place, "bread.txt", long_text);
    const size_t before = chunks_of(&place, id);
    place_chunk_size = "16"; /* the new embedder takes less at a time */
    reopen(&place, "96");
    upload(&place, "shoes.txt", "Walking shoes for rough ground and wet weather.");
    const int64_t deadline = clock_monotonic_us() + 60 * SECOND_US;
    while (serving(&place, &arena).dimension != 96 && clock_monotonic_us() < deadline)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    assert_best(&place, 96, bread, "bread.txt");
    assert_best(&place, 96, "walking shoes for wet weather", "shoes.txt");
    assert_true(chunks_of(&place, id) > before);
    assert_ok(instance_compact(place.instance, NULL, clock_monotonic_us() + 60 * SECOND_US, err));
    assert_sound(&place);
    end_place(&place);
    place_dimension = "64";
    place_chunk_size = "512";
}

/* They came, without the embedder, when all seemed to be done. Nothing would be until the next run. */
static void vectors_that_a_complete_successor_lacks_are_made(void **state)
{
    struct place place = new_place("hash");
    AUTO_ARENA arena = ARENA_INIT;
    upload(&place, "bread.txt", bread);
    struct transaction *transaction;
    struct collection successor;
    struct statement *statement;
    bool found, lacks;
    const struct collection_embedder other = {
        .id = STR("hash/words-96@1"), .fingerprint = STR("hash/words-96@1;f32"), .dimension = 96};
    assert_ok(transaction_begin(instance_metadata(place.instance), TRANSACTION_WRITE, &transaction, err));
    assert_ok(collection_set_embedder(transaction, DEFAULT_COLLECTION_ID, &other, err));
    assert_ok(collection_load_successor(transaction, DEFAULT_COLLECTION_ID, &arena, &successor, &found, err));
    assert_ok(succession_carry(transaction, 1, DEFAULT_COLLECTION_ID, successor.id, err));
    assert_ok(statement_prepare(transaction, "UPDATE collections SET complete = 1 WHERE parent_id = 1",
                                &statement, err));
    assert_ok(statement_run(statement, err));
    assert_ok(has_backlog(transaction, DEFAULT_COLLECTION_ID, &lacks, err));
    assert_true(lacks);
    assert_ok(transaction_commit(transaction, err));
    end_place(&place);
}

/* Without its files the old embedder cannot embed a question; words are found still. */
static void an_embedder_that_is_gone_leaves_the_words(void **state)
{
    struct place place = new_place("hash");
    write_examples(&place);
    run(&place);
    struct transaction *transaction;
    struct statement *statement;
    assert_ok(transaction_begin(instance_metadata(place.instance), TRANSACTION_WRITE, &transaction, err));
    assert_ok(
        statement_prepare(transaction,
                          "UPDATE collections SET embedder = 'local/none@0', embedder_fingerprint = 'none',"
                          " embedder_options = '{\"model\": \"/no/such/model\"}'",
                          &statement, err));
    assert_ok(statement_run(statement, err));
    assert_ok(transaction_commit(transaction, err));
    const struct meaning meaning = meaning_of(&place);
    assert_int_equal(meaning.state, MEANING_EMBEDDER_CHANGED);
    assert_null(meaning.embedder);
    assert_non_null(strstr(meaning.reason, "local/none@0"));
    assert_non_null(strstr(meaning.reason, "indexing makes new ones"));
    end_place(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_makes_the_new_vectors_while_the_old_ones_serve),
        cmocka_unit_test(the_new_vectors_serve_when_the_run_is_over),
        cmocka_unit_test(a_file_that_moves_meanwhile_stays_the_same_document),
        cmocka_unit_test(what_was_begun_is_given_up_when_the_settings_change_back),
        cmocka_unit_test(an_upload_changes_the_vectors_of_all),
        cmocka_unit_test(vectors_that_a_complete_successor_lacks_are_made),
        cmocka_unit_test(an_embedder_that_is_gone_leaves_the_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
