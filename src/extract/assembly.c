#include "extract/assembly.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"

enum {
    DEPTH_LIMIT = 64,
    METADATA_COUNT_LIMIT = 1000,
    METADATA_VALUE_LIMIT = 100 * 1024,
    WARNING_COUNT_LIMIT = 200,
    REASON_LIMIT = 500,
    UNSET = -1,
};

struct open_block {
    uint32_t index;
    bool implicit; /* opened here for text that came without a block */
};

struct assembly {
    struct assembly_limits limits;
    struct buffer input; /* the beginning of an event whose rest has not come */
    bool begun, ended;
    enum extraction_status status;
    char reason[REASON_LIMIT + 1];

    struct buffer text;
    unsigned separator; /* line breaks due before the next text */
    unsigned tabs;      /* cell ends due before the next text */
    bool space;         /* a space is due before the next text of this row */
    size_t kept_to;     /* trailing white space may be cut down to here: a word box ends there */

    struct block *blocks;
    size_t block_count, block_capacity;
    struct open_block open[DEPTH_LIMIT + 1]; /* one more for an implicit paragraph */
    size_t depth, flattened;                 /* flattened: opens that made no block */

    struct page *pages;
    size_t page_count, page_capacity, page_placed; /* from page_placed on they have no start yet */
    struct word_box *words;
    size_t word_count, word_capacity;
    struct metadata_entry *metadata;
    size_t metadata_count, metadata_capacity;
    struct extraction_warning *warnings;
    size_t warning_count, warning_capacity;
    struct arena strings; /* of pages, metadata and warnings, until they are copied */
};

struct assembly *assembly_new(const struct assembly_limits *limits)
{
    struct assembly *self = xcalloc(1, sizeof *self);
    self->limits = *limits;
    if (self->limits.max_text > EXTRACTION_TEXT_LIMIT)
        self->limits.max_text = EXTRACTION_TEXT_LIMIT;
    self->input = BUFFER(PROTOCOL_EVENT_LIMIT + PROTOCOL_EVENT_HEADER);
    self->text = BUFFER(self->limits.max_text);
    return self;
}

void assembly_free(struct assembly *self)
{
    if (!self)
        return;
    buffer_release(&self->input);
    buffer_release(&self->text);
    free(self->blocks);
    free(self->pages);
    free(self->words);
    free(self->metadata);
    free(self->warnings);
    arena_release(&self->strings);
    free(self);
}

PRINTF_LIKE(3, 4)
static void stop(struct assembly *self, enum extraction_status status, const char *format, ...)
{
    if (self->ended)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(self->reason, sizeof self->reason, format, args);
    va_end(args);
    self->status = status;
    self->ended = true;
}

static void stop_broken(struct assembly *self, const char *what)
{
    stop(self, EXTRACTION_CRASHED, "the extractor sent a malformed result (%s)", what);
}

/* A repaired copy without control characters, for everything that is shown as one line. */
static struct str one_line(struct assembly *self, struct str text, size_t limit)
{
    AUTO_BUFFER out = BUFFER(text.size * 3);
    utf8_append_repaired(&out, text);
    for (size_t i = 0; i < out.size; i++)
        if ((unsigned char)out.data[i] < ' ' || out.data[i] == 0x7F)
            out.data[i] = ' ';
    struct str line = str_trim(buffer_str(&out));
    return arena_str(&self->strings, str_slice(line, 0, utf8_floor(line, limit)));
}

/* ---- text and blocks ---- */

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* How many bytes at the front show nothing: white space and control characters. */
static size_t blank_prefix(struct str text)
{
    size_t size = 0;
    while (size < text.size && ((unsigned char)text.data[size] <= ' ' || text.data[size] == 0x7F))
        size++;
    return size;
}

static bool holds_only_blocks(uint8_t kind)
{
    return kind == BLOCK_LIST || kind == BLOCK_TABLE || kind == BLOCK_SECTION;
}

/* NULL when no block is open. */
static struct block *innermost(struct assembly *self)
{
    return self->depth ? &self->blocks[self->open[self->depth - 1].index] : NULL;
}

static void demand_separator(struct assembly *self, uint8_t kind, const struct block *parent)
{
    bool close =
        kind == BLOCK_LIST_ITEM || kind == BLOCK_TABLE_ROW || (parent && parent->kind == BLOCK_LIST_ITEM);
    unsigned separator = close ? 1 : 2;
    if (separator > self->separator)
        self->separator = separator;
}

static void push_block(struct assembly *self, uint8_t kind, uint8_t level, uint16_t flags, bool implicit)
{
    if (self->block_count == EXTRACTION_BLOCK_LIMIT) {
        stop(self, EXTRACTION_LIMIT, "more than %d blocks", EXTRACTION_BLOCK_LIMIT);
        return;
    }
    struct block *parent = innermost(self);
    demand_separator(self, kind, parent);
    GROW(self->blocks, self->block_count, self->block_capacity);
    self->blocks[self->block_count] = (struct block){
        .kind = kind,
        .level = level,
        .flags = flags,
        .parent = self->depth ? self->open[self->depth - 1].index : BLOCK_NO_PARENT,
        .start = (uint32_t)UNSET,
    };
    self->open[self->depth++] = (struct open_block){(uint32_t)self->block_count++, implicit};
    self->space = false;
}

/* Takes back white space at the end of the text, but not what lies before `start`. */
static void trim_end(struct assembly *self, size_t start)
{
    size_t size = self->text.size;
    if (start < self->kept_to)
        start = self->kept_to;
    while (size > start && is_space(self->text.data[size - 1]))
        size--;
    buffer_truncate(&self->text, size);
}

static void pop_block(struct assembly *self)
{
    struct block *block = innermost(self);
    self->depth--;
    self->tabs = 0;
    self->space = false;
    if (block->start != (uint32_t)UNSET)
        trim_end(self, block->start);
    if (block->start == (uint32_t)UNSET || block->start == self->text.size) {
        /* Nothing in it, so nothing was opened in it that is still there: it is the last. */
        self->block_count--;
        return;
    }
    block->end = (uint32_t)self->text.size;
    demand_separator(self, block->kind, innermost(self));
}

static void close_implicit(struct assembly *self)
{
    if (self->depth && self->open[self->depth - 1].implicit)
        pop_block(self);
}

/* Whatever waits for the next text gets its place: pages, open blocks. */
static void settle_starts(struct assembly *self)
{
    for (; self->page_placed < self->page_count; self->page_placed++)
        self->pages[self->page_placed].start = (uint32_t)self->text.size;
    for (size_t i = self->depth; i-- > 0;) {
        struct block *block = &self->blocks[self->open[i].index];
        if (block->start != (uint32_t)UNSET)
            break;
        block->start = (uint32_t)self->text.size;
    }
}

static void write_separators(struct assembly *self)
{
    if (self->separator && self->text.size)
        buffer_append_repeated(&self->text, '\n', self->separator);
    self->separator = 0;
    struct block *block = innermost(self);
    if (block->start == (uint32_t)UNSET)
        self->space = false;
    settle_starts(self);
    buffer_append_repeated(&self->text, '\t', self->tabs);
    if (self->space && !self->tabs)
        buffer_append_byte(&self->text, ' ');
    self->tabs = 0;
    self->space = false;
}

/* Drops control characters from `start` on: nobody reads them, and terminals obey them. */
static void drop_controls(struct buffer *text, size_t start)
{
    size_t size = start;
    for (size_t i = start; i < text->size; i++) {
        unsigned char byte = (unsigned char)text->data[i];
        if ((byte >= ' ' && byte != 0x7F) || byte == '\t' || byte == '\n')
            text->data[size++] = (char)byte;
    }
    buffer_truncate(text, size);
}

static void flatten_row(char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (is_space(text[i]))
            text[i] = ' ';
}

/* The text's place once it is appended; false when there was nothing to append. */
static bool append_text(struct assembly *self, struct str text, uint32_t *ret_start)
{
    struct block *block = innermost(self);
    size_t blank = blank_prefix(text);
    if (!block || holds_only_blocks(block->kind)) {
        if (blank == text.size)
            return false;
        push_block(self, BLOCK_PARAGRAPH, 0, 0, true);
        if (self->ended)
            return false;
        block = innermost(self);
    }
    bool fresh = block->start == (uint32_t)UNSET || self->tabs || self->space || self->separator;
    if (fresh && (block->kind != BLOCK_CODE || blank == text.size))
        text = str_slice(text, blank, text.size);
    if (text.size == 0)
        return false;
    write_separators(self);
    size_t start = self->text.size;
    utf8_append_repaired(&self->text, text);
    if (self->text.overflowed) {
        stop(self, EXTRACTION_LIMIT, "more than %zu bytes of text (extract.max_text)", self->limits.max_text);
        return false;
    }
    drop_controls(&self->text, start);
    if (block->kind == BLOCK_TABLE_ROW)
        flatten_row(self->text.data + start, self->text.size - start);
    *ret_start = (uint32_t)start;
    return self->text.size > start;
}

/* ---- events ---- */

static void on_begin(struct assembly *self, struct wire_reader *reader)
{
    if (self->begun || wire_integer(reader, 4) != PROTOCOL_MAGIC ||
        wire_integer(reader, 4) != PROTOCOL_VERSION)
        stop_broken(self, "its version");
    self->begun = true;
}

static void on_metadata(struct assembly *self, struct wire_reader *reader)
{
    struct str key = wire_string(reader), value = reader->rest;
    if (self->metadata_count == METADATA_COUNT_LIMIT || key.size == 0)
        return;
    AUTO_BUFFER repaired = BUFFER(value.size * 3);
    utf8_append_repaired(&repaired, value);
    struct str text = str_trim(buffer_str(&repaired));
    text = str_slice(text, 0, utf8_floor(text, METADATA_VALUE_LIMIT));
    if (text.size == 0)
        return;
    GROW(self->metadata, self->metadata_count, self->metadata_capacity);
    self->metadata[self->metadata_count++] = (struct metadata_entry){
        .key = one_line(self, key, 100),
        .value = arena_str(&self->strings, text),
    };
}

static float sane_size(float value)
{
    return isfinite(value) && value > 0 && value < 1e6f ? value : 0;
}

static void on_page(struct assembly *self, struct wire_reader *reader)
{
    uint32_t number = (uint32_t)wire_integer(reader, 4);
    float width = wire_float(reader), height = wire_float(reader);
    if (number == 0 || (self->page_count && number <= self->pages[self->page_count - 1].number)) {
        stop_broken(self, "pages out of order");
        return;
    }
    if (number > self->limits.max_pages) {
        stop(self, EXTRACTION_LIMIT, "more than %u pages (extract.max_pages)", self->limits.max_pages);
        return;
    }
    GROW(self->pages, self->page_count, self->page_capacity);
    self->pages[self->page_count++] = (struct page){
        .number = number,
        .width = sane_size(width),
        .height = sane_size(height),
        .label = one_line(self, reader->rest, 100),
    };
}

static void on_needs_ocr(struct assembly *self, struct wire_reader *reader)
{
    if (self->page_count)
        self->pages[self->page_count - 1].needs_ocr = true;
}

static void on_open(struct assembly *self, struct wire_reader *reader)
{
    uint8_t kind = (uint8_t)wire_integer(reader, 1), level = (uint8_t)wire_integer(reader, 1);
    uint16_t flags = (uint16_t)wire_integer(reader, 2);
    if (kind >= BLOCK_KIND_COUNT) {
        stop_broken(self, "an unknown kind of block");
        return;
    }
    close_implicit(self);
    struct block *parent = innermost(self);
    if (self->depth == DEPTH_LIMIT || self->flattened || (parent && parent->kind == BLOCK_TABLE_ROW)) {
        /* A row is one line, and the tree has a ceiling: what is inside goes to the block around it. */
        self->flattened++;
        self->space = true;
        return;
    }
    bool has_level = kind == BLOCK_HEADING || kind == BLOCK_LIST_ITEM;
    level = level < 1 ? 1 : level > 9 ? 9 : level;
    push_block(self, kind, has_level ? level : 0, flags & (BLOCK_HEADER | BLOCK_HIDDEN | BLOCK_BOILERPLATE),
               false);
}

static void on_close(struct assembly *self, struct wire_reader *reader)
{
    if (self->flattened) {
        self->flattened--;
        self->space = true;
        return;
    }
    close_implicit(self);
    if (self->depth)
        pop_block(self);
    else
        stop_broken(self, "a block closed that was not open");
}

static void on_text(struct assembly *self, struct wire_reader *reader)
{
    uint32_t start;
    (void)append_text(self, reader->rest, &start);
}

static void on_word(struct assembly *self, struct wire_reader *reader)
{
    float x0 = wire_float(reader), y0 = wire_float(reader);
    float x1 = wire_float(reader), y1 = wire_float(reader);
    uint32_t start;
    if (reader->failed || !append_text(self, reader->rest, &start) || !self->limits.words)
        return;
    size_t size = self->text.size - start;
    if (blank_prefix(reader->rest) == reader->rest.size)
        return;
    bool placed = isfinite(x0) && isfinite(y0) && isfinite(x1) && isfinite(y1) && x1 >= x0 && y1 >= y0;
    if (!placed || size > UINT16_MAX || self->page_count == 0)
        return;
    if (self->word_count == EXTRACTION_WORD_LIMIT) {
        stop(self, EXTRACTION_LIMIT, "more than %d words with places", EXTRACTION_WORD_LIMIT);
        return;
    }
    GROW(self->words, self->word_count, self->word_capacity);
    self->words[self->word_count++] = (struct word_box){
        .start = start,
        .size = (uint16_t)size,
        .page = self->pages[self->page_count - 1].number,
        .x0 = x0,
        .y0 = y0,
        .x1 = x1,
        .y1 = y1,
    };
    self->kept_to = self->text.size;
}

static void on_cell_end(struct assembly *self, struct wire_reader *reader)
{
    struct block *block = innermost(self);
    if (!block || block->kind != BLOCK_TABLE_ROW)
        return;
    trim_end(self, block->start == (uint32_t)UNSET ? self->text.size : block->start);
    if (self->tabs < UINT16_MAX)
        self->tabs++;
    self->space = false;
}

static void on_warning(struct assembly *self, struct wire_reader *reader)
{
    struct str code = wire_string(reader);
    for (size_t i = 0; i < self->warning_count; i++)
        if (str_equal(self->warnings[i].code, code)) {
            self->warnings[i].count += self->warnings[i].count < UINT32_MAX;
            return;
        }
    if (self->warning_count == WARNING_COUNT_LIMIT)
        return;
    GROW(self->warnings, self->warning_count, self->warning_capacity);
    self->warnings[self->warning_count++] = (struct extraction_warning){
        .code = one_line(self, code, 100),
        .message = one_line(self, reader->rest, REASON_LIMIT),
        .count = 1,
    };
}

static void on_failure(struct assembly *self, struct wire_reader *reader)
{
    uint64_t status = wire_integer(reader, 1);
    if (status == EXTRACTION_OK || status > EXTRACTION_CRASHED) {
        stop_broken(self, "an unknown status");
        return;
    }
    struct str reason = one_line(self, reader->rest, REASON_LIMIT);
    if (reason.size == 0)
        reason = str_from(extraction_status_string((enum extraction_status)status));
    stop(self, (enum extraction_status)status, "%.*s", STR_ARG(reason));
}

static void on_end(struct assembly *self, struct wire_reader *reader)
{
    self->ended = true;
}

static void (*const event_handlers[EVENT_COUNT])(struct assembly *, struct wire_reader *) = {
    [EVENT_BEGIN] = on_begin,         [EVENT_METADATA] = on_metadata, [EVENT_PAGE] = on_page,
    [EVENT_NEEDS_OCR] = on_needs_ocr, [EVENT_OPEN] = on_open,         [EVENT_CLOSE] = on_close,
    [EVENT_TEXT] = on_text,           [EVENT_WORD] = on_word,         [EVENT_CELL_END] = on_cell_end,
    [EVENT_WARNING] = on_warning,     [EVENT_FAILURE] = on_failure,   [EVENT_END] = on_end,
};

/* Handles the whole events at the front of `data`; returns how many bytes they took. */
static size_t handle_events(struct assembly *self, struct str data)
{
    size_t at = 0;
    while (!self->ended && data.size - at >= PROTOCOL_EVENT_HEADER) {
        struct wire_reader header = {str_slice(data, at, data.size), false};
        uint64_t event = wire_integer(&header, 1), size = wire_integer(&header, 4);
        if (event >= EVENT_COUNT || size > PROTOCOL_EVENT_LIMIT || (!self->begun && event != EVENT_BEGIN)) {
            stop_broken(self, "an unknown event");
            break;
        }
        if (size > header.rest.size)
            break;
        struct wire_reader payload = {str_slice(header.rest, 0, size), false};
        event_handlers[event](self, &payload);
        if (payload.failed)
            stop_broken(self, "an event cut short");
        at += PROTOCOL_EVENT_HEADER + size;
    }
    return at;
}

bool assembly_feed(struct assembly *self, const void *data, size_t size)
{
    struct str rest = {data, size};
    while (rest.size && !self->ended) {
        if (self->input.size == 0) {
            rest = str_slice(rest, handle_events(self, rest), rest.size);
            struct str begun = str_slice(rest, 0, self->input.limit);
            buffer_append_str(&self->input, begun);
            rest = str_slice(rest, begun.size, rest.size);
            continue;
        }
        /* Completes the event that lies in the input with as little as it takes. */
        size_t wanted = PROTOCOL_EVENT_HEADER;
        if (self->input.size >= PROTOCOL_EVENT_HEADER) {
            struct wire_reader header = {buffer_str(&self->input), false};
            wire_integer(&header, 1);
            wanted += wire_integer(&header, 4);
        }
        struct str piece = str_slice(rest, 0, wanted - self->input.size);
        buffer_append_str(&self->input, piece);
        rest = str_slice(rest, piece.size, rest.size);
        if (handle_events(self, buffer_str(&self->input)))
            buffer_clear(&self->input);
    }
    return !self->ended;
}

/* ---- the result ---- */

/* Whether the child's peak tells that its end came from want of memory: what a parser does when
 * an allocation fails (abort, exit, a stray pointer) does not. */
static bool ran_out_of_memory(const struct child_report *report, const struct request *request)
{
    return report->peak_memory >= request->max_memory / 2;
}

static void judge_ending(struct assembly *self, const struct child_report *report,
                         const struct request *request)
{
    uint32_t detail = report->detail;
    unsigned long long memory = request->max_memory >> 20;
    if (report->ending == ENDING_TIMEOUT)
        stop(self, EXTRACTION_TIMEOUT, "took longer than %.1f seconds (extract.max_time)",
             (double)request->max_time / 1e6);
    else if (report->ending == ENDING_SIGNAL && detail == SIGXCPU)
        stop(self, EXTRACTION_LIMIT, "used more than %.1f seconds of CPU time (extract.max_cpu_time)",
             (double)request->max_cpu_time / 1e6);
    else if ((report->ending == ENDING_EXIT && detail == CHILD_EXIT_MEMORY) ||
             (report->ending != ENDING_CANCELED && ran_out_of_memory(report, request)))
        stop(self, EXTRACTION_LIMIT, "needs more than %llu MiB of memory (extract.max_memory)", memory);
    else if (report->ending == ENDING_SIGNAL && detail == SIGSYS)
        stop(self, EXTRACTION_CRASHED, "the parser tried what the sandbox forbids");
    else if (report->ending == ENDING_SIGNAL)
        stop(self, EXTRACTION_CRASHED, "the parser crashed (%s)", strsignal((int)detail));
    else if (report->ending == ENDING_EXIT && detail == CHILD_EXIT_UNREADABLE)
        stop(self, EXTRACTION_CORRUPT, "the file cannot be mapped for reading");
    else
        stop(self, EXTRACTION_CRASHED, "the parser ended without a result");
}

static bool any_page_needs_ocr(const struct assembly *self)
{
    for (size_t i = 0; i < self->page_count; i++)
        if (self->pages[i].needs_ocr)
            return true;
    return false;
}

static void judge_content(struct assembly *self)
{
    if (!extraction_is_usable(self->status) || self->text.size)
        return;
    self->ended = false;
    if (any_page_needs_ocr(self))
        stop(self, EXTRACTION_NEEDS_OCR, "its pages are images without text");
    else
        stop(self, EXTRACTION_EMPTY, "there is no text in it");
}

#define COPY_ARRAY(arena, target, source, count)                             \
    do {                                                                     \
        void *copy_ = arena_alloc_array((arena), (count), sizeof *(source)); \
        if (count)                                                           \
            memcpy(copy_, (source), (count) * sizeof *(source));             \
        (target) = copy_;                                                    \
    } while (0)

static void copy_content(struct assembly *self, struct arena *arena, struct extraction *ret)
{
    ret->text = arena_str(arena, buffer_str(&self->text));
    COPY_ARRAY(arena, ret->blocks, self->blocks, self->block_count);
    ret->block_count = self->block_count;
    COPY_ARRAY(arena, ret->words, self->words, self->word_count);
    ret->word_count = self->word_count;
}

static void copy_description(struct assembly *self, struct arena *arena, struct extraction *ret)
{
    for (size_t i = 0; i < self->page_count; i++)
        self->pages[i].label = arena_str(arena, self->pages[i].label);
    COPY_ARRAY(arena, ret->pages, self->pages, self->page_count);
    ret->page_count = self->page_count;
    for (size_t i = 0; i < self->metadata_count; i++) {
        self->metadata[i].key = arena_str(arena, self->metadata[i].key);
        self->metadata[i].value = arena_str(arena, self->metadata[i].value);
    }
    COPY_ARRAY(arena, ret->metadata, self->metadata, self->metadata_count);
    ret->metadata_count = self->metadata_count;
    for (size_t i = 0; i < self->warning_count; i++) {
        self->warnings[i].code = arena_str(arena, self->warnings[i].code);
        self->warnings[i].message = arena_str(arena, self->warnings[i].message);
    }
    COPY_ARRAY(arena, ret->warnings, self->warnings, self->warning_count);
    ret->warning_count = self->warning_count;
}

void assembly_finish(struct assembly *self, const struct child_report *report, const struct request *request,
                     struct arena *arena, struct extraction *ret)
{
    if (!self->ended)
        judge_ending(self, report, request);
    while (self->depth)
        pop_block(self);
    judge_content(self);
    settle_starts(self);
    if (!extraction_is_usable(self->status))
        buffer_clear(&self->text);
    for (size_t i = 0; i < self->page_count; i++)
        if (self->pages[i].start > self->text.size)
            self->pages[i].start = (uint32_t)self->text.size;
    *ret = (struct extraction){.status = self->status, .text = STR_EMPTY};
    ret->reason = arena_str(arena, str_from(self->reason));
    if (extraction_is_usable(self->status))
        copy_content(self, arena, ret);
    copy_description(self, arena, ret);
}
