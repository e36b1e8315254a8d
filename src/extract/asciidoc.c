/* AsciiDoc, line by line: what its structure says, without its processor. Files that it would include
 * are never opened; conditions are taken as met. */
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "extract/asciidoc_inline.h"
#include "extract/lines.h"
#include "extract/table.h"
#include "extract/text_kinds.h"

enum { LIST_DEPTH_LIMIT = 9, MARKER_SIZE = 16, PARAGRAPH_LIMIT = 16 * 1024 * 1024 };

struct marker {
    char text[MARKER_SIZE]; /* "**", ".", "1", "<>" */
    size_t indent;
};

struct asciidoc {
    struct emitter *emitter;
    struct str rest;
    struct buffer paragraph, plain;          /* as written, as read */
    struct marker markers[LIST_DEPTH_LIMIT]; /* of the open lists */
    unsigned numbers[LIST_DEPTH_LIMIT];
    size_t list_depth;
    bool in_item_text;   /* the paragraph that is collected is the item's own */
    bool attached;       /* "+": the next block belongs to the item */
    bool header_option;  /* the block's attributes ask for a header row */
    size_t column_count; /* as they say, 0 when they do not */
    unsigned quotes;     /* open quote blocks */
    bool has_title;
    unsigned header_lines; /* of author and revision, that may follow the title */
};

/* ---- paragraphs and lists ---- */

static void close_lists(struct asciidoc *self, size_t depth)
{
    for (; self->list_depth > depth; self->list_depth--) {
        emit_close(self->emitter);
        emit_close(self->emitter);
    }
}

/* The collected lines as a reader sees them. */
static struct str plain_paragraph(struct asciidoc *self)
{
    buffer_clear(&self->plain);
    asciidoc_append_inline(&self->plain, buffer_str(&self->paragraph));
    return buffer_str(&self->plain);
}

static bool all_lines_are_rows(struct str text)
{
    struct str line;
    size_t count = 0;
    for (; line_next(&text, &line); count++)
        if (!str_starts_with(str_trim(line), "|"))
            return false;
    return count > 1;
}

static void read_rows(struct asciidoc *self, struct str text);

static void flush(struct asciidoc *self)
{
    if (self->paragraph.size == 0)
        return;
    if (self->in_item_text) {
        emit_text(self->emitter, plain_paragraph(self));
    } else if (all_lines_are_rows(buffer_str(&self->paragraph))) {
        read_rows(self, buffer_str(&self->paragraph));
    } else {
        if (!self->attached)
            close_lists(self, 0);
        emit_block(self->emitter, BLOCK_PARAGRAPH, 0, 0, plain_paragraph(self));
    }
    self->in_item_text = self->attached = false;
    buffer_clear(&self->paragraph);
}

/* Before a block that is no paragraph. */
static void begin_block(struct asciidoc *self)
{
    flush(self);
    if (!self->attached)
        close_lists(self, 0);
    self->attached = false;
}

/* A list's marker at the start of a line: "*", "-", ".", "1.", "a.", "<1>". */
static bool take_marker(struct str line, struct marker *ret, struct str *ret_text)
{
    size_t indent = 0;
    while (indent < line.size && (line.data[indent] == ' ' || line.data[indent] == '\t'))
        indent++;
    struct str rest = str_slice(line, indent, line.size);
    size_t size = 0;
    char first = rest.size ? rest.data[0] : '\0';
    bool digits = first >= '0' && first <= '9';
    if (first == '*' || first == '.' || first == '-') {
        while (size < rest.size && rest.data[size] == first && size < MARKER_SIZE - 1)
            size++;
        if (first == '-' && size > 1)
            return false;
    } else if (digits || first == '<') {
        size += first == '<';
        while (size < rest.size && rest.data[size] >= '0' && rest.data[size] <= '9')
            size++;
        if (size >= rest.size || rest.data[size] != (first == '<' ? '>' : '.'))
            return false;
        size++;
    }
    if (size == 0 || size >= rest.size || rest.data[size] != ' ')
        return false;
    *ret = (struct marker){.indent = indent};
    memcpy(ret->text, digits ? "1" : first == '<' ? "<>" : rest.data, digits ? 1 : first == '<' ? 2 : size);
    *ret_text = str_trim(str_slice(rest, size, rest.size));
    return true;
}

static void emit_label(struct asciidoc *self, const struct marker *marker)
{
    char label[16] = "• ";
    unsigned number = ++self->numbers[self->list_depth - 1];
    if (marker->text[0] != '*' && marker->text[0] != '-')
        snprintf(label, sizeof label, "%u. ", number);
    emit_text(self->emitter, str_from(label));
}

/* A marker that an open list has goes on with it; any other begins a list inside the present item. */
static void begin_item(struct asciidoc *self, const struct marker *marker, struct str text)
{
    flush(self);
    size_t depth = self->list_depth;
    while (depth > 0 && (strcmp(self->markers[depth - 1].text, marker->text) != 0 ||
                         self->markers[depth - 1].indent != marker->indent))
        depth--;
    if (depth > 0) {
        close_lists(self, depth);
        emit_close(self->emitter);
    } else {
        if (self->list_depth == LIST_DEPTH_LIMIT)
            close_lists(self, LIST_DEPTH_LIMIT - 1);
        emit_open(self->emitter, BLOCK_LIST, 0, 0);
        self->markers[self->list_depth] = *marker;
        self->numbers[self->list_depth++] = 0;
    }
    emit_open(self->emitter, BLOCK_LIST_ITEM, (unsigned)self->list_depth, 0);
    emit_label(self, marker);
    buffer_append_str(&self->paragraph, text);
    self->in_item_text = true;
}

/* "Term:: description": a term is an item without label. */
static bool take_term(struct asciidoc *self, struct str line)
{
    const char *colons = line.size ? memmem(line.data, line.size, "::", 2) : NULL;
    size_t at = colons ? (size_t)(colons - line.data) : 0, after = at + 2;
    bool image = str_starts_with(line, "image::") || str_starts_with(line, "video::") ||
                 str_starts_with(line, "toc::");
    if (at == 0 || image || (after < line.size && line.data[after] != ' ') || line.data[0] == ' ')
        return false;
    struct marker marker = {.text = "::"};
    flush(self);
    if (self->list_depth && strcmp(self->markers[0].text, "::") == 0) {
        close_lists(self, 1);
        emit_close(self->emitter);
    } else {
        close_lists(self, 0);
        emit_open(self->emitter, BLOCK_LIST, 0, 0);
        self->markers[self->list_depth++] = marker;
    }
    emit_open(self->emitter, BLOCK_LIST_ITEM, 1, 0);
    buffer_append_str(&self->paragraph, str_slice(line, 0, at));
    struct str description = str_trim(str_slice(line, after, line.size));
    buffer_append_string(&self->paragraph, description.size ? ": " : ":");
    buffer_append_str(&self->paragraph, description);
    self->in_item_text = true;
    return true;
}

/* ---- delimited blocks ---- */

static bool is_fence(struct str line, char byte, size_t least)
{
    line = str_trim(line);
    if (line.size < least)
        return false;
    for (size_t i = 0; i < line.size; i++)
        if (line.data[i] != byte)
            return false;
    return true;
}

/* The lines up to one that equals `fence`, or all that are left. */
static struct str take_until(struct asciidoc *self, struct str fence)
{
    const char *start = self->rest.data;
    size_t size = self->rest.size;
    struct str rest = self->rest, line;
    while (line_next(&rest, &line)) {
        if (str_equal(str_trim(line), str_trim(fence))) {
            size = (size_t)(line.data - start);
            break;
        }
    }
    self->rest = rest;
    return (struct str){start, size};
}

/* Blocks whose content is no markup: source, literal text, comments, raw passages. */
static bool take_verbatim(struct asciidoc *self, struct str line)
{
    bool code = is_fence(line, '-', 4) || is_fence(line, '.', 4) || str_starts_with(line, "```");
    bool dropped = is_fence(line, '/', 4) || is_fence(line, '+', 4);
    if (!code && !dropped)
        return false;
    begin_block(self);
    struct str inside = take_until(self, str_starts_with(line, "```") ? STR("```") : line);
    if (code)
        emit_block(self->emitter, BLOCK_CODE, 0, 0, inside);
    return true;
}

/* ---- tables ---- */

static unsigned leading_number(struct str text)
{
    unsigned number = 0;
    for (size_t i = 0; i < text.size && text.data[i] >= '0' && text.data[i] <= '9' && number < 100000; i++)
        number = number * 10 + (unsigned)(text.data[i] - '0');
    return number;
}

/* What stands before a cell's bar: "2+", ".3+", "2.3+", with or without letters of style. */
static size_t cell_specification(struct str text, unsigned *ret_columns, unsigned *ret_rows)
{
    size_t start = text.size;
    while (start > 0 && strchr("0123456789.+*<^>adehlmsv", text.data[start - 1]))
        start--;
    struct str spec = str_slice(text, start, text.size);
    bool parted = start == 0 || text.data[start - 1] == ' ';
    size_t plus = str_find(spec, '+');
    if (!parted || plus == spec.size)
        return parted && spec.size == 1 && strchr("adehlmsv", spec.data[0]) ? 1 : 0;
    *ret_columns = leading_number(spec);
    size_t dot = str_find(str_slice(spec, 0, plus), '.');
    *ret_rows = dot < plus ? leading_number(str_slice(spec, dot + 1, plus)) : 1;
    return spec.size;
}

struct table_reading {
    struct table table;
    size_t columns, filled;
    bool header;
};

static void add_cell(struct asciidoc *self, struct table_reading *reading, struct str text, unsigned columns,
                     unsigned rows)
{
    if (reading->filled == 0)
        table_row_open(&reading->table, reading->header);
    table_cell_open(&reading->table, columns, rows ? rows : 1, false);
    buffer_clear(&self->plain);
    asciidoc_append_inline(&self->plain, str_trim(text));
    table_cell_text(&reading->table, buffer_str(&self->plain));
    table_cell_close(&reading->table);
    reading->filled += columns ? columns : 1;
}

static void end_row(struct table_reading *reading)
{
    table_row_close(&reading->table);
    reading->filled = 0;
    reading->header = false;
}

static size_t count_bars(struct str line)
{
    size_t count = 0;
    for (size_t i = 0; i < line.size; i++)
        count += line.data[i] == '|' && (i == 0 || line.data[i - 1] != '\\');
    return count;
}

static void read_table_line(struct asciidoc *self, struct table_reading *reading, struct str line)
{
    unsigned columns = 1, rows = 1;
    size_t at = str_find(line, '|');
    cell_specification(str_slice(line, 0, at), &columns, &rows);
    line = str_slice(line, at + 1, line.size);
    for (bool more = true; more;) {
        size_t end = str_find(line, '|');
        struct str text = str_slice(line, 0, end);
        more = end < line.size;
        unsigned next_columns = 1, next_rows = 1;
        size_t specification = more ? cell_specification(text, &next_columns, &next_rows) : 0;
        text = str_slice(text, 0, text.size - specification);
        bool closing_bar = !more && reading->filled >= reading->columns && str_trim(text).size == 0;
        if (!closing_bar)
            add_cell(self, reading, text, columns, rows);
        columns = next_columns;
        rows = next_rows;
        line = str_slice(line, end + 1, line.size);
    }
    if (reading->filled >= reading->columns)
        end_row(reading);
}

/* Rows of a table: as many cells as its first line has, or its attributes say. A first line that is
 * followed by a blank one is a header. */
static void read_rows(struct asciidoc *self, struct str text)
{
    struct str rest = text, line, second = STR_EMPTY;
    do {
        if (!line_next(&rest, &line))
            return;
    } while (line_is_blank(line));
    bool more = line_next(&rest, &second);
    bool bare = str_ends_with(str_trim(line), "|");
    size_t first_count = count_bars(line) - (bare && count_bars(line) > 1);
    struct table_reading reading = {
        .columns = self->column_count ? self->column_count
                   : first_count      ? first_count
                                      : 1,
        .header = self->header_option || (more && line_is_blank(second) && first_count > 1),
    };
    table_open(&reading.table, self->emitter, 0);
    rest = text;
    while (line_next(&rest, &line)) {
        struct str trimmed = str_trim(line);
        if (trimmed.size == 0 || str_starts_with(trimmed, "//"))
            continue;
        if (count_bars(trimmed))
            read_table_line(self, &reading, trimmed);
        else
            add_cell(self, &reading, trimmed, 1, 1);
    }
    table_close(&reading.table);
}

static bool take_table(struct asciidoc *self, struct str line)
{
    if (!str_starts_with(line, "|===") && !str_starts_with(line, ",==="))
        return false;
    begin_block(self);
    struct str inside = take_until(self, line);
    if (line.data[0] == ',')
        csv_read(self->emitter, inside);
    else
        read_rows(self, inside);
    self->header_option = false;
    self->column_count = 0;
    return true;
}

/* ---- single lines ---- */

static bool take_heading(struct asciidoc *self, struct str line)
{
    char mark = line.size ? line.data[0] : '\0';
    size_t level = 0;
    while (level < line.size && line.data[level] == mark)
        level++;
    if ((mark != '=' && mark != '#') || level > 6 || level >= line.size || line.data[level] != ' ')
        return false;
    begin_block(self);
    buffer_clear(&self->plain);
    asciidoc_append_inline(&self->plain, str_trim(str_slice(line, level, line.size)));
    struct str text = buffer_str(&self->plain);
    if (level == 1 && !self->has_title) {
        self->has_title = true;
        self->header_lines = 2;
        emit_metadata(self->emitter, "title", text);
    }
    emit_block(self->emitter, BLOCK_HEADING, (unsigned)level, 0, text);
    return true;
}

/* ":name: value" */
static bool take_attribute(struct asciidoc *self, struct str line)
{
    static const struct {
        const char *name, *key;
    } rows[] = {{"author", "author"},     {"authors", "author"}, {"description", "description"},
                {"keywords", "keywords"}, {"lang", "language"},  {"revdate", "created"},
                {"docdate", "created"}};
    struct str after = str_slice(line, 1, line.size);
    size_t end = str_find(after, ':');
    if (line.size < 3 || line.data[0] != ':' || end == 0 || end == after.size ||
        str_find(str_slice(after, 0, end), ' ') < end)
        return false;
    struct str name = str_slice(after, 0, end), value = str_trim(str_slice(after, end + 1, after.size));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char time[CLOCK_TEXT_SIZE];
        int64_t us;
        if (!str_is(name, rows[i].name))
            continue;
        if (strcmp(rows[i].key, "created") == 0)
            value = clock_parse(value, &us) ? str_from(clock_format(us, time)) : STR_EMPTY;
        emit_metadata(self->emitter, rows[i].key, value);
    }
    return true;
}

/* Below the title: "A. Writer <a@example.org>; B. Writer", then "v1.0, 2024-05-01: remark". */
static void take_header_line(struct asciidoc *self, struct str line)
{
    struct str rest = line, part;
    if (--self->header_lines == 0) {
        int64_t us;
        char time[CLOCK_TEXT_SIZE];
        while (str_split(&rest, ',', &part))
            if (clock_parse(str_trim(str_slice(part, 0, str_find(part, ':'))), &us))
                emit_metadata(self->emitter, "created", str_from(clock_format(us, time)));
        return;
    }
    while (str_split(&rest, ';', &part))
        emit_metadata(self->emitter, "author", str_trim(str_slice(part, 0, str_find(part, '<'))));
}

/* "[cols="1,2", options="header"]": what it says of a table. */
static bool take_block_attributes(struct asciidoc *self, struct str line)
{
    if (!str_starts_with(line, "[") || !str_ends_with(line, "]") || str_starts_with(line, "[["))
        return str_starts_with(line, "[[") && str_ends_with(line, "]]");
    flush(self);
    self->header_option = memmem(line.data, line.size, "header", 6) != NULL;
    const char *columns = memmem(line.data, line.size, "cols=\"", 6);
    self->column_count = 0;
    if (!columns)
        return true;
    struct str rest = {columns + 6, (size_t)(line.data + line.size - columns) - 6};
    rest = str_slice(rest, 0, str_find(rest, '"'));
    size_t star = str_find(rest, '*');
    self->column_count = star < rest.size ? leading_number(rest) : 1;
    for (size_t i = 0; star == rest.size && i < rest.size; i++)
        self->column_count += rest.data[i] == ',';
    if (self->column_count > TABLE_SPAN_LIMIT)
        self->column_count = TABLE_SPAN_LIMIT;
    return true;
}

static bool take_image(struct asciidoc *self, struct str line)
{
    if (!str_starts_with(line, "image::"))
        return false;
    size_t open = str_find(line, '[');
    struct str inside = str_slice(line, open + 1, line.size);
    begin_block(self);
    emit_block(self->emitter, BLOCK_IMAGE, 0, 0,
               asciidoc_alternative(str_slice(inside, 0, str_find(inside, ']'))));
    return true;
}

/* Lines that say nothing to a reader. */
static bool take_silent(struct asciidoc *self, struct str line)
{
    static const char *const directives[] = {
        "ifdef::", "ifndef::", "ifeval::", "endif::", "toc::", "video::", "audio::"};
    if (str_starts_with(line, "include::")) {
        emit_warning(self->emitter, "include_skipped", "a file that the document includes was not read");
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(directives); i++)
        if (str_starts_with(line, directives[i]))
            return true;
    return str_starts_with(line, "//") || str_is(line, "'''") || str_is(line, "<<<");
}

/* Marks around blocks whose content is read as usual. */
static bool take_container(struct asciidoc *self, struct str line)
{
    bool quote = is_fence(line, '_', 4);
    if (!quote && !is_fence(line, '=', 4) && !is_fence(line, '*', 4) && !str_is(line, "--"))
        return false;
    begin_block(self);
    if (quote && self->quotes == 0)
        emit_open(self->emitter, BLOCK_QUOTE, 0, 0);
    else if (quote)
        emit_close(self->emitter);
    if (quote)
        self->quotes = !self->quotes;
    return true;
}

static void read_line(struct asciidoc *self, struct str line)
{
    struct marker marker;
    struct str text, trimmed = str_trim(line);
    bool collecting = self->paragraph.size > 0;
    if (line_is_blank(line)) {
        self->header_lines = 0;
        flush(self);
    } else if (str_is(trimmed, "+") && self->list_depth) {
        flush(self);
        self->attached = true;
    } else if (take_verbatim(self, trimmed) || take_table(self, trimmed) || take_container(self, trimmed) ||
               take_silent(self, line) || take_attribute(self, line)) {
        return;
    } else if (self->header_lines) {
        take_header_line(self, trimmed);
    } else if (!collecting &&
               (take_heading(self, line) || take_block_attributes(self, trimmed) || take_image(self, line))) {
        return;
    } else if (take_marker(line, &marker, &text)) {
        begin_item(self, &marker, text);
    } else if (take_term(self, line)) {
        return;
    } else if (!collecting && line.data[0] == '.' && line.size > 1 && line.data[1] != '.' &&
               line.data[1] != ' ') {
        begin_block(self);
        emit_block(self->emitter, BLOCK_CAPTION, 0, 0, str_slice(line, 1, line.size));
    } else {
        if (collecting)
            buffer_append_byte(&self->paragraph, '\n');
        buffer_append_str(&self->paragraph, trimmed);
    }
}

void asciidoc_read(struct emitter *emitter, struct str text)
{
    struct asciidoc self = {
        .emitter = emitter,
        .rest = text,
        .paragraph = BUFFER(PARAGRAPH_LIMIT),
        .plain = BUFFER(PARAGRAPH_LIMIT),
    };
    struct str line;
    while (line_next(&self.rest, &line))
        read_line(&self, line);
    flush(&self);
    close_lists(&self, 0);
    if (self.quotes)
        emit_close(emitter);
    buffer_release(&self.paragraph);
    buffer_release(&self.plain);
}
