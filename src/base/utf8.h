/* UTF-8: checking, walking, counting. Everything that folds or segments text is in unicode.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/str.h"

enum { UTF8_REPLACEMENT = 0xFFFD };

/* Length (1..4) of the well-formed sequence at `data`, 0 when it is not well-formed
 * (overlong, surrogate, above U+10FFFF, cut off). `size` > 0. */
size_t utf8_sequence_length(const char *data, size_t size);

/* Decodes the sequence at *position and moves behind it. An ill-formed byte gives
 * UTF8_REPLACEMENT and moves by one. *position < text.size. */
uint32_t utf8_next(struct str text, size_t *position);

/* Writes `code_point` (a scalar value) to `out`; returns its length (1..4). */
size_t utf8_encode(uint32_t code_point, char out[4]);

bool utf8_is_valid(struct str text);

/* Appends `text` with every ill-formed byte replaced by U+FFFD and NUL dropped.
 * Returns how many replacements were made. */
size_t utf8_append_repaired(struct buffer *out, struct str text);

/* Code points in `text`, which is well-formed. */
size_t utf8_count(struct str text);

/* UTF-16 code units that `text` takes (for clients that count so). */
size_t utf8_count_utf16(struct str text);

/* The largest cut <= `position` that does not split a code point. */
size_t utf8_floor(struct str text, size_t position);
