#include "search/scoring.h"

#include <math.h>
#include <stdlib.h>

double language_factor(const struct embedder *embedder, struct str language)
{
    char code[16];
    if (!embedder || language.size == 0 || language.size >= sizeof code)
        return 1;
    memcpy(code, language.data, language.size);
    code[language.size] = '\0';
    return embedder_knows_language(embedder, code) ? 1 : FUSION_FOREIGN_LANGUAGE;
}

void scorer_score(const struct scorer *scorer, const struct found_row *found, const struct scorer_text *text,
                  struct arena *arena, struct scored_row *ret)
{
    const struct retrieval_query *query = &scorer->queries[found->query];
    const struct embedder_info *info = scorer->embedder ? &scorer->embedder->info : NULL;
    struct hit_score *score = &ret->score;
    double factor = fmin(query->language_factor, language_factor(scorer->embedder, text->language));
    double coverage = 0;

    ret->found = found;
    *score = (struct hit_score){.similarity = ranking_similarity(found->similarity),
                                .bm25 = found->bm25,
                                .dense = query->vector ? found->dense : NAN,
                                .keyword = query->by_word ? found->keyword : NAN};
    score->relevance = retrieval_relevance(scorer->retrieval, found, factor, &score->dense_weight);
    score->recency = ranking_recency(text->date_us, scorer->now_us, scorer->half_life_us);
    score->trust = ranking_trust(text->updates, text->added_at_us, scorer->now_us);
    ret->match = (struct text_match){0};
    if (query->terms) {
        ret->match = text_match_make(query->terms, scorer->analyzer, text->text, text->language, arena);
    }
    if (query->by_word) {
        score->overlap = text_match_overlap(query->terms, &ret->match);
        coverage = query_terms_coverage(query->terms, &ret->match.means);
    }
    score->confidence = ranking_confidence(found->similarity, info ? info->similarity_floor : 0,
                                           info ? info->similarity_ceiling : 1, factor, coverage);
    score->band = confidence_band_of(score->confidence);
}

static int compare_scored(const void *a, const void *b)
{
    const struct scored_row *first = a, *second = b;
    if (first->score.final != second->score.final)
        return first->score.final < second->score.final ? 1 : -1;
    if (first->score.relevance != second->score.relevance)
        return first->score.relevance < second->score.relevance ? 1 : -1;
    return (first->found->row_id > second->found->row_id) - (first->found->row_id < second->found->row_id);
}

void scorer_finish(const struct scorer *scorer, struct scored_row *rows, size_t count)
{
    if (count == 0)
        return;
    ranking_fill_unknown(&rows->score.recency, sizeof *rows, count);
    ranking_fill_unknown(&rows->score.trust, sizeof *rows, count);
    for (size_t i = 0; i < count; i++)
        rows[i].score.final = ranking_final(&rows[i].score, &scorer->weights);
    qsort(rows, count, sizeof *rows, compare_scored);
    for (size_t i = 0; i < count; i++)
        rows[i].score.final = fmax(rows[i].score.final, 0);
}
