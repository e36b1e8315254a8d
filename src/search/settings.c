#include "search/settings.h"

#include <stddef.h>

#define FIELD(name) offsetof(struct search_settings, name)

const struct option search_options[] = {
    {"bm25_k1", .type = OPTION_REAL, .offset = FIELD(k1), .default_text = "0.9", .low = 0, .high = 10,
     .help = "BM25: how much a word counts that occurs again and again."},
    {"bm25_b", .type = OPTION_REAL, .offset = FIELD(b), .default_text = "0.4", .low = 0, .high = 1,
     .help = "BM25: how much a long passage is held against it."},
    {"weight_relevance", .type = OPTION_REAL, .offset = FIELD(weights.relevance), .default_text = "0.6",
     .low = 0, .high = 1, .help = "Weight of the match by meaning and by word in the order of hits."},
    {"weight_recency", .type = OPTION_REAL, .offset = FIELD(weights.recency), .default_text = "0.2", .low = 0,
     .high = 1,
     .help = "Weight of a document's date. Documents without one count as the median of the others."},
    {"weight_trust", .type = OPTION_REAL, .offset = FIELD(weights.trust), .default_text = "0.1", .low = 0,
     .high = 1, .help = "Weight of how often a document is updated."},
    {"weight_overlap", .type = OPTION_REAL, .offset = FIELD(weights.overlap), .default_text = "0.1", .low = 0,
     .high = 1, .help = "Weight of words and phrases that stand in the passage exactly as in the query."},
    {"recency_half_life", .type = OPTION_DURATION, .offset = FIELD(recency_half_life_us),
     .default_text = "365d", .low = 3600e6, .high = 36500.0 * 86400e6,
     .help = "Age at which a document has half the recency of a new one."},
    {"query_cache_time", .type = OPTION_DURATION, .offset = FIELD(query_cache_time_us), .default_text = "15m",
     .low = 0, .high = 86400e6, .help = "How long the vector of a query is kept in memory; 0s: not at all."},
    {"query_cache_entries", .type = OPTION_INT, .offset = FIELD(query_cache_entries), .default_text = "4096",
     .low = 1, .high = 1e6, .help = "How many vectors of queries are kept in memory."},
    OPTION_END,
};
