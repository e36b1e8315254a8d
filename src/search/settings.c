#include "search/settings.h"

#include <stddef.h>

#define FIELD(name) offsetof(struct search_settings, name)

/* clang-format off */
static const struct option options[] = {
    {.name = "bm25_k1", .type = OPTION_REAL, .offset = FIELD(k1), .default_text = "0.9", .low = 0, .high = 10,
     .help = "BM25: how much it counts that a word occurs again and again."},
    {.name = "bm25_b", .type = OPTION_REAL, .offset = FIELD(b), .default_text = "0.4", .low = 0, .high = 1,
     .help = "BM25: how much length is held against a passage."},
    {.name = "weight_relevance", .type = OPTION_REAL, .offset = FIELD(weights.relevance), .default_text = "0.6",
     .low = 0, .high = 1, .help = "Weight of the match by meaning and by word in the order of hits."},
    {.name = "weight_recency", .type = OPTION_REAL, .offset = FIELD(weights.recency), .default_text = "0.2",
     .low = 0, .high = 1,
     .help = "Weight of a document's date. Documents without one count as the median of the others."},
    {.name = "weight_trust", .type = OPTION_REAL, .offset = FIELD(weights.trust), .default_text = "0.1",
     .low = 0, .high = 1, .help = "Weight of how often a document is updated."},
    {.name = "weight_overlap", .type = OPTION_REAL, .offset = FIELD(weights.overlap), .default_text = "0.1",
     .low = 0, .high = 1,
     .help = "Weight of words and phrases that stand in the passage exactly as in the query."},
    {.name = "recency_half_life", .type = OPTION_DURATION, .offset = FIELD(recency_half_life_us),
     .default_text = "365d", .low = 3600e6, .high = 36500.0 * 86400e6,
     .help = "Age at which a document has half the recency of a new one."},
    {.name = "query_cache_time", .type = OPTION_DURATION, .offset = FIELD(query_cache_time_us),
     .default_text = "15m", .low = 0, .high = 86400e6,
     .help = "How long the vector of a query is kept in memory; 0s: not at all."},
    {.name = "query_cache_entries", .type = OPTION_INT, .offset = FIELD(query_cache_entries),
     .default_text = "4096", .low = 1, .high = 1e6, .help = "How many vectors of queries are kept in memory."},
    OPTION_END,
};
/* clang-format on */

const struct option_section search_section = {
    .name = "search", .help = "How documents are searched and hits are ordered.", .table = options};
