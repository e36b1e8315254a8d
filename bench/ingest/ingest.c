/* Where the time goes when a folder is indexed: rate, time in each stage, memory.
 *
 *   ingest FOLDER [section.name=value...]      e.g. embedder.provider=hash ingest.workers=1
 *   ingest --chunk MEGABYTES                   the structural chunker alone over generated text
 *
 * The index goes to a temporary folder. Stage times are added up over the threads of a stage; those of
 * extract are the waiting for the child process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "chunker/chunker.h"
#include "ingest/run.h"
#include "instance/estimate.h"
#include "instance/instance.h"

extern char **environ;

#define MUST(call)                                              \
    do {                                                        \
        ibid_error error_ = {0};                                \
        ibid_error *err = &error_;                              \
        if ((call) != IBID_OK) {                                \
            fprintf(stderr, "%s: %s\n", #call, error_.message); \
            exit(1);                                            \
        }                                                       \
        (void)err;                                              \
    } while (0)

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static void print_status(const struct ingest_status *status, double settle_s)
{
    const struct run_progress *counts = &status->progress;
    printf("%s in %.2f s (index settled after %.2f s more)\n", run_state_string(status->state),
           status->seconds, settle_s);
    printf("  documents  %lld indexed, %lld unchanged, %lld skipped, %lld failed: %.1f/s\n",
           (long long)counts->indexed, (long long)counts->unchanged, (long long)counts->skipped,
           (long long)counts->failed, (double)counts->indexed / status->seconds);
    printf("  text       %lld chunks, %lld tokens: %.0f tokens/s; %.2f MB of files\n",
           (long long)counts->chunks, (long long)status->tokens, (double)status->tokens / status->seconds,
           (double)counts->bytes / 1e6);
    printf("  vectors    %lld embedded, %lld reused, %lld pending\n", (long long)status->embedded,
           (long long)status->reused, (long long)status->pending);
    for (int stage = 0; stage < STAGE_COUNT; stage++)
        printf("  %-10s %8.2f s\n", ingest_stage_string((enum ingest_stage)stage),
               (double)status->stage_us[stage] / 1e6);
    for (size_t i = 0; i < status->reason_count; i++)
        printf("  %s at %s: %s (%lld)\n", ledger_outcome_string(status->reasons[i].outcome),
               status->reasons[i].stage, status->reasons[i].reason, (long long)status->reasons[i].count);
    struct rusage own;
    getrusage(RUSAGE_SELF, &own);
    printf("  processor  %.2f s so far; peak memory %.0f MB\n",
           seconds_of(&own.ru_utime) + seconds_of(&own.ru_stime), (double)own.ru_maxrss / 1024);
}

static void run_once(struct instance *instance, int64_t source_id)
{
    struct ingest *ingest = instance_ingest(instance);
    const struct ingest_request request = {.source_ids = &source_id, .source_count = 1};
    int64_t run_id;
    struct ingest_status status;
    MUST(ingest_start(ingest, &request, &run_id, err));
    ingest_wait(ingest, 0);
    const int64_t ended = clock_monotonic_us();
    MUST(instance_index_settled(instance, 0, err));
    ingest_status(ingest, &status);
    print_status(&status, (double)(clock_monotonic_us() - ended) / 1e6);
    if (status.state != RUN_COMPLETED)
        printf("  %s\n", status.message);
}

static void measure_folder(const char *folder, int count, char *set[])
{
    char data[] = "/tmp/ibid-bench-XXXXXX";
    if (!mkdtemp(data))
        exit(1);
    struct instance_settings *settings = instance_settings_new();
    MUST(instance_settings_load(settings, data, NULL, environ, err));
    for (int i = 0; i < count; i++) {
        const struct str text = str_from(set[i]);
        const size_t equals = str_find(text, '=');
        MUST(settings_set(instance_settings_table(settings), str_slice(text, 0, equals),
                          str_slice(text, equals + 1, text.size), "argument", err));
    }
    struct instance *instance;
    int64_t source_id;
    MUST(instance_open(data, settings, INSTANCE_CREATE, &instance, err));
    MUST(ingest_source(instance_ingest(instance), "folder", folder, NULL, &source_id, err));
    run_once(instance, source_id);
    printf("again, nothing changed: ");
    run_once(instance, source_id);
    instance_close(instance);
    instance_settings_free(settings);
    MUST(folder_remove(data, err));
    struct rusage brokers; /* known once they have ended */
    getrusage(RUSAGE_CHILDREN, &brokers);
    printf("brokers: processor %.2f s; peak memory %.0f MB\n",
           seconds_of(&brokers.ru_utime) + seconds_of(&brokers.ru_stime), (double)brokers.ru_maxrss / 1024);
}

static void measure_chunker(size_t megabytes)
{
    static const char *const shapes[][2] = {
        {"sentences", "Water boils at a hundred degrees, or less where the air is thin. "},
        {"words without end", "word "},
        {"one long word", "x"},
        {"ideographs", "汉字没有空格也没有句号"},
    };
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        AUTO_BUFFER text = BUFFER(EXTRACTION_TEXT_LIMIT + 4096);
        AUTO_ARENA arena = ARENA_INIT;
        while (text.size < megabytes * 1000 * 1000)
            buffer_append_string(&text, shapes[i][1]);
        const struct block block = {
            .kind = BLOCK_PARAGRAPH, .parent = BLOCK_NO_PARENT, .end = (uint32_t)text.size};
        const struct extraction extraction = {.text = buffer_str(&text), .blocks = &block, .block_count = 1};
        const struct chunking chunking = {
            .size = 256, .overlap_percent = 10, .heading_tokens = 64, .language = "en"};
        struct chunk *chunks;
        size_t chunk_count;
        const int64_t start = clock_monotonic_us();
        MUST(chunker_split(chunker_registry[0], &extraction, STR("Title"), &chunking, &token_estimate, &arena,
                           &chunks, &chunk_count, err));
        const double seconds = (double)(clock_monotonic_us() - start) / 1e6;
        printf("%-18s %zu MB: %zu chunks in %.2f s = %.1f MB/s\n", shapes[i][0], megabytes, chunk_count,
               seconds, (double)text.size / 1e6 / seconds);
    }
}

int main(int argc, char *argv[])
{
    if (argc == 3 && strcmp(argv[1], "--chunk") == 0)
        measure_chunker(strtoul(argv[2], NULL, 10));
    else if (argc >= 2)
        measure_folder(argv[1], argc - 2, argv + 2);
    else
        fprintf(stderr, "usage: ingest FOLDER [section.name=value...] | ingest --chunk MEGABYTES\n");
    return 0;
}
