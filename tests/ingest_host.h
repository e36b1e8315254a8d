/* An ingest over the parts of an instance, in the place of each of which a test may put something of its own.
 */
#pragma once

#include "base/clock.h"
#include "ingest/run.h"
#include "instance/instance.h"
#include "records/bootstrap.h"
#include "records/collection.h"
#include "tests/folder.h"

struct test_ingest {
    char *root; /* goes at the end */
    struct instance_settings *instance_settings;
    struct instance *instance;
    struct ingest_settings settings;
    struct embedder *embedder; /* lent: the test's */
    struct ingest_host host;
    struct ingest *ingest;
};

static inline struct test_ingest *test_ingest_of(const struct ingest_host *host)
{
    return (struct test_ingest *)((char *)(uintptr_t)host - offsetof(struct test_ingest, host));
}

static inline ibid_code test_ingest_extract_pool(struct ingest_host *host, struct extract_pool **ret,
                                                 ibid_error *err)
{
    return instance_extract_pool(test_ingest_of(host)->instance, ret, err);
}

static inline struct embedder *test_ingest_embedder(struct ingest_host *host)
{
    return test_ingest_of(host)->embedder;
}

static inline const struct token_counter *test_ingest_counter(struct ingest_host *host)
{
    return &test_ingest_of(host)->embedder->token_counter;
}

static inline void test_ingest_committed(struct ingest_host *host)
{
    instance_committed(test_ingest_of(host)->instance);
}

static inline ibid_code test_ingest_settled(struct ingest_host *host, const struct watch *watch,
                                            ibid_error *error)
{
    return instance_index_await(test_ingest_of(host)->instance, watch, error);
}

/* Makes the parts. The test sets `embedder`, changes what it wants in `host` and starts. */
static inline void test_ingest_make(struct test_ingest *self)
{
    static const char *const set[][2] = {
        {"extract.sandbox", "auto"}, {"embedder.provider", "hash"}, {"embedder.hash.dimension", "64"}};
    self->root = test_folder_new();
    self->instance_settings = instance_settings_new();
    for (size_t i = 0; i < COUNT_OF(set); i++)
        assert_ok(settings_set(instance_settings_table(self->instance_settings), str_from(set[i][0]),
                               str_from(set[i][1]), "test", err));
    AUTO_FREE char *data = path_join(self->root, "data");
    assert_ok(instance_open(data, self->instance_settings, INSTANCE_CREATE, &self->instance, err));
    self->settings = (struct ingest_settings){.workers = 2,
                                              .commit_documents = 8,
                                              .commit_interval = 20000,
                                              .chunker = "structural",
                                              .chunk_size = 64,
                                              .heading_tokens = 8,
                                              .max_waiting = 100};
    self->host = (struct ingest_host){.metadata = instance_metadata(self->instance),
                                      .blobs = instance_blobs(self->instance),
                                      .compute = instance_compute(self->instance),
                                      .settings = &self->settings,
                                      .max_file_size = 1 << 20,
                                      .extract_pool = test_ingest_extract_pool,
                                      .embedder = test_ingest_embedder,
                                      .counter = test_ingest_counter,
                                      .committed = test_ingest_committed,
                                      .settled = test_ingest_settled};
}

static inline void test_ingest_start(struct test_ingest *self)
{
    assert_ok(ingest_open(&self->host, &self->ingest, err));
}

static inline void test_ingest_release(struct test_ingest *self)
{
    ingest_close(self->ingest);
    instance_close(self->instance);
    instance_settings_free(self->instance_settings);
    test_folder_free(self->root);
}

/* A run over the source, to its good end. */
static inline struct ingest_status test_ingest_run(struct test_ingest *self, int64_t source_id)
{
    const struct ingest_request request = {.source_ids = &source_id, .source_count = 1};
    struct ingest_status status;
    int64_t run_id;
    assert_ok(ingest_start(self->ingest, &request, &run_id, err));
    assert_true(ingest_wait(self->ingest, clock_monotonic_us() + 120 * SECOND_US));
    assert_true(ingest_status(self->ingest, &status));
    if (status.state != RUN_COMPLETED)
        fail_msg("the run %s: %s", run_state_string(status.state), status.message);
    return status;
}

static inline int64_t test_ingest_pending_rows(struct test_ingest *self)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct collection_counts counts;
    assert_ok(transaction_begin(self->host.metadata, TRANSACTION_READ, &transaction, err));
    assert_ok(collection_count(transaction, DEFAULT_COLLECTION_ID, &counts, err));
    return counts.pending_rows;
}
