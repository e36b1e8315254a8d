/* Text analysis for keyword search: the same for indexing, querying and marking matches.
 *
 * Words are found by UAX #29 and folded: NFKC with case folding (Unicode), then accents dropped in the
 * scripts where they are spelling variants (Latin, Greek, Cyrillic but й, Hebrew, Arabic). Runs of Han, Kana
 * and Hangul give bigrams, or their single character when alone. Beside the surface form of a word stands its
 * Snowball stem where it differs. Identifiers (camelCase, snake_case, dotted.names) and elisions (l'eau) are
 * kept whole and split as well. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

enum term_kind {
    TERM_SURFACE, /* the word as written, folded */
    TERM_STEM,    /* the stem of the word or of one of its parts, where it differs from that */
    TERM_PART,    /* part of an identifier, at least two characters */
};

/* TERM_LIMIT: bytes of a term; longer ones are cut. TERM_PART_LIMIT: parts that a word is split into. */
enum { TERM_LIMIT = 128, TERM_PART_LIMIT = 32 };

struct term {
    struct str text; /* folded; in the arena */
    enum term_kind kind;
    uint32_t start, end; /* bytes in the analysed text */
    uint32_t position;   /* counts words: terms of one word share it */
};

/* Changes with every change of what analyzer_terms gives, and names the Unicode data it was made with: an
 * index built under another one is to be built anew. Static. */
const char *analyzer_fingerprint(void);

struct analyzer; /* holds ICU iterators and stemmers; one per thread at a time */

struct analyzer *analyzer_new(void) __attribute__((returns_nonnull));
void analyzer_free(struct analyzer *analyzer);
void analyzer_auto_free(struct analyzer **analyzer); /* for AUTO() */

/* Terms in the order of the text; those of one word follow each other, surface first. `text` is well-formed
 * UTF-8 of at most 4 GiB. `language`: ISO 639-1, chooses the stemmer for words in that language's script;
 * words in another script, or all of them when it is empty or unknown, get that of their script (English for
 * Latin, Russian for Cyrillic, ...). */
void analyzer_terms(struct analyzer *analyzer, struct str text, struct str language, struct arena *arena,
                    struct term **ret_terms, size_t *ret_count);
