#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/thread.h"
#include "cli/command.h"

enum {
    BATCH_LINES = 128, /* so that progress and Ctrl-C come soon */
    BATCH_BYTES = 4 * 1024 * 1024,
    LINE_LIMIT = 1024 * 1024, /* bytes */
    WORKERS_LIMIT = 64,
};

struct embed_options {
    const char *lines, *output;
    bool query;
};

/* What the model is: the answer for no texts. */
struct model {
    size_t dimension;
    size_t workers;
};

static ibid_code ask_model(struct invocation *invocation, struct model *ret, json_t **ret_answer,
                           ibid_error *err)
{
    AUTO_JSON *body = json_object();
    TRY(door_call(invocation->door, "POST", "/api/v1/embed", body, ret_answer, err));
    const int64_t concurrency = member_int(*ret_answer, "concurrency");
    *ret = (struct model){
        .dimension = (size_t)member_int(*ret_answer, "dimension"),
        .workers = concurrency < 1               ? 1
                   : concurrency > WORKERS_LIMIT ? WORKERS_LIMIT
                                                 : (size_t)concurrency,
    };
    return IBID_OK;
}

static json_t *request_body(const struct invocation *invocation, json_t *take_texts, bool base64)
{
    const struct embed_options *options = invocation->parameters;
    json_t *body = json_object();
    json_set(body, "texts", take_texts);
    json_set_string(body, "purpose", options->query ? "query" : "passage");
    json_set_string(body, "encoding", base64 ? "base64" : "float");
    return body;
}

/* ---- a few texts, to look at ---- */

static void print_vectors(const json_t *answer)
{
    const json_t *vectors = json_object_get(answer, "vectors");
    for (size_t i = 0; i < json_array_size(vectors); i++) {
        const json_t *vector = json_array_get(vectors, i);
        for (size_t j = 0; j < json_array_size(vector); j++)
            printf("%s%.7g", j > 0 ? " " : "", json_number_value(json_array_get(vector, j)));
        putchar('\n');
    }
}

static ibid_code embed_arguments(struct invocation *invocation, ibid_error *err)
{
    json_t *texts = json_array();
    for (size_t i = 0; i < invocation->argument_count; i++)
        json_append_str(texts, str_from(invocation->arguments[i]));
    AUTO_JSON *body = request_body(invocation, texts, false), *answer = NULL;
    TRY(door_call(invocation->door, "POST", "/api/v1/embed", body, &answer, err));
    if (invocation->global.json)
        print_json(answer);
    else
        print_vectors(answer);
    return IBID_OK;
}

/* ---- a file of lines, by several workers ---- */

struct job {
    struct invocation *invocation;
    struct model model;
    int output;

    pthread_mutex_t lock; /* of what follows */
    struct str rest;      /* lines not taken yet */
    size_t taken, done;   /* lines */
    size_t done_bytes;
    unsigned working; /* workers */
    ibid_code code;   /* of the first failure */
    ibid_error error;
};

struct batch {
    size_t first, count;
    size_t bytes; /* of the lines and their ends */
    struct str lines[BATCH_LINES];
};

/* The next lines in order; false when there are none. A line end closes a line, so that "a\n" is one line. */
static bool take_batch(struct job *job, struct batch *batch)
{
    pthread_mutex_lock(&job->lock);
    batch->first = job->taken;
    batch->count = batch->bytes = 0;
    while (job->code == IBID_OK && job->rest.size > 0 && batch->count < BATCH_LINES &&
           batch->bytes < BATCH_BYTES) {
        const size_t end = str_find(job->rest, '\n');
        struct str line = str_slice(job->rest, 0, end);
        if (str_ends_with(line, "\r"))
            line.size--;
        batch->bytes += end + 1;
        batch->lines[batch->count++] = line;
        job->rest = str_slice(job->rest, end + 1, job->rest.size);
    }
    job->taken += batch->count;
    pthread_mutex_unlock(&job->lock);
    return batch->count > 0;
}

static ibid_code write_rows(const struct job *job, const struct batch *batch, const float *rows,
                            ibid_error *err)
{
    const size_t row_size = job->model.dimension * sizeof *rows, size = batch->count * row_size;
    for (size_t written = 0; written < size;) {
        const ssize_t count = pwrite(job->output, (const char *)rows + written, size - written,
                                     (off_t)(batch->first * row_size + written));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return fail_errno(err, errno, "cannot write the vectors");
        written += (size_t)count;
    }
    return IBID_OK;
}

static ibid_code decode(const struct job *job, const json_t *answer, const struct batch *batch, float *rows,
                        ibid_error *err)
{
    const json_t *vectors = json_object_get(answer, "vectors");
    const size_t row_size = job->model.dimension * sizeof *rows;
    bool right = json_array_size(vectors) == batch->count;
    for (size_t i = 0; right && i < batch->count; i++) {
        const json_t *text = json_array_get(vectors, i);
        size_t size = 0;
        right = json_is_string(text) &&
                sodium_base642bin((unsigned char *)rows + i * row_size, row_size, json_string_value(text),
                                  json_string_length(text), NULL, &size, NULL,
                                  sodium_base64_VARIANT_ORIGINAL) == 0 &&
                size == row_size;
    }
    return right ? IBID_OK
                 : fail(err, IBID_EUPSTREAM, "the model's answer does not have the vectors asked for");
}

static ibid_code embed_batch(struct job *job, const struct batch *batch, float *rows, ibid_error *err)
{
    json_t *texts = json_array();
    for (size_t i = 0; i < batch->count; i++) {
        json_t *text = batch->lines[i].size <= LINE_LIMIT
                           ? json_stringn(batch->lines[i].data, batch->lines[i].size)
                           : NULL;
        if (!text) {
            json_decref(texts);
            return fail(err, IBID_EFORMAT, "line %zu is no valid UTF-8 text of at most %d bytes",
                        batch->first + i + 1, LINE_LIMIT);
        }
        json_array_append_new(texts, text);
    }
    AUTO_JSON *body = request_body(job->invocation, texts, true), *answer = NULL;
    TRY(door_call(job->invocation->door, "POST", "/api/v1/embed", body, &answer, err));
    TRY(decode(job, answer, batch, rows, err));
    return write_rows(job, batch, rows, err);
}

static void *work(void *argument)
{
    struct job *job = argument;
    struct batch *batch = xcalloc(1, sizeof *batch);
    float *rows = xcalloc(BATCH_LINES * job->model.dimension, sizeof *rows);
    while (!atomic_load(job->invocation->cancel) && take_batch(job, batch)) {
        ibid_error error = {0};
        const ibid_code code = embed_batch(job, batch, rows, &error);
        pthread_mutex_lock(&job->lock);
        job->done += batch->count;
        job->done_bytes += batch->bytes;
        if (code != IBID_OK && job->code == IBID_OK) {
            job->code = code;
            job->error = error;
        }
        pthread_mutex_unlock(&job->lock);
    }
    free(rows);
    free(batch);
    pthread_mutex_lock(&job->lock);
    job->working--;
    pthread_mutex_unlock(&job->lock);
    return NULL;
}

/* How far the workers are; false when all have ended. */
static bool read_progress(struct job *job, size_t total_bytes, int64_t started, struct progress_state *ret)
{
    const double spent = (double)(clock_monotonic_us() - started) / (double)SECOND_US;
    pthread_mutex_lock(&job->lock);
    const double lines = (double)job->done, share = (double)job->done_bytes / (double)total_bytes;
    const bool working = job->working > 0;
    pthread_mutex_unlock(&job->lock);
    /* How many lines there are is known from their length so far. */
    *ret = (struct progress_state){
        .what = "lines",
        .done = lines,
        .total = share > 0 ? lines / share : 0,
        .per_second = spent > 1 ? lines / spent : (double)NAN,
        .seconds_left = share > 0 && spent > 1 ? spent / share * (1 - share) : (double)NAN,
    };
    return working;
}

static void follow(struct job *job, size_t total_bytes, int64_t started)
{
    enum { LOOK_MS = 100 };
    const struct global_options *global = &job->invocation->global;
    struct progress progress = {.terminal = &job->invocation->terminal,
                                .quiet = global->quiet || global->json};
    struct progress_state state;
    while (read_progress(job, total_bytes, started, &state)) {
        progress_show(&progress, &state);
        nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
    }
    progress_clear(&progress);
}

static ibid_code finish(struct job *job, int64_t started, ibid_error *err)
{
    const double seconds = (double)(clock_monotonic_us() - started) / (double)SECOND_US;
    char count[32];
    if (job->code != IBID_OK) {
        if (err)
            *err = job->error;
        return job->code;
    }
    if (atomic_load(job->invocation->cancel))
        return fail(err, IBID_ECANCELED, "stopped");
    if (job->invocation->global.json) {
        AUTO_JSON *answer = json_object();
        json_set_int(answer, "rows", (int64_t)job->done);
        json_set_int(answer, "dimension", (int64_t)job->model.dimension);
        json_set_real(answer, "seconds", seconds);
        print_json(answer);
    } else if (!job->invocation->global.quiet) {
        printf("%s rows of %zu floats in %.2f s (%.0f a second)\n", format_count((int64_t)job->done, count),
               job->model.dimension, seconds, seconds > 0 ? (double)job->done / seconds : 0.0);
    }
    return IBID_OK;
}

static ibid_code embed_lines(struct invocation *invocation, struct str text, int output, ibid_error *err)
{
    AUTO_JSON *answer = NULL;
    struct job job = {.invocation = invocation, .output = output, .rest = text};
    TRY(ask_model(invocation, &job.model, &answer, err));
    job.working = (unsigned)job.model.workers;
    const int64_t started = clock_monotonic_us();
    pthread_t threads[WORKERS_LIMIT];
    pthread_mutex_init(&job.lock, NULL);
    for (size_t i = 0; i < job.model.workers; i++)
        thread_start(&threads[i], "embed", work, &job);
    follow(&job, text.size, started);
    for (size_t i = 0; i < job.model.workers; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&job.lock);
    return finish(&job, started, err);
}

static ibid_code embed_file(struct invocation *invocation, ibid_error *err)
{
    const struct embed_options *options = invocation->parameters;
    struct file_map map;
    struct stat status, lines = {0};
    if (!options->output)
        return fail(err, IBID_EINVAL, "--lines needs --output FILE for the vectors");
    if (stat(options->lines, &lines) == 0 && stat(options->output, &status) == 0 &&
        lines.st_dev == status.st_dev && lines.st_ino == status.st_ino)
        return fail(err, IBID_EINVAL, "%s would be overwritten: --output needs another file", options->lines);
    if (S_ISDIR(lines.st_mode))
        return fail(err, IBID_EINVAL, "%s is a folder: --lines takes a file", options->lines);
    TRY(file_map_open(options->lines, &map, err));
    const int output = open(options->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    ibid_code code;
    if (output < 0)
        code = fail_errno(err, errno, "cannot create %s", options->output);
    else
        code = embed_lines(invocation, (struct str){map.data ? map.data : "", map.size}, output, err);
    const bool is_file = output >= 0 && fstat(output, &status) == 0 && S_ISREG(status.st_mode);
    if (output >= 0 && close(output) != 0 && code == IBID_OK)
        code = fail_errno(err, errno, "cannot write %s", options->output);
    if (is_file && code != IBID_OK) /* rows are missing in it that nobody could tell */
        unlink(options->output);
    file_map_close(&map);
    return code;
}

static ibid_code run_embed(struct invocation *invocation, ibid_error *err)
{
    const struct embed_options *options = invocation->parameters;
    if (options->lines && invocation->argument_count > 0)
        return fail(err, IBID_EINVAL, "give either texts or --lines");
    if (options->lines)
        return embed_file(invocation, err);
    if (invocation->argument_count == 0)
        return fail(err, IBID_EINVAL,
                    "what is to be embedded? (ibid embed TEXT, or --lines FILE --output FILE)");
    return embed_arguments(invocation, err);
}

static const struct option embed_table[] = {
    {.name = "lines",
     .type = OPTION_PATH,
     .offset = offsetof(struct embed_options, lines),
     .placeholder = "FILE",
     .help = "Embed each line of FILE (UTF-8; an empty line, too)."},
    {.name = "output",
     .letter = 'o',
     .type = OPTION_PATH,
     .offset = offsetof(struct embed_options, output),
     .placeholder = "FILE",
     .help = "Where --lines writes the vectors: rows of little-endian 32-bit floats, nothing else."},
    {.name = "query",
     .type = OPTION_BOOL,
     .offset = offsetof(struct embed_options, query),
     .help = "As queries instead of passages, for models that tell them apart."},
    OPTION_END,
};

const struct command command_embed = {
    .name = "embed",
    .arguments = "[TEXT...]",
    .argument_max = 4096,
    .summary = "Turn texts into vectors",
    .text = "Prints the vector of each TEXT, one a line, or writes those of a file's lines as raw floats. "
            "Ctrl-C stops it; a file of vectors that is not whole is removed.",
    .examples = "ibid embed \"a sentence\"\n"
                "ibid embed --lines sentences.txt --output vectors.f32",
    .parameters = embed_table,
    .parameters_size = sizeof(struct embed_options),
    .run = run_embed,
};
