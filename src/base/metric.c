#include "base/metric.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"

static const struct {
    const char *name, *labels, *help;
} counter_rows[] = {
#define X(name, metric, labels, help) {metric, labels, help},
    COUNTER_MAP(X)
#undef X
};

static const struct {
    const char *name, *help;
} histogram_rows[] = {
#define X(name, metric, help) {metric, help},
    HISTOGRAM_MAP(X)
#undef X
};

/* Upper bounds in microseconds; one more bucket takes the rest. */
static const int64_t bounds[] = {1000,   2500,   5000,    10000,   25000,   50000,   100000,
                                 250000, 500000, 1000000, 2500000, 5000000, 10000000};

static _Atomic int64_t counters[COUNTER_COUNT];
static struct {
    _Atomic int64_t buckets[COUNT_OF(bounds) + 1], sum;
} histograms[HISTOGRAM_COUNT];

void metric_count(enum counter counter)
{
    atomic_fetch_add_explicit(&counters[counter], 1, memory_order_relaxed);
}

int64_t metric_value(enum counter counter)
{
    return atomic_load_explicit(&counters[counter], memory_order_relaxed);
}

void metric_observe(enum histogram histogram, int64_t microseconds)
{
    size_t bucket = 0;
    while (bucket < COUNT_OF(bounds) && microseconds > bounds[bucket])
        bucket++;
    atomic_fetch_add_explicit(&histograms[histogram].buckets[bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&histograms[histogram].sum, microseconds, memory_order_relaxed);
}

static void append_head(struct buffer *out, const char *name, const char *type, const char *help)
{
    buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metric_append(struct buffer *out, const char *name, const char *type, const char *help, double value)
{
    append_head(out, name, type, help);
    buffer_printf(out, "%s %.15g\n", name, value);
}

static void append_histogram(struct buffer *out, enum histogram histogram)
{
    const char *name = histogram_rows[histogram].name;
    int64_t total = 0;
    append_head(out, name, "histogram", histogram_rows[histogram].help);
    for (size_t i = 0; i <= COUNT_OF(bounds); i++) {
        total += atomic_load_explicit(&histograms[histogram].buckets[i], memory_order_relaxed);
        if (i < COUNT_OF(bounds))
            buffer_printf(out, "%s_bucket{le=\"%g\"} %lld\n", name, (double)bounds[i] / 1e6,
                          (long long)total);
        else
            buffer_printf(out, "%s_bucket{le=\"+Inf\"} %lld\n", name, (long long)total);
    }
    const int64_t sum = atomic_load_explicit(&histograms[histogram].sum, memory_order_relaxed);
    buffer_printf(out, "%s_sum %.6f\n%s_count %lld\n", name, (double)sum / 1e6, name, (long long)total);
}

void metric_append_all(struct buffer *out)
{
    for (size_t i = 0; i < COUNTER_COUNT; i++) {
        if (i == 0 || strcmp(counter_rows[i].name, counter_rows[i - 1].name) != 0)
            append_head(out, counter_rows[i].name, "counter", counter_rows[i].help);
        buffer_printf(out, "%s%s %lld\n", counter_rows[i].name, counter_rows[i].labels,
                      (long long)metric_value((enum counter)i));
    }
    for (size_t i = 0; i < HISTOGRAM_COUNT; i++)
        append_histogram(out, (enum histogram)i);
}

/* Fields of /proc/self/stat from the 14th on: utime, stime, ..., starttime (22nd), ..., rss (24th). */
static bool read_stat(unsigned long long *ret_start, unsigned long long *ret_rss)
{
    char text[1024];
    FILE *file = fopen("/proc/self/stat", "re");
    if (!file)
        return false;
    const size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    const char *after_name = strrchr(text, ')');
    return after_name &&
           sscanf(after_name,
                  ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
                  "%llu %*u %llu",
                  ret_start, ret_rss) == 2;
}

static double boot_time(void)
{
    double seconds = 0;
    char line[256];
    FILE *file = fopen("/proc/stat", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "btime %lf", &seconds) == 1)
            break;
    if (file)
        fclose(file);
    return seconds;
}

static unsigned count_open_files(void)
{
    unsigned count = 0;
    DIR *entries = opendir("/proc/self/fd");
    if (!entries)
        return 0;
    for (struct dirent *entry; (entry = readdir(entries));)
        count += entry->d_name[0] != '.';
    closedir(entries);
    return count - 1; /* the folder itself is one */
}

void metric_append_process(struct buffer *out)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    const double cpu = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
                       ((double)usage.ru_utime.tv_usec + (double)usage.ru_stime.tv_usec) / 1e6;
    metric_append(out, "process_cpu_seconds_total", "counter", "CPU time of this process.", cpu);
    metric_append(out, "process_open_fds", "gauge", "Open file descriptors.", count_open_files());
    unsigned long long start, pages;
    if (!read_stat(&start, &pages))
        return;
    metric_append(out, "process_resident_memory_bytes", "gauge", "Resident memory.",
                  (double)pages * (double)sysconf(_SC_PAGESIZE));
    metric_append(out, "process_start_time_seconds", "gauge", "Start of this process since 1970.",
                  boot_time() + (double)start / (double)sysconf(_SC_CLK_TCK));
}
