/* The paragraphs and tables of a DOCX part. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "extract/docx.h"
#include "extract/docx_symbols.h"
#include "extract/docx_walk.h"
#include "extract/inline_text.h"
#include "extract/layout_tables.h"
#include "extract/table.h"

enum {
    PARAGRAPH_LIMIT = 16 * 1024 * 1024,
    NOTES_LIMIT = 200,  /* of one paragraph */
    MARGIN_LIMIT = 100, /* headers and footers of a document */
    BOX_LIMIT = 16,     /* text boxes within each other */
};

struct anchor {
    enum block_kind kind;
    const char *text;
};

/* A paragraph while its runs come. */
struct paragraph {
    bool open;
    char *style;
    long outline, number_id, number_level; /* DOCX_UNSET: as the style says */
    bool mark_deleted;                     /* it runs on into the next one */
    struct inline_text text, hidden;
    struct anchor anchors[NOTES_LIMIT];
    size_t anchor_count;
};

struct body {
    struct docx *docx;
    struct emitter *emitter;
    struct docx_walk walk;
    struct xml_reader *reader; /* of the walk */
    enum block_kind story;
    struct docx_body_result *result;

    /* Text boxes stand inside a paragraph and hold paragraphs. */
    struct paragraph paragraphs[BOX_LIMIT + 1];
    size_t box_depth;
    bool run_hidden;

    long list_levels[DOCX_LEVELS]; /* of the open lists */
    size_t list_depth;

    struct layout_tables layout;
    size_t tables_begun, table_depth;
    struct table table;
    size_t data_depth; /* table_depth of the open data table, 0 for none */
    bool first_row_is_header, row_begun, row_header, row_deleted;
    size_t row_index;
    unsigned columns_before;
    bool cell_pending, cell_continues;
    unsigned cell_span;
    bool cell_restarts;
};

static struct paragraph *present(struct body *self)
{
    return &self->paragraphs[self->box_depth];
}

/* ---- lists ---- */

static void close_lists(struct body *self, size_t depth)
{
    for (; self->list_depth > depth; self->list_depth--) {
        emit_close(self->emitter); /* the item */
        emit_close(self->emitter); /* the list */
    }
}

/* Opens an item of that level: in the list that is open there, or in a new one inside the present item. */
static void open_item(struct body *self, long level)
{
    size_t depth = self->list_depth;
    while (depth > 0 && self->list_levels[depth - 1] > level)
        depth--;
    close_lists(self, depth);
    if (depth > 0 && self->list_levels[depth - 1] == level) {
        emit_close(self->emitter);
    } else {
        emit_open(self->emitter, BLOCK_LIST, 0, 0);
        self->list_levels[self->list_depth++] = level;
    }
    emit_open(self->emitter, BLOCK_LIST_ITEM, (unsigned)level + 1, 0);
}

/* ---- a paragraph's end ---- */

static const char *label_of(struct body *self, const struct paragraph *paragraph,
                            const struct docx_style *style, char label[DOCX_LABEL_SIZE], long *ret_level)
{
    long id = paragraph->number_id != DOCX_UNSET ? paragraph->number_id : style->number_id;
    long level = paragraph->number_level != DOCX_UNSET ? paragraph->number_level : style->number_level;
    if (id <= 0)
        return NULL;
    if (level == DOCX_UNSET)
        level = paragraph->style ? docx_numbering_level_of(&self->docx->numbering, id, paragraph->style) : 0;
    *ret_level = level < 0 ? 0 : level >= DOCX_LEVELS ? DOCX_LEVELS - 1 : level;
    bool known = docx_numbering_label(&self->docx->numbering, &self->docx->styles, id, *ret_level, label);
    return known ? label : NULL;
}

static void emit_labelled(struct body *self, const char *label, struct str text)
{
    if (label && label[0]) {
        emit_text(self->emitter, str_from(label));
        emit_text(self->emitter, STR(" "));
    }
    emit_text(self->emitter, text);
}

static void emit_heading(struct body *self, unsigned level, const char *label, struct str text)
{
    close_lists(self, 0);
    emit_open(self->emitter, BLOCK_HEADING, level, 0);
    emit_labelled(self, label, text);
    emit_close(self->emitter);
}

static void emit_styled(struct body *self, enum docx_role role, struct inline_text *text)
{
    static const enum block_kind kinds[] = {
        [DOCX_BODY] = BLOCK_PARAGRAPH,     [DOCX_HEADING] = BLOCK_PARAGRAPH, [DOCX_TITLE] = BLOCK_PARAGRAPH,
        [DOCX_CAPTION] = BLOCK_CAPTION,    [DOCX_QUOTE] = BLOCK_QUOTE,       [DOCX_CODE] = BLOCK_CODE,
        [DOCX_CONTENTS] = BLOCK_PARAGRAPH,
    };
    enum block_kind kind = inline_is_image(text) ? BLOCK_IMAGE : kinds[role];
    close_lists(self, 0);
    emit_block(self->emitter, kind, 0, role == DOCX_CONTENTS ? BLOCK_BOILERPLATE : 0, inline_str(text));
}

static unsigned heading_level(const struct paragraph *paragraph, const struct docx_style *style)
{
    bool direct = paragraph->outline >= 0 && paragraph->outline < DOCX_OUTLINE_BODY;
    if (direct)
        return (unsigned)paragraph->outline + 1;
    return paragraph->outline == DOCX_UNSET ? docx_style_heading_level(style) : 0;
}

static void emit_in_body(struct body *self, struct paragraph *paragraph)
{
    const struct docx_style *style =
        docx_styles_find(&self->docx->styles, paragraph->style ? paragraph->style : "");
    char buffer[DOCX_LABEL_SIZE];
    long level = 0;
    const char *label = label_of(self, paragraph, style, buffer, &level);
    struct str text = inline_str(&paragraph->text);
    if (inline_is_blank(&paragraph->text))
        return;
    unsigned heading = heading_level(paragraph, style);
    if (style->role == DOCX_TITLE && heading == 0) {
        if (!self->docx->has_title)
            emit_metadata(self->emitter, "title", text);
        self->docx->has_title = true;
        heading = 1;
    }
    if (heading) {
        emit_heading(self, heading, label, text);
    } else if (label) {
        open_item(self, level);
        emit_labelled(self, label, text);
    } else {
        emit_styled(self, style->role, &paragraph->text);
    }
}

/* A page number alone says nothing. */
static void emit_in_margin(struct body *self, struct str text)
{
    bool letters = false;
    for (size_t i = 0; i < text.size; i++)
        letters |= (unsigned char)text.data[i] >= 'A';
    if (letters)
        emit_block(self->emitter, self->story, 0, 0, text);
}

static void ensure_cell(struct body *self);

static void emit_in_cell(struct body *self, struct paragraph *paragraph)
{
    const struct docx_style *style =
        docx_styles_find(&self->docx->styles, paragraph->style ? paragraph->style : "");
    char label[DOCX_LABEL_SIZE];
    long level;
    bool labelled = label_of(self, paragraph, style, label, &level) && label[0];
    ensure_cell(self);
    if (self->row_deleted || self->cell_continues || inline_is_blank(&paragraph->text))
        return;
    if (labelled)
        table_cell_text(&self->table, str_from(label));
    table_cell_text(&self->table, inline_str(&paragraph->text));
}

/* Notes and comments follow the paragraph that points at them. */
static void emit_anchors(struct body *self, const struct paragraph *paragraph)
{
    for (size_t i = 0; i < paragraph->anchor_count; i++) {
        struct str text = str_from(paragraph->anchors[i].text);
        if (self->data_depth && !self->row_deleted)
            table_cell_text(&self->table, text);
        else if (self->data_depth == 0)
            emit_block(self->emitter, paragraph->anchors[i].kind, 0, 0, text);
    }
}

static void emit_hidden(struct body *self, const struct paragraph *paragraph)
{
    if (inline_is_blank(&paragraph->hidden))
        return;
    emit_warning(self->emitter, "hidden_text", "the document has text that it does not show");
    if (self->data_depth == 0) {
        close_lists(self, 0);
        emit_block(self->emitter, BLOCK_PARAGRAPH, 0, BLOCK_HIDDEN, inline_str(&paragraph->hidden));
    }
}

static void reset_properties(struct paragraph *paragraph)
{
    free(paragraph->style);
    paragraph->style = NULL;
    paragraph->outline = paragraph->number_id = paragraph->number_level = DOCX_UNSET;
    paragraph->mark_deleted = false;
    paragraph->text.preformatted = false;
}

static void begin_paragraph(struct body *self)
{
    struct paragraph *paragraph = present(self);
    reset_properties(paragraph);
    paragraph->open = true;
}

static void end_paragraph(struct body *self)
{
    struct paragraph *paragraph = present(self);
    if (!paragraph->open || paragraph->mark_deleted)
        return; /* its text goes on in the next one, which gives it its properties */
    self->result->any_text |= !inline_is_blank(&paragraph->text);
    if (self->data_depth)
        emit_in_cell(self, paragraph);
    else if (self->story != BLOCK_PARAGRAPH)
        emit_in_margin(self, inline_str(&paragraph->text));
    else
        emit_in_body(self, paragraph);
    emit_anchors(self, paragraph);
    emit_hidden(self, paragraph);
    inline_clear(&paragraph->text);
    inline_clear(&paragraph->hidden);
    paragraph->anchor_count = 0;
    paragraph->open = false;
}

/* ---- tables ---- */

static void begin_table(struct body *self)
{
    bool layout = layout_tables_has(&self->layout, self->tables_begun++);
    self->table_depth++;
    if (layout || self->data_depth || self->story != BLOCK_PARAGRAPH)
        return;
    close_lists(self, 0);
    table_open(&self->table, self->emitter, 0);
    self->data_depth = self->table_depth;
    self->first_row_is_header = false;
    self->row_index = 0;
}

static bool at_table_level(const struct body *self)
{
    return self->data_depth && self->table_depth == self->data_depth;
}

static void end_table(struct body *self)
{
    if (at_table_level(self)) {
        table_close(&self->table);
        self->data_depth = 0;
        self->row_deleted = false;
    }
    self->table_depth--;
}

static void begin_row(struct body *self)
{
    if (!at_table_level(self))
        return;
    self->row_begun = self->row_header = self->row_deleted = false;
    self->columns_before = 0;
}

/* The row's own properties have come before its first cell. */
static void ensure_row(struct body *self)
{
    if (self->row_begun || self->row_deleted)
        return;
    self->row_begun = true;
    table_row_open(&self->table, self->row_header || (self->first_row_is_header && self->row_index == 0));
    table_skip_columns(&self->table, self->columns_before);
    self->row_index++;
}

static void end_row(struct body *self)
{
    if (at_table_level(self) && self->row_begun)
        table_row_close(&self->table);
}

static void begin_cell(struct body *self)
{
    if (!at_table_level(self))
        return;
    ensure_row(self);
    self->cell_pending = true;
    self->cell_continues = self->cell_restarts = false;
    self->cell_span = 1;
}

/* The cell's own properties have come before its first paragraph. */
static void ensure_cell(struct body *self)
{
    if (!self->cell_pending)
        return;
    self->cell_pending = false;
    if (self->row_deleted)
        return;
    if (self->cell_continues)
        table_cell_continue(&self->table, self->cell_span);
    else
        table_cell_open(&self->table, self->cell_span, self->cell_restarts ? TABLE_BY_CONTINUATION : 1,
                        false);
}

static void end_cell(struct body *self)
{
    if (!at_table_level(self))
        return;
    ensure_cell(self);
    table_cell_close(&self->table);
    self->cell_continues = false;
}

/* ---- elements ---- */

static void on_paragraph_style(struct body *self)
{
    const char *value = xml_reader_attribute(self->reader, "w:val");
    free(present(self)->style);
    present(self)->style = value ? xstrdup(value) : NULL;
    present(self)->text.preformatted =
        value && docx_styles_find(&self->docx->styles, value)->role == DOCX_CODE;
}

static void on_outline(struct body *self)
{
    if (self->walk.in_paragraph_properties)
        present(self)->outline = xml_reader_attribute_number(self->reader, "w:val", DOCX_UNSET);
}

static void on_number_id(struct body *self)
{
    present(self)->number_id = xml_reader_attribute_number(self->reader, "w:val", 0);
}

static void on_number_level(struct body *self)
{
    present(self)->number_level = xml_reader_attribute_number(self->reader, "w:val", 0);
}

static void on_deletion_mark(struct body *self)
{
    if (self->walk.in_row_properties && at_table_level(self))
        self->row_deleted = true;
    else if (self->walk.in_paragraph_properties)
        present(self)->mark_deleted = true;
}

static void on_run(struct body *self)
{
    const char *style = present(self)->style;
    self->run_hidden = style && docx_styles_find(&self->docx->styles, style)->hidden == 1;
}

static void on_run_style(struct body *self)
{
    const char *value = xml_reader_attribute(self->reader, "w:val");
    int hidden = value ? docx_styles_find(&self->docx->styles, value)->hidden : DOCX_UNSET;
    if (hidden != DOCX_UNSET)
        self->run_hidden = hidden;
}

static void on_vanish(struct body *self)
{
    if (!self->walk.in_paragraph_properties)
        self->run_hidden = xml_reader_attribute_flag(self->reader, "w:val");
}

static struct inline_text *target(struct body *self)
{
    return self->run_hidden ? &present(self)->hidden : &present(self)->text;
}

static void on_text(struct body *self)
{
    inline_append(target(self), xml_reader_text(self->reader));
}

static void on_tab(struct body *self)
{
    inline_space(target(self));
}

static void on_break(struct body *self)
{
    inline_break(target(self));
}

static void on_hyphen(struct body *self)
{
    inline_append(target(self), STR("-"));
}

static void on_symbol(struct body *self)
{
    const char *font = xml_reader_attribute(self->reader, "w:font");
    bool greek = font && strcmp(font, "Symbol") == 0;
    const char *code = xml_reader_attribute(self->reader, "w:char");
    char text[4];
    size_t size = docx_symbol_decode(greek, code ? (uint32_t)strtoul(code, NULL, 16) : 0, text);
    if (size)
        inline_append(target(self), (struct str){text, size});
    else
        emit_warning(self->emitter, "symbol_dropped", "a sign of a symbol font has no meaning outside it");
}

static void on_picture(struct body *self)
{
    const char *description = xml_reader_attribute(self->reader, "descr");
    if (description && *description)
        inline_append_image(target(self), str_from(description));
}

static void add_anchor(struct body *self, enum block_kind kind, const struct docx_notes *notes)
{
    struct paragraph *paragraph = present(self);
    const char *text = docx_notes_find(notes, xml_reader_attribute_number(self->reader, "w:id", -1));
    if (text && paragraph->anchor_count < NOTES_LIMIT)
        paragraph->anchors[paragraph->anchor_count++] = (struct anchor){kind, text};
}

static void on_footnote(struct body *self)
{
    add_anchor(self, BLOCK_FOOTNOTE, &self->docx->footnotes);
}

static void on_endnote(struct body *self)
{
    add_anchor(self, BLOCK_FOOTNOTE, &self->docx->endnotes);
}

static void on_comment(struct body *self)
{
    add_anchor(self, BLOCK_COMMENT, &self->docx->comments);
}

static void begin_box(struct body *self)
{
    self->box_depth += self->box_depth < BOX_LIMIT;
    begin_paragraph(self);
    present(self)->open = false;
}

static void end_box(struct body *self)
{
    self->box_depth -= self->box_depth > 0;
    self->run_hidden = false;
}

static void on_table_style(struct body *self)
{
    const char *value = xml_reader_attribute(self->reader, "w:val");
    if (at_table_level(self) && value)
        self->first_row_is_header = docx_styles_find(&self->docx->styles, value)->first_row;
}

/* Newer files name each switch, older ones have a mask. */
static void on_table_look(struct body *self)
{
    if (!at_table_level(self))
        return;
    const char *mask = xml_reader_attribute(self->reader, "w:val");
    bool wanted = mask && strtoul(mask, NULL, 16) & 0x0020;
    const char *named = xml_reader_attribute(self->reader, "w:firstRow");
    if (named)
        wanted = strcmp(named, "1") == 0 || strcmp(named, "true") == 0;
    self->first_row_is_header &= wanted;
}

static void on_header_row(struct body *self)
{
    if (at_table_level(self))
        self->row_header = xml_reader_attribute_flag(self->reader, "w:val");
}

static void on_columns_before(struct body *self)
{
    long count = xml_reader_attribute_number(self->reader, "w:val", 0);
    if (at_table_level(self))
        self->columns_before = count > 0 && count < TABLE_SPAN_LIMIT ? (unsigned)count : 0;
}

static void on_column_span(struct body *self)
{
    long count = xml_reader_attribute_number(self->reader, "w:val", 1);
    if (at_table_level(self))
        self->cell_span = count > 0 && count < TABLE_SPAN_LIMIT ? (unsigned)count : 1;
}

static void on_row_span(struct body *self)
{
    const char *value = xml_reader_attribute(self->reader, "w:val");
    if (!at_table_level(self))
        return;
    self->cell_restarts = value && strcmp(value, "restart") == 0;
    self->cell_continues = !self->cell_restarts;
}

static void add_margin(struct body *self, bool footer)
{
    struct docx_body_result *result = self->result;
    const char *id = xml_reader_attribute(self->reader, "r:id");
    for (size_t i = 0; id && i < result->margin_count; i++)
        if (strcmp(result->margin_parts[i], id) == 0)
            return;
    if (!id || result->margin_count == MARGIN_LIMIT)
        return;
    if (result->margin_count == result->margin_capacity) {
        result->margin_capacity = MARGIN_LIMIT;
        result->margin_parts = xcalloc(MARGIN_LIMIT, sizeof *result->margin_parts);
        result->margin_is_footer = xcalloc(MARGIN_LIMIT, sizeof *result->margin_is_footer);
    }
    result->margin_parts[result->margin_count] = xstrdup(id);
    result->margin_is_footer[result->margin_count++] = footer;
}

static void on_header_reference(struct body *self)
{
    add_margin(self, false);
}

static void on_footer_reference(struct body *self)
{
    add_margin(self, true);
}

static void on_foreign_part(struct body *self)
{
    emit_warning(self->emitter, "embedded_part", "text of another format inside the document was not read");
}

static const struct element {
    const char *name;
    void (*start)(struct body *self);
    void (*end)(struct body *self);
} elements[] = {
    {"w:p", begin_paragraph, end_paragraph},
    {"w:r", on_run, NULL},
    {"w:pStyle", on_paragraph_style, NULL},
    {"w:outlineLvl", on_outline, NULL},
    {"w:numId", on_number_id, NULL},
    {"w:ilvl", on_number_level, NULL},
    {"w:del", on_deletion_mark, NULL},
    {"w:moveFrom", on_deletion_mark, NULL},
    {"w:rStyle", on_run_style, NULL},
    {"w:vanish", on_vanish, NULL},
    {"w:tab", on_tab, NULL},
    {"w:ptab", on_tab, NULL},
    {"w:br", on_break, NULL},
    {"w:cr", on_break, NULL},
    {"w:noBreakHyphen", on_hyphen, NULL},
    {"w:sym", on_symbol, NULL},
    {"wp:docPr", on_picture, NULL},
    {"w:footnoteReference", on_footnote, NULL},
    {"w:endnoteReference", on_endnote, NULL},
    {"w:commentReference", on_comment, NULL},
    {"w:txbxContent", begin_box, end_box},
    {"w:tbl", begin_table, end_table},
    {"w:tblStyle", on_table_style, NULL},
    {"w:tblLook", on_table_look, NULL},
    {"w:tr", begin_row, end_row},
    {"w:tblHeader", on_header_row, NULL},
    {"w:gridBefore", on_columns_before, NULL},
    {"w:tc", begin_cell, end_cell},
    {"w:gridSpan", on_column_span, NULL},
    {"w:vMerge", on_row_span, NULL},
    {"w:headerReference", on_header_reference, NULL},
    {"w:footerReference", on_footer_reference, NULL},
    {"w:altChunk", on_foreign_part, NULL},
};

static const struct element *find_element(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(elements); i++)
        if (strcmp(name, elements[i].name) == 0)
            return &elements[i];
    return NULL;
}

static void handle(struct body *self, enum xml_event event)
{
    if (event == XML_TEXT) {
        if (docx_walk_in_text(&self->walk))
            on_text(self);
        return;
    }
    const struct element *element = find_element(xml_reader_name(self->reader));
    if (element && event == XML_START)
        element->start(self);
    else if (element && element->end)
        element->end(self);
}

/* ---- the pass before: which tables only arrange the page ---- */

static void look_at(struct docx *docx, struct docx_walk *walk, enum xml_event event,
                    struct layout_tables *layout)
{
    struct xml_reader *reader = walk->reader;
    if (event == XML_TEXT) {
        if (docx_walk_in_text(walk))
            layout_tables_text(layout, xml_reader_text(reader).size);
    } else if (xml_reader_is(reader, "w:tbl")) {
        if (event == XML_START)
            layout_tables_open(layout, false);
        else
            layout_tables_close(layout);
    } else if (event == XML_START && xml_reader_is(reader, "w:tc")) {
        layout_tables_cell(layout);
    } else if (event == XML_START && xml_reader_is(reader, "w:pStyle")) {
        const char *value = xml_reader_attribute(reader, "w:val");
        if (value && docx_style_heading_level(docx_styles_find(&docx->styles, value)))
            layout_tables_mark(layout);
    }
}

static void find_layout_tables(struct docx *docx, const char *part, struct layout_tables *ret)
{
    *ret = (struct layout_tables){0};
    struct docx_walk walk;
    if (!docx_walk_open(&walk, docx->emitter, docx->package, part))
        return;
    enum xml_event event;
    while ((event = docx_walk_next(&walk)) != XML_DONE && event != XML_BROKEN)
        look_at(docx, &walk, event, ret);
    docx_walk_close(&walk);
}

/* ---- */

static bool read_all(struct body *self, const char *root)
{
    enum xml_event event = docx_walk_next(&self->walk);
    if (event == XML_BROKEN)
        return true; /* said as damage, not as another root */
    if (event != XML_START || !xml_reader_is(self->reader, root))
        return false;
    while ((event = docx_walk_next(&self->walk)) != XML_DONE && event != XML_BROKEN)
        handle(self, event);
    self->result->whole = event == XML_DONE;
    return true;
}

/* Ends what a damaged part has left open. */
static void close_all(struct body *self)
{
    for (size_t i = 0; i <= BOX_LIMIT; i++)
        self->paragraphs[i].mark_deleted = false;
    if (!self->data_depth || !self->row_deleted)
        end_paragraph(self);
    if (self->data_depth)
        table_close(&self->table);
    self->data_depth = 0;
    close_lists(self, 0);
}

bool docx_body_read(struct docx *docx, const char *part, const char *root, enum block_kind story,
                    struct docx_body_result *ret)
{
    struct body *self = xcalloc(1, sizeof *self);
    *ret = (struct docx_body_result){0};
    self->docx = docx;
    self->emitter = docx->emitter;
    self->story = story;
    self->result = ret;
    for (size_t i = 0; i <= BOX_LIMIT; i++) {
        self->paragraphs[i].text = self->paragraphs[i].hidden = INLINE_TEXT(PARAGRAPH_LIMIT);
        reset_properties(&self->paragraphs[i]);
    }
    find_layout_tables(docx, part, &self->layout);
    bool found = docx_walk_open(&self->walk, docx->emitter, docx->package, part);
    self->reader = self->walk.reader;
    found = found && read_all(self, root);
    close_all(self);
    docx_walk_close(&self->walk);
    layout_tables_release(&self->layout);
    for (size_t i = 0; i <= BOX_LIMIT; i++) {
        free(self->paragraphs[i].style);
        inline_release(&self->paragraphs[i].text);
        inline_release(&self->paragraphs[i].hidden);
    }
    free(self);
    return found;
}

void docx_body_result_release(struct docx_body_result *result)
{
    for (size_t i = 0; i < result->margin_count; i++)
        free(result->margin_parts[i]);
    free(result->margin_parts);
    free(result->margin_is_footer);
}
