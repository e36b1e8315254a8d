/* Folding and stemming of single words, for terms.c. */
#pragma once

#include <unicode/unorm2.h>

#include "base/str.h"
#include "model/terms.h"

enum {
    FOLD_INPUT_LIMIT = 512, /* bytes of a word that are looked at: TERM_LIMIT bytes remain of it */
    FOLD_BUFFER_SIZE = 4 * TERM_LIMIT,
};

struct folder {
    const UNormalizer2 *compatible; /* NFKC with case folding */
    const UNormalizer2 *canonical;  /* NFC, for taking apart and putting together */
};

void folder_start(struct folder *folder);

/* NFKC and case folding of at most FOLD_INPUT_LIMIT bytes, cut to TERM_LIMIT bytes, into `out`; returns the
 * size, 0 when nothing is left (all of it ignorable). */
size_t fold_case(const struct folder *folder, struct str word, char out[TERM_LIMIT]);

/* The same word without the accents that are spelling variants; it gets no longer. `word` comes from
 * fold_case. */
size_t fold_accents(const struct folder *folder, struct str word, char out[TERM_LIMIT]);

struct stemmers;

struct stemmers *stemmers_new(void) __attribute__((returns_nonnull));
void stemmers_free(struct stemmers *stemmers);

/* Stems the words of one text: `language` as in analyzer_terms. */
void stemmers_choose(struct stemmers *stemmers, struct str language);

/* The stem of a case-folded word with its accents; the word itself when there is no stemmer for its script,
 * or it holds a digit. Borrowed until the next call. */
struct str stemmers_stem(struct stemmers *stemmers, struct str word);
