/* Which tables of a document only arrange it: those that hold tables, headings or code, whole articles
 * in a cell, or a single cell. Their content is read as if they were not there.
 *
 * Filled in a pass over the document before the one that reads it. Tables are known by the order in
 * which they begin. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { LAYOUT_NESTING_LIMIT = 100 };

struct layout_table {
    size_t index;
    size_t cells, cell_bytes;
};

struct layout_tables {
    bool *layout;
    size_t count, capacity;
    struct layout_table open[LAYOUT_NESTING_LIMIT];
    size_t depth, beyond;
};

void layout_tables_release(struct layout_tables *self);

/* `is_layout`: the document says so itself. */
void layout_tables_open(struct layout_tables *self, bool is_layout);
void layout_tables_close(struct layout_tables *self);
void layout_tables_cell(struct layout_tables *self);
void layout_tables_text(struct layout_tables *self, size_t size);
/* Something that no data table holds. */
void layout_tables_mark(struct layout_tables *self);

bool layout_tables_has(const struct layout_tables *self, size_t index);
