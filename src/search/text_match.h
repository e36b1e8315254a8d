/* Where the words of a query stand in a text, how much of the query they make up, and which passage of
 * the text shows them best. */
#pragma once

#include "base/arena.h"
#include "model/hit.h"
#include "search/query_terms.h"

struct word_place {
    uint32_t start, end; /* bytes of the text */
    struct word_set means;
};

struct text_match {
    struct word_place *places; /* ascending, not overlapping */
    size_t place_count;
    struct word_set means;  /* words of the query that the text has in any form */
    struct word_set spells; /* exactly so */
    size_t longest_phrase;  /* most words of the query in their order without a gap */
};

/* `language` as in analyzer_terms. The result lives in `arena`. */
struct text_match text_match_make(const struct query_terms *terms, struct analyzer *analyzer, struct str text,
                                  struct str language, struct arena *arena);

/* Keyword overlap, 0..1: half for the share of the query's words that the text has verbatim, half for the
 * length of the longest phrase of the query in it. A query of one word is all of it or nothing. */
double text_match_overlap(const struct query_terms *terms, const struct text_match *match);

/* The stretch of about `bytes` of the text with the rarest and most words of the query, cut between
 * sentences or words; from the start where there is none. 0 bytes, or a text that is hardly longer: all. */
struct text_range text_match_passage(const struct query_terms *terms, const struct text_match *match,
                                     struct str text, size_t bytes);
