/* Kills an indexing process at random, again and again, and looks at what it left.
 *
 *   kill ROUNDS [SEED]
 *
 * In each round a child indexes a folder whose files have partly changed, and uploads documents; after a
 * random time it gets SIGKILL. Every few rounds the embedder is another one, so that old rows serve and new
 * ones are made meanwhile. Then the data directory is opened and must hold
 *   - everything that was acknowledged: documents counted as indexed, uploads that were accepted;
 *   - no document in part: each has all chunks of one version, and the index has the same rows;
 *   - nothing that `verify` finds fault with.
 * A round's random numbers follow from the seed, the moment of the kill does not. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "ingest/run.h"
#include "ingest/upload.h"
#include "instance/instance.h"
#include "records/bootstrap.h"
#include "records/chunk_record.h"
#include "records/collection.h"
#include "records/document.h"
#include "records/revision.h"

enum { FILES = 250, UPLOADS = 12, PARAGRAPHS = 40, LONGEST_US = 900000 };

/* Ends the test: nothing here can go on after an error. */
#define MUST(call)                                               \
    do {                                                         \
        ibid_error error_ = {0};                                 \
        ibid_error *err = &error_;                               \
        if ((call) != IBID_OK) {                                 \
            printf("Bail out! %s: %s\n", #call, error_.message); \
            exit(1);                                             \
        }                                                        \
        (void)err;                                               \
    } while (0)
#define CHECK(condition, ...)                       \
    do {                                            \
        if (!(condition)) {                         \
            printf("# " __VA_ARGS__);               \
            printf("\nBail out! %s\n", #condition); \
            exit(1);                                \
        }                                           \
    } while (0)

static uint64_t random_state;
static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(random_state >> 33) % limit;
}

/* ---- the child ---------------------------------------------------------------------------------------- */

static struct instance *open_instance(const char *data, int round, struct instance_settings **ret_settings)
{
    enum { ROUNDS_ALIKE = 5 };
    const char *const set[][2] = {{"embedder.provider", "hash"},
                                  {"embedder.hash.dimension", round / ROUNDS_ALIKE % 2 ? "96" : "64"},
                                  {"extract.sandbox", "auto"},
                                  {"ingest.commit_interval", "20ms"},
                                  {"ingest.commit_documents", "16"},
                                  {"ingest.chunk_size", "128"}};
    struct instance_settings *settings = instance_settings_new();
    for (size_t i = 0; i < COUNT_OF(set); i++)
        MUST(settings_set(instance_settings_table(settings), str_from(set[i][0]), str_from(set[i][1]), "test",
                          err));
    struct instance *instance;
    MUST(instance_open(data, settings, INSTANCE_CREATE, &instance, err));
    *ret_settings = settings;
    return instance;
}

static void say(const char *format, ...) PRINTF_LIKE(1, 2);
static void say(const char *format, ...)
{
    char line[128];
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (write(STDOUT_FILENO, line, (size_t)size) != size)
        exit(1);
}

/* Tells what is acknowledged until the run is over: "R run indexed unchanged". */
static void report_run(struct ingest *ingest)
{
    struct ingest_status status;
    bool over;
    do {
        over = ingest_wait(ingest, clock_monotonic_us() + 3000);
        ingest_status(ingest, &status);
        say("R %lld %lld\n", (long long)status.run_id,
            (long long)(status.progress.indexed + status.progress.unchanged));
    } while (!over);
    if (status.state != RUN_COMPLETED)
        say("E run: %s\n", status.message);
}

static const struct principal owner = {
    .user_id = OWNER_USER_ID, .system_admin = true, .every_workspace = true};

struct uploader {
    struct ingest *ingest;
    const char *round;
};

static void *upload_some(void *argument)
{
    struct ingest *ingest = ((struct uploader *)argument)->ingest;
    const char *round = ((struct uploader *)argument)->round;
    for (int i = 0; i < UPLOADS; i++) {
        char name[64], text[200], path[] = "/tmp/ibid-kill-upload-XXXXXX";
        snprintf(name, sizeof name, "upload-%s-%d.txt", round, i);
        const int size =
            snprintf(text, sizeof text, "Uploaded document, version %d of round %s.\n", i, round);
        const int fd = mkstemp(path);
        unlink(path);
        MUST(file_write_fd(fd, text, (size_t)size, err));
        const struct ingest_upload upload = {.fd = fd,
                                             .name = str_from(name),
                                             .media_type = STR_EMPTY,
                                             .title = STR_EMPTY,
                                             .metadata = STR_EMPTY,
                                             .workspace_id = DEFAULT_WORKSPACE_ID,
                                             .principal = &owner};
        int64_t id;
        bool replaced;
        MUST(ingest_upload(ingest, &upload, &id, &replaced, err));
        close(fd);
        say("U %lld\n", (long long)id);
        if (i % 3 == 0) {
            MUST(ingest_wait_document(ingest, id, clock_monotonic_us() + 60 * SECOND_US, err));
            say("D %lld\n", (long long)id);
        }
    }
    return NULL;
}

static int run_child(const char *data, const char *documents, const char *round)
{
    struct instance_settings *settings;
    struct instance *instance = open_instance(data, (int)strtol(round, NULL, 10), &settings);
    struct ingest *ingest = instance_ingest(instance);
    int64_t source_id, run_id;
    MUST(ingest_source(ingest, "folder", documents, NULL, &source_id, err));
    const struct ingest_request request = {.source_ids = &source_id, .source_count = 1};
    MUST(ingest_start(ingest, &request, &run_id, err));
    struct uploader uploader = {ingest, round};
    pthread_t thread;
    thread_start(&thread, "uploads", upload_some, &uploader);
    report_run(ingest);
    pthread_join(thread, NULL);
    MUST(instance_compact(instance, NULL, 0, err)); /* what has served before goes */
    instance_close(instance);
    instance_settings_free(settings);
    say("Z\n");
    return 0;
}

/* ---- the folder ---------------------------------------------------------------------------------------- */

static char *document_path(const char *documents, uint32_t number)
{
    return xasprintf("%s/%c/document-%u.%s", documents, (char)('a' + number % 7), number,
                     number % 3 ? "txt" : "md");
}

/* Every sentence names the version, so that each chunk shows which one it is of. */
static void write_document(const char *documents, uint32_t number, uint32_t version)
{
    AUTO_BUFFER text = BUFFER(1024 * 1024);
    for (uint32_t i = 0, paragraphs = 1 + number % PARAGRAPHS; i < paragraphs; i++)
        for (uint32_t j = 0; j < 4; j++)
            buffer_printf(&text, "Paragraph %u of document %u says in version <%u> that all is well.%s", i,
                          number, version, j < 3 ? " " : "\n\n");
    AUTO_FREE char *path = document_path(documents, number);
    *strrchr(path, '/') = '\0';
    MUST(folder_make(path, err));
    path[strlen(path)] = '/';
    MUST(file_write_atomically(path, text.data, text.size, 0600, err));
}

/* Some files change, some go, some move, some come. */
static void change_folder(const char *documents, uint32_t version)
{
    for (uint32_t number = 0; number < FILES; number++) {
        AUTO_FREE char *path = document_path(documents, number);
        switch (random_below(version == 0 ? 1 : 8)) {
        case 0:
        case 1:
            write_document(documents, number, version);
            break;
        case 2:
            unlink(path);
            break;
        case 3: {
            AUTO_FREE char *other = document_path(documents, FILES + random_below(FILES));
            if (rename(path, other) != 0 && errno != ENOENT)
                CHECK(false, "rename %s: %s", path, strerror(errno));
            break;
        }
        default:
            break;
        }
    }
}

/* ---- after the kill --------------------------------------------------------------------------------------
 */

struct acknowledged {
    int64_t run_id, settled; /* documents of the run that were indexed or unchanged */
    int64_t uploads[UPLOADS], done[UPLOADS];
    size_t upload_count, done_count;
    bool finished;
};

/* A line that the kill cut off is no acknowledgement. */
static void read_acknowledged(struct str text, struct acknowledged *ret)
{
    *ret = (struct acknowledged){0};
    struct str line;
    while (str_find(text, '\n') < text.size && str_split(&text, '\n', &line)) {
        AUTO_FREE char *copy = xmemdup0(line.data, line.size);
        long long first = 0, second = 0;
        CHECK(copy[0] != 'E', "%s", copy);
        if (sscanf(copy, "R %lld %lld", &first, &second) == 2) {
            ret->run_id = first;
            ret->settled = second;
        } else if (sscanf(copy, "U %lld", &first) == 1) {
            ret->uploads[ret->upload_count++] = first;
        } else if (sscanf(copy, "D %lld", &first) == 1) {
            ret->done[ret->done_count++] = first;
        } else if (copy[0] == 'Z') {
            ret->finished = true;
        } else {
            CHECK(false, "the child said: %s", copy);
        }
    }
}

static void check_uploads(struct transaction *transaction, const struct acknowledged *acknowledged)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct document document;
    for (size_t i = 0; i < acknowledged->upload_count; i++)
        MUST(document_load(transaction, acknowledged->uploads[i], &arena, &document, err));
    for (size_t i = 0; i < acknowledged->done_count; i++) {
        MUST(document_load(transaction, acknowledged->done[i], &arena, &document, err));
        CHECK(document.processing_state == PROCESSING_COMPLETED, "upload %lld is %s", (long long)document.id,
              processing_state_string(document.processing_state));
    }
}

static void check_ledger(struct transaction *transaction, const struct acknowledged *acknowledged,
                         int64_t source_id)
{
    if (acknowledged->run_id == 0)
        return;
    AUTO_ARENA arena = ARENA_INIT;
    struct ledger_line *lines;
    size_t count;
    int64_t settled = 0;
    MUST(ledger_list(transaction, source_id, LEDGER_INDEXED, STR_EMPTY, 10000, &arena, &lines, &count, err));
    for (size_t i = 0; i < count; i++)
        settled += lines[i].seen_run == acknowledged->run_id;
    CHECK(settled >= acknowledged->settled, "%lld documents were acknowledged, %lld are there",
          (long long)acknowledged->settled, (long long)settled);
}

/* The version that a chunk's text names; -1 when it names several or none. */
static long version_of(struct str text)
{
    long version = -1;
    AUTO_FREE char *copy = xmemdup0(text.data, text.size);
    for (const char *at = copy; (at = strchr(at, '<')); at++) {
        const long here = strtol(at + 1, NULL, 10);
        if (version != -1 && version != here)
            return -1;
        version = here;
    }
    return version;
}

/* All chunks are there and of one version. Returns how many. */
static int64_t check_document(struct transaction *transaction, const struct document *document)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct chunk_record *chunks;
    size_t count;
    int64_t total;
    MUST(chunk_record_list(transaction, document->id, DEFAULT_COLLECTION_ID, 0, 1000, &arena, &chunks, &count,
                           &total, err));
    CHECK((size_t)total == count, "document %lld has more chunks than it can", (long long)document->id);
    const bool published = document->revision_id != 0;
    CHECK(published == (count > 0), "document %lld has %zu chunks and %s revision", (long long)document->id,
          count, published ? "a" : "no");
    if (document->source_id == UPLOAD_SOURCE_ID)
        return total;
    uint32_t end = 0;
    for (size_t i = 0; i < count; i++) {
        CHECK(chunks[i].chunk_index == i, "document %lld lacks chunk %zu", (long long)document->id, i);
        CHECK(version_of(chunks[i].text) >= 0 && version_of(chunks[i].text) == version_of(chunks[0].text),
              "document %lld mixes versions", (long long)document->id);
        end = chunks[i].end;
    }
    if (published) {
        struct str text;
        MUST(revision_text(transaction, document->revision_id, 0, UINT32_MAX, &arena, &text, err));
        CHECK(str_trim(text).size <= end && version_of(text) == version_of(chunks[0].text),
              "document %lld has chunks of another text", (long long)document->id);
    }
    return total;
}

static int64_t check_documents(struct transaction *transaction, const struct scope *scope)
{
    int64_t rows = 0;
    bool more = true;
    for (int64_t after = 0; more;) {
        AUTO_ARENA arena = ARENA_INIT;
        struct document *documents;
        size_t count;
        const struct document_query query = {
            .after_id = after, .limit = 500, .processing_state = -1, .title_contains = STR_EMPTY};
        MUST(document_list(transaction, scope, &query, &arena, &documents, &count, &more, err));
        for (size_t i = 0; i < count; i++) {
            CHECK(documents[i].processing_state != PROCESSING_IN_PROGRESS,
                  "document %lld is still in progress", (long long)documents[i].id);
            CHECK(documents[i].processing_state != PROCESSING_FAILED, "document %lld failed: %.*s",
                  (long long)documents[i].id, STR_ARG(documents[i].processing_reason));
            rows += check_document(transaction, &documents[i]);
            after = documents[i].id;
        }
    }
    return rows;
}

/* The collection whose rows searches see now. */
static int64_t serving_id(struct instance *instance)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = NULL;
    struct collection collection;
    MUST(transaction_begin(instance_metadata(instance), TRANSACTION_READ, &transaction, err));
    MUST(collection_load_serving(transaction, DEFAULT_COLLECTION_ID, &arena, &collection, err));
    return collection.id;
}

/* False when the embedder was changed over in between. */
static bool check_rows(struct instance *instance, const struct scope *scope)
{
    const int64_t serving = serving_id(instance);
    struct transaction *transaction;
    struct selection *selection;
    MUST(transaction_begin(instance_metadata(instance), TRANSACTION_READ, &transaction, err));
    const int64_t rows = check_documents(transaction, scope);
    transaction_rollback(transaction);
    MUST(vector_store_select(instance_vectors(instance), serving, scope, NULL, &selection, err));
    const uint64_t count = selection->count;
    selection_free(selection);
    if (serving_id(instance) != serving)
        return false;
    CHECK(count == (uint64_t)rows, "the index has %llu rows, the records have %lld",
          (unsigned long long)count, (long long)rows);
    return true;
}

static void check_index(struct instance *instance, const struct scope *scope)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct instance_finding *findings;
    size_t count;
    while (!check_rows(instance, scope))
        ;
    MUST(instance_verify(instance, false, NULL, &arena, &findings, &count, err));
    CHECK(count == 0, "verify: %s: %s", findings[0].place, findings[0].problem);
}

static size_t count_waiting(struct instance *instance, const struct scope *scope)
{
    static const int states[] = {PROCESSING_PENDING, PROCESSING_IN_PROGRESS};
    AUTO_ARENA arena = ARENA_INIT;
    struct transaction *transaction;
    size_t waiting = 0;
    MUST(transaction_begin(instance_metadata(instance), TRANSACTION_READ, &transaction, err));
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        struct document *documents;
        size_t count;
        bool more;
        const struct document_query query = {.limit = 1000,
                                             .source_id = UPLOAD_SOURCE_ID,
                                             .processing_state = states[i],
                                             .title_contains = STR_EMPTY};
        MUST(document_list(transaction, scope, &query, &arena, &documents, &count, &more, err));
        waiting += count;
    }
    transaction_rollback(transaction);
    return waiting;
}

/* Uploads that waited are indexed once the directory is open again, also those whose acknowledgement did not
 * get through. */
static void finish_uploads(struct instance *instance, const struct scope *scope)
{
    const int64_t deadline = clock_monotonic_us() + 120 * SECOND_US;
    while (count_waiting(instance, scope) > 0) {
        CHECK(clock_monotonic_us() < deadline, "%zu uploads are never indexed",
              count_waiting(instance, scope));
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    MUST(instance_index_settled(instance, deadline, err));
}

static void check_what_is_left(const char *data, const char *documents, int round,
                               const struct acknowledged *acknowledged)
{
    static const int64_t workspaces[] = {DEFAULT_WORKSPACE_ID};
    const struct scope scope = {.workspaces = workspaces, .workspace_count = 1};
    struct instance_settings *settings;
    struct instance *instance = open_instance(data, round, &settings);
    int64_t source_id;
    MUST(ingest_source(instance_ingest(instance), "folder", documents, NULL, &source_id, err));
    struct transaction *transaction;
    MUST(transaction_begin(instance_metadata(instance), TRANSACTION_READ, &transaction, err));
    check_uploads(transaction, acknowledged);
    check_ledger(transaction, acknowledged, source_id);
    transaction_rollback(transaction);
    finish_uploads(instance, &scope);
    check_index(instance, &scope);
    instance_close(instance);
    instance_settings_free(settings);
}

/* ---- rounds
 * ------------------------------------------------------------------------------------------------ */

/* Starts this program again as the child; its words come through *ret_pipe. */
static pid_t start_child(const char *program, const char *data, const char *documents, const char *round,
                         int *ret_pipe)
{
    int ends[2];
    CHECK(pipe2(ends, O_CLOEXEC) == 0, "pipe: %s", strerror(errno));
    const pid_t child = fork();
    CHECK(child >= 0, "fork: %s", strerror(errno));
    if (child == 0) {
        setpgid(0, 0);
        dup2(ends[1], STDOUT_FILENO);
        execl(program, program, "--child", data, documents, round, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    *ret_pipe = ends[0];
    return child;
}

static void run_round(const char *program, const char *data, const char *documents, int round)
{
    char name[16];
    int end_of_pipe;
    struct acknowledged acknowledged;
    snprintf(name, sizeof name, "%d", round);
    const pid_t child = start_child(program, data, documents, name, &end_of_pipe);
    /* Squared, so that many kills come early, while the directory is being opened. */
    const double part = random_below(10000) / 10000.0;
    const int64_t wait_us = (int64_t)(part * part * LONGEST_US) + 1;
    nanosleep(&(struct timespec){.tv_nsec = wait_us * 1000}, NULL);
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    AUTO_BUFFER text = BUFFER(16 * 1024 * 1024);
    MUST(file_read_fd(end_of_pipe, &text, err));
    close(end_of_pipe);
    int status;
    CHECK(waitpid(child, &status, 0) == child, "waitpid: %s", strerror(errno));
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "the child failed with %d", WEXITSTATUS(status));
    read_acknowledged(buffer_str(&text), &acknowledged);
    check_what_is_left(data, documents, round, &acknowledged);
    printf("ok %d - killed after %lld ms: %lld documents, %zu uploads acknowledged%s\n", round,
           (long long)(wait_us / 1000), (long long)acknowledged.settled, acknowledged.upload_count,
           acknowledged.finished ? ", had finished" : "");
    fflush(stdout);
}

int main(int argc, char *argv[])
{
    if (argc == 5 && strcmp(argv[1], "--child") == 0)
        return run_child(argv[2], argv[3], argv[4]);
    const int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;
    random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    char root[] = "/tmp/ibid-kill-XXXXXX";
    CHECK(rounds > 0 && mkdtemp(root), "usage: kill ROUNDS [SEED]");
    AUTO_FREE char *data = path_join(root, "data"), *documents = path_join(root, "documents");
    MUST(folder_make(documents, err));
    printf("1..%d\n", rounds);
    for (int round = 1; round <= rounds; round++) {
        change_folder(documents, (uint32_t)round - 1);
        run_round("/proc/self/exe", data, documents, round);
    }
    MUST(folder_remove(root, err));
    return 0;
}
