#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static enum log_level log_threshold = LOG_WARNING;
static enum log_format log_style = LOG_TEXT;

void log_setup(enum log_level level, enum log_format format)
{
    pthread_mutex_lock(&log_lock);
    log_threshold = level;
    log_style = format;
    pthread_mutex_unlock(&log_lock);
}

static char *format_line(enum log_level level, const char *message)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    char now[CLOCK_TEXT_SIZE];
    clock_format(clock_now_us(), now);
    if (log_style == LOG_TEXT)
        return xasprintf("%s %-7s %s", now, names[level], message);
    json_t *line = json_pack("{s:s, s:s, s:s}", "time", now, "level", names[level], "message", message);
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    json_decref(line);
    return text ? text : xstrdup("{\"level\": \"error\", \"message\": \"unprintable log line\"}");
}

void log_write(enum log_level level, const char *format, ...)
{
    ibid_error message; /* its buffer and its cleaning are what a log line needs, too */
    va_list args;
    va_start(args, format);
    vsnprintf(message.message, sizeof message.message, format, args);
    va_end(args);
    error_sanitize(&message);

    pthread_mutex_lock(&log_lock);
    if (level <= log_threshold) {
        char *line = format_line(level, message.message);
        fprintf(stderr, "%s\n", line);
        free(line);
    }
    pthread_mutex_unlock(&log_lock);
}
