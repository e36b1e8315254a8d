/* How long a whole search takes: embedding, both sides, reading, ranking, passages.
 *
 *   build/bench/search FOLDER [--chunks=1000000] [--queries=500] [--model=all-MiniLM-L6-v2] [--threads=1]
 *
 * Fills a new data folder (or takes one that it filled before) with documents of words drawn by Zipf's law
 * and vectors around centres, then asks questions made of such words, in three modes and under filters.
 * Prints one line a cell: p50, p95 and the mean of each stage in milliseconds. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/option.h"
#include "embedder/embedder.h"
#include "records/bootstrap.h"
#include "records/collection.h"
#include "records/document.h"
#include "records/publish.h"
#include "records/row_feed.h"
#include "records/source.h"
#include "records/succession.h"
#include "search/search.h"
#include "vector_store/vector_store.h"

enum {
    PER_DOCUMENT = 10,
    GROUP = 100, /* documents of a transaction */
    VOCABULARY = 60000,
    WORDS = 130, /* of a chunk */
    CENTRES = 500,
};

struct settings_of_bench {
    int64_t chunks, queries, threads;
    const char *model, *vector_store;
};

static const struct option bench_options[] = {
    {.name = "chunks",
     .type = OPTION_INT,
     .offset = offsetof(struct settings_of_bench, chunks),
     .default_text = "1000000",
     .low = PER_DOCUMENT,
     .high = 1e8,
     .help = "Chunks in all."},
    {.name = "queries",
     .type = OPTION_INT,
     .offset = offsetof(struct settings_of_bench, queries),
     .default_text = "500",
     .low = 1,
     .high = 1e6,
     .help = "Questions of a cell."},
    {.name = "threads",
     .type = OPTION_INT,
     .offset = offsetof(struct settings_of_bench, threads),
     .default_text = "1",
     .low = 1,
     .high = 1024,
     .help = "Searches at a time."},
    {.name = "model",
     .type = OPTION_STRING,
     .offset = offsetof(struct settings_of_bench, model),
     .default_text = "all-MiniLM-L6-v2",
     .help = "Name or folder of the embedding model; 'hash' for none."},
    {.name = "vector_store",
     .type = OPTION_STRING,
     .offset = offsetof(struct settings_of_bench, vector_store),
     .default_text = "embedded",
     .help = "Member that is searched."},
    OPTION_END,
};

struct bench {
    struct settings_of_bench settings;
    struct arena arena;
    const char *folder;
    uint64_t random;
    double *zipf; /* cumulative */
    float *centres;
    struct embedder *embedder;
    struct metadata_store *store;
    struct row_source *rows;
    struct vector_store *index;
    struct search_settings search;
    struct searcher *searcher;
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

/* ---- what is searched ---- */

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static double next_unit(uint64_t *state)
{
    return (double)(next_random(state) >> 11) / 9007199254740992.0;
}

static void prepare_words(struct bench *bench)
{
    double sum = 0;
    bench->zipf = xcalloc(VOCABULARY, sizeof(double));
    for (size_t i = 0; i < VOCABULARY; i++)
        bench->zipf[i] = sum += 1 / pow((double)i + 3, 1.07);
    for (size_t i = 0; i < VOCABULARY; i++)
        bench->zipf[i] /= sum;
}

static size_t random_rank(const struct bench *bench, uint64_t *state)
{
    const double at = next_unit(state);
    size_t low = 0, high = VOCABULARY - 1;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (bench->zipf[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Frequent words are short. */
static void append_word(struct buffer *out, size_t rank)
{
    static const char consonants[] = "tnshrdlcmwfgypbvkjxqz", vowels[] = "aeiou";
    for (size_t rest = rank + 1; rest; rest /= 105) {
        buffer_append_byte(out, consonants[rest % 21]);
        buffer_append_byte(out, vowels[rest / 21 % 5]);
    }
}

static struct str random_text(const struct bench *bench, uint64_t *state, size_t words, size_t skip,
                              struct arena *arena)
{
    AUTO_BUFFER out = BUFFER(1 << 20);
    for (size_t i = 0; i < words; i++) {
        size_t rank;
        do
            rank = random_rank(bench, state);
        while (rank < skip);
        append_word(&out, rank);
        buffer_append_string(&out, i % 12 == 11 ? ". " : " ");
    }
    return arena_str(arena, buffer_str(&out));
}

static void random_vector(struct bench *bench, uint64_t *state, float *out)
{
    const size_t dimension = bench->embedder->info.dimension;
    const float *centre = &bench->centres[next_random(state) % CENTRES * dimension];
    double square = 0;
    for (size_t i = 0; i < dimension; i++) {
        const double noise = next_unit(state) + next_unit(state) + next_unit(state) - 1.5;
        out[i] = centre[i] + (float)noise * 1.2f;
        square += (double)out[i] * (double)out[i];
    }
    for (size_t i = 0; i < dimension; i++)
        out[i] = (float)(out[i] / sqrt(square));
}

static void prepare_centres(struct bench *bench)
{
    const size_t count = CENTRES * bench->embedder->info.dimension;
    bench->centres = xcalloc(count, sizeof(float));
    uint64_t state = 99;
    for (size_t i = 0; i < count; i++)
        bench->centres[i] = (float)(next_unit(&state) - 0.5);
}

static void publish_document(struct bench *bench, struct transaction *transaction, int64_t source,
                             int64_t number)
{
    AUTO_ARENA arena = ARENA_INIT;
    const size_t dimension = bench->embedder->info.dimension;
    struct chunk chunks[PER_DOCUMENT];
    struct chunk_embedding embeddings[PER_DOCUMENT];
    float *vectors = ARENA_ARRAY(&arena, float, PER_DOCUMENT *dimension);
    AUTO_BUFFER text = BUFFER(64 << 20);
    for (size_t i = 0; i < PER_DOCUMENT; i++) {
        const uint32_t start = (uint32_t)text.size;
        const struct str part = random_text(bench, &bench->random, WORDS, 0, &arena);
        buffer_append_str(&text, part);
        random_vector(bench, &bench->random, &vectors[i * dimension]);
        chunks[i] = (struct chunk){.text = part,
                                   .embed_text = part,
                                   .structure = STR("paragraph"),
                                   .order = (uint32_t)i,
                                   .start = start,
                                   .end = (uint32_t)text.size,
                                   .own_start = start,
                                   .tokens = 2 * WORDS};
        embeddings[i] = (struct chunk_embedding){sha256_of(part.data, part.size), &vectors[i * dimension]};
    }
    const struct extraction extraction = {.extractor = STR("bench/1"), .text = buffer_str(&text)};
    const struct placement placement = {DEFAULT_COLLECTION_ID, embeddings};
    struct document draft = {.source_id = source, .size = (int64_t)text.size};
    draft.external_key = str_from(
        arena_printf(&arena, "folder%lld/document%lld", (long long)number % 1000, (long long)number));
    draft.document_title = draft.path = draft.external_key;
    int64_t id;
    MUST(document_create(transaction, &draft, &id, err));
    struct publication_result result;
    const struct publication publication = {.document_id = id,
                                            .extraction = &extraction,
                                            .size = (int64_t)text.size,
                                            .media_type = STR("text/plain"),
                                            .language = number % 10 == 0 ? STR("de") : STR("en"),
                                            .modified_at = clock_now_us() - number % 2000 * 86400 * SECOND_US,
                                            .chunking = STR("bench/1"),
                                            .chunks = chunks,
                                            .chunk_count = PER_DOCUMENT,
                                            .placements = &placement,
                                            .placement_count = 1};
    MUST(document_publish(transaction, &publication, &result, err));
}

static void fill(struct bench *bench)
{
    const int64_t documents = bench->settings.chunks / PER_DOCUMENT, start = clock_monotonic_us();
    struct transaction *transaction;
    int64_t source = 0;
    MUST(transaction_begin(bench->store, TRANSACTION_WRITE, &transaction, err));
    MUST(collection_set_embedder(
        transaction, DEFAULT_COLLECTION_ID,
        &(struct collection_embedder){.id = str_from(bench->embedder->info.id),
                                      .fingerprint = str_from(bench->embedder->info.fingerprint),
                                      .dimension = (uint32_t)bench->embedder->info.dimension},
        err));
    MUST(source_create(transaction,
                       &(struct source){.connector_id = FOLDER_CONNECTOR_ID, .location = STR("/bench")},
                       &source, err));
    for (int64_t i = 0; i < documents; i++) {
        publish_document(bench, transaction, source, i);
        if (i % GROUP == GROUP - 1 && i + 1 < documents) {
            MUST(transaction_commit(transaction, err));
            MUST(transaction_begin(bench->store, TRANSACTION_WRITE, &transaction, err));
        }
        if (i % 1000 == 0)
            fprintf(stderr, "\r%lld of %lld documents", (long long)i, (long long)documents);
    }
    MUST(transaction_commit(transaction, err));
    fprintf(stderr, "\r%lld documents stored in %.0f s\n", (long long)documents,
            (double)(clock_monotonic_us() - start) / 1e6);
}

/* ---- opening ---- */

static void open_embedder(struct bench *bench)
{
    const bool hash = strcmp(bench->settings.model, "hash") == 0;
    const struct embedder_ops *ops = embedder_find(hash ? "hash" : "local");
    void *options = arena_alloc(&bench->arena, ops->options_size);
    option_set_defaults(ops->options, options, &bench->arena);
    const char *name = hash ? "dimension" : "model", *value = hash ? "384" : bench->settings.model;
    MUST(option_set(option_find(ops->options, str_from(name)), options, str_from(value), &bench->arena, err));
    MUST(embedder_open(ops, NULL, options, &bench->embedder, err));
}

static void open_store(struct bench *bench, bool create)
{
    const struct metadata_store_ops *ops = metadata_store_registry[0];
    void *options = arena_alloc(&bench->arena, ops->options_size);
    const struct metadata_store_context context = {.folder = bench->folder, .create = create};
    option_set_defaults(ops->options, options, &bench->arena);
    MUST(metadata_store_open(ops, &context, options, &bench->store, err));
    bench->rows = row_source_new(bench->store);
}

static void open_index(struct bench *bench)
{
    const struct vector_store_ops *ops = vector_store_find(bench->settings.vector_store);
    if (!ops) {
        fprintf(stderr, "there is no vector store '%s'\n", bench->settings.vector_store);
        exit(1);
    }
    void *options = arena_alloc(&bench->arena, ops->options_size);
    AUTO_FREE char *folder = path_join(bench->folder, "index");
    const struct vector_store_context context = {.folder = folder, .rows = bench->rows};
    const struct vector_space space = {DEFAULT_COLLECTION_ID, (uint32_t)bench->embedder->info.dimension,
                                       "bench"};
    const int64_t start = clock_monotonic_us();
    option_set_defaults(ops->options, options, &bench->arena);
    MUST(vector_store_open(ops, &context, options, &bench->index, err));
    MUST(vector_store_attach(bench->index, &space, err));
    MUST(vector_store_follow(bench->index, DEFAULT_COLLECTION_ID, NULL, err));
    fprintf(stderr, "index opened and brought up to date in %.1f s\n",
            (double)(clock_monotonic_us() - start) / 1e6);
}

static void open_bench(struct bench *bench)
{
    struct stat status;
    const bool create = stat(bench->folder, &status) != 0;
    if (create)
        MUST(folder_make(bench->folder, err));
    prepare_words(bench);
    open_embedder(bench);
    prepare_centres(bench);
    open_store(bench, create);
    if (create)
        fill(bench);
    open_index(bench);
    option_set_defaults(search_section.table, &bench->search, &bench->arena);
    bench->searcher = searcher_new(&(struct search_context){.metadata_store = bench->store,
                                                            .vector_store = bench->index,
                                                            .rows = bench->rows,
                                                            .settings = &bench->search});
}

/* ---- asking ---- */

struct cell {
    const char *name;
    enum search_mode mode;
    const char *filter;
};

/* One thread's share of a cell. */
struct asker {
    struct bench *bench;
    const struct cell *cell;
    uint64_t random;
    size_t count;
    struct search_timing *timings;
    int64_t *cpu_us; /* of each question: what the clock would say were nothing else running */
    uint64_t hits;
    pthread_t thread;
};

static void ask(struct asker *asker, size_t i)
{
    static const int64_t workspaces[] = {DEFAULT_WORKSPACE_ID};
    static const struct scope scope = {.workspaces = workspaces, .workspace_count = 1};
    AUTO_ARENA arena = ARENA_INIT;
    struct query query = QUERY_DEFAULT;
    /* Of eight words three are rare, as in questions people ask. */
    AUTO_BUFFER text = BUFFER(4096);
    buffer_append_str(&text, random_text(asker->bench, &asker->random, 5, 0, &arena));
    buffer_append_str(&text, random_text(asker->bench, &asker->random, 3, 500, &arena));
    const struct str words = buffer_str(&text);
    query.texts = &words;
    query.text_count = 1;
    query.mode = asker->cell->mode;
    if (asker->cell->filter)
        MUST(filter_from_text(str_from(asker->cell->filter), &arena, &query.filter, err));
    struct search_result result;
    const int64_t start = clock_thread_cpu_us();
    MUST(search_run(asker->bench->searcher, asker->bench->embedder, &scope, &query, &arena, &result, err));
    asker->cpu_us[i] = clock_thread_cpu_us() - start;
    asker->timings[i] = result.timing;
    asker->hits += result.hit_count;
}

static void *ask_all(void *argument)
{
    struct asker *asker = argument;
    for (size_t i = 0; i < asker->count; i++)
        ask(asker, i);
    return NULL;
}

static int compare_totals(const void *a, const void *b)
{
    const int64_t first = ((const struct search_timing *)a)->total,
                  second = ((const struct search_timing *)b)->total;
    return (first > second) - (first < second);
}

static int compare_times(const void *a, const void *b)
{
    const int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

static void print_cell(const struct cell *cell, struct search_timing *timings, int64_t *cpu_us, size_t count,
                       uint64_t hits, double seconds)
{
    qsort(cpu_us, count, sizeof *cpu_us, compare_times);
    struct search_timing sum = {0};
    qsort(timings, count, sizeof *timings, compare_totals);
    for (size_t i = 0; i < count; i++) {
        sum.embed += timings[i].embed;
        sum.select += timings[i].select;
        sum.retrieve += timings[i].retrieve;
        sum.rank += timings[i].rank;
    }
    const double n = 1000.0 * (double)count;
    printf("%-28s p50 %7.2f  p95 %7.2f | cpu p50 %6.2f p95 %6.2f | embed %6.2f select %6.2f retrieve %6.2f "
           "rank %6.2f | "
           "%4.1f hits"
           " %6.0f /s\n",
           cell->name, (double)timings[count / 2].total / 1e3, (double)timings[count * 95 / 100].total / 1e3,
           (double)cpu_us[count / 2] / 1e3, (double)cpu_us[count * 95 / 100] / 1e3, (double)sum.embed / n,
           (double)sum.select / n, (double)sum.retrieve / n, (double)sum.rank / n,
           (double)hits / (double)count, (double)count / seconds);
    fflush(stdout);
}

static void run_cell(struct bench *bench, const struct cell *cell)
{
    const size_t threads = (size_t)bench->settings.threads;
    const size_t share = ((size_t)bench->settings.queries + threads - 1) / threads;
    struct search_timing *timings = xcalloc(threads * share, sizeof *timings);
    int64_t *cpu_us = xcalloc(threads * share, sizeof *cpu_us);
    struct asker *askers = xcalloc(threads, sizeof *askers);
    uint64_t hits = 0;
    const int64_t start = clock_monotonic_us();
    for (size_t i = 0; i < threads; i++) {
        askers[i] = (struct asker){.bench = bench,
                                   .cell = cell,
                                   .random = next_random(&bench->random) * UINT64_C(0x9E3779B97F4A7C15) | 1,
                                   .count = share,
                                   .timings = timings + i * share,
                                   .cpu_us = cpu_us + i * share};
        thread_start(&askers[i].thread, "asker", ask_all, &askers[i]);
    }
    for (size_t i = 0; i < threads; i++) {
        pthread_join(askers[i].thread, NULL);
        hits += askers[i].hits;
    }
    print_cell(cell, timings, cpu_us, threads * share, hits, (double)(clock_monotonic_us() - start) / 1e6);
    free(timings);
    free(cpu_us);
    free(askers);
}

int main(int argc, char **argv)
{
    static const struct cell cells[] = {
        {"warm-up", SEARCH_HYBRID, NULL},
        {"hybrid", SEARCH_HYBRID, NULL},
        {"vector", SEARCH_VECTOR, NULL},
        {"keyword", SEARCH_KEYWORD, NULL},
        {"hybrid, 10 %: language=de", SEARCH_HYBRID, "language=de"},
        {"hybrid, 0.1 %: one folder", SEARCH_HYBRID, "path~folder77/"},
    };
    struct bench bench = {.random = 20260216};
    const char **positional;
    size_t count;
    option_set_defaults(bench_options, &bench.settings, &bench.arena);
    MUST(option_parse_arguments(bench_options, &bench.settings, argc - 1, (const char *const *)argv + 1,
                                &bench.arena, &positional, &count, err));
    if (count != 1) {
        fprintf(stderr, "usage: %s FOLDER [--chunks=N] [--queries=N] [--threads=N] [--model=MODEL]\n",
                argv[0]);
        return 2;
    }
    bench.folder = positional[0];
    open_bench(&bench);
    for (size_t i = 0; i < COUNT_OF(cells); i++)
        run_cell(&bench, &cells[i]);
    searcher_free(bench.searcher);
    vector_store_close(bench.index);
    row_source_free(bench.rows);
    metadata_store_close(bench.store);
    embedder_close(bench.embedder);
    arena_release(&bench.arena);
    free(bench.zipf);
    free(bench.centres);
    return 0;
}
