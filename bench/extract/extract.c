/* How fast documents are read, sandbox and all: bench_extract FILE... prints for each its status,
 * pages, words, bytes of text and time; at the end the sums. One after the other, by one child each. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "extract/extract.h"

struct sums {
    double seconds;
    size_t pages, bytes;
};

static bool measure(struct extract_pool *pool, const char *path, struct sums *sums)
{
    AUTO_ARENA arena = ARENA_INIT;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        perror(path);
        return false;
    }
    struct extract_request request = {.fd = fd, .name = path, .words = true};
    struct extraction extraction;
    ibid_error err;
    int64_t start = clock_monotonic_us();
    ibid_code code = extract_document(pool, &request, NULL, &arena, &extraction, &err);
    double seconds = (double)(clock_monotonic_us() - start) / 1e6;
    close(fd);
    if (code != IBID_OK) {
        fprintf(stderr, "%s: %s\n", path, err.message);
        return false;
    }
    printf("%-40s %-10s %6zu pages %8zu words %9zu bytes %8.3f s %7.0f pages/s\n", path,
           extraction_status_string(extraction.status), extraction.page_count, extraction.word_count,
           extraction.text.size, seconds, (double)extraction.page_count / seconds);
    sums->seconds += seconds;
    sums->pages += extraction.page_count;
    sums->bytes += extraction.text.size;
    return true;
}

int main(int argc, char **argv)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct extract_settings settings = {0};
    struct extract_pool *pool;
    ibid_error err;
    if (argc < 2) {
        fprintf(stderr, "usage: bench_extract FILE...\n");
        return 2;
    }
    option_set_defaults(extract_section.table, &settings, &arena);
    if (extract_pool_open(&settings, &pool, &err) != IBID_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    struct sums sums = {0};
    bool done = true;
    for (int i = 1; i < argc; i++)
        done &= measure(pool, argv[i], &sums);
    printf("together: %zu pages, %zu bytes of text, %.3f s\n", sums.pages, sums.bytes, sums.seconds);
    extract_pool_close(pool);
    return done ? 0 : 1;
}
