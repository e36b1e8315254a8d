#include "search/hits.h"

#include <math.h>

/* ---- what the records say ---- */

static struct hit hit_of_record(const struct row_record *record, int64_t collection_id)
{
    const struct document *document = record->document;
    const struct chunk_record *chunk = &record->chunk;
    struct hit hit = {
        .row_id = record->row_id,
        .chunk = chunk->id,
        .chunk_id = chunk->chunk_id,
        .document_id = document->id,
        .file_id = document->file_id,
        .collection_id = collection_id,
        .document_title = document->document_title,
        .path = document->path,
        .source_url = document->source_url,
        .source = document->source,
        .source_type = document->source_type,
        .source_id = document->source_id,
        .author = document->author,
        .media_type = document->media_type,
        .language = document->language,
        .owner = document->owner,
        .state = document->state,
        .created_at = document->created_at,
        .modified_at = document->modified_at,
        .indexed_at = document->indexed_at,
        .document_metadata = document->metadata,
        .chunk_index = chunk->chunk_index,
        .has_range = chunk->origin == CHUNK_EXTRACTED,
        .start = chunk->start,
        .end = chunk->end,
        .page_first = chunk->page_first,
        .page_last = chunk->page_last,
        .heading_path = chunk->heading_path,
        .structure = chunk->structure,
        .chunk_metadata = chunk->metadata,
        .text = chunk->text,
        .workspace_ids = document->workspace_ids,
        .workspace_count = document->workspace_count,
        .explanation = STR_EMPTY,
    };
    return hit;
}

/* ---- the passage ---- */

/* Where the shown text begins in the indexed one; SIZE_MAX when it is no part of it. */
static size_t text_offset(const struct chunk_record *chunk)
{
    if (chunk->text.size > chunk->embed_text.size)
        return SIZE_MAX;
    size_t offset = chunk->embed_text.size - chunk->text.size;
    return str_equal(str_slice(chunk->embed_text, offset, chunk->embed_text.size), chunk->text) ? offset
                                                                                                : SIZE_MAX;
}

/* The match of the shown text: part of that of the indexed text where possible. */
static struct text_match match_of_text(const struct hit_maker *maker, const struct query_terms *terms,
                                       const struct row_record *record, const struct text_match *indexed)
{
    size_t offset = text_offset(&record->chunk);
    if (offset == SIZE_MAX)
        return text_match_make(terms, maker->analyzer, record->chunk.text, record->document->language,
                               maker->arena);
    struct text_match match = *indexed;
    while (match.place_count && match.places->start < offset) {
        match.places++;
        match.place_count--;
    }
    struct word_place *places = ARENA_ARRAY(maker->arena, struct word_place, match.place_count);
    for (size_t i = 0; i < match.place_count; i++) {
        places[i] = match.places[i];
        places[i].start -= (uint32_t)offset;
        places[i].end -= (uint32_t)offset;
    }
    match.places = places;
    return match;
}

/* Words that are this common beside the rarest of the query are not marked: "the" is everywhere. */
#define MARK_SHARE 0.25

static struct word_set words_to_mark(const struct query_terms *terms)
{
    double weights[QUERY_WORD_LIMIT], rarest = 0;
    struct word_set words = {0};
    query_terms_word_weights(terms, weights);
    for (size_t word = 0; word < terms->word_count; word++)
        rarest = fmax(rarest, weights[word]);
    for (size_t word = 0; word < terms->word_count; word++)
        if (weights[word] >= MARK_SHARE * rarest)
            word_set_add(&words, word);
    return words;
}

static void set_passage(const struct hit_maker *maker, const struct query_terms *terms,
                        const struct text_match *match, struct hit *hit)
{
    const struct word_set wanted = words_to_mark(terms);
    const struct text_range range = text_match_passage(terms, match, hit->text, maker->query->passage_bytes);
    struct text_range *marks = ARENA_ARRAY(maker->arena, struct text_range, match->place_count);
    hit->passage = str_slice(hit->text, range.start, range.end);
    hit->passage_cut_before = range.start > 0;
    hit->passage_cut_after = range.end < hit->text.size;
    for (size_t i = 0; i < match->place_count; i++) {
        const struct word_place *place = &match->places[i];
        if (place->start >= range.start && place->end <= range.end && word_set_meets(&place->means, &wanted))
            marks[hit->mark_count++] =
                (struct text_range){place->start - range.start, place->end - range.start};
    }
    hit->marks = marks;
}

/* ---- neighbours ---- */

static ibid_code add_neighbour(const struct hit_maker *maker, const struct row_record *record, uint32_t index,
                               struct hit_neighbour *neighbours, size_t *count, ibid_error *err)
{
    struct chunk_record chunk;
    ibid_code code = chunk_record_at(maker->transaction, record->document->id, maker->query->collection_id,
                                     index, maker->arena, &chunk, err);
    if (code == IBID_ENOTFOUND) /* the document begins or ends here */
        return IBID_OK;
    TRY(code);
    neighbours[(*count)++] =
        (struct hit_neighbour){chunk.chunk_index, chunk.page_first, chunk.page_last, chunk.text};
    return IBID_OK;
}

static ibid_code add_neighbours(const struct hit_maker *maker, const struct row_record *record,
                                struct hit *hit, ibid_error *err)
{
    uint32_t reach = (uint32_t)maker->query->neighbours, index = record->chunk.chunk_index;
    struct hit_neighbour *neighbours = ARENA_ARRAY(maker->arena, struct hit_neighbour, 2 * (size_t)reach);
    for (uint32_t i = index > reach ? index - reach : 0; i < index; i++)
        TRY(add_neighbour(maker, record, i, neighbours, &hit->neighbour_count, err));
    for (uint32_t i = 1; i <= reach && index <= UINT32_MAX - i; i++)
        TRY(add_neighbour(maker, record, index + i, neighbours, &hit->neighbour_count, err));
    hit->neighbours = neighbours;
    return IBID_OK;
}

/* ---- the explanation ---- */

static struct str explain(const struct hit_score *score, const struct ranking_weights *weights,
                          struct arena *arena)
{
    AUTO_BUFFER out = BUFFER(1024);
    buffer_printf(
        &out,
        "score %.3f = %.2g x relevance %.3f + %.2g x recency %.3f + %.2g x trust %.3f + %.2g x overlap %.3f;",
        score->final, weights->relevance, score->relevance, weights->recency, score->recency, weights->trust,
        score->trust, weights->overlap, score->overlap);
    if (!isnan(score->dense) && !isnan(score->keyword))
        buffer_printf(&out, " relevance = %.2f x meaning %.3f + %.2f x words %.3f;", score->dense_weight,
                      score->dense, 1 - score->dense_weight, score->keyword);
    if (!isnan(score->similarity))
        buffer_printf(&out, " similarity %.3f;", score->similarity);
    if (!isnan(score->bm25))
        buffer_printf(&out, " BM25 %.2f;", score->bm25);
    buffer_printf(&out, " confidence %.2f (%s)", score->confidence, confidence_band_string(score->band));
    return arena_str(arena, buffer_str(&out));
}

/* ---- the whole ---- */

static const struct hit_score listed = {
    .final = 1,
    .relevance = 1,
    .recency = NAN,
    .trust = NAN,
    .overlap = NAN,
    .similarity = NAN,
    .bm25 = NAN,
    .dense = NAN,
    .keyword = NAN,
    .dense_weight = NAN,
    .confidence = 1,
    .band = CONFIDENCE_HIGH,
};

ibid_code hit_make(const struct hit_maker *maker, const struct row_record *record,
                   const struct scored_row *scored, struct hit *ret, ibid_error *err)
{
    static const struct query_terms no_terms;
    const struct query_terms *terms = scored ? maker->queries[scored->found->query].terms : NULL;
    struct hit hit = hit_of_record(record, maker->query->collection_id);
    struct text_match match = {0};
    hit.score = scored ? scored->score : listed;
    if (terms)
        match = match_of_text(maker, terms, record, &scored->match);
    set_passage(maker, terms ? terms : &no_terms, &match, &hit);
    if (maker->query->neighbours)
        TRY(add_neighbours(maker, record, &hit, err));
    if (maker->query->explain && scored)
        hit.explanation = explain(&hit.score, &maker->query->weights, maker->arena);
    *ret = hit;
    return IBID_OK;
}
