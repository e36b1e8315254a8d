/* Time. Points in time are int64 microseconds since 1970 in UTC; 0 stands for "unknown". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { CLOCK_TEXT_SIZE = 32 };
#define SECOND_US INT64_C(1000000)

int64_t clock_now_us(void);
/* For measuring spans and deadlines; never goes back. */
int64_t clock_monotonic_us(void);
/* CPU time of the calling thread. */
int64_t clock_thread_cpu_us(void);

/* RFC 3339 in UTC, with microseconds only when there are any: "2026-02-16T10:30:00Z".
 * Returns `out`. */
const char *clock_format(int64_t time_us, char out[CLOCK_TEXT_SIZE]);
/* Reads RFC 3339, with or without time of day and zone (UTC then): false when it is none. */
bool clock_parse(struct str text, int64_t *ret_us);
