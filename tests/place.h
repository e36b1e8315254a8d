/* A data folder and a folder of documents, indexed with the hash embedder; both go at the end of a test. */
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "ingest/run.h"
#include "instance/instance.h"

struct place {
    char *root, *data, *documents;
    struct instance_settings *settings;
    struct instance *instance;
    int64_t source_id;
};

/* What the next opening is set to. */
static const char *place_chunk_size = "512";
static const char *place_dimension = "64"; /* of the hash embedder: another one makes it another embedder */

static inline struct instance_settings *settings_for(const char *provider)
{
    struct instance_settings *settings = instance_settings_new();
    struct settings *table = instance_settings_table(settings);
    const char *const set[][2] = {{"embedder.provider", provider},
                                  {"embedder.hash.dimension", place_dimension},
                                  {"embedder.local.model", "/no/such/model"},
                                  {"extract.sandbox", "auto"},
                                  {"ingest.workers", "2"},
                                  {"ingest.commit_interval", "50ms"},
                                  {"ingest.chunk_size", place_chunk_size}};
    for (size_t i = 0; i < COUNT_OF(set); i++)
        assert_ok(settings_set(table, str_from(set[i][0]), str_from(set[i][1]), "test", err));
    return settings;
}

static inline void open_place(struct place *place, const char *provider)
{
    place->settings = settings_for(provider);
    assert_ok(instance_open(place->data, place->settings, INSTANCE_CREATE, &place->instance, err));
}

static inline void close_place(struct place *place)
{
    instance_close(place->instance);
    instance_settings_free(place->settings);
    place->instance = NULL;
    place->settings = NULL;
}

static inline struct place new_place(const char *provider)
{
    struct place place = {.root = xstrdup("/tmp/ibid-ingest-XXXXXX")};
    assert_non_null(mkdtemp(place.root));
    place.data = path_join(place.root, "data");
    place.documents = path_join(place.root, "documents");
    assert_ok(folder_make(place.documents, err));
    open_place(&place, provider);
    assert_ok(ingest_source(instance_ingest(place.instance), "folder", place.documents, NULL,
                            &place.source_id, err));
    return place;
}

static inline void end_place(struct place *place)
{
    close_place(place);
    assert_ok(folder_remove(place->root, err));
    free(place->root);
    free(place->data);
    free(place->documents);
}

static inline void write_document(const struct place *place, const char *name, const char *text)
{
    AUTO_FREE char *path = path_join(place->documents, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_ok(file_write_fd(fd, text, strlen(text), err));
    close(fd);
}

static inline void write_examples(const struct place *place)
{
    write_document(place, "water.md",
                   "# Water\n\nIt boils at 100 degrees.\n\n## Ice\n\nIt freezes at zero.\n");
    write_document(place, "bread.txt", "To bake bread with rye flour, let the dough rest for a day.\n");
    write_document(place, "budget.txt", "Parliament adopted the annual budget on Thursday.\n");
}

/* To its good end; the index may not have followed yet. */
static inline struct ingest_status run_alone(struct place *place, const struct ingest_request *request)
{
    struct ingest *ingest = instance_ingest(place->instance);
    int64_t run_id;
    struct ingest_status status;
    assert_ok(ingest_start(ingest, request, &run_id, err));
    assert_true(ingest_wait(ingest, clock_monotonic_us() + 120 * SECOND_US));
    assert_true(ingest_status(ingest, &status));
    assert_int_equal(status.run_id, run_id);
    if (status.state != RUN_COMPLETED)
        fail_msg("the run %s: %s", run_state_string(status.state), status.message);
    return status;
}

static inline struct ingest_status run_as(struct place *place, const struct ingest_request *request)
{
    const struct ingest_status status = run_alone(place, request);
    assert_ok(instance_index_settled(place->instance, clock_monotonic_us() + 60 * SECOND_US, err));
    return status;
}

static inline struct ingest_status run(struct place *place)
{
    const int64_t twice[] = {place->source_id, place->source_id}; /* counts once */
    const struct ingest_request request = {.source_ids = twice, .source_count = 2};
    return run_as(place, &request);
}
