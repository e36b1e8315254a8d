#include "cli/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/utf8.h"

enum { DEFAULT_WIDTH = 80, READABLE_WIDTH = 100, LINE_INTERVAL_S = 10 };

/* ---- the terminal ---- */

void terminal_measure(struct terminal *terminal)
{
    struct winsize size;
    terminal->width = DEFAULT_WIDTH;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        terminal->width = size.ws_col;
    else if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        terminal->width = size.ws_col;
    if (terminal->width < 20)
        terminal->width = 20;
}

void terminal_init(struct terminal *terminal, bool no_colours)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    setlocale(LC_CTYPE, "");
    *terminal = (struct terminal){
        .unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
        .output_is_terminal = isatty(STDOUT_FILENO),
        .error_is_terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0,
    };
    terminal->colours = terminal->output_is_terminal && !no_colours && !(no_color && *no_color) && term &&
                        strcmp(term, "dumb") != 0;
    terminal_measure(terminal);
}

const char *terminal_style(const struct terminal *terminal, enum style style)
{
    static const char *const sequences[] = {
        [STYLE_PLAIN] = "\033[0m",    [STYLE_BOLD] = "\033[1m",    [STYLE_DIM] = "\033[2m",
        [STYLE_TITLE] = "\033[1;36m", [STYLE_MARK] = "\033[1;33m", [STYLE_GOOD] = "\033[32m",
        [STYLE_WARN] = "\033[33m",    [STYLE_BAD] = "\033[31m",
    };
    return terminal->colours ? sequences[style] : "";
}

bool is_terminal_control(uint32_t code_point)
{
    return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) ||
           (code_point >= 0x202a && code_point <= 0x202e) || (code_point >= 0x2066 && code_point <= 0x2069);
}

static void append_clean(struct buffer *out, struct str text)
{
    for (size_t at = 0; at < text.size;) {
        const size_t start = at;
        const uint32_t code_point = utf8_next(text, &at);
        if (code_point == '\t' || code_point == '\n' || code_point == '\r')
            buffer_append_byte(out, ' ');
        else if (is_terminal_control(code_point) || (code_point == UTF8_REPLACEMENT && at == start + 1))
            buffer_append_byte(out, '?');
        else
            buffer_append_str(out, str_slice(text, start, at));
    }
}

void terminal_append(const struct terminal *terminal, struct buffer *out, enum style style, struct str text)
{
    if (style != STYLE_PLAIN)
        buffer_append_string(out, terminal_style(terminal, style));
    append_clean(out, text);
    if (style != STYLE_PLAIN)
        buffer_append_string(out, terminal_style(terminal, STYLE_PLAIN));
}

void terminal_append_lines(struct buffer *out, struct str text, unsigned indent)
{
    struct str line, part;
    if (str_ends_with(text, "\n"))
        text.size--;
    while (str_split(&text, '\n', &line)) {
        if (str_ends_with(line, "\r"))
            line.size--;
        if (line.size > 0)
            buffer_append_repeated(out, ' ', indent);
        for (bool first = true; str_split(&line, '\t', &part); first = false) {
            if (!first)
                buffer_append_byte(out, '\t');
            append_clean(out, part);
        }
        buffer_append_byte(out, '\n');
    }
}

/* ---- widths ---- */

static size_t code_point_width(uint32_t code_point)
{
    const int width = code_point < 0x80 ? 1 : wcwidth((wchar_t)code_point);
    return width < 0 ? 1 : (size_t)width;
}

size_t text_width(struct str text)
{
    size_t width = 0;
    for (size_t at = 0; at < text.size;)
        width += code_point_width(utf8_next(text, &at));
    return width;
}

struct str text_fit(struct str text, size_t columns)
{
    size_t width = 0;
    for (size_t at = 0; at < text.size;) {
        const size_t start = at;
        width += code_point_width(utf8_next(text, &at));
        if (width > columns)
            return str_slice(text, 0, start);
    }
    return text;
}

/* ---- wrapping ---- */

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r' || byte == '\f' || byte == '\v';
}

struct wrapper {
    const struct terminal *terminal;
    struct buffer *out;
    const struct marked_text *text;
    unsigned indent;
    size_t column, next_mark;
    bool in_mark;
};

static void set_mark(struct wrapper *wrapper, bool on)
{
    if (wrapper->in_mark == on)
        return;
    wrapper->in_mark = on;
    if (wrapper->terminal->colours)
        buffer_append_string(wrapper->out, terminal_style(wrapper->terminal, on ? STYLE_MARK : STYLE_PLAIN));
    else
        buffer_append_byte(wrapper->out, '*');
}

/* The word's bytes [start, end), with the marks that begin and end in it. */
static void put_word(struct wrapper *wrapper, size_t start, size_t end)
{
    const struct marked_text *text = wrapper->text;
    while (start < end) {
        while (wrapper->next_mark < text->mark_count && text->marks[wrapper->next_mark][1] <= start)
            wrapper->next_mark++;
        size_t stop = end;
        bool marked = false;
        if (wrapper->next_mark < text->mark_count) {
            const uint32_t *mark = text->marks[wrapper->next_mark];
            marked = mark[0] <= start;
            const size_t border = marked ? mark[1] : mark[0];
            stop = border < end ? border : end;
        }
        set_mark(wrapper, marked);
        append_clean(wrapper->out, str_slice(text->text, start, stop));
        start = stop;
    }
    set_mark(wrapper, false);
}

void terminal_append_wrapped(const struct terminal *terminal, struct buffer *out,
                             const struct marked_text *text, unsigned indent)
{
    const size_t width = terminal->width < READABLE_WIDTH ? terminal->width : READABLE_WIDTH;
    struct wrapper wrapper = {.terminal = terminal, .out = out, .text = text, .indent = indent};
    bool line_is_empty = true;
    for (size_t at = 0; at < text->text.size;) {
        while (at < text->text.size && is_space(text->text.data[at]))
            at++;
        const size_t start = at;
        while (at < text->text.size && !is_space(text->text.data[at]))
            at++;
        if (start == at)
            break;
        const size_t word = text_width(str_slice(text->text, start, at));
        if (!line_is_empty && wrapper.column + 1 + word > width) {
            buffer_append_byte(out, '\n');
            line_is_empty = true;
        }
        if (line_is_empty) {
            buffer_append_repeated(out, ' ', indent);
            wrapper.column = indent;
        } else {
            buffer_append_byte(out, ' ');
            wrapper.column++;
        }
        put_word(&wrapper, start, at);
        wrapper.column += word;
        line_is_empty = false;
    }
    if (!line_is_empty)
        buffer_append_byte(out, '\n');
}

/* ---- numbers ---- */

const char *format_count(int64_t count, char out[32])
{
    char digits[24];
    const int size = snprintf(digits, sizeof digits, "%lld", (long long)count);
    size_t to = 0;
    for (int i = 0; i < size; i++) {
        out[to++] = digits[i];
        const int left = size - 1 - i;
        if (left > 0 && left % 3 == 0 && digits[i] != '-')
            out[to++] = ',';
    }
    out[to] = '\0';
    return out;
}

const char *format_size(int64_t bytes, char out[32])
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < COUNT_OF(units)) {
        value /= 1024;
        unit++;
    }
    snprintf(out, 32, unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return out;
}

const char *format_seconds(double seconds, char out[32])
{
    if (seconds < 1)
        snprintf(out, 32, "%.0f ms", seconds * 1000);
    else if (seconds < 60)
        snprintf(out, 32, seconds == floor(seconds) ? "%.0f s" : "%.1f s", seconds);
    else if (seconds < 3600)
        snprintf(out, 32, "%d min %d s", (int)(seconds / 60), (int)fmod(seconds, 60));
    else
        snprintf(out, 32, "%d h %d min", (int)(seconds / 3600), (int)(fmod(seconds, 3600) / 60));
    return out;
}

const char *format_time(struct str time, char out[32])
{
    enum { TO_THE_MINUTE = sizeof "2026-01-31T12:00" - 1 };
    out[0] = '\0';
    if (time.size >= TO_THE_MINUTE)
        snprintf(out, 32, "%.10s %.5s UTC", time.data, time.data + 11);
    return out;
}

/* ---- asking ---- */

bool terminal_confirm(const char *question)
{
    char answer[8];
    if (!isatty(STDIN_FILENO))
        return true;
    fprintf(stderr, "%s [y/N] ", question);
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* ---- progress ---- */

static void append_bar(const struct terminal *terminal, struct buffer *out, double share)
{
    enum { CELLS = 20 };
    const int full = (int)(share * CELLS + 0.5);
    buffer_append_byte(out, terminal->unicode ? ' ' : '[');
    for (int i = 0; i < CELLS; i++)
        buffer_append_string(out, terminal->unicode ? (i < full ? "━" : "─") : (i < full ? "#" : "."));
    buffer_append_byte(out, terminal->unicode ? ' ' : ']');
}

static void append_state(struct buffer *out, const struct progress_state *state)
{
    char done[32], total[32], left[32];
    format_count((int64_t)state->done, done);
    if (state->stage)
        buffer_printf(out, "%s: ", state->stage);
    if (state->total > 0)
        buffer_printf(out, "%s of %s", done, format_count((int64_t)state->total, total));
    else
        buffer_append_string(out, done);
    if (*state->what)
        buffer_printf(out, " %s", state->what);
    if (isfinite(state->per_second) && state->per_second >= 0.05) /* less would be shown as none */
        buffer_printf(out, state->per_second < 10 ? ", %.1f/s" : ", %.0f/s", state->per_second);
    if (isfinite(state->seconds_left) && state->seconds_left >= 1)
        buffer_printf(out, ", %s left", format_seconds(floor(state->seconds_left), left));
    if (state->note && *state->note) {
        buffer_append_string(out, "  ");
        append_clean(out, str_from(state->note));
    }
}

static void write_error(const struct buffer *out)
{
    fwrite(out->data, 1, out->size, stderr);
    fflush(stderr);
}

static void show_line(struct progress *progress, const struct progress_state *state)
{
    const int64_t now = clock_monotonic_us();
    if (progress->last_line == 0)
        progress->last_line = now;
    if (now - progress->last_line < LINE_INTERVAL_S * SECOND_US)
        return;
    progress->last_line = now;
    AUTO_BUFFER out = BUFFER(4096);
    append_state(&out, state);
    buffer_append_byte(&out, '\n');
    write_error(&out);
}

void progress_show(struct progress *progress, const struct progress_state *state)
{
    if (progress->quiet)
        return;
    if (!progress->terminal->error_is_terminal) {
        show_line(progress, state);
        return;
    }
    struct terminal now = *progress->terminal;
    terminal_measure(&now);
    AUTO_BUFFER line = BUFFER(4096), out = BUFFER(8192);
    if (state->total > 0) {
        const double share = state->share > 0 ? state->share : state->done / state->total;
        append_bar(&now, &line, share < 1 ? share : 1);
        buffer_printf(&line, "%3.0f%%  ", 100 * (share < 1 ? share : 1));
    }
    append_state(&line, state);
    buffer_append_string(&out, "\r");
    buffer_append_str(&out, text_fit(buffer_str(&line), now.width - 1));
    buffer_append_string(&out, "\033[K");
    write_error(&out);
    progress->shown = true;
}

void progress_clear(struct progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
    fflush(stderr);
}
