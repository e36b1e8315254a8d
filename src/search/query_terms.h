/* The words of a query: what they are searched by, and what they are recognised by in a text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "model/terms.h"
#include "vector_store/vector_store.h"

enum {
    QUERY_WORD_LIMIT = 128,   /* words of a text that count; what follows them is not searched for by word */
    QUERY_LANGUAGE_LIMIT = 6, /* stemmers that a query goes through */
};

/* A set of the query's distinct words. */
struct word_set {
    uint64_t bits[QUERY_WORD_LIMIT / 64];
};

static inline bool word_set_has(const struct word_set *set, size_t word)
{
    return set->bits[word / 64] >> (word % 64) & 1;
}

static inline void word_set_add(struct word_set *set, size_t word)
{
    set->bits[word / 64] |= UINT64_C(1) << (word % 64);
}

static inline void word_set_join(struct word_set *set, const struct word_set *other)
{
    for (size_t i = 0; i < QUERY_WORD_LIMIT / 64; i++)
        set->bits[i] |= other->bits[i];
}

static inline bool word_set_meets(const struct word_set *set, const struct word_set *other)
{
    uint64_t common = 0;
    for (size_t i = 0; i < QUERY_WORD_LIMIT / 64; i++)
        common |= set->bits[i] & other->bits[i];
    return common != 0;
}

struct query_term {
    struct str text;
    struct word_set means;  /* words that a text with this term has, whatever their form */
    struct word_set spells; /* words that a text with this term has exactly so */
};

struct query_terms {
    struct query_term *terms; /* each once, in order of first use */
    struct str *texts;        /* the same for struct term_query */
    float *weights;
    float *idf; /* NAN until a search has filled it in */
    size_t count;

    size_t word_count;                  /* distinct words */
    uint8_t sequence[QUERY_WORD_LIMIT]; /* the words in the order of the query */
    size_t sequence_count;

    uint32_t *slots;   /* hash table over the terms: position + 1, or 0 */
    size_t slot_count; /* a power of two */
};

/* A language of the texts that are searched, and the share of them that is in it. */
struct query_language {
    struct str code; /* ISO 639-1, or "" for the usual one of each script */
    double share;    /* 0..1 */
};

/* Takes a query's text apart, once for each language: the texts searched may be in any of them. A stem
 * weighs 1, parts of identifiers QUERY_WEIGHT_PART. The exact form of a word weighs QUERY_WEIGHT_FORM where
 * it has another stem and 1 where it is its own, each language having its share in that. Everything lives in
 * `arena`. */
void query_terms_make(struct analyzer *analyzer, struct str text, const struct query_language *languages,
                      size_t language_count, struct arena *arena, struct query_terms *ret);

#define QUERY_WEIGHT_FORM 0.25f
#define QUERY_WEIGHT_PART 0.5f

/* NULL when the query has no such term. */
const struct query_term *query_terms_find(const struct query_terms *terms, struct str text);

/* For the vector store, with room for idf. */
struct term_query query_terms_query(struct query_terms *terms, double k1, double b);

/* How much of the query a text with the words `means` covers: the share of them, each counting as much as
 * it is rare. 0..1. */
double query_terms_coverage(const struct query_terms *terms, const struct word_set *means);

/* The words' weights for that, word_count of them; they add up to 1 unless there are none. */
void query_terms_word_weights(const struct query_terms *terms, double weights[QUERY_WORD_LIMIT]);
