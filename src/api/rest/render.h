/* What the product knows, as JSON (inside api/rest/ only). Values are owned by the caller. */
#pragma once

#include "base/json.h"
#include "model/extraction.h"
#include "records/chunk_record.h"
#include "records/document.h"
#include "records/revision.h"
#include "search/search.h"

json_t *render_document(const struct document *document);
/* `boxes` NULL: they were not asked for. */
json_t *render_chunk(const struct chunk_record *chunk, const struct text_box *boxes, size_t box_count);
json_t *render_search(const struct search_result *result);
json_t *render_extraction(const struct extraction *extraction, bool words);
json_t *render_ids(const int64_t *ids, size_t count);
