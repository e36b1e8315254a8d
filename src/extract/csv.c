/* Tables in text (RFC 4180 and what spreadsheets make of it): which delimiter, which rows, whether
 * there is a header. */
#include <stdlib.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "extract/lines.h"
#include "extract/text_kinds.h"

enum {
    SAMPLE_SIZE = 64 * 1024, /* what the guesses are made from */
    SAMPLE_ROWS = 200,
    HEADER_CELL_LIMIT = 100,     /* bytes; longer ones are data */
    HEADER_COLUMNS_LIMIT = 1000, /* wider tables are taken to have none */
    QUOTED_LIMIT = 1024 * 1024,  /* a quoted cell that is longer is a stray quote */
    STRAY_QUOTE_LIMIT = 16,      /* after so many of them quotes mean nothing in this file */
    ROW_LIMIT = 900000,
};

struct csv {
    struct str rest;
    char delimiter;
    size_t stray_quotes;
    bool row_ended; /* the last cell was the last of its row */
};

/* The bytes between quotes, doubled quotes still doubled; false when the quote is never closed. */
static bool find_closing_quote(struct csv *self, size_t *ret_size)
{
    if (self->stray_quotes > STRAY_QUOTE_LIMIT)
        return false;
    struct str inside = str_slice(self->rest, 1, 1 + QUOTED_LIMIT);
    for (size_t at = 0; at < inside.size; at++) {
        if (inside.data[at] != '"')
            continue;
        if (at + 1 < inside.size && inside.data[at + 1] == '"') {
            at++;
            continue;
        }
        *ret_size = at;
        return true;
    }
    self->stray_quotes++;
    return false;
}

static void append_unquoted(struct buffer *out, struct str quoted)
{
    for (size_t at = 0; at < quoted.size; at++) {
        buffer_append_byte(out, quoted.data[at]);
        at += quoted.data[at] == '"'; /* of two quotes the second */
    }
}

static bool ends_cell(const struct csv *self, char byte)
{
    return byte == self->delimiter || byte == '\n' || byte == '\r';
}

/* Takes the next cell; false once nothing is left. */
static bool next_cell(struct csv *self, struct buffer *out)
{
    buffer_clear(out);
    if (self->rest.size == 0 && self->row_ended)
        return false;
    size_t quoted;
    if (str_starts_with(self->rest, "\"") && find_closing_quote(self, &quoted)) {
        append_unquoted(out, str_slice(self->rest, 1, 1 + quoted));
        self->rest = str_slice(self->rest, quoted + 2, self->rest.size);
    }
    size_t size = 0;
    while (size < self->rest.size && !ends_cell(self, self->rest.data[size]))
        size++;
    buffer_append(out, self->rest.data, size);
    self->row_ended = size == self->rest.size || self->rest.data[size] != self->delimiter;
    if (size + 1 < self->rest.size && self->rest.data[size] == '\r' && self->rest.data[size + 1] == '\n')
        size++;
    self->rest = str_slice(self->rest, size + 1, self->rest.size);
    return true;
}

static struct csv csv_over(struct str text, char delimiter)
{
    return (struct csv){.rest = text, .delimiter = delimiter, .row_ended = true};
}

/* How well a delimiter parts the sample: the share of rows with the commonest number of cells, in
 * thousandths, with more cells as the better of equals. 0 when it parts nothing. */
static size_t score(struct str sample, char delimiter)
{
    size_t counts[SAMPLE_ROWS], rows = 0, cells = 0, best = 0, best_cells = 0;
    AUTO_BUFFER cell = BUFFER(QUOTED_LIMIT + SAMPLE_SIZE);
    struct csv csv = csv_over(sample, delimiter);
    while (rows < SAMPLE_ROWS && next_cell(&csv, &cell)) {
        cells++;
        if (!csv.row_ended)
            continue;
        if (cells > 1 || cell.size)
            counts[rows++] = cells;
        cells = 0;
    }
    if (rows > 1 && csv.rest.size == 0 && sample.size == SAMPLE_SIZE)
        rows--; /* the last row of a cut sample is cut, too */
    for (size_t i = 0; i < rows; i++) {
        size_t same = 0;
        for (size_t j = 0; j < rows; j++)
            same += counts[j] == counts[i];
        if (counts[i] > 1 && (same > best || (same == best && counts[i] > best_cells))) {
            best = same;
            best_cells = counts[i];
        }
    }
    return rows ? best * 1000000 / rows + (best_cells < 1000 ? best_cells : 1000) : 0;
}

static char guess_delimiter(struct str text)
{
    static const char candidates[] = ",;\t|";
    struct str sample = str_slice(text, 0, SAMPLE_SIZE);
    char best = ',';
    size_t best_score = 0;
    for (const char *candidate = candidates; *candidate; candidate++) {
        size_t found = score(sample, *candidate);
        if (found > best_score) {
            best_score = found;
            best = *candidate;
        }
    }
    return best;
}

static bool looks_like_value(struct str cell)
{
    bool digits = false;
    for (size_t i = 0; i < cell.size; i++) {
        digits |= cell.data[i] >= '0' && cell.data[i] <= '9';
        if (!strchr("0123456789.,:+-/% eE$", cell.data[i]))
            return false;
    }
    return digits;
}

/* Whether the first row names the columns: every cell of it a short text of its own, no value. */
static bool guess_header(struct str text, char delimiter)
{
    struct csv csv = csv_over(str_slice(text, 0, SAMPLE_SIZE), delimiter);
    AUTO_BUFFER cell = BUFFER(QUOTED_LIMIT + SAMPLE_SIZE);
    char *names[HEADER_COLUMNS_LIMIT];
    size_t count = 0;
    bool header = true;
    while (header && count < HEADER_COLUMNS_LIMIT && next_cell(&csv, &cell)) {
        struct str name = str_trim(buffer_str(&cell));
        header = name.size > 0 && name.size <= HEADER_CELL_LIMIT && !looks_like_value(name);
        for (size_t i = 0; i < count && header; i++)
            header = !str_is(name, names[i]);
        names[count++] = xmemdup0(name.data, name.size);
        if (csv.row_ended)
            break;
    }
    header = header && csv.row_ended && csv.rest.size > 0;
    while (count)
        free(names[--count]);
    return header;
}

/* Excel's own first line, "sep=;". */
static bool take_separator_line(struct str *text, char *ret_delimiter)
{
    struct str rest = *text, line;
    if (!line_next(&rest, &line) || line.size != 5 || !str_starts_with(line, "sep="))
        return false;
    *ret_delimiter = line.data[4];
    *text = rest;
    return true;
}

void csv_read(struct emitter *emitter, struct str text)
{
    char delimiter;
    if (!take_separator_line(&text, &delimiter))
        delimiter = guess_delimiter(text);
    bool header = guess_header(text, delimiter), row_open = false;
    struct csv csv = csv_over(text, delimiter);
    AUTO_BUFFER cell = BUFFER(text.size);
    size_t rows = 0;
    emit_open(emitter, BLOCK_TABLE, 0, 0);
    while (next_cell(&csv, &cell)) {
        if (!row_open) {
            if (rows == ROW_LIMIT)
                emit_failure(emitter, EXTRACTION_PARTIAL, "only the first %d rows were read", ROW_LIMIT);
            emit_open(emitter, BLOCK_TABLE_ROW, 0, header && rows == 0 ? BLOCK_HEADER : 0);
            rows++;
        }
        row_open = true;
        emit_text(emitter, buffer_str(&cell));
        if (csv.row_ended) {
            emit_close(emitter);
            row_open = false;
        } else {
            emit_cell_end(emitter);
        }
    }
    emit_close(emitter);
}
