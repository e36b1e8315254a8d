#include "extract/table.h"

#include <stdlib.h>

#include "base/memory.h"

void table_open(struct table *self, struct emitter *emitter, unsigned flags)
{
    *self = (struct table){.emitter = emitter, .flags = flags, .text = BUFFER(TABLE_ROW_LIMIT)};
    emit_open(emitter, BLOCK_TABLE, 0, flags);
}

void table_close(struct table *self)
{
    table_row_close(self);
    emit_close(self->emitter);
    for (size_t i = 0; i < self->column_count; i++)
        free(self->columns[i].text);
    free(self->columns);
    free(self->ends);
    buffer_release(&self->text);
}

/* The column of that index, made when there is none. */
static struct table_column *column_at(struct table *self, size_t index)
{
    while (self->column_count <= index) {
        GROW(self->columns, self->column_count, self->column_capacity);
        self->columns[self->column_count++] = (struct table_column){0};
    }
    return &self->columns[index];
}

/* Ends a cell at the present end of the text; the columns beyond the limit share the last one. */
static void end_cell(struct table *self)
{
    if (self->cell_count == TABLE_COLUMN_LIMIT) {
        self->ends[self->cell_count - 1] = self->text.size;
        return;
    }
    GROW(self->ends, self->cell_count, self->end_capacity);
    self->ends[self->cell_count++] = self->text.size;
}

static void repeat_from_above(struct table *self, struct table_column *column)
{
    if (column->text)
        buffer_append_string(&self->text, column->text);
    end_cell(self);
}

/* Fills the columns that cells from above go on through, up to the first free one. */
static void fill_spanned(struct table *self)
{
    while (self->cell_count < self->column_count && self->columns[self->cell_count].rows_left > 0) {
        struct table_column *column = &self->columns[self->cell_count];
        if (column->rows_left != TABLE_TO_THE_END)
            column->rows_left--;
        repeat_from_above(self, column);
    }
}

void table_row_open(struct table *self, bool header)
{
    table_row_close(self);
    self->row_open = true;
    self->header = header;
    self->only_header_cells = true;
    self->cell_count = 0;
    buffer_clear(&self->text);
}

static void emit_row(struct table *self)
{
    bool header = self->header || (self->only_header_cells && self->cell_count > 0);
    struct str text = buffer_str(&self->text);
    size_t start = 0;
    while (self->cell_count > 1 && self->ends[self->cell_count - 2] == text.size)
        self->cell_count--; /* empty cells at the end say nothing */
    emit_open(self->emitter, BLOCK_TABLE_ROW, 0, self->flags | (header ? BLOCK_HEADER : 0));
    for (size_t i = 0; i < self->cell_count; i++) {
        if (i > 0)
            emit_cell_end(self->emitter);
        emit_text(self->emitter, str_slice(text, start, self->ends[i]));
        start = self->ends[i];
    }
    emit_close(self->emitter);
}

void table_row_close(struct table *self)
{
    if (!self->row_open)
        return;
    table_cell_close(self);
    fill_spanned(self);
    while (self->cell_count < self->column_count) { /* a gap before further spanned columns */
        size_t before = self->cell_count;
        bool spanned_beyond = false;
        for (size_t i = before; i < self->column_count; i++)
            spanned_beyond |= self->columns[i].rows_left > 0;
        if (!spanned_beyond)
            break;
        end_cell(self);
        fill_spanned(self);
        if (self->cell_count == before)
            break;
    }
    emit_row(self);
    self->row_open = false;
}

void table_cell_open(struct table *self, unsigned column_span, unsigned row_span, bool header)
{
    if (!self->row_open)
        table_row_open(self, false);
    table_cell_close(self);
    fill_spanned(self);
    self->cell_open = true;
    self->cell_has_text = false;
    self->cell_start = self->text.size;
    self->column_span = column_span < 1 ? 1 : column_span > TABLE_SPAN_LIMIT ? TABLE_SPAN_LIMIT : column_span;
    self->row_span = row_span;
    self->only_header_cells &= header;
}

void table_cell_text(struct table *self, struct str text)
{
    if (self->cell_has_text)
        buffer_append_byte(&self->text, ' ');
    buffer_append_str(&self->text, text);
    self->cell_has_text |= text.size > 0;
}

void table_cell_close(struct table *self)
{
    if (!self->cell_open)
        return;
    self->cell_open = false;
    struct str text = str_slice(buffer_str(&self->text), self->cell_start, self->text.size);
    for (unsigned i = 0; i < self->column_span && self->cell_count < TABLE_COLUMN_LIMIT; i++) {
        struct table_column *column = column_at(self, self->cell_count);
        free(column->text);
        bool repeat = i == 0 && self->row_span != 1 && text.size <= TABLE_REPEAT_LIMIT;
        column->text = repeat ? xmemdup0(text.data, text.size) : NULL;
        column->rows_left = self->row_span == TABLE_TO_THE_END ? TABLE_TO_THE_END
                            : self->row_span > 1               ? self->row_span - 1
                                                               : 0;
        end_cell(self);
    }
}

void table_cell_continue(struct table *self, unsigned column_span)
{
    table_cell_open(self, column_span, 1, self->header || self->only_header_cells);
    self->cell_open = false;
    for (unsigned i = 0; i < self->column_span && self->cell_count < TABLE_COLUMN_LIMIT; i++)
        repeat_from_above(self, column_at(self, self->cell_count));
}

void table_skip_columns(struct table *self, unsigned count)
{
    if (count)
        table_cell_open(self, count, 1, self->only_header_cells);
    table_cell_close(self);
}
