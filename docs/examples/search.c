/* Indexes a folder and prints the passages that answer a question.
 *
 *     cc search.c -o search $(pkg-config --cflags --libs ibid)
 *     ./search ~/notes "how are invoices approved?" */
#include <ibid/ibid.h>

#include <stdio.h>

static int show_progress(const ibid_progress *progress, void *context)
{
    fprintf(stderr, "\r%lld of %lld documents", (long long)progress->done, (long long)progress->total);
    return 0; /* anything else would stop */
}

static void print_hit(size_t number, const ibid_hit *hit)
{
    printf("%zu. %s (%.3f, %s)\n   %s", number, hit->document_title, hit->score, hit->confidence_band,
           hit->path);
    if (hit->page)
        printf(", page %u", hit->page);
    if (*hit->heading_path)
        printf(", %s", hit->heading_path);
    printf("\n   %s\n", hit->passage);
}

static ibid_code index_and_search(ibid_index *index, const char *folder, const char *question,
                                  ibid_error *error)
{
    ibid_index_options options = IBID_INDEX_OPTIONS_INIT;
    ibid_index_report report;
    ibid_results *results;
    options.progress = show_progress;
    ibid_code code = ibid_index_paths(index, &folder, 1, &options, &report, error);
    if (code != IBID_OK)
        return code;
    fprintf(stderr, "\r%lld indexed, %lld unchanged, %lld failed\n", (long long)report.indexed,
            (long long)report.unchanged, (long long)report.failed);

    code = ibid_search(index, question, NULL, &results, error);
    if (code != IBID_OK)
        return code;
    if (*ibid_results_remark(results))
        fprintf(stderr, "%s\n", ibid_results_remark(results));
    for (size_t i = 0; i < ibid_results_count(results); i++)
        print_hit(i + 1, ibid_results_hit(results, i));
    ibid_results_free(results);
    return IBID_OK;
}

int main(int argc, char *argv[])
{
    ibid_index *index;
    ibid_error error;
    if (argc != 3) {
        fprintf(stderr, "usage: %s FOLDER QUESTION\n", argv[0]);
        return 2;
    }
    ibid_code code = ibid_open(NULL, &index, &error);
    if (code == IBID_OK) {
        code = index_and_search(index, argv[1], argv[2], &error);
        ibid_close(index);
    }
    if (code != IBID_OK)
        fprintf(stderr, "%s (%s)\n", error.message, ibid_code_string(code));
    return code == IBID_OK ? 0 : 1;
}
