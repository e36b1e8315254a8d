/* Writing for people: widths, colours, wrapping, and a progress bar, each only where there is a terminal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/str.h"

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_TITLE, STYLE_MARK, STYLE_GOOD, STYLE_WARN, STYLE_BAD };

struct terminal {
    bool colours; /* on standard output */
    bool unicode; /* the locale's character set is UTF-8 */
    bool output_is_terminal, error_is_terminal;
    unsigned width; /* columns to write in */
};

/* Looks at the standard streams, the locale, NO_COLOR and TERM. */
void terminal_init(struct terminal *terminal, bool no_colours);
/* The terminal may have been resized. */
void terminal_measure(struct terminal *terminal);

/* The escape sequence that begins a style, or "" without colours; STYLE_PLAIN ends any. */
const char *terminal_style(const struct terminal *terminal, enum style style);
/* Appends `text`, which stays on its line, in a style: TAB and line ends are blanks, other control characters
 * are shown as '?'. A file's name or a document's words must not be able to steer the terminal. */
void terminal_append(const struct terminal *terminal, struct buffer *out, enum style style, struct str text);
/* Appends lines as they stand, each after `indent` spaces; TAB stays, other control characters are shown as
 * '?'. The last line ends, too. */
void terminal_append_lines(struct buffer *out, struct str text, unsigned indent);
/* Whether a terminal may do something else with the character than show it: C0 and C1 controls, and those
 * that turn the direction of text. */
bool is_terminal_control(uint32_t code_point);

/* Columns that `text` takes; ill-formed bytes count one. */
size_t text_width(struct str text);
/* The longest start of `text` that fits into `columns`. */
struct str text_fit(struct str text, size_t columns);

/* Text with marked ranges, wrapped between words: each line begins with `indent` spaces. Line breaks of the
 * text count as spaces. Marks are shown by colour or, without it, between asterisks. */
struct marked_text {
    struct str text;
    const uint32_t (*marks)[2]; /* ascending ranges of bytes */
    size_t mark_count;
};
void terminal_append_wrapped(const struct terminal *terminal, struct buffer *out,
                             const struct marked_text *text, unsigned indent);

/* "1,234,567" */
const char *format_count(int64_t count, char out[32]);
/* "12.3 MB" */
const char *format_size(int64_t bytes, char out[32]);
/* "850 ms", "12.4 s", "12 s" when it is just that, "3 min 20 s", "2 h 5 min" */
const char *format_seconds(double seconds, char out[32]);
/* "2026-01-31 12:00 UTC" of a time as routes answer it: the minute is enough for people. "" of none. */
const char *format_time(struct str time, char out[32]);

/* ---- asking ---- */

/* Asks on standard error, with " [y/N] " behind the question: whether the answer begins with y. True without
 * asking where nobody is there to answer: standard input is no terminal. */
bool terminal_confirm(const char *question);

/* ---- progress, on standard error ---- */

struct progress {
    const struct terminal *terminal;
    bool shown;        /* a bar stands on the line */
    int64_t last_line; /* when a plain line was last written; monotonic */
    bool quiet;
};

struct progress_state {
    const char *stage;   /* "comparing", or NULL */
    const char *what;    /* "documents", "MB"; may be "" */
    double done, total;  /* total 0: unknown */
    double share;        /* of the work, for the bar; 0: as `done` is of `total` */
    double per_second;   /* NAN: unknown */
    double seconds_left; /* NAN: unknown */
    const char *note;    /* what is being worked on, or NULL */
};

/* Draws the bar anew, or, where there is no terminal, writes a line every ten seconds. */
void progress_show(struct progress *progress, const struct progress_state *state);
/* Takes the bar away, so that something else can be written. */
void progress_clear(struct progress *progress);
