#include "tests/test.h"

#include "search/search.h"

#include <math.h>

#include "records/workspace.h"
#include "tests/store.h"

enum { DIMENSION = 64 };

static const int64_t all_workspaces[] = {DEFAULT_WORKSPACE_ID, 2};
static const struct scope default_scope = {.workspaces = all_workspaces, .workspace_count = 1};
static const struct scope both_scopes = {.workspaces = all_workspaces, .workspace_count = 2};
static const struct scope no_scope = {0};

/* An embedder whose behaviour the tests decide. */
struct test_embedder {
    struct embedder base;
    struct embedder *real;
    size_t calls;
    bool broken;
};

struct bench {
    struct test_store *store;
    struct vector_store *index;
    struct test_embedder embedder;
    struct search_settings settings;
    struct searcher *searcher;
    struct arena arena;
    int64_t source;
};

static ibid_code test_embed(struct embedder *embedder, enum embed_purpose purpose, const struct str *texts,
                            size_t count, float *out, ibid_error *err)
{
    struct test_embedder *self = (struct test_embedder *)embedder;
    self->calls++;
    if (self->broken)
        return fail(err, IBID_EUPSTREAM, "the model's server does not answer");
    return embedder_embed(self->real, purpose, texts, count, out, err);
}

static const struct embedder_ops test_embedder_ops = {.name = "test", .embed = test_embed};

static void open_embedder(struct bench *bench)
{
    const struct embedder_ops *hash = embedder_find("hash");
    void *options = arena_alloc(&bench->arena, hash->options_size);
    option_set_defaults(hash->options, options, &bench->arena);
    assert_ok(
        option_set(option_find(hash->options, STR("dimension")), options, STR("64"), &bench->arena, err));
    assert_ok(embedder_open(hash, NULL, options, &bench->embedder.real, err));
    bench->embedder.base = *bench->embedder.real;
    bench->embedder.base.ops = &test_embedder_ops;
}

static void open_index(struct bench *bench)
{
    const struct vector_store_ops *ops = vector_store_find("memory");
    const struct vector_store_context context = {.folder = bench->store->folder, .rows = bench->store->rows};
    const struct vector_space space = {DEFAULT_COLLECTION_ID, DIMENSION, "test"};
    assert_ok(vector_store_open(ops, &context, NULL, &bench->index, err));
    assert_ok(vector_store_attach(bench->index, &space, err));
}

static int set_up(void **state)
{
    struct bench *bench = xcalloc(1, sizeof *bench);
    void *store;
    test_store_set_up(&store);
    bench->store = store;
    open_embedder(bench);
    struct transaction *transaction = test_begin(bench->store, TRANSACTION_WRITE);
    int64_t workspace;
    assert_ok(collection_set_embedder(
        transaction, DEFAULT_COLLECTION_ID,
        &(struct collection_embedder){.id = str_from(bench->embedder.base.info.id),
                                      .fingerprint = str_from(bench->embedder.base.info.fingerprint),
                                      .dimension = DIMENSION},
        err));
    assert_ok(workspace_create(transaction, STR("other"), false, OWNER_USER_ID, &workspace, err));
    assert_int_equal(workspace, 2);
    bench->source = test_source(transaction, "/notes");
    test_commit(transaction);
    open_index(bench);
    option_set_defaults(search_section.table, &bench->settings, &bench->arena);
    bench->searcher = searcher_new(&(struct search_context){.metadata_store = bench->store->store,
                                                            .vector_store = bench->index,
                                                            .rows = bench->store->rows,
                                                            .settings = &bench->settings});
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    void *store = bench->store;
    searcher_free(bench->searcher);
    vector_store_close(bench->index);
    embedder_close(bench->embedder.real);
    arena_release(&bench->arena);
    test_store_tear_down(&store);
    free(bench);
    return 0;
}

/* What a test says of a document beside its text. */
struct draft {
    const char *key;
    const char *text;
    const char *language;
    int64_t modified_at;
    int64_t source;
    bool not_embedded;
    uint32_t page;
};

static int64_t publish(struct transaction *transaction, struct bench *bench, const struct draft *draft)
{
    static float vectors[64][DIMENSION];
    struct test_content content;
    struct publication_result result;
    const int64_t id = test_document(transaction, draft->source ? draft->source : bench->source, draft->key);
    test_content(&content, id, draft->text);
    for (size_t i = 0; i < content.publication.chunk_count; i++) {
        assert_ok(embedder_embed(bench->embedder.real, EMBED_PASSAGE, &content.chunks[i].embed_text, 1,
                                 vectors[i], err));
        content.embeddings[i].vector = vectors[i];
        content.chunks[i].page_first = content.chunks[i].page_last =
            draft->page ? draft->page + (uint32_t)i : 0;
    }
    if (draft->not_embedded)
        content.placement.embeddings = NULL;
    if (draft->language)
        content.publication.language = str_from(draft->language);
    content.publication.modified_at = draft->modified_at;
    assert_ok(document_publish(transaction, &content.publication, &result, err));
    return id;
}

static void follow(struct bench *bench)
{
    assert_ok(vector_store_follow(bench->index, DEFAULT_COLLECTION_ID, NULL, err));
}

static int64_t add_draft(struct bench *bench, struct draft draft)
{
    struct transaction *transaction = test_begin(bench->store, TRANSACTION_WRITE);
    const int64_t id = publish(transaction, bench, &draft);
    test_commit(transaction);
    follow(bench);
    return id;
}

static int64_t add(struct bench *bench, const char *key, const char *text)
{
    return add_draft(bench, (struct draft){.key = key, .text = text});
}

static struct query ask(struct bench *bench, const char *text)
{
    struct query query = QUERY_DEFAULT;
    struct str *texts = ARENA_NEW(&bench->arena, struct str);
    *texts = str_from(text);
    query.texts = texts;
    query.text_count = 1;
    return query;
}

static struct search_result run(struct bench *bench, const struct scope *scope, const struct query *query)
{
    struct search_result result;
    assert_ok(search_run(bench->searcher, &bench->embedder.base, scope, query, &bench->arena, &result, err));
    return result;
}

/* Keys of the documents found, in order. */
static const char *found(struct bench *bench, const struct scope *scope, const struct query *query)
{
    const struct search_result result = run(bench, scope, query);
    AUTO_BUFFER out = BUFFER(100000);
    buffer_append_string(&out, "");
    for (size_t i = 0; i < result.hit_count; i++)
        buffer_printf(&out, "%s%.*s", i ? " " : "", STR_ARG(result.hits[i].path));
    return arena_strdup(&bench->arena, out.data ? out.data : "");
}

static void put_library(struct bench *bench)
{
    add(bench, "tea", "Green tea is steeped at eighty degrees.\n\nBlack tea takes boiling water.");
    add(bench, "coffee", "Coffee is ground before it is brewed with water.");
    add(bench, "steel", "Steel is hardened by quenching it.");
}

static void finds_with_everything_a_reader_needs(void **state)
{
    struct bench *bench = *state;
    add_draft(bench, (struct draft){
                         .key = "dir/tea",
                         .text = "Green tea is steeped at eighty degrees.\n\nBlack tea takes boiling water.",
                         .modified_at = 7 * SECOND_US,
                         .page = 3});
    put_library(bench);
    struct query query = ask(bench, "boiling waters");
    query.explain = true;
    const struct search_result result = run(bench, &default_scope, &query);
    const struct hit *hit = &result.hits[0];
    assert_true(result.hit_count >= 2);
    assert_false(result.listing);
    assert_int_equal(result.degraded, DEGRADED_NO);
    assert_int_equal(result.row_count, 6);
    assert_true(str_is(hit->path, "tea") || str_is(hit->path, "dir/tea"));
    hit = str_is(hit->path, "dir/tea") ? hit : &result.hits[1];
    assert_true(str_is(hit->document_title, "dir/tea"));
    assert_true(str_is(hit->text, "Black tea takes boiling water."));
    assert_true(str_equal(hit->passage, hit->text));
    assert_int_equal(hit->mark_count, 2);
    assert_true(str_is(str_slice(hit->passage, hit->marks[0].start, hit->marks[0].end), "boiling"));
    assert_true(str_is(str_slice(hit->passage, hit->marks[1].start, hit->marks[1].end), "water"));
    assert_int_equal(hit->page_first, 4);
    assert_int_equal(hit->chunk_index, 1);
    assert_true(hit->has_range && hit->start == 41 && hit->end == 71);
    assert_int_equal(hit->modified_at, 7 * SECOND_US);
    assert_true(str_is(hit->source, "/notes") && str_is(hit->source_type, "folder"));
    assert_int_equal(hit->workspace_count, 1);
    assert_int_equal(hit->workspace_ids[0], DEFAULT_WORKSPACE_ID);
    assert_true(hit->chunk > 0 && hit->document_id > 0 && hit->chunk_id.size > 0 && hit->file_id.size > 0);
    assert_non_null(strstr(hit->explanation.data, "relevance"));
}

static void every_part_of_a_score_adds_up(void **state)
{
    struct bench *bench = *state;
    put_library(bench);
    const struct query query = ask(bench, "black tea");
    const struct search_result result = run(bench, &default_scope, &query);
    for (size_t i = 0; i < result.hit_count; i++) {
        const struct hit_score *score = &result.hits[i].score;
        const double final =
            0.6 * score->relevance + 0.2 * score->recency + 0.1 * score->trust + 0.1 * score->overlap;
        const double relevance =
            score->dense_weight * score->dense + (1 - score->dense_weight) * score->keyword;
        assert_true(fabs(score->final - final) < 1e-9);
        assert_true(fabs(score->relevance - relevance) < 1e-9);
        assert_true(score->recency == 0.5 && score->trust == 0.5); /* nothing is known of any */
        assert_true(score->similarity >= 0 && score->similarity <= 1);
        assert_true(i == 0 || score->final <= result.hits[i - 1].score.final);
    }
    assert_true(result.hits[0].score.overlap == 1);
    assert_true(result.hits[0].score.confidence > 0.85);
    assert_int_equal(result.hits[0].score.band, CONFIDENCE_HIGH);
}

static void words_that_are_everywhere_are_not_marked(void **state)
{
    struct bench *bench = *state;
    enum { DOCUMENTS = 30 };
    for (int i = 0; i < DOCUMENTS; i++)
        add(bench, arena_printf(&bench->arena, "d%d", i),
            i == 7 ? "The harbour and the lighthouse"
                   : arena_printf(&bench->arena, "The boat %d and the sea", i));
    struct query query = ask(bench, "the lighthouse");
    const struct search_result result = run(bench, &default_scope, &query);
    assert_int_equal(result.hits[0].mark_count, 1);
    assert_true(
        str_is(str_slice(result.hits[0].passage, result.hits[0].marks[0].start, result.hits[0].marks[0].end),
               "lighthouse"));
    query = ask(bench, "the");
    query.mode = SEARCH_KEYWORD;
    assert_int_equal(run(bench, &default_scope, &query).hits[0].mark_count, 2);
}

static void groups_by_document_or_not(void **state)
{
    struct bench *bench = *state;
    put_library(bench);
    struct query query = ask(bench, "tea");
    query.min_confidence = CONFIDENCE_MEDIUM;
    assert_string_equal(found(bench, &default_scope, &query), "tea");
    query.group_by = GROUP_BY_NONE;
    assert_string_equal(found(bench, &default_scope, &query), "tea tea");
}

static void modes_use_their_side_alone(void **state)
{
    struct bench *bench = *state;
    put_library(bench);
    add_draft(bench,
              (struct draft){.key = "late", .text = "Tea without a vector yet.", .not_embedded = true});
    struct query query = ask(bench, "green tea");
    query.mode = SEARCH_KEYWORD;
    struct search_result result = run(bench, &default_scope, &query);
    assert_int_equal(result.hit_count, 2);
    assert_true(isnan(result.hits[0].score.similarity) && !isnan(result.hits[0].score.bm25));
    assert_int_equal(bench->embedder.calls, 0);
    query.mode = SEARCH_VECTOR;
    result = run(bench, &default_scope, &query);
    assert_int_equal(result.hit_count, 3); /* each that has a vector */
    assert_true(!isnan(result.hits[0].score.similarity) && isnan(result.hits[0].score.bm25));
    assert_int_equal(result.hits[0].mark_count, 2);
    assert_true(result.hits[0].score.overlap == 0);
    query.mode = SEARCH_HYBRID;
    result = run(bench, &default_scope, &query);
    assert_int_equal(result.hit_count, 4);
    assert_int_equal(result.degraded, DEGRADED_NO);
}

static void the_scope_decides_what_is_there(void **state)
{
    struct bench *bench = *state;
    put_library(bench);
    const int64_t secret = add(bench, "secret", "Black tea of the other workspace.");
    struct transaction *transaction = test_begin(bench->store, TRANSACTION_WRITE);
    assert_ok(document_share(transaction, secret, 2, err));
    test_commit(transaction);
    follow(bench);
    struct query query = ask(bench, "black tea of the other workspace");
    const struct scope other_only = {.workspaces = &all_workspaces[1], .workspace_count = 1};
    assert_string_equal(found(bench, &other_only, &query), "secret");
    struct search_result result = run(bench, &both_scopes, &query);
    assert_true(str_is(result.hits[0].path, "secret"));
    assert_int_equal(result.hits[0].workspace_count, 2);
    result = run(bench, &default_scope, &query);
    assert_true(str_is(result.hits[0].path, "secret"));
    assert_int_equal(result.hits[0].workspace_count, 1); /* the other workspace is not even named */

    result = run(bench, &no_scope, &query);
    assert_int_equal(result.hit_count, 0);
    assert_int_equal(result.row_count, 0);
    assert_int_equal(result.degraded, DEGRADED_NO);
}

static void states_are_respected(void **state)
{
    struct bench *bench = *state;
    const int64_t ids[] = {add(bench, "archived", "tea one"), add(bench, "expired", "tea two"),
                           add(bench, "sensitive", "tea three")};
    static const enum document_state states[] = {DOCUMENT_ARCHIVED, DOCUMENT_EXPIRED, DOCUMENT_SENSITIVE};
    struct transaction *transaction = test_begin(bench->store, TRANSACTION_WRITE);
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        assert_ok(document_set_state(transaction, ids[i], states[i], err));
    test_commit(transaction);
    const struct query query = ask(bench, "tea");
    /* The records decide at once, the index follows. */
    assert_string_equal(found(bench, &default_scope, &query), "archived");
    follow(bench);
    const struct search_result result = run(bench, &default_scope, &query);
    assert_int_equal(result.hit_count, 1);
    assert_int_equal(result.hits[0].state, DOCUMENT_ARCHIVED);
    struct scope admin = default_scope;
    admin.sensitive_workspaces = all_workspaces;
    admin.sensitive_workspace_count = 1;
    assert_int_equal(run(bench, &admin, &query).hit_count, 2);
}

static void deleted_documents_never_appear_and_others_take_their_place(void **state)
{
    struct bench *bench = *state;
    enum { COPIES = 300, DELETED = 290 };
    int64_t ids[COPIES];
    struct transaction *transaction = test_begin(bench->store, TRANSACTION_WRITE);
    for (int i = 0; i < COPIES; i++) {
        char key[16], text[64];
        snprintf(key, sizeof key, "copy%03d", i);
        snprintf(text, sizeof text, "Green tea, number %d.", i);
        ids[i] = publish(transaction, bench, &(struct draft){.key = key, .text = text});
    }
    test_commit(transaction);
    follow(bench);
    transaction = test_begin(bench->store, TRANSACTION_WRITE);
    for (int i = 0; i < DELETED; i++) {
        struct removal removal;
        assert_ok(document_remove(transaction, ids[i], "test", &removal, err));
    }
    test_commit(transaction);
    /* The index has not heard of it: its best hundred candidates are all gone. */
    struct query query = ask(bench, "green tea");
    const struct search_result result = run(bench, &default_scope, &query);
    assert_int_equal(result.hit_count, COPIES - DELETED);
    for (size_t i = 0; i < result.hit_count; i++)
        assert_true(str_compare(result.hits[i].path, STR("copy290")) >= 0);
}

static void goes_on_by_keyword_without_an_embedder(void **state)
{
    struct bench *bench = *state;
    put_library(bench);
    struct query query = ask(bench, "quenching");
    struct search_result result;
    assert_ok(search_run(bench->searcher, NULL, &default_scope, &query, &bench->arena, &result, err));
    assert_int_equal(result.degraded, DEGRADED_NO_EMBEDDER);
    assert_string_equal(degraded_string(result.degraded), "no_embedder");
    assert_int_equal(result.hit_count, 1);
    query.mode = SEARCH_KEYWORD;
    assert_ok(search_run(bench->searcher, NULL, &default_scope, &query, &bench->arena, &result, err));
    assert_int_equal(result.degraded, DEGRADED_NO);
    query.mode = SEARCH_VECTOR;
    ibid_error error = {0};
    assert_int_equal(
        search_run(bench->searcher, NULL, &default_scope, &query, &bench->arena, &result, &error),
        IBID_EUNAVAILABLE);
    assert_non_null(strstr(error.message, "no embedding model"));
}

static void says_when_another_embedder_made_the_vectors(void **state)
{
    struct bench *bench = *state;
    put_library(bench);
    bench->embedder.base.info.fingerprint = "another";
    struct query query = ask(bench, "quenching");
    const struct search_result result = run(bench, &default_scope, &query);
    assert_int_equal(result.degraded, DEGRADED_NOT_EMBEDDED);
    assert_int_equal(result.hit_count, 1);
    assert_int_equal(bench->embedder.calls, 0);
}

static void survives_an_embedder_that_fails(void **state)
{
    struct bench *bench = *state;
    put_library(bench);
    bench->embedder.broken = true;
    struct query query = ask(bench, "quenching");
    struct search_result result = run(bench, &default_scope, &query);
    assert_int_equal(result.degraded, DEGRADED_EMBEDDER_FAILED);
    assert_true(str_is(result.degraded_reason, "the model's server does not answer"));
    assert_int_equal(result.hit_count, 1);
    query.mode = SEARCH_VECTOR;
    assert_int_equal(search_run(bench->searcher, &bench->embedder.base, &default_scope, &query, &bench->arena,
                                &result, NULL),
                     IBID_EUPSTREAM);
}

static void a_query_is_embedded_once(void **state)
{
    struct bench *bench = *state;
    put_library(bench);
    const struct query query = ask(bench, "green tea"), other = ask(bench, "black tea");
    const char *first = found(bench, &default_scope, &query);
    assert_string_equal(found(bench, &default_scope, &query), first);
    assert_int_equal(bench->embedder.calls, 1);
    found(bench, &default_scope, &other);
    assert_int_equal(bench->embedder.calls, 2);
}

static void a_vector_beats_texts(void **state)
{
    struct bench *bench = *state;
    put_library(bench);
    float vector[DIMENSION];
    const struct str text = STR("Steel is hardened by quenching it.");
    assert_ok(embedder_embed(bench->embedder.real, EMBED_QUERY, &text, 1, vector, err));
    for (size_t i = 0; i < DIMENSION; i++)
        vector[i] *= 5;
    struct query query = ask(bench, "green tea");
    query.vector = vector;
    query.dimension = DIMENSION;
    const struct search_result result = run(bench, &default_scope, &query);
    assert_true(str_is(result.hits[0].path, "steel"));
    assert_true(fabs(result.hits[0].score.similarity - 1) < 1e-5);
    assert_int_equal(bench->embedder.calls, 0);
    vector[0] = 1;
    query.dimension = 7;
    struct search_result none;
    ibid_error error = {0};
    assert_int_equal(search_run(bench->searcher, NULL, &default_scope, &query, &bench->arena, &none, &error),
                     IBID_EINVAL);
    assert_non_null(strstr(error.message, "7 numbers"));
}

static void finds_what_is_like_a_chunk(void **state)
{
    struct bench *bench = *state;
    put_library(bench);
    add(bench, "matcha", "Green tea powder is steeped at seventy degrees.");
    struct query query = ask(bench, "green tea at eighty degrees"), similar = QUERY_DEFAULT;
    const struct search_result result = run(bench, &default_scope, &query);
    similar.similar_to = result.hits[0].row_id;
    similar.group_by = GROUP_BY_NONE;
    assert_true(str_is(result.hits[0].path, "tea"));
    const struct search_result like = run(bench, &default_scope, &similar);
    assert_int_equal(like.hit_count, 4);
    for (size_t i = 0; i < like.hit_count; i++)
        assert_true(like.hits[i].row_id != similar.similar_to);
    assert_true(str_is(like.hits[0].path, "matcha"));
    struct search_result none;
    const struct scope other_only = {.workspaces = &all_workspaces[1], .workspace_count = 1};
    assert_int_equal(search_run(bench->searcher, NULL, &other_only, &similar, &bench->arena, &none, NULL),
                     IBID_ENOTFOUND);
    similar.similar_to = 123456;
    assert_int_equal(search_run(bench->searcher, NULL, &default_scope, &similar, &bench->arena, &none, NULL),
                     IBID_ENOTFOUND);
}

static void lists_what_a_filter_passes(void **state)
{
    struct bench *bench = *state;
    put_library(bench);
    struct query query = QUERY_DEFAULT;
    assert_ok(filter_from_text(STR("path=tea"), &bench->arena, &query.filter, err));
    struct search_result result = run(bench, &default_scope, &query);
    assert_true(result.listing);
    assert_int_equal(result.hit_count, 2);
    assert_int_equal(result.next_row, 0);
    for (size_t i = 0; i < result.hit_count; i++) {
        assert_true(result.hits[i].score.final == 1);
        assert_int_equal(result.hits[i].chunk_index, i);
        assert_true(str_equal(result.hits[i].passage, result.hits[i].text));
    }
    /* Page by page, everything comes once. A blank text is none. */
    struct query all = ask(bench, "  \n");
    all.top_k = 3;
    size_t count = 0;
    int64_t last = 0;
    do {
        result = run(bench, &default_scope, &all);
        for (size_t i = 0; i < result.hit_count; i++) {
            assert_true(result.hits[i].row_id > last);
            last = result.hits[i].row_id;
        }
        count += result.hit_count;
        all.after_row = result.next_row;
    } while (result.next_row);
    assert_int_equal(count, 4);
    assert_int_equal(bench->embedder.calls, 0);
    query.offset = 1;
    assert_int_equal(run(bench, &default_scope, &query).hit_count, 1);
}

static void thresholds_drop_what_is_below(void **state)
{
    struct bench *bench = *state;
    put_library(bench);
    struct query query = ask(bench, "black tea takes boiling water");
    query.group_by = GROUP_BY_NONE;
    assert_int_equal(run(bench, &default_scope, &query).hit_count, 4);
    query.similarity_threshold = 0.95;
    assert_int_equal(run(bench, &default_scope, &query).hit_count, 1);
    query.similarity_threshold = 0;
    query.score_threshold = 0.9;
    assert_int_equal(run(bench, &default_scope, &query).hit_count, 1);
    query.score_threshold = 0;
    query.min_confidence = CONFIDENCE_HIGH;
    assert_int_equal(run(bench, &default_scope, &query).hit_count, 1);
    struct query nothing = ask(bench, "zeppelin");
    nothing.min_confidence = CONFIDENCE_MEDIUM;
    assert_int_equal(run(bench, &default_scope, &nothing).hit_count, 0);
}

static void diversity_caps_each_source(void **state)
{
    struct bench *bench = *state;
    struct transaction *transaction = test_begin(bench->store, TRANSACTION_WRITE);
    const int64_t other = test_source(transaction, "/letters");
    test_commit(transaction);
    add(bench, "n1", "tea tea tea");
    add(bench, "n2", "tea tea tea tea");
    add(bench, "n3", "tea for two");
    add_draft(bench,
              (struct draft){.key = "l1", .text = "dear tea, a longer letter about it all", .source = other});
    struct query query = ask(bench, "tea");
    query.top_k = 2;
    query.source_diversity = 1;
    const struct search_result result = run(bench, &default_scope, &query);
    assert_int_equal(result.hit_count, 2);
    assert_true(str_is(result.hits[1].path, "l1"));
}

static void newer_documents_come_first_and_undated_ones_between(void **state)
{
    struct bench *bench = *state;
    const int64_t now = clock_now_us(), day = INT64_C(86400) * SECOND_US;
    add_draft(bench, (struct draft){.key = "old", .text = "the same words", .modified_at = now - 2000 * day});
    add_draft(bench, (struct draft){.key = "undated", .text = "the same words"});
    add_draft(bench, (struct draft){.key = "new", .text = "the same words", .modified_at = now - day});
    add_draft(bench,
              (struct draft){.key = "middle", .text = "the same words", .modified_at = now - 300 * day});
    struct query query = ask(bench, "same words");
    const struct search_result result = run(bench, &default_scope, &query);
    assert_true(str_is(result.hits[0].path, "new"));
    assert_true(str_is(result.hits[3].path, "old"));
    assert_true(result.hits[1].score.recency == result.hits[2].score.recency); /* undated: the median */
    query.weights = (struct ranking_weights){.relevance = 1};
    assert_string_equal(found(bench, &default_scope, &query), "old undated new middle"); /* by row */
}

static void pages_through_hits(void **state)
{
    struct bench *bench = *state;
    put_library(bench);
    struct query query = ask(bench, "water is it");
    const char *all = found(bench, &default_scope, &query);
    AUTO_BUFFER pages = BUFFER(1000);
    query.top_k = 1;
    for (; query.offset < 3; query.offset++)
        buffer_printf(&pages, "%s%s", query.offset ? " " : "", found(bench, &default_scope, &query));
    assert_string_equal(pages.data, all);
    query.offset = 50;
    assert_int_equal(run(bench, &default_scope, &query).hit_count, 0);
}

static void shows_the_chunks_around_a_hit(void **state)
{
    struct bench *bench = *state;
    add(bench, "steps", "alpha one\n\nbeta two\n\ngamma three\n\ndelta four");
    struct query query = ask(bench, "beta");
    query.neighbours = 2;
    const struct search_result result = run(bench, &default_scope, &query);
    const struct hit *hit = &result.hits[0];
    assert_int_equal(hit->neighbour_count, 3);
    assert_true(str_is(hit->neighbours[0].text, "alpha one"));
    assert_true(str_is(hit->neighbours[1].text, "gamma three"));
    assert_int_equal(hit->neighbours[2].chunk_index, 3);
}

static void several_texts_count_as_their_best_match(void **state)
{
    struct bench *bench = *state;
    put_library(bench);
    const struct str texts[] = {STR("quenching steel"), STR("ground coffee")};
    struct query query = QUERY_DEFAULT;
    query.texts = texts;
    query.text_count = 2;
    query.top_k = 2;
    const struct search_result result = run(bench, &default_scope, &query);
    assert_int_equal(result.hit_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(str_is(result.hits[i].path, "steel") || str_is(result.hits[i].path, "coffee"));
        assert_true(result.hits[i].score.relevance > 0.9);
        assert_int_equal(result.hits[i].mark_count, 2);
    }
}

static void words_are_found_in_the_language_of_the_texts(void **state)
{
    struct bench *bench = *state;
    add_draft(bench, (struct draft){.key = "haus", .text = "Die alten Häuser am Hafen.", .language = "de"});
    add_draft(bench, (struct draft){.key = "boot", .text = "Ein Boot am See.", .language = "de"});
    struct query query = ask(bench, "Haus");
    query.mode = SEARCH_KEYWORD;
    const struct search_result result = run(bench, &default_scope, &query);
    assert_int_equal(result.hit_count, 1);
    assert_true(
        str_is(str_slice(result.hits[0].passage, result.hits[0].marks[0].start, result.hits[0].marks[0].end),
               "Häuser"));
}

static void counts_facets_within_scope_and_filter(void **state)
{
    struct bench *bench = *state;
    static const struct str keys[] = {{"language", 8}, {"chunk_index", 11}};
    put_library(bench);
    add_draft(bench, (struct draft){.key = "haus", .text = "Die alten Häuser am Hafen.", .language = "de"});
    struct query query = ask(bench, "quenching");
    query.facets = keys;
    query.facet_count = 2;
    struct search_result result = run(bench, &default_scope, &query);
    assert_int_equal(result.facet_count, 2);
    assert_true(str_is(result.facets[0].key, "language"));
    assert_int_equal(result.facets[0].count, 2);
    assert_true(str_is(result.facets[0].counts[0].value, "en") && result.facets[0].counts[0].rows == 4);
    assert_true(str_is(result.facets[0].counts[1].value, "de") && result.facets[0].counts[1].rows == 1);
    assert_true(str_is(result.facets[1].counts[0].value, "0") && result.facets[1].counts[0].rows == 4);
    assert_ok(filter_from_text(STR("path=tea"), &bench->arena, &query.filter, err));
    result = run(bench, &default_scope, &query);
    assert_int_equal(result.facets[0].count, 1);
    assert_int_equal(result.facets[0].counts[0].rows, 2);
    result = run(bench, &no_scope, &query);
    assert_int_equal(result.facet_count, 2);
    assert_int_equal(result.facets[0].count, 0);
}

static void refuses_what_cannot_be_searched(void **state)
{
    struct bench *bench = *state;
    struct query query = ask(bench, "tea");
    struct search_result result;
    query.collection_id = 77;
    assert_int_equal(search_run(bench->searcher, NULL, &default_scope, &query, &bench->arena, &result, NULL),
                     IBID_ENOTFOUND);
    query = ask(bench, "tea");
    query.top_k = 0;
    assert_int_equal(search_run(bench->searcher, NULL, &default_scope, &query, &bench->arena, &result, NULL),
                     IBID_EINVAL);
}

static void odd_queries_are_answered(void **state)
{
    struct bench *bench = *state;
    put_library(bench);
    static const char *const texts[] = {"?!",        "\xF0\x9F\x8D\xB5", "a",   "\"",
                                        "tea AND (", "e\xCC\x81",        "-- *"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        for (enum search_mode mode = SEARCH_HYBRID; mode <= SEARCH_KEYWORD; mode++) {
            struct query query = ask(bench, texts[i]);
            query.mode = mode;
            assert_true(run(bench, &default_scope, &query).hit_count <= 3);
        }
    }
}

static void an_empty_collection_has_no_hits(void **state)
{
    struct bench *bench = *state;
    const struct query query = ask(bench, "tea"), list = QUERY_DEFAULT;
    assert_int_equal(run(bench, &default_scope, &query).hit_count, 0);
    assert_int_equal(run(bench, &default_scope, &list).hit_count, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(finds_with_everything_a_reader_needs),
        TEST(every_part_of_a_score_adds_up),
        TEST(words_that_are_everywhere_are_not_marked),
        TEST(groups_by_document_or_not),
        TEST(modes_use_their_side_alone),
        TEST(the_scope_decides_what_is_there),
        TEST(states_are_respected),
        TEST(deleted_documents_never_appear_and_others_take_their_place),
        TEST(goes_on_by_keyword_without_an_embedder),
        TEST(says_when_another_embedder_made_the_vectors),
        TEST(survives_an_embedder_that_fails),
        TEST(a_query_is_embedded_once),
        TEST(a_vector_beats_texts),
        TEST(finds_what_is_like_a_chunk),
        TEST(lists_what_a_filter_passes),
        TEST(thresholds_drop_what_is_below),
        TEST(diversity_caps_each_source),
        TEST(newer_documents_come_first_and_undated_ones_between),
        TEST(pages_through_hits),
        TEST(shows_the_chunks_around_a_hit),
        TEST(several_texts_count_as_their_best_match),
        TEST(words_are_found_in_the_language_of_the_texts),
        TEST(counts_facets_within_scope_and_filter),
        TEST(refuses_what_cannot_be_searched),
        TEST(odd_queries_are_answered),
        TEST(an_empty_collection_has_no_hits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
