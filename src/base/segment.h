/* Where text may be cut: user-perceived characters, words and sentences by Unicode Annex 29, as ICU
 * has it (dictionaries for Chinese, Japanese, Thai, Lao, Khmer and Burmese words; lists of
 * abbreviations that end no sentence for the languages that ICU knows them of). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum segment_unit { SEGMENT_CHARACTER, SEGMENT_WORD, SEGMENT_SENTENCE };

/* Walks over one text at a time. One thread at a time. */
struct segmenter;

/* `language`: ISO 639-1, "" when unknown. Opening costs far more than starting on a text: keep it. */
struct segmenter *segmenter_new(enum segment_unit unit, const char *language)
    __attribute__((returns_nonnull));
void segmenter_free(struct segmenter *segmenter);

/* Begins at the front of `text` (well-formed UTF-8, borrowed until the next start). */
void segmenter_start(struct segmenter *segmenter, struct str text);
/* Moves to the end of the next segment; false at the end of the text. Words, the white space and the
 * punctuation between them are segments of their own; a sentence keeps the white space behind it. */
bool segmenter_next(struct segmenter *segmenter, size_t *ret_end);
/* The last boundary <= `position`. */
size_t segmenter_floor(struct segmenter *segmenter, size_t position);
