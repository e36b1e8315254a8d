/* Log lines on stderr. Only doors, the job runner and long-lived threads log; library code
 * returns errors. Never log a secret or the text of a query. */
#pragma once

#include "base/error.h"

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

/* Once, at start. Default: LOG_WARNING as text. */
void log_setup(enum log_level level, enum log_format format);


void log_write(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)
