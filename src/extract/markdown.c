/* Markdown (CommonMark with GitHub's tables, task lists and strikethrough) through md4c. */
#include <md4c.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "extract/charset.h"
#include "extract/extractor.h"
#include "extract/front_matter.h"
#include "extract/html.h"
#include "extract/html_parse.h"
#include "extract/inline_text.h"
#include "extract/table.h"
#include "extract/text_kinds.h"

enum { LIST_DEPTH_LIMIT = 100, PARAGRAPH_LIMIT = 64 * 1024 * 1024 };

struct list_state {
    bool ordered;
    unsigned next;
    char delimiter;
    bool item_fresh; /* its item has no text yet */
    char task;       /* 'x', ' ', or 0 when the item is no task */
};

struct markdown {
    struct emitter *emitter;
    struct inline_text text;
    struct buffer raw_html; /* of the open block of raw HTML */
    bool in_raw_html;
    unsigned image_depth;
    struct inline_text alternative;
    struct list_state lists[LIST_DEPTH_LIMIT];
    size_t list_depth; /* may go beyond the limit: deeper lists share the last state */
    size_t item_depth;
    struct table table;
    bool in_table, in_table_head;
    bool has_title;
};

static struct list_state *innermost_list(struct markdown *self)
{
    size_t index = self->list_depth < LIST_DEPTH_LIMIT ? self->list_depth : LIST_DEPTH_LIMIT;
    return &self->lists[index - 1];
}

/* ---- what was collected becomes a block ---- */

static void emit_label(struct markdown *self, struct list_state *list)
{
    char label[24] = "• ";
    if (list->ordered)
        snprintf(label, sizeof label, "%u%c ", list->next++, list->delimiter);
    emit_text(self->emitter, str_from(label));
    if (list->task)
        emit_text(self->emitter, list->task == ' ' ? STR("[ ] ") : STR("[x] "));
}

/* The first text of an item is its own; what follows are paragraphs in it. */
static void emit_in_item(struct markdown *self, struct str text)
{
    struct list_state *list = innermost_list(self);
    if (!list->item_fresh) {
        emit_block(self->emitter, BLOCK_PARAGRAPH, 0, 0, text);
        return;
    }
    list->item_fresh = false;
    emit_label(self, list);
    emit_text(self->emitter, text);
}

static void flush_paragraph(struct markdown *self)
{
    struct str text = inline_str(&self->text);
    if (!inline_is_blank(&self->text)) {
        if (inline_is_image(&self->text))
            emit_block(self->emitter, BLOCK_IMAGE, 0, 0, text);
        else if (self->item_depth)
            emit_in_item(self, text);
        else
            emit_block(self->emitter, BLOCK_PARAGRAPH, 0, 0, text);
    }
    inline_clear(&self->text);
}

static void flush_heading(struct markdown *self, unsigned level)
{
    struct str text = inline_str(&self->text);
    if (level == 1 && !self->has_title && !inline_is_blank(&self->text)) {
        self->has_title = true;
        emit_metadata(self->emitter, "title", text);
    }
    emit_block(self->emitter, BLOCK_HEADING, level, 0, text);
    inline_clear(&self->text);
}

static void flush_code(struct markdown *self)
{
    emit_block(self->emitter, BLOCK_CODE, 0, 0, inline_str(&self->text));
    inline_clear(&self->text);
    self->text.preformatted = false;
}

static void flush_raw_html(struct markdown *self)
{
    html_read(self->emitter, buffer_str(&self->raw_html), false);
    buffer_clear(&self->raw_html);
    self->in_raw_html = false;
}

static void flush_cell(struct markdown *self)
{
    table_cell_text(&self->table, inline_str(&self->text));
    table_cell_close(&self->table);
    inline_clear(&self->text);
}

/* ---- md4c's calls ---- */

static void open_list(struct markdown *self, bool ordered, unsigned start, char delimiter)
{
    flush_paragraph(self);
    emit_open(self->emitter, BLOCK_LIST, 0, 0);
    self->list_depth++;
    *innermost_list(self) = (struct list_state){.ordered = ordered, .next = start, .delimiter = delimiter};
}

static void open_item(struct markdown *self, const MD_BLOCK_LI_DETAIL *detail)
{
    struct list_state *list = innermost_list(self);
    list->item_fresh = true;
    list->task = detail->is_task ? (detail->task_mark == ' ' ? ' ' : 'x') : '\0';
    self->item_depth++;
    emit_open(self->emitter, BLOCK_LIST_ITEM, (unsigned)self->list_depth, 0);
}

static int on_enter_block(MD_BLOCKTYPE type, void *detail, void *context)
{
    struct markdown *self = context;
    const MD_BLOCK_OL_DETAIL *numbers = detail;
    switch (type) {
    case MD_BLOCK_QUOTE:
        flush_paragraph(self);
        emit_open(self->emitter, BLOCK_QUOTE, 0, 0);
        break;
    case MD_BLOCK_UL:
        open_list(self, false, 0, '\0');
        break;
    case MD_BLOCK_OL:
        open_list(self, true, numbers->start, numbers->mark_delimiter);
        break;
    case MD_BLOCK_LI:
        open_item(self, detail);
        break;
    case MD_BLOCK_CODE:
        flush_paragraph(self);
        self->text.preformatted = true;
        break;
    case MD_BLOCK_HTML:
        flush_paragraph(self);
        self->in_raw_html = true;
        break;
    case MD_BLOCK_TABLE:
        flush_paragraph(self);
        table_open(&self->table, self->emitter, 0);
        self->in_table = true;
        break;
    case MD_BLOCK_THEAD:
    case MD_BLOCK_TBODY:
        self->in_table_head = type == MD_BLOCK_THEAD;
        break;
    case MD_BLOCK_TR:
        table_row_open(&self->table, self->in_table_head);
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        table_cell_open(&self->table, 1, 1, type == MD_BLOCK_TH);
        break;
    default:
        flush_paragraph(self);
        break;
    }
    return 0;
}

static void close_item(struct markdown *self)
{
    struct list_state *list = innermost_list(self);
    flush_paragraph(self);
    if (list->item_fresh && list->ordered)
        list->next++; /* an empty item counts, too */
    self->item_depth--;
    emit_close(self->emitter);
}

static int on_leave_block(MD_BLOCKTYPE type, void *detail, void *context)
{
    struct markdown *self = context;
    switch (type) {
    case MD_BLOCK_QUOTE:
        flush_paragraph(self);
        emit_close(self->emitter);
        break;
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
        self->list_depth--;
        emit_close(self->emitter);
        break;
    case MD_BLOCK_LI:
        close_item(self);
        break;
    case MD_BLOCK_H:
        flush_heading(self, ((const MD_BLOCK_H_DETAIL *)detail)->level);
        break;
    case MD_BLOCK_CODE:
        flush_code(self);
        break;
    case MD_BLOCK_HTML:
        flush_raw_html(self);
        break;
    case MD_BLOCK_TABLE:
        table_close(&self->table);
        self->in_table = false;
        break;
    case MD_BLOCK_TR:
        table_row_close(&self->table);
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        flush_cell(self);
        break;
    case MD_BLOCK_THEAD:
    case MD_BLOCK_TBODY:
        break;
    default:
        flush_paragraph(self);
        break;
    }
    return 0;
}

/* The text of an image is collected apart: it is a description, not a part of the sentence. */
static int on_enter_span(MD_SPANTYPE type, void *detail, void *context)
{
    struct markdown *self = context;
    self->image_depth += type == MD_SPAN_IMG;
    return 0;
}

static int on_leave_span(MD_SPANTYPE type, void *detail, void *context)
{
    struct markdown *self = context;
    if (type != MD_SPAN_IMG || --self->image_depth > 0)
        return 0;
    inline_append_image(&self->text, inline_str(&self->alternative));
    inline_clear(&self->alternative);
    return 0;
}

static void on_raw_element(void *context, const xmlChar *name, const xmlChar **attributes)
{
    struct inline_text *text = context;
    if (strcmp((const char *)name, "br") == 0)
        inline_break(text);
    else if (strcmp((const char *)name, "img") == 0)
        inline_append_image(text, str_from(html_attribute(attributes, "alt", "")));
}

/* One tag or comment between words: only what it shows is kept. */
static void read_raw_tag(struct inline_text *text, struct str tag)
{
    static const xmlSAXHandler handlers = {.startElement = on_raw_element};
    char start[5] = "";
    for (size_t i = 0; i < 4 && i < tag.size; i++)
        start[i] = tag.data[i] >= 'A' && tag.data[i] <= 'Z' ? (char)(tag.data[i] | 0x20) : tag.data[i];
    if (strncmp(start, "<br", 3) == 0 || strcmp(start, "<img") == 0)
        html_parse(tag, &handlers, text);
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *data, MD_SIZE size, void *context)
{
    struct markdown *self = context;
    struct str text = {data, size};
    struct inline_text *target = self->image_depth ? &self->alternative : &self->text;
    char decoded[8];
    size_t decoded_size;
    switch (type) {
    case MD_TEXT_NULLCHAR:
        break;
    case MD_TEXT_BR:
        inline_break(target);
        break;
    case MD_TEXT_SOFTBR:
        inline_space(target);
        break;
    case MD_TEXT_ENTITY:
        decoded_size = html_decode_reference(text, decoded);
        inline_append(target, decoded_size ? (struct str){decoded, decoded_size} : text);
        break;
    case MD_TEXT_HTML:
        if (self->in_raw_html)
            buffer_append_str(&self->raw_html, text);
        else
            read_raw_tag(target, text);
        break;
    default:
        inline_append(target, text);
        break;
    }
    return 0;
}

void extract_markdown(struct emitter *emitter, const struct extract_input *input)
{
    struct decoded_text decoded;
    text_decode(emitter, input, &decoded);
    struct markdown *self = xcalloc(1, sizeof *self);
    self->emitter = emitter;
    self->text = INLINE_TEXT(PARAGRAPH_LIMIT);
    self->alternative = INLINE_TEXT(PARAGRAPH_LIMIT);
    self->raw_html = BUFFER(PARAGRAPH_LIMIT);
    struct str text = front_matter_read(emitter, decoded.text, &self->has_title);
    static const MD_PARSER parser = {
        .flags = MD_DIALECT_GITHUB | MD_FLAG_LATEXMATHSPANS,
        .enter_block = on_enter_block,
        .leave_block = on_leave_block,
        .enter_span = on_enter_span,
        .leave_span = on_leave_span,
        .text = on_text,
    };
    if (md_parse(text.data, (MD_SIZE)text.size, &parser, self) != 0)
        memory_exhausted(text.size);
    inline_release(&self->text);
    inline_release(&self->alternative);
    buffer_release(&self->raw_html);
    free(self);
    charset_release(&decoded);
}
