/* Counters and histograms of the process, for GET /metrics (Prometheus text format).
 *
 * This is state shared by the whole process, on purpose: what is counted has happened in the process, whoever
 * caused it. Counting is one atomic addition. What can be read elsewhere (documents by state, memory) is not
 * counted here; the door adds it when it is asked. */
#pragma once

#include <stdint.h>

#include "base/buffer.h"

/* counter, metric with its labels, help. Rows of one metric stand together. */
#define COUNTER_MAP(X)                                                                                   \
    X(HTTP_1XX_3XX, "ibid_http_requests_total", "{status=\"1xx-3xx\"}",                                  \
      "Requests answered, by kind of status.")                                                           \
    X(HTTP_4XX, "ibid_http_requests_total", "{status=\"4xx\"}", "Requests answered, by kind of status.") \
    X(HTTP_5XX, "ibid_http_requests_total", "{status=\"5xx\"}", "Requests answered, by kind of status.") \
    X(SEARCHES, "ibid_searches_total", "", "Searches carried out.")                                      \
    X(SEARCHES_WITHOUT_MEANING, "ibid_searches_without_meaning_total", "",                               \
      "Hybrid or vector searches that could go by keyword only, for want of an embedder.")               \
    X(UPLOADS, "ibid_uploads_total", "", "Documents brought by upload.")                                 \
    X(AUTH_FAILURES, "ibid_authentication_failures_total", "", "Requests with a missing or wrong token.")

enum counter {
#define X(name, metric, labels, help) COUNTER_##name,
    COUNTER_MAP(X)
#undef X
        COUNTER_COUNT
};

/* histogram, metric, help; in seconds, buckets from 1 ms to 10 s. */
#define HISTOGRAM_MAP(X)                                                             \
    X(HTTP, "ibid_http_request_seconds", "Time from a request's head to its reply.") \
    X(SEARCH, "ibid_search_seconds", "Time a search took, its query's embedding included.")

enum histogram {
#define X(name, metric, help) HISTOGRAM_##name,
    HISTOGRAM_MAP(X)
#undef X
        HISTOGRAM_COUNT
};

void metric_count(enum counter counter);
int64_t metric_value(enum counter counter);
void metric_observe(enum histogram histogram, int64_t microseconds);

/* All of the above in the text format. */
void metric_append_all(struct buffer *out);
/* One more metric: `type` is "gauge" or "counter". */
void metric_append(struct buffer *out, const char *name, const char *type, const char *help, double value);
/* Memory, CPU time, open files and start time of this process, under Prometheus' usual names. */
void metric_append_process(struct buffer *out);
