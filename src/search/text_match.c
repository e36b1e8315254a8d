#include "search/text_match.h"

#include <string.h>

#include "base/utf8.h"

/* ---- finding the words ---- */

/* Longest common run of words: how many of the query's words up to each place of its sequence end at the
 * text's word before. */
struct phrase {
    uint8_t ends[QUERY_WORD_LIMIT + 1];
    size_t longest;
};

static void phrase_next(struct phrase *phrase, const struct query_terms *terms, const struct word_set *spells)
{
    for (size_t i = terms->sequence_count; i > 0; i--) {
        bool same = spells && word_set_has(spells, terms->sequence[i - 1]);
        phrase->ends[i] = same ? (uint8_t)(phrase->ends[i - 1] + 1) : 0;
        if (phrase->ends[i] > phrase->longest)
            phrase->longest = phrase->ends[i];
    }
}

/* Adds a place, or joins it with the last one when they overlap (as bigrams do). */
static void add_place(struct text_match *match, size_t *capacity, struct arena *arena,
                      const struct term *term, const struct query_term *found)
{
    struct word_place *last = match->place_count ? &match->places[match->place_count - 1] : NULL;
    if (last && term->start < last->end) {
        last->end = term->end > last->end ? term->end : last->end;
        word_set_join(&last->means, &found->means);
        return;
    }
    if (match->place_count == *capacity) {
        struct word_place *larger = ARENA_ARRAY(arena, struct word_place, *capacity * 2 + 8);
        if (match->place_count)
            memcpy(larger, match->places, match->place_count * sizeof *larger);
        match->places = larger;
        *capacity = *capacity * 2 + 8;
    }
    match->places[match->place_count++] = (struct word_place){term->start, term->end, found->means};
}

struct text_match text_match_make(const struct query_terms *terms, struct analyzer *analyzer, struct str text,
                                  struct str language, struct arena *arena)
{
    AUTO_ARENA scratch = ARENA_INIT;
    struct text_match match = {0};
    struct phrase phrase = {0};
    struct term *found;
    size_t count, capacity = 0;
    analyzer_terms(analyzer, text, language, &scratch, &found, &count);
    for (size_t i = 0; i < count; i++) {
        const struct query_term *term = query_terms_find(terms, found[i].text);
        if (term) {
            word_set_join(&match.means, &term->means);
            add_place(&match, &capacity, arena, &found[i], term);
            if (found[i].kind != TERM_STEM)
                word_set_join(&match.spells, &term->spells);
        }
        if (found[i].kind == TERM_SURFACE && (term || phrase.longest > 0))
            phrase_next(&phrase, terms, term ? &term->spells : NULL);
    }
    match.longest_phrase = phrase.longest;
    return match;
}

double text_match_overlap(const struct query_terms *terms, const struct text_match *match)
{
    size_t spelled = 0;
    if (terms->word_count == 0)
        return 0;
    for (size_t word = 0; word < terms->word_count; word++)
        spelled += word_set_has(&match->spells, word);
    double share = (double)spelled / (double)terms->word_count;
    if (terms->sequence_count < 2)
        return share;
    double phrase = match->longest_phrase > 1
                        ? (double)(match->longest_phrase - 1) / (double)(terms->sequence_count - 1)
                        : 0;
    return 0.5 * share + 0.5 * phrase;
}

/* ---- choosing a passage ---- */

enum { SENTENCE_REACH = 120 }; /* bytes that a cut may move back to a sentence's start */

/* The first and last place of the stretch of at most `bytes` whose words weigh most; a word counts once. */
static void best_places(const struct query_terms *terms, const struct text_match *match, size_t bytes,
                        size_t *ret_first, size_t *ret_last)
{
    double weights[QUERY_WORD_LIMIT], best = -1, sum = 0;
    unsigned seen[QUERY_WORD_LIMIT] = {0};
    query_terms_word_weights(terms, weights);
    for (size_t first = 0, end = 0; first < match->place_count; first++) {
        for (; end < match->place_count && match->places[end].end - match->places[first].start <= bytes;
             end++)
            for (size_t word = 0; word < terms->word_count; word++)
                if (word_set_has(&match->places[end].means, word) && seen[word]++ == 0)
                    sum += weights[word];
        if (end > first && sum > best + 1e-9) {
            best = sum;
            *ret_first = first;
            *ret_last = end - 1;
        }
        if (end == first) { /* one place alone is longer */
            end++;
            continue;
        }
        for (size_t word = 0; word < terms->word_count; word++)
            if (word_set_has(&match->places[first].means, word) && --seen[word] == 0)
                sum -= weights[word];
    }
}

static bool is_white(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

/* Whether a sentence or line ends right before `at`. */
static bool sentence_starts(struct str text, size_t at)
{
    if (at == 0 || text.data[at - 1] == '\n')
        return true;
    if (at >= 2 && is_white(text.data[at - 1]))
        return strchr(".!?:;", text.data[at - 2]) != NULL && text.data[at - 2];
    static const char *const full_stops[] = {"。", "！", "？", "؟", "।"};
    for (size_t i = 0; i < COUNT_OF(full_stops); i++)
        if (str_ends_with(str_slice(text, 0, at), full_stops[i]))
            return true;
    return false;
}

/* A good place to begin, at or before `latest`: a sentence's start near `wanted`, else a word's. */
static size_t cut_before(struct str text, size_t wanted, size_t latest)
{
    size_t lowest = wanted > SENTENCE_REACH ? wanted - SENTENCE_REACH : 0;
    for (size_t at = latest; at > lowest; at--)
        if (at <= wanted + SENTENCE_REACH && sentence_starts(text, at))
            return at;
    if (lowest == 0)
        return 0;
    for (size_t at = wanted; at < latest; at++)
        if (is_white(text.data[at]))
            return at + 1;
    return utf8_floor(text, wanted);
}

/* A good place to end, at or after `earliest` and not after `wanted`. */
static size_t cut_after(struct str text, size_t wanted, size_t earliest)
{
    if (wanted >= text.size)
        return text.size;
    for (size_t at = wanted; at > earliest; at--)
        if (is_white(text.data[at]))
            return at;
    return utf8_floor(text, wanted > earliest ? wanted : earliest);
}

struct text_range text_match_passage(const struct query_terms *terms, const struct text_match *match,
                                     struct str text, size_t bytes)
{
    size_t first = 0, last = 0;
    if (bytes == 0 || text.size <= bytes + bytes / 4)
        return (struct text_range){0, (uint32_t)text.size};
    size_t from = 0, to = 0;
    if (match->place_count) {
        best_places(terms, match, bytes, &first, &last);
        from = match->places[first].start;
        to = match->places[last].end;
    }
    size_t spare = to - from < bytes ? bytes - (to - from) : 0;
    size_t wanted = from > spare / 2 ? from - spare / 2 : 0;
    size_t start = cut_before(text, wanted, from);
    size_t end = cut_after(text, start + bytes, to);
    while (end > start && is_white(text.data[end - 1]))
        end--;
    return (struct text_range){(uint32_t)start, (uint32_t)end};
}
