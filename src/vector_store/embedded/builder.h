/* Gathers rows as they come from the truth and makes a segment of them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/row.h"
#include "vector_store/embedded/image.h"
#include "vector_store/embedded/rotation.h"

struct builder;

/* `rotation` (NULL when dimension is 0) is borrowed for the builder's life. */
struct builder *builder_new(uint32_t dimension, const struct rotation *rotation)
    __attribute__((returns_nonnull));
void builder_free(struct builder *builder);

/* Adds a row; a later one with the same row_id takes the place of an earlier. A removed row only takes away.
 */
void builder_add(struct builder *builder, const struct row *row);

/* Rows added so far, replaced and removed ones included. */
size_t builder_count(const struct builder *builder);

/* The ids of all rows added, ascending, each once: versions of them in older segments are out of date.
 * Borrowed until the next change. */
const int64_t *builder_row_ids(struct builder *builder, size_t *ret_count);

/* Makes a segment of the living rows, which changed in seq_low < seq <= seq_high, and empties the builder.
 * *ret is NULL when there are none. On failure the builder keeps its rows. */
ibid_code builder_finish(struct builder *builder, const struct image_target *target, int64_t seq_low,
                         int64_t seq_high, struct segment **ret, ibid_error *err) MUST_CHECK;
/* Forgets all rows. */
void builder_clear(struct builder *builder);
