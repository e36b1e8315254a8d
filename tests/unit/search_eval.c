#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "search/eval.h"

struct fixture {
    char folder[64];
    struct arena arena;
    struct search_settings settings;
    struct embedder *embedder;
    size_t calls, last_done, last_total; /* of progress */
};

static int set_up(void **state)
{
    struct fixture *fixture = xcalloc(1, sizeof *fixture);
    snprintf(fixture->folder, sizeof fixture->folder, "/tmp/ibid-eval-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    option_set_defaults(search_section.table, &fixture->settings, &fixture->arena);
    const struct embedder_ops *hash = embedder_find("hash");
    void *options = arena_alloc(&fixture->arena, hash->options_size + 1);
    option_set_defaults(hash->options, options, &fixture->arena);
    assert_ok(embedder_open(hash, NULL, options, &fixture->embedder, err));
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    assert_ok(folder_remove(fixture->folder, err));
    embedder_close(fixture->embedder);
    arena_release(&fixture->arena);
    free(fixture);
    return 0;
}

static void put_bytes(struct fixture *fixture, const char *name, const char *data, size_t size)
{
    AUTO_FREE char *path = path_join(fixture->folder, name);
    assert_ok(file_write_atomically(path, data, size, 0600, err));
}

static void put(struct fixture *fixture, const char *name, const char *text)
{
    put_bytes(fixture, name, text, strlen(text));
}

static void put_sound_collection(struct fixture *fixture)
{
    put(fixture, "corpus.jsonl",
        "{\"_id\": \"d1\", \"title\": \"\", \"text\": \"apple banana\"}\n"
        "{\"_id\": \"d2\", \"text\": \"apple\"}\n\n"
        "{\"_id\": \"d3\", \"title\": \"Cherries\", \"text\": \"are stone fruit\", \"metadata\": {}}\r\n");
    put(fixture, "queries.jsonl",
        "{\"_id\": \"q1\", \"text\": \"cherry\"}\n"
        "{\"_id\": \"q2\", \"text\": \"apple\"}\n"
        "{\"_id\": \"q3\", \"text\": \"nobody judged this\"}\n"
        "{\"_id\": \"q4\", \"text\": \"apple cherry\"}\n");
    put(fixture, "qrels.tsv",
        "query-id\tcorpus-id\tscore\n"
        "q1\td3\t1\n"
        "q2\td2\t7\nq2\td2\t0\n" /* judged anew: no longer relevant */
        "q2\td1\t1\n"
        "q3\td1\t0\n"
        "q4\td3\t2\nq4\td2\t1\nq4\tlost\t1\n"
        "unknown\td1\t1\n");
}

static struct eval_options options_of(struct fixture *fixture)
{
    return (struct eval_options){.settings = &fixture->settings, .threads = 2};
}

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) < 1e-9))
        fail_msg("%.12f is not %.12f", a, b);
}

static void measures_as_by_hand(void **state)
{
    struct fixture *fixture = *state;
    put_sound_collection(fixture);
    struct eval_options options = options_of(fixture);
    struct eval_report report;
    assert_ok(eval_run(fixture->folder, &options, &report, err));
    assert_int_equal(report.documents, 3);
    assert_int_equal(report.queries, 3);
    assert_int_equal(report.skipped_queries, 1);
    assert_false(report.has_vector);
    /* q1: d3 alone. q2: d2 (shorter) before d1, which is the relevant one. q4: "cherry" is rarer than
     * "apple", so d3 d2 d1; ideal is 2, 1, 1 (one of them is not in the corpus). */
    const double second = 1 / log2(3), third = 1 / log2(4);
    const double q4 = (2 + second) / (2 + second + third);
    assert_near(report.keyword.ndcg10, (1 + second + q4) / 3);
    assert_near(report.keyword.recall100, (1 + 1 + 2.0 / 3) / 3);
    assert_near(report.keyword.mrr10, (1 + 0.5 + 1) / 3);
    assert_near(report.hybrid.ndcg10, 0);
}

static void count_progress(const char *stage, size_t done, size_t total, void *context)
{
    struct fixture *fixture = context;
    fixture->calls++;
    fixture->last_done = done;
    fixture->last_total = total;
}

static void measures_three_ways_with_an_embedder(void **state)
{
    struct fixture *fixture = *state;
    put_sound_collection(fixture);
    struct eval_options options = options_of(fixture);
    options.embedder = fixture->embedder;
    options.progress = count_progress;
    options.progress_context = fixture;
    struct eval_report report;
    assert_ok(eval_run(fixture->folder, &options, &report, err));
    assert_true(report.has_vector);
    assert_true(report.vector.ndcg10 > 0.5 && report.vector.ndcg10 <= 1);
    assert_true(report.hybrid.ndcg10 > 0.5 && report.hybrid.ndcg10 <= 1);
    assert_near(report.vector.recall100, (1 + 1 + 2.0 / 3) / 3); /* every document is among the nearest 100 */
    assert_true(fixture->calls >= 4 + 1);
    assert_int_equal(fixture->last_done, fixture->last_total);
}

static void can_be_canceled(void **state)
{
    struct fixture *fixture = *state;
    put_sound_collection(fixture);
    const _Atomic bool cancel = true;
    struct eval_options options = options_of(fixture);
    options.cancel = &cancel;
    options.embedder = fixture->embedder;
    struct eval_report report;
    assert_int_equal(eval_run(fixture->folder, &options, &report, NULL), IBID_ECANCELED);
}

static void finds_the_split_of_beir(void **state)
{
    struct fixture *fixture = *state;
    put_sound_collection(fixture);
    AUTO_FREE char *from = path_join(fixture->folder, "qrels.tsv"),
                   *folder = path_join(fixture->folder, "qrels");
    AUTO_FREE char *to = path_join(folder, "test.tsv");
    assert_ok(folder_make(folder, err));
    assert_int_equal(rename(from, to), 0);
    struct eval_options options = options_of(fixture);
    struct eval_report report;
    assert_ok(eval_run(fixture->folder, &options, &report, err));
    assert_int_equal(report.queries, 3);
}

static void names_what_is_wrong(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *file, *text;
        ibid_code code;
        const char *message;
    } cases[] = {
        {"corpus.jsonl", "", IBID_EFORMAT, "corpus.jsonl is empty"},
        {"corpus.jsonl", "{\"_id\": \"a\", \"text\": \"x\"}\n{\n", IBID_EFORMAT, "line 2: not valid JSON"},
        {"corpus.jsonl", "[1]\n", IBID_EFORMAT, "line 1: not a JSON object"},
        {"corpus.jsonl", "{\"_id\": 5, \"text\": \"x\"}\n", IBID_EFORMAT, "line 1: '_id' is to be a string"},
        {"corpus.jsonl", "{\"text\": \"x\"}\n", IBID_EFORMAT, "line 1: has no \"_id\""},
        {"corpus.jsonl", "{\"_id\": \"a\"}\n", IBID_EFORMAT, "line 1: has no \"text\""},
        {"corpus.jsonl", "{\"_id\": \"a\", \"text\": \"\xff\"}\n", IBID_EFORMAT, "line 1: not valid JSON"},
        {"corpus.jsonl", "{\"_id\": \"a\", \"text\": \"\"}\n{\"_id\": \"a\", \"text\": \"\"}\n", IBID_EFORMAT,
         "two documents have the _id 'a'"},
        {"queries.jsonl", "{\"_id\": \"a\", \"title\": 1, \"text\": \"\"}\n", IBID_EFORMAT, "'title'"},
        {"qrels.tsv", "query-id\tcorpus-id\tscore\nq1\td1\n", IBID_EFORMAT, "line 2: not three columns"},
        {"qrels.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\tx\n", IBID_EFORMAT,
         "line 2: not three columns"},
        {"qrels.tsv", "query-id\tcorpus-id\tscore\nq1\td1\tone\n", IBID_EFORMAT,
         "line 2: the score is no whole"},
        {"qrels.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t5000\n", IBID_EFORMAT, "from -1000 to 1000"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        put_sound_collection(fixture);
        put(fixture, cases[i].file, cases[i].text);
        struct eval_options options = options_of(fixture);
        struct eval_report report;
        ibid_error error = {0};
        assert_int_equal(eval_run(fixture->folder, &options, &report, &error), cases[i].code);
        if (!strstr(error.message, cases[i].message))
            fail_msg("'%s' lacks '%s'", error.message, cases[i].message);
    }
}

static void a_missing_file_is_not_found(void **state)
{
    struct fixture *fixture = *state;
    static const char *const names[] = {"corpus.jsonl", "queries.jsonl", "qrels.tsv"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        put_sound_collection(fixture);
        AUTO_FREE char *path = path_join(fixture->folder, names[i]);
        assert_int_equal(unlink(path), 0);
        struct eval_options options = options_of(fixture);
        struct eval_report report;
        ibid_error error = {0};
        assert_int_equal(eval_run(fixture->folder, &options, &report, &error), IBID_ENOTFOUND);
        assert_non_null(strstr(error.message, names[i]));
    }
}

static void a_line_has_a_ceiling(void **state)
{
    struct fixture *fixture = *state;
    put_sound_collection(fixture);
    AUTO_FREE char *line = xmalloc(EVAL_LINE_LIMIT + 2);
    memset(line, 'x', EVAL_LINE_LIMIT + 1);
    line[EVAL_LINE_LIMIT + 1] = '\n';
    put_bytes(fixture, "queries.jsonl", line, EVAL_LINE_LIMIT + 2);
    struct eval_options options = options_of(fixture);
    struct eval_report report;
    ibid_error error = {0};
    assert_int_equal(eval_run(fixture->folder, &options, &report, &error), IBID_ETOOBIG);
    assert_non_null(strstr(error.message, "line 1"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(measures_as_by_hand),  TEST(measures_three_ways_with_an_embedder),
        TEST(can_be_canceled),      TEST(finds_the_split_of_beir),
        TEST(names_what_is_wrong),  TEST(a_missing_file_is_not_found),
        TEST(a_line_has_a_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
