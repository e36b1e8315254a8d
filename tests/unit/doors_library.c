/* libibid as a program sees it: the public header and nothing else of ibid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ibid/ibid.h>

#define assert_done(call)                                  \
    do {                                                   \
        ibid_error error = {0};                            \
        if ((call) != IBID_OK) {                           \
            print_error("%s: %s\n", #call, error.message); \
            fail();                                        \
        }                                                  \
    } while (0)

struct fixture {
    char root[64], data[96], docs[96];
    ibid_index *index;
};

static void write_document(const struct fixture *fixture, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", fixture->docs, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int start(void **state)
{
    static const char *const settings[] = {"embedder.provider=hash", NULL};
    struct fixture *fixture = calloc(1, sizeof *fixture);
    snprintf(fixture->root, sizeof fixture->root, "/tmp/ibid-library-XXXXXX");
    if (!mkdtemp(fixture->root))
        return 1;
    snprintf(fixture->data, sizeof fixture->data, "%s/data", fixture->root);
    snprintf(fixture->docs, sizeof fixture->docs, "%s/docs", fixture->root);
    mkdir(fixture->docs, 0700);
    write_document(fixture, "kraken.md", "# The kraken\n\nThe kraken sleeps deep under the sea.\n");
    write_document(fixture, "walrus.md", "# The walrus\n\nThe walrus walked along the beach.\n");
    ibid_open_options options = IBID_OPEN_OPTIONS_INIT;
    options.folder = fixture->data;
    options.settings = settings;
    assert_done(ibid_open(&options, &fixture->index, &error));
    *state = fixture;
    return 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    return remove(path);
}

static int stop(void **state)
{
    struct fixture *fixture = *state;
    ibid_close(fixture->index);
    nftw(fixture->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(fixture);
    return 0;
}

static void index_documents(const struct fixture *fixture, ibid_index_report *report)
{
    const char *const paths[] = {fixture->docs};
    assert_done(ibid_index_paths(fixture->index, paths, 1, NULL, report, &error));
}

static void wrong_settings_are_named(void **state)
{
    static const char *const settings[] = {"server.prot=1", NULL}, *const no_value[] = {"server.port", NULL};
    ibid_open_options options = IBID_OPEN_OPTIONS_INIT;
    ibid_index *index = NULL;
    ibid_error error;
    options.folder = "/nowhere";
    options.settings = settings;
    assert_int_equal(ibid_open(&options, &index, &error), IBID_EINVAL);
    assert_non_null(strstr(error.message, "prot"));
    options.settings = no_value;
    assert_int_equal(ibid_open(&options, &index, NULL), IBID_EINVAL);
    assert_null(index);
    ibid_close(NULL);
    assert_string_equal(ibid_code_string(IBID_ENOTFOUND), "not_found");
}

static void documents_are_indexed_and_found(void **state)
{
    struct fixture *fixture = *state;
    ibid_results *results;
    ibid_index_report report;
    ibid_error why;
    assert_int_equal(ibid_search(fixture->index, "kraken", NULL, &results, &why), IBID_ENOTFOUND);
    index_documents(fixture, &report);
    assert_true(report.indexed == 2 && report.failed == 0 && report.chunks == 2);
    index_documents(fixture, &report);
    assert_true(report.indexed == 0 && report.unchanged == 2);

    assert_done(ibid_search(fixture->index, "where does the kraken sleep", NULL, &results, &error));
    assert_true(ibid_results_count(results) >= 1);
    const ibid_hit *hit = ibid_results_hit(results, 0);
    assert_string_equal(hit->path, "kraken.md");
    assert_string_equal(hit->document_title, "The kraken");
    assert_string_equal(hit->heading_path, "The kraken");
    assert_true(hit->page == 0 && hit->page_last == 0 && hit->end > hit->start && hit->score > 0);
    assert_true(hit->mark_count > 0 && hit->marks[0].end <= strlen(hit->passage));
    assert_string_equal(ibid_results_remark(results), "");
    assert_null(ibid_results_hit(results, ibid_results_count(results)));
    ibid_results_free(results);
    ibid_results_free(NULL);
}

static void options_narrow_a_search(void **state)
{
    struct fixture *fixture = *state;
    ibid_search_options options = IBID_SEARCH_OPTIONS_INIT;
    ibid_results *results;
    ibid_error why;
    index_documents(fixture, NULL);
    options.filter = "path=walrus.md";
    options.mode = IBID_KEYWORD;
    assert_done(ibid_search(fixture->index, "the", &options, &results, &error));
    assert_int_equal(ibid_results_count(results), 1);
    assert_string_equal(ibid_results_hit(results, 0)->path, "walrus.md");
    ibid_results_free(results);
    /* A program built when the struct ended before `filter`. */
    options.size = offsetof(ibid_search_options, filter);
    assert_done(ibid_search(fixture->index, "the", &options, &results, &error));
    assert_int_equal(ibid_results_count(results), 2);
    ibid_results_free(results);
    options = (ibid_search_options)IBID_SEARCH_OPTIONS_INIT;
    options.filter = "{\"page\":";
    assert_int_equal(ibid_search(fixture->index, "the", &options, &results, &why), IBID_EINVAL);
    options = (ibid_search_options)IBID_SEARCH_OPTIONS_INIT;
    options.mode = (ibid_mode)99;
    assert_int_equal(ibid_search(fixture->index, "the", &options, &results, &why), IBID_EINVAL);
}

static void documents_are_listed_and_removed(void **state)
{
    struct fixture *fixture = *state;
    ibid_list_options options = IBID_LIST_OPTIONS_INIT;
    ibid_documents *documents;
    index_documents(fixture, NULL);
    options.limit = 1;
    assert_done(ibid_documents_list(fixture->index, &options, &documents, &error));
    assert_int_equal(ibid_documents_count(documents), 1);
    char cursor[64];
    snprintf(cursor, sizeof cursor, "%s", ibid_documents_cursor(documents));
    ibid_documents_free(documents);
    options.cursor = cursor;
    assert_done(ibid_documents_list(fixture->index, &options, &documents, &error));
    assert_int_equal(ibid_documents_count(documents), 1);
    assert_null(ibid_documents_cursor(documents));
    const ibid_document *document = ibid_documents_get(documents, 0);
    assert_string_equal(document->processing_state, "completed");
    assert_true(document->size > 0 && *document->indexed_at);
    const int64_t id = document->id;
    ibid_documents_free(documents);
    assert_done(ibid_document_remove(fixture->index, id, &error));
    assert_int_equal(ibid_document_remove(fixture->index, id, NULL), IBID_ENOTFOUND);
    assert_done(ibid_documents_list(fixture->index, NULL, &documents, &error));
    assert_int_equal(ibid_documents_count(documents), 1);
    assert_null(ibid_documents_get(documents, 1));
    ibid_documents_free(documents);
}

static int stop_at_once(const ibid_progress *progress, void *context)
{
    ++*(int *)context;
    return 1;
}

static void a_run_can_be_stopped(void **state)
{
    struct fixture *fixture = *state;
    ibid_index_options options = IBID_INDEX_OPTIONS_INIT;
    const char *const paths[] = {fixture->docs};
    char name[32];
    int calls = 0;
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "%d.txt", i);
        write_document(fixture, name, "some words of a document that is one of many\n");
    }
    options.progress = stop_at_once;
    options.context = &calls;
    ibid_error why;
    const ibid_code code = ibid_index_paths(fixture->index, paths, 1, &options, NULL, &why);
    assert_true(calls == 1 ? code == IBID_ECANCELED : code == IBID_OK); /* it may have been faster */
    const char *const nowhere[] = {"/nowhere/at/all"};
    assert_int_equal(ibid_index_paths(fixture->index, nowhere, 1, NULL, NULL, &why), IBID_ENOTFOUND);
}

static void every_route_can_be_called(void **state)
{
    struct fixture *fixture = *state;
    char *body = NULL;
    ibid_error why;
    index_documents(fixture, NULL);
    assert_done(ibid_request(fixture->index, "GET", "/api/v1/status", NULL, &body, &error));
    assert_non_null(strstr(body, "\"completed\":2"));
    ibid_free(body);
    assert_int_equal(ibid_request(fixture->index, "GET", "/api/v1/nothing", NULL, &body, &why),
                     IBID_ENOTFOUND);
    assert_int_equal(ibid_request(fixture->index, "GET", "nothing", NULL, &body, &why), IBID_EINVAL);
    assert_int_equal(ibid_request(fixture->index, "POST", "/api/v1/search", "{", &body, &why), IBID_EINVAL);
}

static void another_handle_goes_through_the_first(void **state)
{
    struct fixture *fixture = *state;
    ibid_open_options options = IBID_OPEN_OPTIONS_INIT;
    ibid_index *second;
    ibid_results *results;
    index_documents(fixture, NULL);
    options.folder = fixture->data;
    assert_done(ibid_open(&options, &second, &error));
    assert_done(ibid_search(second, "walrus", NULL, &results, &error));
    assert_string_equal(ibid_results_hit(results, 0)->path, "walrus.md");
    ibid_results_free(results);
    ibid_close(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_settings_are_named),
        cmocka_unit_test_setup_teardown(documents_are_indexed_and_found, start, stop),
        cmocka_unit_test_setup_teardown(options_narrow_a_search, start, stop),
        cmocka_unit_test_setup_teardown(documents_are_listed_and_removed, start, stop),
        cmocka_unit_test_setup_teardown(a_run_can_be_stopped, start, stop),
        cmocka_unit_test_setup_teardown(every_route_can_be_called, start, stop),
        cmocka_unit_test_setup_teardown(another_handle_goes_through_the_first, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
