/* Settings of the section `search`. */
#pragma once

#include "base/option.h"
#include "model/query.h"

struct search_settings {
    double k1, b; /* BM25 */
    struct ranking_weights weights;
    int64_t recency_half_life_us; /* a document of this age has half the recency of a new one */
    int64_t query_cache_time_us;  /* how long a query's vector is kept */
    int64_t query_cache_entries;
};

extern const struct option_section search_section;
