/* Turns cells with spans into rows of equal meaning: a cell that spans rows is repeated in each of
 * them, so that a row can be read alone; one that spans columns is followed by empty cells, so that
 * the columns stay where they are. */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "extract/emitter.h"

enum {
    TABLE_COLUMN_LIMIT = 16384,
    TABLE_SPAN_LIMIT = 1000,  /* columns of one cell */
    TABLE_REPEAT_LIMIT = 200, /* bytes of a cell; longer ones are not repeated */
    TABLE_ROW_LIMIT = 16 * 1024 * 1024,
};
#define TABLE_TO_THE_END UINT_MAX /* rows: spanned until the table ends */
#define TABLE_BY_CONTINUATION 0   /* rows: each further one comes with table_cell_continue() */

/* What a column remembers of the rows above. */
struct table_column {
    unsigned rows_left; /* that the cell of this column goes on through */
    char *text;         /* to be repeated in them, or NULL */
};

struct table {
    struct emitter *emitter;
    unsigned flags; /* of its rows */
    struct table_column *columns;
    size_t column_count, column_capacity;

    /* The present row: its cells stand in `text` one after the other. */
    struct buffer text;
    size_t *ends;
    size_t cell_count, end_capacity;
    bool row_open, header, only_header_cells;

    bool cell_open, cell_has_text;
    size_t cell_start;
    unsigned column_span, row_span;
};

/* Opens the table; `flags` of enum block_flags hold for its rows, too. */
void table_open(struct table *self, struct emitter *emitter, unsigned flags);
/* Ends what is open and frees everything. */
void table_close(struct table *self);

/* A row is a header row when `header` is set or all its cells say so. */
void table_row_open(struct table *self, bool header);
void table_row_close(struct table *self);

/* Opens a row where there is none. */
void table_cell_open(struct table *self, unsigned column_span, unsigned row_span, bool header);
/* A further piece of the open cell's text; pieces are parted by a space. */
void table_cell_text(struct table *self, struct str text);
void table_cell_close(struct table *self);
/* A cell that is the lower part of the one above it. */
void table_cell_continue(struct table *self, unsigned column_span);
/* Empty cells. */
void table_skip_columns(struct table *self, unsigned count);
