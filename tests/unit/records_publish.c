#include "records/publish.h"

#include "records/chunk_record.h"
#include "records/revision.h"
#include "tests/store.h"

static const struct scope everything = {.workspaces = (const int64_t[]){DEFAULT_WORKSPACE_ID},
                                        .workspace_count = 1};

/* A store with one document, already published. */
static int64_t published(struct test_store *store, const char *text)
{
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    const int64_t id = test_document(transaction, test_source(transaction, "/notes"), "a.txt");
    test_publish(transaction, id, text);
    test_commit(transaction);
    return id;
}

static int64_t latest(struct test_store *store)
{
    int64_t seq;
    assert_ok(store->rows->latest_seq(store->rows, DEFAULT_COLLECTION_ID, &seq, err));
    return seq;
}

static const struct row *row_with(struct row *rows, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (str_is(rows[i].text, text))
            return &rows[i];
    return NULL;
}

static void what_is_published_is_fed(void **state)
{
    struct test_store *store = *state;
    const int64_t id = published(store, "first words\n\nsecond words");
    struct row *rows;
    assert_int_equal(test_changes(store, 0, &rows), 2);
    assert_int_equal(rows[0].seq, latest(store));
    assert_int_equal(rows[0].seq, rows[1].seq);
    assert_true(rows[0].row_id < rows[1].row_id);
    assert_true(str_is(rows[0].text, "first words"));
    assert_int_equal(rows[0].document_id, id);
    assert_false(rows[0].removed);
    assert_int_equal(rows[0].state, DOCUMENT_ACTIVE);
    assert_true(str_is(rows[0].language, "en"));
    assert_int_equal(rows[0].workspace_count, 1);
    assert_int_equal(rows[0].workspaces[0], DEFAULT_WORKSPACE_ID);
    float vector[TEST_DIMENSION];
    test_vector(STR("first words"), vector);
    assert_memory_equal(rows[0].vector, vector, sizeof vector);
    assert_int_equal(test_changes(store, latest(store), &rows), 0);
}

static bool has_attribute(const struct row *row, const char *key, struct value value)
{
    const uint32_t position = (uint32_t)(filter_key_find(str_from(key)) - filter_keys);
    for (size_t i = 0; i < row->attribute_count; i++) {
        const struct value *found = &row->attributes[i].value;
        if (row->attributes[i].key == position && found->type == value.type &&
            (value.type == VALUE_STRING ? str_equal(found->string, value.string)
                                        : found->number == value.number))
            return true;
    }
    return false;
}

#define TEXT(text) ((struct value){.type = VALUE_STRING, .string = STR(text)})
#define NUMBER(value_) ((struct value){.type = VALUE_NUMBER, .number = (value_)})

static void rows_carry_what_filters_look_at(void **state)
{
    struct test_store *store = *state;
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    const int64_t id = test_document(transaction, test_source(transaction, "/notes"), "dir/a.txt");
    struct test_content content;
    struct publication_result result;
    test_content(&content, id, "alpha\n\nbeta");
    content.publication.author = STR("Ada");
    content.publication.created_at = 5 * SECOND_US;
    content.publication.modified_at = 7 * SECOND_US;
    content.chunks[1].page_first = 3;
    content.chunks[1].page_last = 5;
    content.chunks[1].structure = STR("table");
    assert_ok(document_publish(transaction, &content.publication, &result, err));
    test_commit(transaction);
    struct row *rows;
    assert_int_equal(test_changes(store, 0, &rows), 2);
    const struct row *row = &rows[1];
    assert_true(has_attribute(row, "source", TEXT("/notes")));
    assert_true(has_attribute(row, "source_type", TEXT("folder")));
    assert_true(has_attribute(row, "path", TEXT("dir/a.txt")));
    assert_true(has_attribute(row, "title", TEXT("dir/a.txt")));
    assert_true(has_attribute(row, "author", TEXT("Ada")));
    assert_true(has_attribute(row, "media_type", TEXT("text/plain")));
    assert_true(has_attribute(row, "language", TEXT("en")));
    assert_true(has_attribute(row, "modality", TEXT("TEXT")));
    assert_true(has_attribute(row, "structure", TEXT("table")));
    assert_true(has_attribute(row, "chunk_index", NUMBER(1)));
    assert_true(has_attribute(row, "page", NUMBER(3)) && has_attribute(row, "page", NUMBER(5)));
    assert_false(has_attribute(row, "page", NUMBER(2)) || has_attribute(row, "page", NUMBER(6)));
    assert_true(has_attribute(row, "created_at", NUMBER(5e6)));
    assert_true(has_attribute(row, "modified_at", NUMBER(7e6)));
    assert_true(has_attribute(row, "size", NUMBER(11)));
    assert_false(has_attribute(row, "owner", TEXT("")));
}

static void an_edit_keeps_the_rows_of_unchanged_chunks(void **state)
{
    struct test_store *store = *state;
    const int64_t id = published(store, "one\n\ntwo\n\nthree");
    struct row *before, *after;
    const size_t before_count = test_changes(store, 0, &before);
    const int64_t seq = latest(store);
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    const struct publication_result result = test_publish(transaction, id, "zero\n\none\n\nthree");
    test_commit(transaction);
    assert_int_equal(result.rows_added, 1);
    assert_int_equal(result.rows_kept, 2);
    assert_int_equal(result.rows_removed, 1);
    assert_int_equal(result.rows_pending, 0);
    const size_t count = test_changes(store, seq, &after);
    assert_int_equal(count, 4);
    assert_int_equal(row_with(after, count, "one")->row_id, row_with(before, before_count, "one")->row_id);
    assert_int_equal(row_with(after, count, "one")->chunk_id,
                     row_with(before, before_count, "one")->chunk_id);
    assert_true(has_attribute(row_with(after, count, "one"), "chunk_index", NUMBER(1)));
    const struct row *gone = row_with(after, count, "two");
    assert_true(gone->removed);
    assert_int_equal(gone->row_id, row_with(before, before_count, "two")->row_id);
    assert_int_equal(test_changes(store, 0, &after), 3); /* a new follower does not hear of it */
}

static void publishing_the_same_again_changes_nothing(void **state)
{
    struct test_store *store = *state;
    const int64_t id = published(store, "one\n\ntwo");
    const int64_t seq = latest(store);
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    const struct publication_result result = test_publish(transaction, id, "one\n\ntwo");
    test_commit(transaction);
    assert_int_equal(result.rows_kept, 2);
    assert_int_equal(result.rows_added + result.rows_removed, 0);
    assert_int_equal(latest(store), seq);
}

static void repeated_text_gets_names_of_its_own(void **state)
{
    struct test_store *store = *state;
    const int64_t id = published(store, "same\n\nsame\n\nsame");
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_READ);
    struct chunk_record *chunks;
    size_t count;
    int64_t total;
    assert_ok(chunk_record_list(transaction, id, DEFAULT_COLLECTION_ID, 0, 10, &store->arena, &chunks, &count,
                                &total, err));
    assert_int_equal(count, 3);
    assert_int_equal(total, 3);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(chunks[i].chunk_index, i);
        assert_true(str_is(chunks[i].text, "same"));
        assert_int_equal(chunks[i].start, 6 * i);
        assert_false(str_equal(chunks[i].chunk_id, chunks[(i + 1) % 3].chunk_id));
        struct chunk_record found;
        assert_ok(chunk_record_find(transaction, id, DEFAULT_COLLECTION_ID, chunks[i].chunk_id, &store->arena,
                                    &found, err));
        assert_int_equal(found.id, chunks[i].id);
        assert_ok(
            chunk_record_at(transaction, id, DEFAULT_COLLECTION_ID, (uint32_t)i, &store->arena, &found, err));
        assert_int_equal(found.id, chunks[i].id);
    }
    struct chunk_record none;
    assert_int_equal(chunk_record_at(transaction, id, DEFAULT_COLLECTION_ID, 3, &store->arena, &none, NULL),
                     IBID_ENOTFOUND);
}

static int64_t count_of(struct test_store *store, const char *sql)
{
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_READ);
    struct statement *statement;
    bool row;
    assert_ok(statement_prepare(transaction, sql, &statement, err));
    assert_ok(statement_step(statement, &row, err));
    return statement_int(statement, 0);
}

static void other_words_around_a_text_are_another_row(void **state)
{
    struct test_store *store = *state;
    const int64_t id = published(store, "one\n\ntwo");
    struct row *before, *after;
    test_changes(store, 0, &before);
    const int64_t seq = latest(store);
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    struct test_content content;
    struct publication_result result;
    test_content(&content, id, "one\n\ntwo");
    content.chunks[0].embed_text = STR("Heading: one");
    assert_ok(document_publish(transaction, &content.publication, &result, err));
    test_commit(transaction);
    assert_int_equal(result.rows_added, 1);
    assert_int_equal(result.rows_removed, 1);
    const size_t count = test_changes(store, seq, &after);
    const struct row *old = row_with(after, count, "one"), *new = row_with(after, count, "Heading: one");
    assert_true(old->removed && !new->removed);
    assert_int_not_equal(old->row_id, new->row_id);
}

static void a_reader_sees_old_or_new_but_nothing_between(void **state)
{
    struct test_store *store = *state;
    const int64_t id = published(store, "old one\n\nold two");
    AUTO_TRANSACTION *reader = test_begin(store, TRANSACTION_READ);
    struct chunk_record *chunks;
    size_t count;
    int64_t total;
    assert_ok(chunk_record_list(reader, id, DEFAULT_COLLECTION_ID, 0, 10, &store->arena, &chunks, &count,
                                &total, err));
    struct transaction *writer = test_begin(store, TRANSACTION_WRITE);
    test_publish(writer, id, "new");
    test_commit(writer);
    assert_ok(chunk_record_list(reader, id, DEFAULT_COLLECTION_ID, 0, 10, &store->arena, &chunks, &count,
                                &total, err));
    assert_int_equal(count, 2);
    assert_true(str_is(chunks[1].text, "old two"));
    AUTO_TRANSACTION *later = test_begin(store, TRANSACTION_READ);
    assert_ok(chunk_record_list(later, id, DEFAULT_COLLECTION_ID, 0, 10, &store->arena, &chunks, &count,
                                &total, err));
    assert_int_equal(count, 1);
    assert_true(str_is(chunks[0].text, "new"));
    assert_int_equal(count_of(store, "SELECT count(*) FROM revisions"), 1);
    assert_int_equal(count_of(store, "SELECT count(*) FROM chunk_sets"), 1);
}

static void a_vector_is_stored_once_and_goes_with_its_last_row(void **state)
{
    struct test_store *store = *state;
    const int64_t first = published(store, "shared\n\nmine");
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    const int64_t second = test_document(transaction, UPLOAD_SOURCE_ID, "b.txt");
    test_publish(transaction, second, "shared");
    test_commit(transaction);
    assert_int_equal(count_of(store, "SELECT count(*) FROM embeddings"), 2);
    transaction = test_begin(store, TRANSACTION_WRITE);
    test_publish(transaction, first, "mine");
    test_commit(transaction);
    assert_int_equal(count_of(store, "SELECT count(*) FROM embeddings"), 2);
    struct removal removal;
    transaction = test_begin(store, TRANSACTION_WRITE);
    assert_ok(document_remove(transaction, second, "test", &removal, err));
    test_commit(transaction);
    assert_int_equal(count_of(store, "SELECT count(*) FROM embeddings"), 1);
}

static void a_vector_from_the_cache_need_not_be_given(void **state)
{
    struct test_store *store = *state;
    published(store, "known");
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    const int64_t id = test_document(transaction, UPLOAD_SOURCE_ID, "b.txt");
    struct test_content content;
    struct publication_result result;
    test_content(&content, id, "known\n\nunknown");
    content.embeddings[0].vector = NULL;
    content.embeddings[1].vector = NULL;
    assert_ok(document_publish(transaction, &content.publication, &result, err));
    assert_int_equal(result.rows_pending, 1);
    struct pending_row *pending;
    size_t count;
    assert_ok(row_pending(transaction, DEFAULT_COLLECTION_ID, 0, 10, &store->arena, &pending, &count, err));
    assert_int_equal(count, 1);
    assert_true(str_is(pending[0].embed_text, "unknown"));
    int64_t embedding;
    assert_ok(embedding_put(transaction, &content.embeddings[1].key, content.vectors[1], TEST_DIMENSION,
                            &embedding, err));
    assert_ok(row_set_embedding(transaction, pending[0].row_id, embedding, err));
    assert_ok(row_pending(transaction, DEFAULT_COLLECTION_ID, 0, 10, &store->arena, &pending, &count, err));
    assert_int_equal(count, 0);
    test_commit(transaction);
    struct row *rows;
    assert_int_equal(test_changes(store, 0, &rows), 3);
    float vectors[2][TEST_DIMENSION];
    const int64_t ids[] = {rows[2].row_id, 999};
    assert_ok(store->rows->vectors(store->rows, DEFAULT_COLLECTION_ID, ids, 2, vectors[0], err));
    assert_memory_equal(vectors[0], content.vectors[1], sizeof vectors[0]);
    assert_true(vectors[1][0] == 0 && vectors[1][3] == 0);
}

static void collections_share_a_chunk_set(void **state)
{
    struct test_store *store = *state;
    const int64_t id = published(store, "one\n\ntwo");
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    int64_t other;
    assert_ok(collection_create(transaction, &(struct collection){.name = STR("keywords")}, &other, err));
    struct test_content content;
    struct publication_result result;
    test_content(&content, id, "one\n\ntwo");
    content.placement = (struct placement){.collection_id = other};
    assert_ok(document_publish(transaction, &content.publication, &result, err));
    assert_int_equal(result.rows_added, 2);
    assert_int_equal(result.rows_kept, 2);
    assert_int_equal(result.rows_pending, 0); /* a collection without embedder waits for nothing */
    test_commit(transaction);
    assert_int_equal(count_of(store, "SELECT count(*) FROM chunks"), 2);
    assert_int_equal(count_of(store, "SELECT count(*) FROM rows"), 4);
    transaction = test_begin(store, TRANSACTION_WRITE);
    test_publish(transaction, id, "one\n\nthree"); /* names one of the two: the other follows */
    assert_ok(document_withdraw(transaction, id, DEFAULT_COLLECTION_ID, err));
    test_commit(transaction);
    assert_int_equal(count_of(store, "SELECT count(*) FROM rows WHERE removed = 0"), 2);
    assert_int_equal(count_of(store, "SELECT count(*) FROM embeddings"), 0);
    AUTO_TRANSACTION *reader = test_begin(store, TRANSACTION_READ);
    struct chunk_record *chunks;
    size_t count;
    int64_t total;
    assert_ok(chunk_record_list(reader, id, other, 0, 10, &store->arena, &chunks, &count, &total, err));
    assert_int_equal(count, 2);
    assert_true(str_is(chunks[1].text, "three"));
    assert_ok(chunk_record_list(reader, id, DEFAULT_COLLECTION_ID, 0, 10, &store->arena, &chunks, &count,
                                &total, err));
    assert_int_equal(count, 0);
}

static void the_canonical_text_is_read_in_parts(void **state)
{
    struct test_store *store = *state;
    const size_t size = 200001;
    char *text = xmalloc(size + 1);
    for (size_t i = 0; i < size; i += 3)
        memcpy(text + i, "\xE2\x82\xAC", 3); /* pieces must not part a character */
    text[size] = '\0';
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    const int64_t id = test_document(transaction, UPLOAD_SOURCE_ID, "long.txt");
    const int64_t revision = test_publish(transaction, id, text).revision_id;
    struct str part;
    static const uint32_t ranges[][2] = {
        {0, 9}, {65530, 65545}, {60000, 150000}, {199998, 400000}, {0, 200001}};
    for (size_t i = 0; i < COUNT_OF(ranges); i++) {
        assert_ok(
            revision_text(transaction, revision, ranges[i][0], ranges[i][1], &store->arena, &part, err));
        const struct str whole = {text, size};
        assert_true(str_equal(part, str_slice(whole, ranges[i][0], ranges[i][1])));
    }
    assert_ok(revision_text(transaction, revision, 300000, 400000, &store->arena, &part, err));
    assert_int_equal(part.size, 0);
    transaction_rollback(transaction);
    free(text);
}

static void a_missing_document_cannot_be_published(void **state)
{
    struct test_store *store = *state;
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    struct test_content content;
    struct publication_result result;
    test_content(&content, 77, "text");
    ibid_error err;
    assert_int_equal(document_publish(transaction, &content.publication, &result, &err), IBID_ENOTFOUND);
    assert_string_equal(err.message, "there is no document 77");
    transaction_rollback(transaction);
}

static void hits_are_checked_against_the_truth(void **state)
{
    struct test_store *store = *state;
    const int64_t id = published(store, "one\n\ntwo");
    struct row *rows;
    test_changes(store, 0, &rows);
    const int64_t ids[] = {rows[1].row_id, 12345, rows[0].row_id};
    struct row_record *records;
    size_t count;
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_WRITE);
    assert_ok(row_record_read(transaction, &everything, ids, 3, &store->arena, &records, &count, err));
    assert_int_equal(count, 2);
    assert_true(str_is(records[0].chunk.text, "two"));
    assert_true(str_is(records[1].chunk.text, "one"));
    assert_ptr_equal(records[0].document, records[1].document);
    const struct scope nothing = {0}, elsewhere = {.workspaces = (const int64_t[]){5}, .workspace_count = 1};
    assert_ok(row_record_read(transaction, &nothing, ids, 3, &store->arena, &records, &count, err));
    assert_int_equal(count, 0);
    assert_ok(row_record_read(transaction, &elsewhere, ids, 3, &store->arena, &records, &count, err));
    assert_int_equal(count, 0);
    assert_ok(document_set_state(transaction, id, DOCUMENT_SENSITIVE, err));
    assert_ok(row_record_read(transaction, &everything, ids, 3, &store->arena, &records, &count, err));
    assert_int_equal(count, 0);
    const struct scope admin = {everything.workspaces, 1, everything.workspaces, 1};
    assert_ok(row_record_read(transaction, &admin, ids, 3, &store->arena, &records, &count, err));
    assert_int_equal(count, 2);
    assert_ok(document_set_state(transaction, id, DOCUMENT_EXPIRED, err));
    assert_ok(row_record_read(transaction, &admin, ids, 3, &store->arena, &records, &count, err));
    assert_int_equal(count, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_store_set_up, test_store_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_is_published_is_fed),
        TEST(rows_carry_what_filters_look_at),
        TEST(an_edit_keeps_the_rows_of_unchanged_chunks),
        TEST(publishing_the_same_again_changes_nothing),
        TEST(repeated_text_gets_names_of_its_own),
        TEST(other_words_around_a_text_are_another_row),
        TEST(a_reader_sees_old_or_new_but_nothing_between),
        TEST(a_vector_is_stored_once_and_goes_with_its_last_row),
        TEST(a_vector_from_the_cache_need_not_be_given),
        TEST(collections_share_a_chunk_set),
        TEST(the_canonical_text_is_read_in_parts),
        TEST(a_missing_document_cannot_be_published),
        TEST(hits_are_checked_against_the_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
