/* HTML through libxml2's SAX parser (no tree is built, so that depth and size cost nothing).
 * What is block, inline or no text at all is decided here, by element. */
#include "extract/html.h"

#include <stdlib.h>

#include "base/memory.h"
#include "extract/charset.h"
#include "extract/extractor.h"
#include "extract/html_elements.h"
#include "extract/html_meta.h"
#include "extract/html_parse.h"
#include "extract/inline_text.h"
#include "extract/layout_tables.h"
#include "extract/table.h"
#include "extract/text_kinds.h"

enum {
    DEPTH_LIMIT = 1000,
    LIST_DEPTH_LIMIT = 50,
    PARAGRAPH_LIMIT = 32 * 1024 * 1024,
};

struct frame {
    const struct html_element *element;
    bool opened;  /* a block or a table was opened for it, */
    size_t level; /* when so many were open */
    unsigned flags_before;
};

/* As html_element.level of the list elements says. */
enum list_label { LABEL_BULLET, LABEL_NUMBER, LABEL_NONE };

struct list_state {
    enum list_label label;
    long next;
    bool item_open, item_fresh; /* fresh: it has no text yet */
    size_t item_level;          /* how many blocks were open around it */
};

struct html_reader {
    struct emitter *emitter;
    bool document;
    struct frame frames[DEPTH_LIMIT];
    size_t depth, beyond; /* beyond: elements deeper than the limit */
    size_t skipping;      /* depth inside an element without text */
    struct inline_text text;
    unsigned flags;     /* of enum block_flags, for what is emitted now */
    size_t open_blocks; /* emitted and not closed; misnested elements must not upset them */

    struct list_state lists[LIST_DEPTH_LIMIT];
    size_t list_depth;

    struct table table;
    bool in_table; /* a data table; tables inside its cells are text */
    size_t tables_inside;
    bool header_section; /* thead */
    size_t table_count;  /* that began in the page so far */
    struct layout_tables layout;

    struct html_meta meta;
};

/* ---- blocks ---- */

static const struct html_element *innermost_block(const struct html_reader *self)
{
    for (size_t i = self->depth; i-- > 0;)
        if (self->frames[i].element->role >= ROLE_BLOCK)
            return self->frames[i].element;
    return NULL;
}

static void open_block(struct html_reader *self, enum block_kind kind, unsigned level)
{
    emit_open(self->emitter, kind, level, self->flags);
    self->open_blocks++;
}

static void close_to(struct html_reader *self, size_t level)
{
    for (; self->open_blocks > level; self->open_blocks--)
        emit_close(self->emitter);
}

/* The list whose item is open, or NULL. */
static struct list_state *open_item_list(struct html_reader *self)
{
    struct list_state *list = self->list_depth ? &self->lists[self->list_depth - 1] : NULL;
    return list && list->item_open ? list : NULL;
}

static void emit_label(struct html_reader *self, struct list_state *list)
{
    char label[32];
    snprintf(label, sizeof label, "%ld. ", list->next - 1);
    if (list->label == LABEL_NUMBER)
        emit_text(self->emitter, str_from(label));
    else if (list->label == LABEL_BULLET)
        emit_text(self->emitter, STR("• "));
}

/* The first text of an item is its own; what follows are paragraphs in it. */
static void emit_in_item(struct html_reader *self, struct list_state *list, struct str text)
{
    if (!list->item_fresh) {
        emit_block(self->emitter, BLOCK_PARAGRAPH, 0, self->flags, text);
        return;
    }
    emit_label(self, list);
    emit_text(self->emitter, text);
}

/* Emits the text collected since the last border of a block, as what its element says. */
static void flush(struct html_reader *self)
{
    struct str text = inline_str(&self->text);
    const struct html_element *block = innermost_block(self);
    enum html_role role = block ? block->role : ROLE_BLOCK;
    struct list_state *list = open_item_list(self);
    if (inline_is_blank(&self->text)) {
        inline_clear(&self->text);
        return;
    }
    if (self->in_table && self->table.cell_open)
        table_cell_text(&self->table, text);
    else if (role == ROLE_HEADING)
        emit_block(self->emitter, BLOCK_HEADING, block->level, self->flags, text);
    else if (role == ROLE_PREFORMATTED)
        emit_block(self->emitter, BLOCK_CODE, 0, self->flags, text);
    else if (role == ROLE_CAPTION)
        emit_block(self->emitter, BLOCK_CAPTION, 0, self->flags, text);
    else if (inline_is_image(&self->text))
        emit_block(self->emitter, BLOCK_IMAGE, 0, self->flags, text);
    else if (list)
        emit_in_item(self, list, text);
    else
        emit_block(self->emitter, BLOCK_PARAGRAPH, 0, self->flags, text);
    if (list)
        list->item_fresh = false;
    inline_clear(&self->text);
}

/* ---- lists ---- */

static void close_item(struct html_reader *self)
{
    struct list_state *list = open_item_list(self);
    if (!list || self->in_table)
        return;
    list->item_open = false;
    close_to(self, list->item_level);
}

static bool open_list(struct html_reader *self, const struct html_element *element,
                      const xmlChar **attributes)
{
    if (self->in_table || self->list_depth == LIST_DEPTH_LIMIT)
        return false;
    long start = html_attribute_number(attributes, "start", 1);
    self->lists[self->list_depth++] =
        (struct list_state){.label = (enum list_label)element->level, .next = start};
    open_block(self, BLOCK_LIST, 0);
    return true;
}

/* Items outside a list are paragraphs. */
static void open_item(struct html_reader *self, long value)
{
    if (self->in_table || self->list_depth == 0)
        return;
    close_item(self);
    struct list_state *list = &self->lists[self->list_depth - 1];
    list->next = value < INT_MAX ? value + 1 : value;
    list->item_open = list->item_fresh = true;
    list->item_level = self->open_blocks;
    open_block(self, BLOCK_LIST_ITEM, (unsigned)self->list_depth);
}

static long item_value(const struct html_reader *self, const xmlChar **attributes)
{
    long next = self->list_depth ? self->lists[self->list_depth - 1].next : 1;
    return html_attribute_number(attributes, "value", next);
}

/* ---- tables ---- */

static unsigned span_of(const xmlChar **attributes, const char *name)
{
    long value = html_attribute_number(attributes, name, 1);
    return value < 0 ? 1 : value > 65534 ? 65534 : (unsigned)value;
}

static bool open_table(struct html_reader *self)
{
    if (self->in_table)
        self->tables_inside++;
    if (self->in_table || layout_tables_has(&self->layout, self->table_count - 1))
        return false;
    table_open(&self->table, self->emitter, self->flags);
    self->in_table = true;
    self->header_section = false;
    return true;
}

static void close_table(struct html_reader *self)
{
    table_close(&self->table);
    self->in_table = false;
}

/* Whether rows and cells that begin now belong to the open data table itself. */
static bool at_table_level(const struct html_reader *self)
{
    return self->in_table && self->tables_inside == 0;
}

static void open_cell(struct html_reader *self, const struct html_element *element,
                      const xmlChar **attributes)
{
    if (!at_table_level(self))
        return;
    unsigned rows = span_of(attributes, "rowspan");
    table_cell_open(&self->table, span_of(attributes, "colspan"), rows == 0 ? TABLE_TO_THE_END : rows,
                    element->level != 0);
}

/* ---- elements ---- */

static void begin_element(struct html_reader *self, struct frame *frame, const xmlChar **attributes)
{
    const struct html_element *element = frame->element;
    if (element->role >= ROLE_BLOCK)
        flush(self);
    self->flags |= element->flags | html_attribute_flags(attributes);
    frame->level = self->open_blocks;
    switch (element->role) {
    case ROLE_BREAK:
        inline_break(&self->text);
        break;
    case ROLE_IMAGE:
        inline_append_image(&self->text, str_from(html_attribute(attributes, "alt", "")));
        break;
    case ROLE_PREFORMATTED:
        self->text.preformatted = true;
        break;
    case ROLE_LIST:
        frame->opened = open_list(self, element, attributes);
        break;
    case ROLE_ITEM:
        open_item(self, item_value(self, attributes));
        break;
    case ROLE_TERM:
        open_item(self, 1);
        break;
    case ROLE_DESCRIPTION:
        if (!open_item_list(self))
            open_item(self, 1);
        break;
    case ROLE_QUOTE:
        frame->opened = !self->in_table;
        if (frame->opened)
            open_block(self, BLOCK_QUOTE, 0);
        break;
    case ROLE_TABLE:
        frame->opened = open_table(self);
        break;
    case ROLE_TABLE_HEAD:
        self->header_section |= at_table_level(self);
        break;
    case ROLE_ROW:
        if (at_table_level(self))
            table_row_open(&self->table, self->header_section);
        break;
    case ROLE_CELL:
        open_cell(self, element, attributes);
        break;
    default:
        break;
    }
}

static void end_element(struct html_reader *self, const struct frame *frame)
{
    const struct html_element *element = frame->element;
    if (element->role >= ROLE_BLOCK)
        flush(self);
    switch (element->role) {
    case ROLE_PREFORMATTED:
        self->text.preformatted = false;
        break;
    case ROLE_LIST:
        if (frame->opened) {
            self->list_depth--;
            close_to(self, frame->level);
        }
        break;
    case ROLE_ITEM:
        close_item(self);
        break;
    case ROLE_QUOTE:
        if (frame->opened)
            close_to(self, frame->level);
        break;
    case ROLE_TABLE:
        if (frame->opened)
            close_table(self);
        else if (self->in_table)
            self->tables_inside--;
        break;
    case ROLE_TABLE_HEAD:
        self->header_section &= !at_table_level(self);
        break;
    case ROLE_ROW:
        if (at_table_level(self))
            table_row_close(&self->table);
        break;
    case ROLE_CELL:
        if (at_table_level(self))
            table_cell_close(&self->table);
        break;
    default:
        break;
    }
    self->flags = frame->flags_before;
}

static void on_start(void *context, const xmlChar *name, const xmlChar **attributes)
{
    struct html_reader *self = context;
    const struct html_element *element = html_element_find((const char *)name);
    self->table_count += element->role == ROLE_TABLE;
    if (self->skipping == 0)
        html_meta_start(&self->meta, (const char *)name, attributes);
    if (self->skipping || element->role == ROLE_NO_TEXT) {
        self->skipping++;
        return;
    }
    if (self->beyond || self->depth == DEPTH_LIMIT) {
        self->beyond++;
        return;
    }
    struct frame *frame = &self->frames[self->depth];
    *frame = (struct frame){.element = element, .flags_before = self->flags};
    begin_element(self, frame, attributes);
    self->depth++;
}

/* The parser gives each element its end, in order, whatever the page looks like. */
static void on_end(void *context, const xmlChar *name)
{
    struct html_reader *self = context;
    html_meta_end(&self->meta);
    if (self->skipping) {
        self->skipping--;
    } else if (self->beyond) {
        self->beyond--;
    } else if (self->depth) {
        end_element(self, &self->frames[self->depth - 1]);
        self->depth--;
    }
}

static void on_characters(void *context, const xmlChar *characters, int size)
{
    struct html_reader *self = context;
    struct str text = {(const char *)characters, (size_t)size};
    if (html_meta_text(&self->meta, text) || self->skipping)
        return;
    inline_append(&self->text, text);
}

/* ---- the pass before: which tables only arrange the page ---- */

static void look_at_start(void *context, const xmlChar *name, const xmlChar **attributes)
{
    const char *role;
    switch (html_element_find((const char *)name)->role) {
    case ROLE_TABLE:
        role = html_attribute(attributes, "role", "");
        layout_tables_open(context, strcmp(role, "presentation") == 0 || strcmp(role, "none") == 0);
        break;
    case ROLE_CELL:
        layout_tables_cell(context);
        break;
    case ROLE_HEADING:
    case ROLE_PREFORMATTED:
        layout_tables_mark(context);
        break;
    default:
        break;
    }
}

static void look_at_end(void *context, const xmlChar *name)
{
    if (html_element_find((const char *)name)->role == ROLE_TABLE)
        layout_tables_close(context);
}

static void look_at_characters(void *context, const xmlChar *characters, int size)
{
    layout_tables_text(context, (size_t)size);
}

static void find_layout_tables(struct str html, struct layout_tables *ret)
{
    static const xmlSAXHandler handlers = {
        .startElement = look_at_start, .endElement = look_at_end, .characters = look_at_characters};
    *ret = (struct layout_tables){0};
    if (html.size && (memmem(html.data, html.size, "<t", 2) || memmem(html.data, html.size, "<T", 2)))
        html_parse(html, &handlers, ret);
}

/* ---- */

void html_read(struct emitter *emitter, struct str html, bool document)
{
    struct html_reader *self = xcalloc(1, sizeof *self);
    self->emitter = emitter;
    self->text = INLINE_TEXT(PARAGRAPH_LIMIT);
    find_layout_tables(html, &self->layout);
    html_meta_init(&self->meta, document ? emitter : NULL);
    static const xmlSAXHandler handlers = {
        .startElement = on_start,
        .endElement = on_end,
        .characters = on_characters,
        .ignorableWhitespace = on_characters,
    };
    html_parse(html, &handlers, self);
    while (self->depth) {
        end_element(self, &self->frames[self->depth - 1]);
        self->depth--;
    }
    flush(self);
    close_to(self, 0);
    html_meta_release(&self->meta);
    layout_tables_release(&self->layout);
    inline_release(&self->text);
    free(self);
}

/* The label in `<meta charset=...>`, `<meta ... content="text/html; charset=...">` or the XML
 * declaration, looked for as the web's standards do: in the first bytes, as ASCII. */
static struct str declared_charset(struct str html)
{
    struct str head = str_slice(html, 0, 4096);
    static const char *const keys[] = {"charset", "encoding"};
    for (size_t k = 0; k < COUNT_OF(keys); k++) {
        size_t key_size = strlen(keys[k]);
        for (size_t at = 0; at + key_size < head.size; at++) {
            if (!str_equal_nocase(str_slice(head, at, at + key_size), str_from(keys[k])))
                continue;
            struct str rest = str_trim(str_slice(head, at + key_size, head.size));
            if (!str_starts_with(rest, "="))
                continue;
            rest = str_trim(str_slice(rest, 1, 100));
            while (rest.size && strchr("\"'", rest.data[0]))
                rest = str_slice(rest, 1, rest.size);
            size_t size = 0;
            while (size < rest.size && (unsigned char)rest.data[size] > ' ' &&
                   !strchr("\"';,?>/", rest.data[size]))
                size++;
            rest = str_slice(rest, 0, size);
            if (charset_is_known(rest))
                return rest;
        }
    }
    return STR_EMPTY;
}

void extract_html(struct emitter *emitter, const struct extract_input *input)
{
    struct extract_input typed = *input;
    if (!charset_is_known(typed.charset))
        typed.charset = declared_charset(input->bytes);
    struct decoded_text decoded;
    text_decode(emitter, &typed, &decoded);
    html_read(emitter, decoded.text, true);
    charset_release(&decoded);
}
