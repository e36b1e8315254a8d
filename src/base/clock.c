#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return now.tv_sec * SECOND_US + now.tv_nsec / 1000;
}

int64_t clock_now_us(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_monotonic_us(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_thread_cpu_us(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

const char *clock_format(int64_t time_us, char out[CLOCK_TEXT_SIZE])
{
    int64_t micros = time_us % SECOND_US;
    if (micros < 0)
        micros += SECOND_US;
    time_t seconds = (time_t)((time_us - micros) / SECOND_US);
    struct tm utc;
    if (!gmtime_r(&seconds, &utc) || utc.tm_year > 9999 - 1900 || utc.tm_year < -1900) {
        snprintf(out, CLOCK_TEXT_SIZE, "1970-01-01T00:00:00Z");
        return out;
    }
    size_t used = strftime(out, CLOCK_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &utc);
    if (micros)
        used += (size_t)snprintf(out + used, CLOCK_TEXT_SIZE - used, ".%06" PRId64, micros);
    snprintf(out + used, CLOCK_TEXT_SIZE - used, "Z");
    return out;
}

/* Days since 1970-01-01 of a proleptic Gregorian date. */
static int64_t days_from_date(int64_t year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static bool read_digits(struct str *text, int count, int *ret)
{
    int value = 0;
    if (text->size < (size_t)count)
        return false;
    for (int i = 0; i < count; i++) {
        char digit = text->data[i];
        if (digit < '0' || digit > '9')
            return false;
        value = value * 10 + (digit - '0');
    }
    *text = str_slice(*text, (size_t)count, text->size);
    *ret = value;
    return true;
}

static bool read_byte(struct str *text, const char *one_of)
{
    if (text->size == 0 || !strchr(one_of, text->data[0]) || text->data[0] == '\0')
        return false;
    *text = str_slice(*text, 1, text->size);
    return true;
}

bool clock_parse(struct str text, int64_t *ret_us)
{
    static const int month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day, hour = 0, minute = 0, second = 0;
    int64_t micros = 0, zone_s = 0;
    if (!read_digits(&text, 4, &year) || !read_byte(&text, "-") || !read_digits(&text, 2, &month) ||
        !read_byte(&text, "-") || !read_digits(&text, 2, &day) || month < 1 || month > 12 || day < 1 ||
        day > month_days[month - 1])
        return false;
    if (text.size) {
        if (!read_byte(&text, "Tt ") || !read_digits(&text, 2, &hour) || !read_byte(&text, ":") ||
            !read_digits(&text, 2, &minute))
            return false;
        if (read_byte(&text, ":") && !read_digits(&text, 2, &second))
            return false;
        if (hour > 23 || minute > 59 || second > 60)
            return false;
        if (read_byte(&text, ".,")) {
            int64_t unit = 100000;
            int digit, digits = 0;
            while (read_digits(&text, 1, &digit)) {
                micros += digit * unit;
                unit /= 10;
                digits++;
            }
            if (digits == 0)
                return false;
        }
        if (text.size && !read_byte(&text, "Zz")) {
            int zone_hour, zone_minute = 0;
            char sign = text.data[0];
            if (!read_byte(&text, "+-") || !read_digits(&text, 2, &zone_hour))
                return false;
            read_byte(&text, ":");
            if (text.size && !read_digits(&text, 2, &zone_minute))
                return false;
            if (zone_hour > 23 || zone_minute > 59)
                return false;
            zone_s = (zone_hour * 60 + zone_minute) * 60 * (sign == '-' ? -1 : 1);
        }
        if (text.size)
            return false;
    }
    int64_t seconds = days_from_date(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - zone_s;
    *ret_us = seconds * SECOND_US + micros;
    return true;
}
