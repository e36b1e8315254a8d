#include "api/rest/render.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

static void set_number(json_t *object, const char *key, double value)
{
    if (isfinite(value))
        json_set_real(object, key, value);
    else
        json_set(object, key, json_null());
}

/* A text, or null for one that is not known. */
static void set_optional(json_t *object, const char *key, struct str text)
{
    if (text.size > 0)
        json_set_str(object, key, text);
    else
        json_set(object, key, json_null());
}

/* A value that is stored as JSON text. */
static void set_stored(json_t *object, const char *key, struct str text, json_t *otherwise)
{
    json_t *value = NULL;
    if (text.size > 0 && json_parse(text, &value, NULL) == IBID_OK) {
        json_set(object, key, value);
        json_decref(otherwise);
    } else {
        json_set(object, key, otherwise);
    }
}

static void set_page(json_t *object, uint32_t first, uint32_t last)
{
    if (first == 0) {
        json_set(object, "page", json_null());
        return;
    }
    json_set_int(object, "page", first);
    if (last > first)
        json_set_int(object, "page_last", last);
}

json_t *render_ids(const int64_t *ids, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_integer(ids[i]));
    return array;
}

json_t *render_document(const struct document *document)
{
    json_t *object = json_object();
    json_set_int(object, "id", document->id);
    json_set_str(object, "file_id", document->file_id);
    json_set_str(object, "document_title", document->document_title);
    json_set_str(object, "path", document->path);
    json_set_str(object, "source", document->source);
    json_set_str(object, "source_type", document->source_type);
    json_set_int(object, "source_id", document->source_id);
    set_optional(object, "source_url", document->source_url);
    set_optional(object, "author", document->author);
    set_optional(object, "media_type", document->media_type);
    set_optional(object, "language", document->language);
    if (document->size >= 0)
        json_set_int(object, "size", document->size);
    if (document->has_sha256) {
        char hex[SHA256_HEX_SIZE];
        sha256_to_hex(&document->sha256, hex);
        json_set_string(object, "sha256", hex);
    }
    set_optional(object, "owner", document->owner);
    json_set(object, "workspace_ids", render_ids(document->workspace_ids, document->workspace_count));
    json_set_int(object, "collection_id", document->home_collection_id);
    json_set_string(object, "state", document_state_string(document->state));
    json_set_string(object, "processing_state", processing_state_string(document->processing_state));
    set_optional(object, "stage", document->processing_stage);
    set_optional(object, "reason", document->processing_reason);
    json_set_int(object, "attempts", document->attempts);
    set_stored(object, "metadata", document->metadata, json_object());
    set_stored(object, "warnings", document->warnings, json_array());
    json_set_time(object, "created_at", document->created_at);
    json_set_time(object, "modified_at", document->modified_at);
    json_set_time(object, "added_at", document->added_at);
    json_set_time(object, "indexed_at", document->indexed_at);
    return object;
}

static json_t *render_box(const struct text_box *box)
{
    json_t *object = json_object();
    json_set_int(object, "page", box->page);
    json_set_real(object, "x0", (double)box->x0);
    json_set_real(object, "y0", (double)box->y0);
    json_set_real(object, "x1", (double)box->x1);
    json_set_real(object, "y1", (double)box->y1);
    json_set_real(object, "page_width", (double)box->page_width);
    json_set_real(object, "page_height", (double)box->page_height);
    return object;
}

json_t *render_chunk(const struct chunk_record *chunk, const struct text_box *boxes, size_t box_count)
{
    json_t *object = json_object();
    json_set_int(object, "chunk", chunk->id);
    json_set_str(object, "chunk_id", chunk->chunk_id);
    json_set_int(object, "chunk_index", chunk->chunk_index);
    json_set_str(object, "text", chunk->text);
    json_set_str(object, "structure", chunk->structure);
    json_set_str(object, "heading_path", chunk->heading_path);
    json_set_string(object, "origin", chunk->origin == CHUNK_EXTERNAL ? "external" : "extracted");
    if (chunk->origin == CHUNK_EXTRACTED) {
        json_set_int(object, "start", chunk->start);
        json_set_int(object, "end", chunk->end);
        json_set_int(object, "own_start", chunk->own_start);
    }
    set_page(object, chunk->page_first, chunk->page_last);
    json_set_int(object, "tokens", chunk->tokens);
    set_stored(object, "metadata", chunk->metadata, json_object());
    if (boxes) {
        json_t *array = json_array();
        for (size_t i = 0; i < box_count; i++)
            json_array_append_new(array, render_box(&boxes[i]));
        json_set(object, "boxes", array);
    }
    return object;
}

/* ---- search ---- */

static json_t *render_score(const struct hit_score *score)
{
    json_t *object = json_object();
    set_number(object, "relevance", score->relevance);
    set_number(object, "recency", score->recency);
    set_number(object, "trust", score->trust);
    set_number(object, "overlap", score->overlap);
    set_number(object, "similarity", score->similarity);
    set_number(object, "bm25", score->bm25);
    set_number(object, "dense", score->dense);
    set_number(object, "keyword", score->keyword);
    set_number(object, "dense_weight", score->dense_weight);
    return object;
}

static json_t *render_marks(const struct hit *hit)
{
    json_t *array = json_array();
    for (size_t i = 0; i < hit->mark_count; i++) {
        json_t *range = json_array();
        json_array_append_new(range, json_integer(hit->marks[i].start));
        json_array_append_new(range, json_integer(hit->marks[i].end));
        json_array_append_new(array, range);
    }
    return array;
}

static json_t *render_neighbours(const struct hit *hit)
{
    json_t *array = json_array();
    for (size_t i = 0; i < hit->neighbour_count; i++) {
        const struct hit_neighbour *neighbour = &hit->neighbours[i];
        json_t *object = json_object();
        json_set_int(object, "chunk_index", neighbour->chunk_index);
        set_page(object, neighbour->page_first, neighbour->page_last);
        json_set_str(object, "text", neighbour->text);
        json_array_append_new(array, object);
    }
    return array;
}

static void set_origin(json_t *object, const struct hit *hit)
{
    json_set_int(object, "document_id", hit->document_id);
    json_set_str(object, "file_id", hit->file_id);
    json_set_str(object, "document_title", hit->document_title);
    json_set_str(object, "path", hit->path);
    json_set_str(object, "source", hit->source);
    json_set_str(object, "source_type", hit->source_type);
    set_optional(object, "source_url", hit->source_url);
    set_optional(object, "author", hit->author);
    set_optional(object, "owner", hit->owner);
    set_optional(object, "media_type", hit->media_type);
    set_optional(object, "language", hit->language);
    json_set(object, "workspace_ids", render_ids(hit->workspace_ids, hit->workspace_count));
    json_set_string(object, "state", document_state_string(hit->state));
    json_set_time(object, "created_at", hit->created_at);
    json_set_time(object, "modified_at", hit->modified_at);
    json_set_time(object, "indexed_at", hit->indexed_at);
}

static json_t *render_hit(const struct hit *hit)
{
    json_t *object = json_object();
    set_number(object, "score", hit->score.final);
    set_number(object, "confidence", hit->score.confidence);
    json_set_string(object, "confidence_band", confidence_band_string(hit->score.band));
    json_set_str(object, "chunk_id", hit->chunk_id);
    json_set_int(object, "chunk", hit->chunk);
    set_origin(object, hit);
    json_set_int(object, "chunk_index", hit->chunk_index);
    set_page(object, hit->page_first, hit->page_last);
    json_set_str(object, "heading_path", hit->heading_path);
    json_set_str(object, "structure", hit->structure);
    if (hit->has_range) {
        json_set_int(object, "start", hit->start);
        json_set_int(object, "end", hit->end);
    }
    json_set_str(object, "passage", hit->passage);
    json_set(object, "marks", render_marks(hit));
    json_set_bool(object, "passage_cut_before", hit->passage_cut_before);
    json_set_bool(object, "passage_cut_after", hit->passage_cut_after);
    json_set_str(object, "chunk_text", hit->text);
    json_set(object, "scores", render_score(&hit->score));
    if (hit->neighbour_count > 0)
        json_set(object, "neighbours", render_neighbours(hit));
    set_stored(object, "metadata", hit->document_metadata, json_object());
    if (hit->explanation.size > 0)
        json_set_str(object, "explanation", hit->explanation);
    return object;
}

static json_t *render_facets(const struct search_result *result)
{
    json_t *object = json_object();
    for (size_t i = 0; i < result->facet_count; i++) {
        const struct facet *facet = &result->facets[i];
        json_t *array = json_array();
        for (size_t j = 0; j < facet->count; j++) {
            json_t *count = json_object();
            json_set_str(count, "value", facet->counts[j].value);
            json_set_int(count, "chunks", (int64_t)facet->counts[j].rows);
            json_array_append_new(array, count);
        }
        AUTO_FREE char *key = xmemdup0(facet->key.data, facet->key.size);
        json_set(object, key, array);
    }
    return object;
}

json_t *render_search(const struct search_result *result)
{
    json_t *object = json_object(), *hits = json_array();
    for (size_t i = 0; i < result->hit_count; i++)
        json_array_append_new(hits, render_hit(&result->hits[i]));
    json_set(object, "hits", hits);
    json_set_int(object, "chunks_in_scope", (int64_t)result->row_count);
    if (result->facet_count > 0)
        json_set(object, "facets", render_facets(result));
    json_set_real(object, "took_ms", (double)result->timing.total / 1e3);
    return object;
}

/* ---- extraction ---- */

static json_t *render_block(const struct extraction *extraction, size_t index)
{
    const struct block *block = &extraction->blocks[index];
    json_t *object = json_object();
    json_set_string(object, "kind", block_kind_string((enum block_kind)block->kind));
    if (block->level > 0)
        json_set_int(object, "level", block->level);
    if (block->parent != BLOCK_NO_PARENT)
        json_set_int(object, "parent", block->parent);
    json_set_int(object, "start", block->start);
    json_set_int(object, "end", block->end);
    const uint32_t page = extraction_page_at(extraction, block->start);
    if (page > 0)
        json_set_int(object, "page", page);
    static const struct {
        unsigned flag;
        const char *name;
    } flags[] = {{BLOCK_HEADER, "header"}, {BLOCK_HIDDEN, "hidden"}, {BLOCK_BOILERPLATE, "boilerplate"}};
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        if (block->flags & flags[i].flag)
            json_set_bool(object, flags[i].name, true);
    return object;
}

static json_t *render_pages(const struct extraction *extraction)
{
    json_t *array = json_array();
    for (size_t i = 0; i < extraction->page_count; i++) {
        const struct page *page = &extraction->pages[i];
        json_t *object = json_object();
        json_set_int(object, "number", page->number);
        json_set_int(object, "start", page->start);
        json_set_real(object, "width", (double)page->width);
        json_set_real(object, "height", (double)page->height);
        if (page->label.size > 0)
            json_set_str(object, "label", page->label);
        if (page->needs_ocr)
            json_set_bool(object, "needs_ocr", true);
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *render_words(const struct extraction *extraction)
{
    json_t *array = json_array();
    for (size_t i = 0; i < extraction->word_count; i++) {
        const struct word_box *word = &extraction->words[i];
        json_array_append_new(array, json_pack("[I,i,I,f,f,f,f]", (json_int_t)word->start, (int)word->size,
                                               (json_int_t)word->page, (double)word->x0, (double)word->y0,
                                               (double)word->x1, (double)word->y1));
    }
    return array;
}

/* A key may come several times: then its value is an array. */
static json_t *render_metadata(const struct extraction *extraction)
{
    json_t *object = json_object();
    for (size_t i = 0; i < extraction->metadata_count; i++) {
        const struct metadata_entry *entry = &extraction->metadata[i];
        AUTO_FREE char *key = xmemdup0(entry->key.data, entry->key.size);
        json_t *present = json_object_get(object, key);
        if (!present) {
            json_set_str(object, key, entry->value);
        } else if (json_is_array(present)) {
            json_array_append_new(present, json_stringn(entry->value.data, entry->value.size));
        } else {
            json_t *array = json_array();
            json_array_append(array, present);
            json_array_append_new(array, json_stringn(entry->value.data, entry->value.size));
            json_set(object, key, array);
        }
    }
    return object;
}

static json_t *render_warnings(const struct extraction *extraction)
{
    json_t *array = json_array();
    for (size_t i = 0; i < extraction->warning_count; i++) {
        const struct extraction_warning *warning = &extraction->warnings[i];
        json_t *object = json_object();
        json_set_str(object, "code", warning->code);
        json_set_str(object, "message", warning->message);
        json_set_int(object, "count", warning->count);
        json_array_append_new(array, object);
    }
    return array;
}

json_t *render_extraction(const struct extraction *extraction, bool words)
{
    json_t *object = json_object(), *blocks = json_array();
    json_set_string(object, "status", extraction_status_string(extraction->status));
    set_optional(object, "reason", extraction->reason);
    set_optional(object, "format", extraction->format);
    set_optional(object, "extractor", extraction->extractor);
    set_optional(object, "media_type", extraction->media_type);
    json_set(object, "metadata", render_metadata(extraction));
    json_set(object, "warnings", render_warnings(extraction));
    json_set_str(object, "text", extraction->text);
    for (size_t i = 0; i < extraction->block_count; i++)
        json_array_append_new(blocks, render_block(extraction, i));
    json_set(object, "blocks", blocks);
    json_set(object, "pages", render_pages(extraction));
    if (words)
        json_set(object, "words", render_words(extraction));
    return object;
}
