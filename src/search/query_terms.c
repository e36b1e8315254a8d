#include "search/query_terms.h"

#include <math.h>

#include "base/hash.h"

enum { SLOT_COUNT = 2 * TERM_QUERY_LIMIT };

static size_t find_slot(const struct query_terms *terms, struct str text)
{
    size_t slot = checksum64(text.data, text.size, 0) & (terms->slot_count - 1);
    while (terms->slots[slot] && !str_equal(terms->terms[terms->slots[slot] - 1].text, text))
        slot = (slot + 1) & (terms->slot_count - 1);
    return slot;
}

const struct query_term *query_terms_find(const struct query_terms *terms, struct str text)
{
    uint32_t found = terms->slots[find_slot(terms, text)];
    return found ? &terms->terms[found - 1] : NULL;
}

/* The term of that text, made when it is new; NULL when there is no more room. */
static struct query_term *add_term(struct query_terms *terms, struct str text, float weight)
{
    size_t slot = find_slot(terms, text);
    if (!terms->slots[slot]) {
        if (terms->count == TERM_QUERY_LIMIT)
            return NULL;
        terms->terms[terms->count].text = terms->texts[terms->count] = text;
        terms->idf[terms->count] = NAN;
        terms->slots[slot] = (uint32_t)++terms->count;
    }
    size_t at = terms->slots[slot] - 1;
    if (terms->weights[at] < weight)
        terms->weights[at] = weight;
    return &terms->terms[at];
}

/* The number of the word with that surface form; QUERY_WORD_LIMIT when it is new. */
static size_t known_word(const struct query_terms *terms, const struct str *surfaces, struct str surface)
{
    size_t word = 0;
    while (word < terms->word_count && !str_equal(surfaces[word], surface))
        word++;
    return word < terms->word_count ? word : QUERY_WORD_LIMIT;
}

/* What is known of each word while the languages are gone through. */
struct word_forms {
    struct str surfaces[QUERY_WORD_LIMIT];
    double weights[QUERY_WORD_LIMIT]; /* of the surface form */
};

/* The terms at one position: a word, its stem, its parts. True when the word is its own stem. */
static bool add_word(struct query_terms *terms, const struct term *group, size_t count, size_t word)
{
    const struct term *surface = &group[0];
    bool stemmed = false;
    for (size_t i = 1; i < count; i++) {
        bool whole = group[i].start == surface->start && group[i].end == surface->end;
        struct query_term *term = add_term(terms, group[i].text, whole ? 1 : QUERY_WEIGHT_PART);
        stemmed |= whole;
        if (term && whole)
            word_set_add(&term->means, word);
    }
    struct query_term *term = add_term(terms, surface->text, 0);
    if (term) {
        word_set_add(&term->spells, word);
        word_set_add(&term->means, word);
    }
    return !stemmed;
}

/* The text in one language. The words are the same in each: only stems differ. */
static void add_language(struct query_terms *terms, const struct term *found, size_t count, double share,
                         struct word_forms *forms, bool first)
{
    struct word_set seen = {0};
    size_t position = 0;
    for (size_t i = 0, end; i < count && position < QUERY_WORD_LIMIT; i = end, position++) {
        for (end = i + 1; end < count && found[end].position == found[i].position;)
            end++;
        size_t word = known_word(terms, forms->surfaces, found[i].text);
        if (word == QUERY_WORD_LIMIT) {
            word = terms->word_count++;
            forms->surfaces[word] = found[i].text;
        }
        if (first)
            terms->sequence[terms->sequence_count++] = (uint8_t)word;
        bool own_stem = add_word(terms, &found[i], end - i, word);
        if (!word_set_has(&seen, word))
            forms->weights[word] += share * (own_stem ? 1 : (double)QUERY_WEIGHT_FORM);
        word_set_add(&seen, word);
    }
}

void query_terms_make(struct analyzer *analyzer, struct str text, const struct query_language *languages,
                      size_t language_count, struct arena *arena, struct query_terms *ret)
{
    struct word_forms forms = {0};
    double total = 0;
    *ret = (struct query_terms){
        .terms = ARENA_ARRAY(arena, struct query_term, TERM_QUERY_LIMIT),
        .texts = ARENA_ARRAY(arena, struct str, TERM_QUERY_LIMIT),
        .weights = ARENA_ARRAY(arena, float, TERM_QUERY_LIMIT),
        .idf = ARENA_ARRAY(arena, float, TERM_QUERY_LIMIT),
        .slots = ARENA_ARRAY(arena, uint32_t, SLOT_COUNT),
        .slot_count = SLOT_COUNT,
    };
    for (size_t i = 0; i < language_count && i < QUERY_LANGUAGE_LIMIT; i++) {
        struct term *found;
        size_t count;
        analyzer_terms(analyzer, text, languages[i].code, arena, &found, &count);
        add_language(ret, found, count, languages[i].share, &forms, i == 0);
        total += languages[i].share;
    }
    for (size_t word = 0; word < ret->word_count; word++)
        add_term(ret, forms.surfaces[word], (float)(forms.weights[word] / total));
}

struct term_query query_terms_query(struct query_terms *terms, double k1, double b)
{
    return (struct term_query){.terms = terms->texts,
                               .weights = terms->weights,
                               .idf = terms->idf,
                               .count = terms->count,
                               .k1 = (float)k1,
                               .b = (float)b};
}

void query_terms_word_weights(const struct query_terms *terms, double weights[QUERY_WORD_LIMIT])
{
    double sum = 0;
    for (size_t word = 0; word < terms->word_count; word++) {
        double rarest = INFINITY;
        /* The form that most rows have says how rare the word is: a stem of another language, which none has,
         * says nothing. */
        for (size_t i = 0; i < terms->count; i++)
            if (word_set_has(&terms->terms[i].means, word) && terms->idf[i] < rarest)
                rarest = terms->idf[i];
        weights[word] = isinf(rarest) ? 1 : rarest;
        sum += weights[word];
    }
    for (size_t word = 0; word < terms->word_count && sum > 0; word++)
        weights[word] /= sum;
}

double query_terms_coverage(const struct query_terms *terms, const struct word_set *means)
{
    double weights[QUERY_WORD_LIMIT], covered = 0;
    query_terms_word_weights(terms, weights);
    for (size_t word = 0; word < terms->word_count; word++)
        if (word_set_has(means, word))
            covered += weights[word];
    return covered < 1 ? covered : 1;
}
