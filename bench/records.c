/* How fast the records take documents in and give rows out, and how that changes as they grow.
 *
 *   build/bench/records FOLDER [--chunks=1000000] [--per-document=10] [--group=50] [--dimension=384]
 *
 * Publishes documents of random words (chunks of about 800 bytes) into a new store in FOLDER, in transactions
 * of `group` documents, then reads all rows as a vector store would, looks up vectors and hits, and edits,
 * removes and sweeps documents. Prints one line a step: what, how many, wall time and rate, CPU time
 * in all and for each (the figure to go by on a machine that has other work). */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/option.h"
#include "records/bootstrap.h"
#include "records/chunk_record.h"
#include "records/collection.h"
#include "records/document.h"
#include "records/ledger.h"
#include "records/publish.h"
#include "records/row_feed.h"
#include "records/source.h"
#include "records/succession.h"
#include "records/sweep.h"

struct settings_of_bench {
    int64_t chunks, per_document, group, dimension;
};

static const struct option bench_options[] = {
    {.name = "chunks",
     .type = OPTION_INT,
     .offset = offsetof(struct settings_of_bench, chunks),
     .default_text = "1000000",
     .low = 1,
     .high = 1e9,
     .help = "Chunks in all."},
    {.name = "per_document",
     .type = OPTION_INT,
     .offset = offsetof(struct settings_of_bench, per_document),
     .default_text = "10",
     .low = 1,
     .high = 10000,
     .help = "Chunks of a document."},
    {.name = "group",
     .type = OPTION_INT,
     .offset = offsetof(struct settings_of_bench, group),
     .default_text = "50",
     .low = 1,
     .high = 100000,
     .help = "Documents of a transaction."},
    {.name = "dimension",
     .type = OPTION_INT,
     .offset = offsetof(struct settings_of_bench, dimension),
     .default_text = "384",
     .low = 1,
     .high = 4096,
     .help = "Of the vectors."},
    OPTION_END,
};

struct bench {
    struct settings_of_bench settings;
    struct metadata_store *store;
    struct row_source *rows;
    uint64_t random;
    float *vectors;
    int64_t source_id;
    int64_t documents;
};

/* Ends the program with the error's message. */
#define MUST(call)                                        \
    do {                                                  \
        ibid_error must_error_ = {0};                     \
        ibid_error *err = &must_error_;                   \
        if ((call) != IBID_OK) {                          \
            fprintf(stderr, "%s\n", must_error_.message); \
            exit(1);                                      \
        }                                                 \
        (void)err;                                        \
    } while (0)

static uint64_t next_random(struct bench *bench)
{
    bench->random ^= bench->random << 13;
    bench->random ^= bench->random >> 7;
    bench->random ^= bench->random << 17;
    return bench->random;
}

/* When a step began. */
struct moment {
    int64_t wall_us, cpu_us;
};

static struct moment now(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    const int64_t seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec;
    return (struct moment){clock_monotonic_us(),
                           seconds * SECOND_US + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec};
}

static void report(const char *what, int64_t count, struct moment start)
{
    const struct moment end = now();
    const double wall = (double)(end.wall_us - start.wall_us) / 1e6,
                 cpu = (double)(end.cpu_us - start.cpu_us) / 1e6;
    printf("%-40s %10lld %9.2f s %10.0f /s %9.2f s CPU %8.1f us each\n", what, (long long)count, wall,
           (double)count / wall, cpu, cpu * 1e6 / (double)count);
    fflush(stdout);
}

/* Words of a paragraph, about 800 bytes. */
static struct str random_text(struct bench *bench, struct arena *arena)
{
    enum { WORDS = 130, WORD_SIZE = 6 };
    char *text = arena_alloc(arena, WORDS * WORD_SIZE + 1);
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t bits = next_random(bench);
        for (size_t j = 0; j < WORD_SIZE; j++, bits >>= 5)
            text[i * WORD_SIZE + j] = j == WORD_SIZE - 1 ? ' ' : (char)('a' + bits % 26);
    }
    return (struct str){text, (size_t)WORDS * WORD_SIZE};
}

static void publish_one(struct bench *bench, struct transaction *transaction, int64_t document_id,
                        size_t changed)
{
    AUTO_ARENA arena = ARENA_INIT;
    const size_t count = (size_t)bench->settings.per_document;
    struct chunk *chunks = ARENA_ARRAY(&arena, struct chunk, count);
    struct chunk_embedding *embeddings = ARENA_ARRAY(&arena, struct chunk_embedding, count);
    AUTO_BUFFER text = BUFFER(64 << 20);
    uint32_t start = 0;
    for (size_t i = 0; i < count; i++) {
        /* The first `changed` chunks are new each time, the others those of the document. */
        const uint64_t saved = bench->random;
        if (i >= changed)
            bench->random = (uint64_t)document_id * 1000003 + i + 1;
        const struct str part = random_text(bench, &arena);
        if (i >= changed)
            bench->random = saved;
        buffer_append_str(&text, part);
        chunks[i] = (struct chunk){.text = part,
                                   .embed_text = part,
                                   .structure = STR("paragraph"),
                                   .heading_path = STR("Chapter"),
                                   .order = (uint32_t)i,
                                   .start = start,
                                   .end = start + (uint32_t)part.size,
                                   .own_start = start,
                                   .tokens = 200};
        start += (uint32_t)part.size;
        embeddings[i] = (struct chunk_embedding){sha256_of(part.data, part.size),
                                                 bench->vectors + next_random(bench) % 1000 *
                                                                      (uint64_t)bench->settings.dimension};
    }
    const struct extraction extraction = {.extractor = STR("bench/1"), .text = buffer_str(&text)};
    const struct placement placement = {DEFAULT_COLLECTION_ID, embeddings};
    const struct publication publication = {
        .document_id = document_id,
        .extraction = &extraction,
        .has_sha256 = true,
        .sha256 = sha256_of(text.data, text.size),
        .size = (int64_t)text.size,
        .media_type = STR("text/plain"),
        .language = STR("en"),
        .modified_at = clock_now_us(),
        .chunking = STR("bench/1"),
        .chunks = chunks,
        .chunk_count = count,
        .placements = &placement,
        .placement_count = 1,
    };
    struct publication_result result;
    MUST(document_publish(transaction, &publication, &result, err));
}

static int64_t add_document(struct bench *bench, struct transaction *transaction)
{
    char key[64];
    int64_t id;
    snprintf(key, sizeof key, "folder-%lld/document-%lld.txt", (long long)(bench->documents / 100),
             (long long)bench->documents);
    bench->documents++;
    const struct document draft = {.source_id = bench->source_id,
                                   .external_key = str_from(key),
                                   .document_title = str_from(key),
                                   .path = str_from(key),
                                   .size = -1};
    MUST(document_create(transaction, &draft, &id, err));
    publish_one(bench, transaction, id, 0);
    const struct ledger_line line = {.source_id = bench->source_id,
                                     .external_key = str_from(key),
                                     .document_id = id,
                                     .outcome = LEDGER_INDEXED,
                                     .seen_run = 1,
                                     .size = 1};
    MUST(ledger_put(transaction, &line, err));
    return id;
}

static void measure_publishing(struct bench *bench)
{
    const int64_t documents = bench->settings.chunks / bench->settings.per_document;
    const int64_t step = documents >= 10 ? documents / 10 : 1;
    struct moment start = now();
    int64_t reported = 0;
    while (bench->documents < documents) {
        struct transaction *transaction;
        MUST(transaction_begin(bench->store, TRANSACTION_WRITE, &transaction, err));
        for (int64_t i = 0; i < bench->settings.group && bench->documents < documents; i++)
            add_document(bench, transaction);
        MUST(transaction_commit(transaction, err));
        if (bench->documents - reported >= step || bench->documents == documents) {
            char what[64];
            snprintf(what, sizeof what, "publish chunks, up to %lld",
                     (long long)(bench->documents * bench->settings.per_document));
            report(what, (bench->documents - reported) * bench->settings.per_document, start);
            reported = bench->documents;
            start = now();
        }
    }
}

static void measure_feed(struct bench *bench, const char *what, int64_t after_seq)
{
    const struct moment start = now();
    int64_t total = 0;
    for (size_t count = 1; count;) {
        AUTO_ARENA arena = ARENA_INIT;
        struct row *rows;
        MUST(bench->rows->changes(bench->rows, DEFAULT_COLLECTION_ID, after_seq, 4096, &arena, &rows, &count,
                                  err));
        total += (int64_t)count;
        if (count)
            after_seq = rows[count - 1].seq;
    }
    report(what, total, start);
}

static void measure_lookups(struct bench *bench)
{
    enum { ROUNDS = 200, ROWS = 100, HITS = 20 };
    const int64_t all = bench->documents * bench->settings.per_document;
    AUTO_FREE float *out = xcalloc(ROWS * (size_t)bench->settings.dimension, sizeof *out);
    int64_t ids[ROWS];
    struct moment start = now();
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < ROWS; i++)
            ids[i] = 1 + (int64_t)(next_random(bench) % (uint64_t)all);
        MUST(bench->rows->vectors(bench->rows, DEFAULT_COLLECTION_ID, ids, ROWS, out, err));
    }
    report("vectors of 100 random rows", ROUNDS, start);
    const struct scope scope = {(const int64_t[]){DEFAULT_WORKSPACE_ID}, 1, NULL, 0};
    start = now();
    for (int round = 0; round < ROUNDS; round++) {
        AUTO_ARENA arena = ARENA_INIT;
        struct transaction *transaction;
        struct row_record *records;
        size_t count;
        for (size_t i = 0; i < HITS; i++)
            ids[i] = 1 + (int64_t)(next_random(bench) % (uint64_t)all);
        MUST(transaction_begin(bench->store, TRANSACTION_READ, &transaction, err));
        MUST(row_record_read(transaction, &scope, ids, HITS, &arena, &records, &count, err));
        transaction_rollback(transaction);
    }
    report("read and check 20 random hits", ROUNDS, start);
    start = now();
    struct transaction *transaction;
    int64_t counts[PROCESSING_STATE_COUNT];
    MUST(transaction_begin(bench->store, TRANSACTION_READ, &transaction, err));
    MUST(document_count(transaction, &scope, counts, err));
    transaction_rollback(transaction);
    report("count documents by state", counts[PROCESSING_COMPLETED], start);
}

static void measure_changes(struct bench *bench)
{
    const int64_t count = bench->documents < 1000 ? bench->documents : 1000;
    struct transaction *transaction;
    struct moment start = now();
    int64_t before, i = 0;
    MUST(bench->rows->latest_seq(bench->rows, DEFAULT_COLLECTION_ID, &before, err));
    while (i < count) {
        MUST(transaction_begin(bench->store, TRANSACTION_WRITE, &transaction, err));
        for (int64_t end = i + bench->settings.group; i < end && i < count; i++)
            publish_one(bench, transaction, 1 + (int64_t)(next_random(bench) % (uint64_t)bench->documents),
                        1);
        MUST(transaction_commit(transaction, err));
    }
    report("edit documents (one chunk changed)", count, start);
    measure_feed(bench, "read the rows of those edits", before);
    start = now();
    MUST(transaction_begin(bench->store, TRANSACTION_WRITE, &transaction, err));
    for (i = 1; i <= count; i++) {
        struct removal removal;
        MUST(document_remove(transaction, i, "bench", &removal, err));
    }
    MUST(transaction_commit(transaction, err));
    report("remove documents", count, start);
    start = now();
    int64_t swept = 0;
    for (struct sweep_result result = {.more = true}; result.more; swept += result.rows) {
        MUST(transaction_begin(bench->store, TRANSACTION_WRITE, &transaction, err));
        MUST(sweep(transaction, 5000, &result, err));
        MUST(transaction_commit(transaction, err));
    }
    report("sweep rows", swept, start);
}

static void open_store(struct bench *bench, const char *folder, struct arena *arena)
{
    const struct metadata_store_ops *ops = metadata_store_registry[0];
    void *options = arena_alloc(arena, ops->options_size);
    option_set_defaults(ops->options, options, arena);
    const struct moment start = now();
    MUST(metadata_store_open(ops, &(struct metadata_store_context){.folder = folder, .create = true}, options,
                             &bench->store, err));
    report("open", 1, start);
    bench->rows = row_source_new(bench->store);
}

static void close_store(struct bench *bench)
{
    const struct moment start = now();
    row_source_free(bench->rows);
    metadata_store_close(bench->store);
    report("close", 1, start);
}

static void prepare(struct bench *bench)
{
    struct transaction *transaction;
    MUST(transaction_begin(bench->store, TRANSACTION_WRITE, &transaction, err));
    MUST(collection_set_embedder(
        transaction, DEFAULT_COLLECTION_ID,
        &(struct collection_embedder){.id = STR("bench"),
                                      .fingerprint = STR("bench"),
                                      .dimension = (uint32_t)bench->settings.dimension},
        err));
    const struct source draft = {.connector_id = FOLDER_CONNECTOR_ID, .location = STR("/bench")};
    MUST(source_create(transaction, &draft, &bench->source_id, err));
    MUST(transaction_commit(transaction, err));
    bench->vectors = xcalloc(1000 * (size_t)bench->settings.dimension, sizeof(float));
    for (size_t i = 0; i < 1000 * (size_t)bench->settings.dimension; i++)
        bench->vectors[i] = (float)(next_random(bench) % 2000) / 1000 - 1;
}

static void report_size(const char *folder)
{
    struct stat info;
    struct rusage usage;
    AUTO_FREE char *path = path_join(folder, "records.db");
    if (stat(path, &info) == 0 && getrusage(RUSAGE_SELF, &usage) == 0)
        printf("%-44s %10.1f MiB; most memory used %.1f MiB\n", "size of the file",
               (double)info.st_size / 1048576, (double)usage.ru_maxrss / 1024);
}

int main(int argc, char **argv)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct bench bench = {.random = 88172645463325252};
    const char **folders;
    size_t count;
    option_set_defaults(bench_options, &bench.settings, &arena);
    MUST(option_parse_arguments(bench_options, &bench.settings, argc - 1, (const char *const *)argv + 1,
                                &arena, &folders, &count, err));
    if (count != 1) {
        fprintf(stderr,
                "usage: records FOLDER [--chunks=N] [--per-document=N] [--group=N] [--dimension=N]\n");
        return 2;
    }
    open_store(&bench, folders[0], &arena);
    prepare(&bench);
    measure_publishing(&bench);
    close_store(&bench);
    open_store(&bench, folders[0], &arena);
    measure_lookups(&bench);
    measure_feed(&bench, "feed all rows", 0);
    measure_changes(&bench);
    close_store(&bench);
    report_size(folders[0]);
    free(bench.vectors);
    return 0;
}
