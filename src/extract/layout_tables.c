#include "extract/layout_tables.h"

#include <stdlib.h>

#include "base/memory.h"

enum {
    COUNT_LIMIT = 200000, /* further ones are taken for data */
    ARTICLE_SIZE = 4000,  /* bytes of text that no cell of a data table has */
};

void layout_tables_release(struct layout_tables *self)
{
    free(self->layout);
}

void layout_tables_mark(struct layout_tables *self)
{
    for (size_t i = 0; i < self->depth; i++)
        self->layout[self->open[i].index] = true;
}

void layout_tables_open(struct layout_tables *self, bool is_layout)
{
    layout_tables_mark(self);
    if (self->count == COUNT_LIMIT) {
        self->beyond++;
        return;
    }
    GROW(self->layout, self->count, self->capacity);
    self->layout[self->count++] = is_layout;
    if (self->beyond || self->depth == LAYOUT_NESTING_LIMIT)
        self->beyond++;
    else
        self->open[self->depth++] = (struct layout_table){.index = self->count - 1};
}

void layout_tables_close(struct layout_tables *self)
{
    if (self->beyond) {
        self->beyond--;
    } else if (self->depth) {
        struct layout_table *table = &self->open[--self->depth];
        if (table->cells <= 1)
            self->layout[table->index] = true;
    }
}

void layout_tables_cell(struct layout_tables *self)
{
    if (self->depth == 0 || self->beyond)
        return;
    struct layout_table *table = &self->open[self->depth - 1];
    table->cells++;
    table->cell_bytes = 0;
}

void layout_tables_text(struct layout_tables *self, size_t size)
{
    if (self->depth == 0)
        return;
    struct layout_table *table = &self->open[self->depth - 1];
    table->cell_bytes += size;
    if (table->cell_bytes > ARTICLE_SIZE)
        self->layout[table->index] = true;
}

bool layout_tables_has(const struct layout_tables *self, size_t index)
{
    return index < self->count && self->layout[index];
}
