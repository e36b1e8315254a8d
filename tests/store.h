/* A metadata store in a folder of its own, and documents to put into it. */
#pragma once

#include <stdio.h>

#include "base/clock.h"
#include "base/hash.h"
#include "metadata_store/metadata_store.h"
#include "records/bootstrap.h"
#include "records/collection.h"
#include "records/document.h"
#include "records/embedding_cache.h"
#include "records/publish.h"
#include "records/row_feed.h"
#include "records/source.h"
#include "records/succession.h"
#include "records/sweep.h"
#include "tests/folder.h"

enum { TEST_DIMENSION = 4 };

struct test_store {
    char *folder;
    struct metadata_store *store;
    struct row_source *rows;
    struct arena arena;
};

static inline void test_store_open(struct test_store *self, bool create)
{
    const struct metadata_store_ops *ops = metadata_store_registry[0];
    void *options = arena_alloc(&self->arena, ops->options_size);
    option_set_defaults(ops->options, options, &self->arena);
    assert_ok(metadata_store_open(ops,
                                  &(struct metadata_store_context){.folder = self->folder, .create = create},
                                  options, &self->store, err));
    self->rows = row_source_new(self->store);
}

static inline void test_store_shut(struct test_store *self)
{
    row_source_free(self->rows);
    metadata_store_close(self->store);
    self->store = NULL;
}

static inline struct transaction *test_begin(struct test_store *self, enum transaction_mode mode)
{
    struct transaction *transaction;
    assert_ok(transaction_begin(self->store, mode, &transaction, err));
    return transaction;
}

static inline void test_commit(struct transaction *take_transaction)
{
    assert_ok(transaction_commit(take_transaction, err));
}

/* cmocka's set-up and tear-down: *state is a struct test_store whose collection has an embedder. */
static inline int test_store_set_up(void **state)
{
    struct test_store *self = xcalloc(1, sizeof *self);
    self->folder = test_folder_new();
    test_store_open(self, true);
    struct transaction *transaction = test_begin(self, TRANSACTION_WRITE);
    assert_ok(collection_set_embedder(transaction, DEFAULT_COLLECTION_ID,
                                      &(struct collection_embedder){.id = STR("test/model@1"),
                                                                    .fingerprint = STR("test"),
                                                                    .dimension = TEST_DIMENSION},
                                      err));
    test_commit(transaction);
    *state = self;
    return 0;
}

static inline int test_store_tear_down(void **state)
{
    struct test_store *self = *state;
    if (self->store)
        test_store_shut(self);
    test_folder_free(self->folder);
    arena_release(&self->arena);
    free(self);
    return 0;
}

/* A source of the folder connector, mapped to the default workspace. */
static inline int64_t test_source(struct transaction *transaction, const char *location)
{
    int64_t id;
    assert_ok(source_create(
        transaction, &(struct source){.connector_id = FOLDER_CONNECTOR_ID, .location = str_from(location)},
        &id, err));
    return id;
}

static inline int64_t test_document(struct transaction *transaction, int64_t source_id, const char *key)
{
    int64_t id;
    assert_ok(document_create(transaction,
                              &(struct document){.source_id = source_id,
                                                 .external_key = str_from(key),
                                                 .document_title = str_from(key),
                                                 .path = str_from(key),
                                                 .size = -1},
                              &id, err));
    return id;
}

/* The vector of a text: of length one, and different for different texts. */
static inline void test_vector(struct str text, float out[TEST_DIMENSION])
{
    const size_t axis = checksum64(text.data, text.size, 7) % TEST_DIMENSION;
    for (size_t i = 0; i < TEST_DIMENSION; i++)
        out[i] = i == axis;
}

/* A text whose paragraphs (parted by blank lines) are its chunks, ready to be published. */
struct test_content {
    struct extraction extraction;
    struct chunk chunks[64];
    struct chunk_embedding embeddings[64];
    float vectors[64][TEST_DIMENSION];
    struct placement placement;
    struct publication publication;
};

static inline void test_content(struct test_content *self, int64_t document_id, const char *text)
{
    *self = (struct test_content){0};
    const struct str all = str_from(text);
    size_t count = 0;
    for (size_t start = 0, end; start < all.size; start = end + 2) {
        const char *gap = strstr(text + start, "\n\n");
        end = gap ? (size_t)(gap - text) : all.size;
        const struct str part = str_slice(all, start, end);
        self->chunks[count] = (struct chunk){.text = part,
                                             .embed_text = part,
                                             .structure = STR("paragraph"),
                                             .order = (uint32_t)count,
                                             .start = (uint32_t)start,
                                             .end = (uint32_t)end,
                                             .own_start = (uint32_t)start,
                                             .tokens = 1};
        test_vector(part, self->vectors[count]);
        self->embeddings[count] =
            (struct chunk_embedding){sha256_of(part.data, part.size), self->vectors[count]};
        count++;
    }
    self->extraction =
        (struct extraction){.extractor = STR("text/1"), .media_type = STR("text/plain"), .text = all};
    self->placement =
        (struct placement){.collection_id = DEFAULT_COLLECTION_ID, .embeddings = self->embeddings};
    self->publication = (struct publication){
        .document_id = document_id,
        .extraction = &self->extraction,
        .has_sha256 = true,
        .sha256 = sha256_of(all.data, all.size),
        .size = (int64_t)all.size,
        .media_type = STR("text/plain"),
        .language = STR("en"),
        .chunking = STR("paragraphs/1"),
        .chunks = self->chunks,
        .chunk_count = count,
        .placements = &self->placement,
        .placement_count = 1,
    };
}

static inline struct publication_result test_publish(struct transaction *transaction, int64_t document_id,
                                                     const char *text)
{
    struct test_content content;
    struct publication_result result;
    test_content(&content, document_id, text);
    assert_ok(document_publish(transaction, &content.publication, &result, err));
    return result;
}

/* All rows above `after_seq`, removed ones too. */
static inline size_t test_changes(struct test_store *self, int64_t after_seq, struct row **ret)
{
    size_t count;
    assert_ok(self->rows->changes(self->rows, DEFAULT_COLLECTION_ID, after_seq, 1000000, &self->arena, ret,
                                  &count, err));
    return count;
}
