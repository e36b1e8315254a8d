/* Text analysis for keyword search: the same for indexing, querying and marking matches.
 *
 * NFKC, case and accent folding; UAX #29 words; bigrams for Han, Kana and Hangul (single characters
 * when alone); Snowball stems beside the surface form; identifiers split and kept whole. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

enum term_kind {
    TERM_SURFACE, /* the word as written, folded */
    TERM_STEM,    /* its stem, when it differs or the surface form stands for itself */
    TERM_PART,    /* part of an identifier */
};

struct term {
    struct str text;       /* folded; in the arena */
    enum term_kind kind;
    uint32_t start, end;   /* bytes in the analysed text */
    uint32_t position;     /* counts words: terms of one word share it */
};

struct analyzer; /* holds ICU iterators and stemmers; one per thread at a time */

/* `language`: ISO 639-1 for stems and dictionaries; "" guesses by script (English stems for Latin). */
struct analyzer *analyzer_new(void) __attribute__((returns_nonnull));
void analyzer_free(struct analyzer *analyzer);

/* Terms in the order of the text. `text` is well-formed UTF-8. Terms longer than 128 bytes are cut. */
void analyzer_terms(struct analyzer *analyzer, struct str text, struct str language, struct arena *arena,
                    struct term **ret_terms, size_t *ret_count);
