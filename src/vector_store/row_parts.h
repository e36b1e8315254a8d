/* What a row is searched by, taken apart once for every member: its terms and its attributes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "model/row.h"
#include "model/scope.h"
#include "model/terms.h"

/* A term of a row and how often it occurs, at most BM25_TF_LIMIT. */
struct counted_term {
    struct str text;
    uint32_t tf;
};

struct row_terms {
    struct counted_term *terms; /* ascending by str_compare, each once */
    size_t count;
    uint32_t length; /* words, at most BM25_LENGTH_LIMIT */
};

/* The terms of a row's text; results and what they point to live in `arena`. */
struct row_terms row_terms(struct analyzer *analyzer, const struct row *row, struct arena *arena);

/* The attributes of a row as the index keeps them, in `arena`: what the row brings, less values whose type is
 * not that of their key (they count as missing), and with document_id, state and workspace_id, which follow
 * from the row itself. */
size_t row_attributes(const struct row *row, struct arena *arena, struct attribute **ret);

/* Whether one of the ascending `workspaces` is in the scope; for a sensitive document it has to be one where
 * the scope reads those. Expired documents are never readable. */
bool scope_reads(const struct scope *scope, enum document_state state, const int64_t *workspaces,
                 size_t count);
