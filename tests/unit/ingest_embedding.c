/* An embedder that fails: what is embedded again, what waits, what a later run makes good. */
#include "tests/test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "tests/ingest_host.h"

enum { DIMENSION = 64 };

/* ---- an embedder under the test's thumb ---- */

static _Atomic int outages;     /* so many calls from now on fail as if nobody answered */
static _Atomic bool picky;      /* a text with the word "poison" is refused, and its whole batch with it */
static _Atomic int texts_taken; /* that got a vector */

static ibid_code embed(struct embedder *embedder, enum embed_purpose purpose, const struct str *texts,
                       size_t count, float *out, ibid_error *err)
{
    if (atomic_load(&outages) > 0) {
        atomic_fetch_sub(&outages, 1);
        return fail(err, IBID_EUNAVAILABLE, "nobody answers");
    }
    for (size_t i = 0; i < count; i++)
        if (atomic_load(&picky) && memmem(texts[i].data, texts[i].size, "poison", 6))
            return fail(err, IBID_EINVAL, "the text is refused");
    memset(out, 0, count * DIMENSION * sizeof *out);
    for (size_t i = 0; i < count; i++)
        out[i * DIMENSION + texts[i].size % DIMENSION] = 1;
    atomic_fetch_add(&texts_taken, (int)count);
    return IBID_OK;
}

static size_t count_words(const struct token_counter *self, struct str text)
{
    size_t words = 0;
    struct str rest = text, word;
    while (str_split(&rest, ' ', &word))
        words += word.size > 0;
    return words;
}

static const char *const any_language[] = {"*", NULL};
static const struct embedder_ops fake_ops = {.name = "fake", .embed = embed};
static struct embedder fake = {
    .ops = &fake_ops,
    .info = {.id = "fake/1@1",
             .precision = "f32",
             .fingerprint = "fake/1@1;f32",
             .dimension = DIMENSION,
             .max_tokens = 256,
             .languages = any_language,
             .similarity_floor = 0,
             .similarity_ceiling = 1,
             .batch_size = 8,
             .concurrency = 2},
    .token_counter = {.count = count_words, .special_tokens = 2, .max_tokens = 256},
};

/* ---- an ingest with that embedder ---- */

struct bench {
    struct test_ingest base;
    char *documents;
    int64_t source_id;
};

static int open_bench(void **state)
{
    struct bench *bench = xcalloc(1, sizeof *bench);
    test_ingest_make(&bench->base);
    bench->base.embedder = &fake;
    test_ingest_start(&bench->base);
    bench->documents = path_join(bench->base.root, "documents");
    assert_ok(folder_make(bench->documents, err));
    assert_ok(ingest_source(bench->base.ingest, "folder", bench->documents, NULL, &bench->source_id, err));
    *state = bench;
    return 0;
}

static int close_bench(void **state)
{
    struct bench *bench = *state;
    test_ingest_release(&bench->base);
    free(bench->documents);
    free(bench);
    return 0;
}

static void write_documents(struct bench *bench, int count, int poisoned)
{
    for (int i = 0; i < count; i++) {
        char name[32], text[128];
        snprintf(name, sizeof name, "%d.txt", i);
        snprintf(text, sizeof text, "Document number %d has %s in its only sentence.\n", i,
                 i == poisoned ? "poison" : "nothing but words");
        AUTO_FREE char *path = path_join(bench->documents, name);
        assert_ok(file_write_atomically(path, text, strlen(text), 0600, err));
    }
}

static struct ingest_status run(struct bench *bench)
{
    return test_ingest_run(&bench->base, bench->source_id);
}

static void an_outage_is_waited_for(void **state)
{
    struct bench *bench = *state;
    write_documents(bench, 10, -1);
    atomic_store(&outages, 1);
    const struct ingest_status status = run(bench);
    assert_int_equal(status.progress.indexed, 10);
    assert_int_equal(status.embedded, 10);
    assert_int_equal(status.pending, 0);
    assert_int_equal(test_ingest_pending_rows(&bench->base), 0);
}

static void a_refused_text_does_not_hold_up_the_others(void **state)
{
    struct bench *bench = *state;
    write_documents(bench, 20, 7);
    atomic_store(&picky, true);
    struct ingest_status status = run(bench);
    assert_int_equal(status.progress.indexed, 20);
    assert_int_equal(status.progress.failed, 0);
    assert_int_equal(status.embedded, 19);
    assert_int_equal(test_ingest_pending_rows(&bench->base), 1);
    atomic_store(&picky, false);
    status = run(bench); /* nothing has changed, but that text is taken now */
    assert_int_equal(status.progress.unchanged, 20);
    assert_int_equal(status.embedded, 1);
    assert_int_equal(test_ingest_pending_rows(&bench->base), 0);
}

static void no_text_is_embedded_twice(void **state)
{
    struct bench *bench = *state;
    write_documents(bench, 10, -1);
    atomic_store(&texts_taken, 0);
    run(bench);
    assert_int_equal(texts_taken, 10);
    const char *const copies[] = {"copies/3.txt",
                                  "more/3.txt"} /* its name is its title, which is embedded, too */;
    const char *text = "Document number 3 has nothing but words in its only sentence.\n";
    for (size_t i = 0; i < COUNT_OF(copies); i++) {
        AUTO_FREE char *path = path_join(bench->documents, copies[i]);
        AUTO_FREE char *folder = xmemdup0(path, strlen(path) - strlen("/3.txt"));
        assert_ok(folder_make(folder, err));
        assert_ok(file_write_atomically(path, text, strlen(text), 0600, err));
    }
    const struct ingest_status status = run(bench);
    assert_int_equal(status.progress.indexed, 2);
    assert_int_equal(status.reused, 2);
    assert_int_equal(texts_taken, 10);
}

static _Atomic int waits, looks; /* for the index, and whether to stop that */

/* Takes longer than any round of a follower that gives way. */
static ibid_code settle_slowly(struct ingest_host *host, const struct watch *watch, ibid_error *error)
{
    atomic_fetch_add(&waits, 1);
    for (int i = 0; i < 50; i++) {
        atomic_fetch_add(&looks, 1);
        if (watch_stopped(watch))
            return fail(error, IBID_ECANCELED, "stopped");
        usleep(10000);
    }
    return test_ingest_settled(host, watch, error);
}

/* One that asked anew from time to time would come after every round that has begun meanwhile. */
static void a_changed_embedder_waits_for_the_index_once(void **state)
{
    struct bench *bench = *state;
    struct embedder other = fake;
    other.info.id = "fake/2@1";
    other.info.fingerprint = "fake/2@1;f32";
    bench->base.host.settled = settle_slowly;
    write_documents(bench, 3, -1);
    run(bench);
    assert_int_equal(waits, 0);
    bench->base.embedder = &other;
    const struct ingest_status status = run(bench);
    assert_int_equal(status.backlog_done, 3);
    assert_int_equal(waits, 1);

    bench->base.embedder = &fake;
    const struct ingest_request request = {.source_ids = &bench->source_id, .source_count = 1};
    const int before = looks;
    int64_t run_id;
    assert_ok(ingest_start(bench->base.ingest, &request, &run_id, err));
    while (looks == before)
        usleep(1000);
    ingest_cancel(bench->base.ingest);
    assert_true(ingest_wait(bench->base.ingest, clock_monotonic_us() + 120 * SECOND_US));
    assert_int_equal(waits, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_outage_is_waited_for, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_refused_text_does_not_hold_up_the_others, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(no_text_is_embedded_twice, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_changed_embedder_waits_for_the_index_once, open_bench, close_bench),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
