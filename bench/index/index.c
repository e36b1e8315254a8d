/* Measures a vector store on rows whose truth is in memory-mapped files: building, opening, searching by
 * vector and by word, with filters written in the filter language. Prints one JSON object a line. A search is
 * timed with the reading of its filter and the selection; times are CPU time of the thread, but for opening.
 *
 * usage: bench_index --vectors FILE --dimension N --rows N --texts FILE --queries FILE --keywords FILE
 * --folder DIR
 *                    [--store NAME] [--build] [--recall] [--rounds N] [--cell NAME] [--grow N] [--k N]
 *        bench_index --make-vectors FILE --dimension N --rows N
 *
 * FILE of vectors: little-endian floats, row after row, each row of length 1; `queries` has queries of the
 * same form, `keywords` one query text a line. A folder that holds an index is opened, an empty one is built
 * first.
 * --build only builds. --recall judges 200 queries against an exact scan of the rows that pass.
 * --grow keeps the last N rows back and lets them come in 64 at a time after the searches.
 * --make-vectors writes vectors of 2,000 clusters with noise of 0.9 standard deviations: for latency, not
 * recall. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/option.h"
#include "model/terms.h"
#include "vector_store/similarity.h"
#include "vector_store/top.h"
#include "vector_store/vector_store.h"

enum {
    COLLECTION = 1,
    ROWS_A_COMMIT = 64,
    ROWS_A_DOCUMENT = 16,
    CHUNK_BYTES = 600,
    K_MOST = 1000,
    JUDGED_QUERIES = 200,
};

struct settings_of_bench {
    const char *vectors, *texts, *queries, *keywords, *folder, *store, *cell, *make_vectors;
    int64_t dimension, rows, rounds, grow, k;
    bool build, recall;
};

static const struct option option_table[] = {
    {.name = "vectors",
     .type = OPTION_PATH,
     .offset = offsetof(struct settings_of_bench, vectors),
     .help = ""},
    {.name = "texts", .type = OPTION_PATH, .offset = offsetof(struct settings_of_bench, texts), .help = ""},
    {.name = "queries",
     .type = OPTION_PATH,
     .offset = offsetof(struct settings_of_bench, queries),
     .help = ""},
    {.name = "keywords",
     .type = OPTION_PATH,
     .offset = offsetof(struct settings_of_bench, keywords),
     .help = ""},
    {.name = "folder", .type = OPTION_PATH, .offset = offsetof(struct settings_of_bench, folder), .help = ""},
    {.name = "store",
     .type = OPTION_STRING,
     .offset = offsetof(struct settings_of_bench, store),
     .default_text = "embedded",
     .help = ""},
    {.name = "cell", .type = OPTION_STRING, .offset = offsetof(struct settings_of_bench, cell), .help = ""},
    {.name = "make_vectors",
     .type = OPTION_PATH,
     .offset = offsetof(struct settings_of_bench, make_vectors),
     .help = ""},
    {.name = "dimension",
     .type = OPTION_INT,
     .offset = offsetof(struct settings_of_bench, dimension),
     .default_text = "384",
     .low = 64,
     .high = 4096,
     .help = ""},
    {.name = "rows",
     .type = OPTION_INT,
     .offset = offsetof(struct settings_of_bench, rows),
     .default_text = "100000",
     .low = 1,
     .high = 1e9,
     .help = ""},
    {.name = "rounds",
     .type = OPTION_INT,
     .offset = offsetof(struct settings_of_bench, rounds),
     .default_text = "3",
     .low = 1,
     .high = 100,
     .help = ""},
    {.name = "k",
     .type = OPTION_INT,
     .offset = offsetof(struct settings_of_bench, k),
     .default_text = "10",
     .low = 1,
     .high = K_MOST,
     .help = ""},
    {.name = "grow",
     .type = OPTION_INT,
     .offset = offsetof(struct settings_of_bench, grow),
     .default_text = "0",
     .low = 0,
     .high = 1e9,
     .help = ""},
    {.name = "build", .type = OPTION_BOOL, .offset = offsetof(struct settings_of_bench, build), .help = ""},
    {.name = "recall", .type = OPTION_BOOL, .offset = offsetof(struct settings_of_bench, recall), .help = ""},
    OPTION_END,
};

static void must(ibid_code code, const ibid_error *err)
{
    if (code == IBID_OK)
        return;
    fprintf(stderr, "bench_index: %s\n", err->message);
    exit(1);
}

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ value >> 27) * UINT64_C(0x94D049BB133111EB);
    return value ^ value >> 31;
}

/* ---- the truth ---- */

struct lines {
    struct file_map map;
    struct str *items;
    size_t count, capacity;
};

struct corpus {
    struct row_source source;
    struct file_map vectors;
    uint32_t dimension;
    int64_t rows;
    struct lines texts;
    float *direction; /* of the queries, on average */
    float far;        /* a tenth of the rows is less similar to it */
};

static struct lines lines_open(const char *path)
{
    ibid_error err;
    struct lines lines = {0};
    must(file_map_open(path, &lines.map, &err), &err);
    struct str rest = {lines.map.data, lines.map.size}, line;
    while (str_split(&rest, '\n', &line)) {
        GROW(lines.items, lines.count, lines.capacity);
        lines.items[lines.count] = line;
        lines.count += line.size > 0;
    }
    return lines;
}

static const struct corpus *corpus_of(const struct row_source *source)
{
    return (const struct corpus *)source;
}

static const float *vector_of(const struct corpus *corpus, int64_t row)
{
    return (const float *)corpus->vectors.data + row * corpus->dimension;
}

static int compare_floats(const void *a, const void *b)
{
    const float first = *(const float *)a, second = *(const float *)b;
    return (first > second) - (first < second);
}

static uint32_t key_of(const char *name)
{
    return (uint32_t)(filter_key_find(str_from(name)) - filter_keys);
}

/* Rows that have least to do with the queries: no filter is harder for a search that follows similarity. */
static void find_far_rows(struct corpus *corpus, const float *queries, size_t count)
{
    enum { SAMPLE = 5000 };
    corpus->direction = xcalloc(corpus->dimension, sizeof *corpus->direction);
    for (size_t i = 0; i < count * corpus->dimension; i++)
        corpus->direction[i % corpus->dimension] += queries[i] / (float)count;
    float *sample = xcalloc(SAMPLE, sizeof *sample);
    for (size_t i = 0; i < SAMPLE; i++) {
        const int64_t row = (int64_t)(mix(i + 3) % (uint64_t)corpus->rows);
        sample[i] = similarity_f32(corpus->direction, vector_of(corpus, row), corpus->dimension);
    }
    qsort(sample, SAMPLE, sizeof *sample, compare_floats);
    corpus->far = sample[SAMPLE / 10];
    free(sample);
}

/* `size` is random in 0..1e6 and lets filters pass any share of the rows; `source` holds 64 documents in a
 * row. */
static double size_of(int64_t row)
{
    return (double)(mix((uint64_t)row + 77) % 1000000);
}

static struct row make_row(const struct corpus *corpus, int64_t number, struct arena *arena)
{
    AUTO_BUFFER text = BUFFER(1 << 20);
    size_t line = mix((uint64_t)number) % corpus->texts.count;
    while (text.size < CHUNK_BYTES) {
        buffer_append_str(&text, corpus->texts.items[line]);
        buffer_append_byte(&text, ' ');
        line = (line + 1) % corpus->texts.count;
    }
    struct attribute *attributes = ARENA_ARRAY(arena, struct attribute, 4);
    const char *source = arena_printf(arena, "source-%lld", (long long)(number / ROWS_A_DOCUMENT / 64));
    attributes[0] = (struct attribute){key_of("size"), {.type = VALUE_NUMBER, .number = size_of(number)}};
    attributes[1] = (struct attribute){key_of("source"), {.type = VALUE_STRING, .string = str_from(source)}};
    attributes[2] = (struct attribute){key_of("language"), {.type = VALUE_STRING, .string = STR("en")}};
    const float *vector = vector_of(corpus, number);
    const bool is_far = similarity_f32(corpus->direction, vector, corpus->dimension) < corpus->far;
    attributes[3] = (struct attribute){key_of("label"),
                                       {.type = VALUE_STRING, .string = is_far ? STR("far") : STR("near")}};
    int64_t *workspaces = ARENA_NEW(arena, int64_t);
    *workspaces = 1 + number / ROWS_A_DOCUMENT % 4;
    return (struct row){.row_id = number + 1,
                        .seq = number / ROWS_A_COMMIT + 1,
                        .document_id = number / ROWS_A_DOCUMENT,
                        .chunk_id = number,
                        .workspaces = workspaces,
                        .workspace_count = 1,
                        .vector = vector,
                        .text = arena_str(arena, buffer_str(&text)),
                        .language = STR("en"),
                        .attributes = attributes,
                        .attribute_count = 4};
}

static ibid_code latest_seq(const struct row_source *self, int64_t collection_id, int64_t *ret,
                            ibid_error *err)
{
    *ret = (corpus_of(self)->rows - 1) / ROWS_A_COMMIT + 1;
    return IBID_OK;
}

static ibid_code changes(const struct row_source *self, int64_t collection_id, int64_t after_seq,
                         size_t limit, struct arena *arena, struct row **ret, size_t *ret_count,
                         ibid_error *err)
{
    const struct corpus *corpus = corpus_of(self);
    const int64_t first = after_seq * ROWS_A_COMMIT;
    const size_t commits = (limit + ROWS_A_COMMIT - 1) / ROWS_A_COMMIT;
    struct row *rows = ARENA_ARRAY(arena, struct row, commits * ROWS_A_COMMIT);
    size_t count = 0;
    while (count < commits * ROWS_A_COMMIT && first + (int64_t)count < corpus->rows) {
        rows[count] = make_row(corpus, first + (int64_t)count, arena);
        count++;
    }
    *ret = rows;
    *ret_count = count;
    return IBID_OK;
}

static ibid_code vectors(const struct row_source *self, int64_t collection_id, const int64_t *row_ids,
                         size_t count, float *out, ibid_error *err)
{
    const struct corpus *corpus = corpus_of(self);
    for (size_t i = 0; i < count; i++)
        memcpy(out + i * corpus->dimension, vector_of(corpus, row_ids[i] - 1),
               corpus->dimension * sizeof *out);
    return IBID_OK;
}

static ibid_code select_rows(const struct row_source *self, int64_t collection_id,
                             const struct filter *filter, struct arena *arena, int64_t **ret_ids,
                             size_t *ret_count, ibid_error *err)
{
    *ret_count = 0; /* no row has metadata */
    *ret_ids = NULL;
    return IBID_OK;
}

static void make_vectors(const struct settings_of_bench *settings)
{
    enum { CLUSTERS = 2000 };
    const size_t dimension = (size_t)settings->dimension;
    float *centers = xcalloc(CLUSTERS * dimension, sizeof *centers), *row = xcalloc(dimension, sizeof *row);
    uint64_t state = 42;
    FILE *file = fopen(settings->make_vectors, "we");
    if (!file) {
        perror(settings->make_vectors);
        exit(1);
    }
    for (int64_t number = -CLUSTERS; number < settings->rows; number++) {
        const float *center = centers + mix((uint64_t)number + 5) % CLUSTERS * dimension;
        double sum = 0;
        for (size_t i = 0; i < dimension; i++) {
            const double a = ((mix(state += 0x9E3779B97F4A7C15u) >> 11) + 1) / 9007199254740993.0;
            const double b = (double)(mix(state += 0x9E3779B97F4A7C15u) >> 11) / 9007199254740992.0;
            const double normal = sqrt(-2 * log(a)) * cos(2 * M_PI * b);
            row[i] = (float)(number < 0 ? normal : normal * 0.9) + (number < 0 ? 0 : center[i]);
            sum += (double)row[i] * row[i];
        }
        for (size_t i = 0; i < dimension && number >= 0; i++)
            row[i] /= (float)sqrt(sum);
        if (number < 0)
            memcpy(centers + (size_t)(number + CLUSTERS) * dimension, row, dimension * sizeof *row);
        else if (fwrite(row, sizeof *row, dimension, file) != dimension)
            exit(1);
    }
    if (fclose(file) != 0)
        exit(1);
}

/* ---- measuring ---- */

struct times {
    double *items; /* milliseconds */
    size_t count, capacity;
};

static void times_add(struct times *times, int64_t start_us)
{
    GROW(times->items, times->count, times->capacity);
    times->items[times->count++] = (double)(clock_thread_cpu_us() - start_us) / 1000;
}

static int compare_times(const void *a, const void *b)
{
    const double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

static double percentile(const struct times *times, double share)
{
    return times->items[(size_t)((double)(times->count - 1) * share)];
}

/* Memory of this process by /proc/self/status, in MB. */
static double resident(const char *key)
{
    AUTO_BUFFER status = BUFFER(65536);
    ibid_error err;
    must(file_read("/proc/self/status", &status, &err), &err);
    const char *found = strstr(status.data, key);
    return found ? strtod(found + strlen(key) + 1, NULL) / 1024 : 0;
}

struct bench {
    const struct settings_of_bench *settings;
    struct corpus corpus;
    struct vector_store *store;
    struct file_map queries;
    size_t query_count;
    struct lines keywords;
};

static const int64_t workspaces[] = {1, 2, 3, 4};
static const struct scope everything = {workspaces, 4, NULL, 0};
static const struct scope one_workspace = {workspaces, 1, NULL, 0};

static struct selection *make_selection(struct bench *bench, const struct scope *scope, const char *filter)
{
    AUTO_ARENA arena = ARENA_INIT;
    ibid_error err;
    const struct filter *parsed = NULL;
    struct selection *selection;
    if (filter)
        must(filter_from_text(str_from(filter), &arena, &parsed, &err), &err);
    must(vector_store_select(bench->store, COLLECTION, scope, parsed, &selection, &err), &err);
    return selection;
}

static const float *query_vector(const struct bench *bench, size_t query)
{
    return (const float *)bench->queries.data + query * bench->corpus.dimension;
}

/* Share of the true k nearest, among the rows from a list, that a search found. */
static double recall_of(const struct bench *bench, const float *query, const int64_t *row_ids,
                        size_t row_count, const struct candidate *found, size_t found_count)
{
    struct top top;
    top_start(&top, (size_t)bench->settings->k);
    for (size_t i = 0; i < row_count; i++)
        top_offer(&top, row_ids[i],
                  similarity_f32(query, vector_of(&bench->corpus, row_ids[i] - 1), bench->corpus.dimension));
    const size_t count = top_finish(&top);
    size_t hits = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < found_count; j++)
            hits += found[j].row_id == top.items[i].row_id;
    top_release(&top);
    return count ? (double)hits / (double)count : 1;
}

static void measure_vectors(struct bench *bench, const char *name, const struct scope *scope,
                            const char *filter)
{
    if (bench->settings->cell && strcmp(bench->settings->cell, name) != 0)
        return;
    ibid_error err;
    struct times select_times = {0}, search_times = {0};
    double recall = 0;
    size_t judged = 0;
    uint64_t selected = 0;
    const size_t k = (size_t)bench->settings->k;
    const size_t limit = bench->settings->recall ? JUDGED_QUERIES : 0;
    int64_t *row_ids = NULL;
    size_t row_count = 0;
    for (int64_t round = 0; round < bench->settings->rounds; round++)
        for (size_t query = 0; query < bench->query_count; query++) {
            struct candidate found[K_MOST];
            size_t count;
            const int64_t start = clock_thread_cpu_us();
            struct selection *selection = make_selection(bench, scope, filter);
            times_add(&select_times, start);
            must(selection_nearest(selection, query_vector(bench, query), k, found, &count, &err), &err);
            times_add(&search_times, start);
            selected = selection->count;
            if (round == 0 && query < limit) {
                if (!row_ids) {
                    row_ids = xcalloc(selection->count + 1, sizeof *row_ids);
                    must(selection_list(selection, 0, selection->count, row_ids, &row_count, &err), &err);
                }
                recall += recall_of(bench, query_vector(bench, query), row_ids, row_count, found, count);
                judged++;
            }
            selection_free(selection);
        }
    qsort(select_times.items, select_times.count, sizeof(double), compare_times);
    qsort(search_times.items, search_times.count, sizeof(double), compare_times);
    printf("{\"side\": \"vector\", \"cell\": \"%s\", \"filter\": \"%s\", \"selected\": %llu, "
           "\"select_p50_ms\": %.3f, \"p50_ms\": %.3f, \"p95_ms\": %.3f",
           name, filter ? filter : "", (unsigned long long)selected, percentile(&select_times, 0.5),
           percentile(&search_times, 0.5), percentile(&search_times, 0.95));
    if (judged)
        printf(", \"recall\": %.4f, \"judged\": %zu", recall / (double)judged, judged);
    printf("}\n");
    fflush(stdout);
    free(row_ids);
    free(select_times.items);
    free(search_times.items);
}

static void measure_words(struct bench *bench, const char *name, const struct scope *scope,
                          const char *filter, size_t min_terms, size_t max_terms)
{
    if (bench->settings->cell && strcmp(bench->settings->cell, name) != 0)
        return;
    ibid_error err;
    struct times times = {0};
    struct analyzer *analyzer = analyzer_new();
    double terms_sum = 0;
    size_t queries = 0;
    for (int64_t round = 0; round < bench->settings->rounds; round++)
        for (size_t i = 0; i < bench->keywords.count && i < 1000; i++) {
            AUTO_ARENA arena = ARENA_INIT;
            struct term *terms;
            size_t count, found_count, used = 0;
            struct candidate found[100];
            struct str texts[TERM_QUERY_LIMIT];
            analyzer_terms(analyzer, bench->keywords.items[i], STR("en"), &arena, &terms, &count);
            for (size_t j = 0; j < count && used < max_terms; j++)
                texts[used++] = terms[j].text;
            if (used < min_terms)
                continue;
            const struct term_query query = {.terms = texts, .count = used, .k1 = 0.9f, .b = 0.4f};
            const int64_t start = clock_thread_cpu_us();
            struct selection *selection = make_selection(bench, scope, filter);
            must(selection_match(selection, &query, 100, found, &found_count, &err), &err);
            times_add(&times, start);
            selection_free(selection);
            terms_sum += (double)used;
            queries++;
        }
    analyzer_free(analyzer);
    if (queries == 0)
        return;
    qsort(times.items, times.count, sizeof(double), compare_times);
    printf("{\"side\": \"keyword\", \"cell\": \"%s\", \"filter\": \"%s\", \"terms\": %.1f, \"p50_ms\": %.3f, "
           "\"p95_ms\": %.3f, \"p99_ms\": %.3f}\n",
           name, filter ? filter : "", terms_sum / (double)queries, percentile(&times, 0.5),
           percentile(&times, 0.95), percentile(&times, 0.99));
    fflush(stdout);
    free(times.items);
}

static void open_store(struct bench *bench)
{
    AUTO_ARENA arena = ARENA_INIT;
    ibid_error err;
    const struct vector_store_ops *ops = vector_store_find(bench->settings->store);
    void *options = arena_alloc(&arena, ops->options_size);
    option_set_defaults(ops->options, options, &arena);
    const struct vector_store_context context = {bench->settings->folder, &bench->corpus.source};
    const struct vector_space space = {COLLECTION, bench->corpus.dimension, "bench"};
    must(vector_store_open(ops, &context, options, &bench->store, &err), &err);
    must(vector_store_attach(bench->store, &space, &err), &err);
}

static void build(struct bench *bench)
{
    ibid_error err;
    const int64_t wall = clock_monotonic_us(), cpu = clock_thread_cpu_us();
    open_store(bench);
    must(vector_store_follow(bench->store, COLLECTION, NULL, &err), &err);
    vector_store_close(bench->store);
    const double seconds = (double)(clock_thread_cpu_us() - cpu) / 1e6;
    printf("{\"build_s\": %.1f, \"build_cpu_s\": %.1f, \"rows_per_cpu_s\": %.0f, \"build_anonymous_mb\": %.0f}\n",
           (double)(clock_monotonic_us() - wall) / 1e6, seconds, (double)bench->corpus.rows / seconds,
           resident("RssAnon:"));
    fflush(stdout);
}

/* Time from nothing to the first answer of each side. */
static void measure_opening(struct bench *bench)
{
    ibid_error err;
    const double before = resident("RssAnon:");
    struct candidate found[K_MOST];
    size_t count;
    int64_t start = clock_monotonic_us();
    open_store(bench);
    must(vector_store_follow(bench->store, COLLECTION, NULL, &err), &err);
    const double opened = (double)(clock_monotonic_us() - start) / 1000;
    struct selection *selection = make_selection(bench, &everything, NULL);
    must(selection_nearest(selection, query_vector(bench, 0), 10, found, &count, &err), &err);
    const double first = (double)(clock_monotonic_us() - start) / 1000;
    const struct str term = STR("water");
    const struct term_query query = {.terms = &term, .count = 1, .k1 = 0.9f, .b = 0.4f};
    must(selection_match(selection, &query, 10, found, &count, &err), &err);
    const double second = (double)(clock_monotonic_us() - start) / 1000;
    selection_free(selection);
    struct vector_store_stats stats;
    must(vector_store_stats(bench->store, COLLECTION, &stats, &err), &err);
    printf("{\"rows\": %llu, \"segments\": %llu, \"disk_mb\": %.0f, \"open_ms\": %.1f, "
           "\"first_vector_answer_ms\": %.1f, "
           "\"first_keyword_answer_ms\": %.1f, \"anonymous_mb\": %.1f}\n",
           (unsigned long long)stats.rows, (unsigned long long)stats.segments,
           (double)stats.bytes_on_disk / 1e6, opened, first, second, resident("RssAnon:") - before);
    fflush(stdout);
}

/* New rows, a commit at a time, each searchable before the next. */
static void measure_growing(struct bench *bench)
{
    ibid_error err;
    struct times times = {0};
    const int64_t start_cpu = clock_thread_cpu_us(), last = bench->corpus.rows + bench->settings->grow;
    while (bench->corpus.rows + ROWS_A_COMMIT <= last) {
        bench->corpus.rows += ROWS_A_COMMIT;
        const int64_t start = clock_thread_cpu_us();
        must(vector_store_follow(bench->store, COLLECTION, NULL, &err), &err);
        times_add(&times, start);
    }
    const double cpu = (double)(clock_thread_cpu_us() - start_cpu);
    qsort(times.items, times.count, sizeof(double), compare_times);
    printf("{\"grown_by\": %lld, \"rows_a_follow\": %d, \"cpu_us_a_row\": %.1f, \"p50_ms\": %.2f, "
           "\"p95_ms\": %.2f, "
           "\"max_ms\": %.1f}\n",
           (long long)bench->settings->grow, ROWS_A_COMMIT, cpu / (double)bench->settings->grow,
           percentile(&times, 0.5), percentile(&times, 0.95), percentile(&times, 1));
    free(times.items);
}

static void run(struct bench *bench)
{
    AUTO_FREE char *manifest = xasprintf("%s/%d/manifest", bench->settings->folder, COLLECTION);
    if (!file_exists(manifest))
        build(bench);
    if (bench->settings->build)
        return;
    measure_opening(bench);
    const double before = resident("RssAnon:");
    measure_vectors(bench, "100 %", &everything, NULL);
    measure_vectors(bench, "10 %", &everything, "size<100000");
    measure_vectors(bench, "1 %", &everything, "size<10000");
    measure_vectors(bench, "0.1 %", &everything, "size<1000");
    measure_vectors(bench, "10 %, far from the queries", &everything, "label=far");
    measure_vectors(bench, "one source", &everything, "source=source-3");
    measure_vectors(bench, "one workspace of four", &one_workspace, NULL);
    measure_words(bench, "100 %", &everything, NULL, 3, 8);
    measure_words(bench, "10 %", &everything, "size<100000", 3, 8);
    measure_words(bench, "1 %", &everything, "size<10000", 3, 8);
    measure_words(bench, "0.1 %", &everything, "size<1000", 3, 8);
    measure_words(bench, "one workspace of four", &one_workspace, NULL, 3, 8);
    measure_words(bench, "whole questions", &everything, NULL, 1, 64);
    if (bench->settings->grow)
        measure_growing(bench);
    printf("{\"anonymous_mb_after_searches\": %.1f, \"mapped_mb\": %.0f}\n", resident("RssAnon:") - before,
           resident("RssFile:"));
    vector_store_close(bench->store);
}

int main(int argc, char **argv)
{
    AUTO_ARENA arena = ARENA_INIT;
    ibid_error err;
    struct settings_of_bench settings = {0};
    const char **positional;
    size_t positional_count;
    option_set_defaults(option_table, &settings, &arena);
    must(option_parse_arguments(option_table, &settings, argc - 1, (const char *const *)argv + 1, &arena,
                                &positional, &positional_count, &err),
         &err);
    if (settings.make_vectors) {
        make_vectors(&settings);
        return 0;
    }
    if (!settings.vectors || !settings.texts || !settings.queries || !settings.keywords || !settings.folder) {
        fprintf(stderr, "bench_index: see the top of bench/index/index.c for what it takes\n");
        return 2;
    }
    struct bench bench = {
        .settings = &settings,
        .corpus = {.source = {latest_seq, changes, vectors, select_rows},
                   .dimension = (uint32_t)settings.dimension},
    };
    must(file_map_open(settings.vectors, &bench.corpus.vectors, &err), &err);
    must(file_map_open(settings.queries, &bench.queries, &err), &err);
    const size_t row_size = bench.corpus.dimension * sizeof(float);
    bench.corpus.rows = (int64_t)(bench.corpus.vectors.size / row_size);
    if (bench.corpus.rows > settings.rows)
        bench.corpus.rows = settings.rows;
    bench.corpus.rows -= settings.grow;
    bench.corpus.rows -= bench.corpus.rows % ROWS_A_COMMIT; /* what comes later has a commit of its own */
    bench.query_count = bench.queries.size / row_size;
    if (bench.query_count > 500)
        bench.query_count = 500;
    bench.corpus.texts = lines_open(settings.texts);
    find_far_rows(&bench.corpus, bench.queries.data, bench.query_count);
    bench.keywords = lines_open(settings.keywords);
    run(&bench);
    return 0;
}
