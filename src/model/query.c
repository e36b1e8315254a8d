#include "model/query.h"

#include <math.h>

#include "base/utf8.h"

static const char *const search_modes[] = {
#define X(name, string) [SEARCH_##name] = string,
    SEARCH_MODE_MAP(X)
#undef X
};

static const char *const groupings[] = {
#define X(name, string) [GROUP_BY_##name] = string,
    GROUP_BY_MAP(X)
#undef X
};

static const struct {
    const char *string;
    double low;
} bands[] = {
#define X(name, string, low) [CONFIDENCE_##name] = {string, low},
    CONFIDENCE_MAP(X)
#undef X
};

const char *search_mode_string(enum search_mode mode)
{
    ASSERT((size_t)mode < COUNT_OF(search_modes));
    return search_modes[mode];
}

bool search_mode_from_string(struct str string, enum search_mode *ret)
{
    for (size_t i = 0; i < COUNT_OF(search_modes); i++)
        if (str_is(string, search_modes[i])) {
            *ret = (enum search_mode)i;
            return true;
        }
    return false;
}

const char *group_by_string(enum group_by group_by)
{
    ASSERT((size_t)group_by < COUNT_OF(groupings));
    return groupings[group_by];
}

bool group_by_from_string(struct str string, enum group_by *ret)
{
    for (size_t i = 0; i < COUNT_OF(groupings); i++)
        if (str_is(string, groupings[i])) {
            *ret = (enum group_by)i;
            return true;
        }
    return false;
}

const char *confidence_band_string(enum confidence_band band)
{
    ASSERT((size_t)band < COUNT_OF(bands));
    return bands[band].string;
}

bool confidence_band_from_string(struct str string, enum confidence_band *ret)
{
    for (size_t i = 0; i < COUNT_OF(bands); i++)
        if (str_is(string, bands[i].string)) {
            *ret = (enum confidence_band)i;
            return true;
        }
    return false;
}

enum confidence_band confidence_band_of(double confidence)
{
    if (confidence > bands[CONFIDENCE_HIGH].low)
        return CONFIDENCE_HIGH;
    return confidence >= bands[CONFIDENCE_MEDIUM].low ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
}

static ibid_code check_texts(const struct query *query, ibid_error *err)
{
    if (query->text_count > QUERY_TEXTS_LIMIT)
        return fail(err, IBID_ETOOBIG, "a query has at most %d texts", QUERY_TEXTS_LIMIT);
    for (size_t i = 0; i < query->text_count; i++) {
        if (query->texts[i].size > QUERY_TEXT_LIMIT)
            return fail(err, IBID_ETOOBIG, "a query's text has at most %d bytes", QUERY_TEXT_LIMIT);
        if (!utf8_is_valid(query->texts[i]))
            return fail(err, IBID_EINVAL, "the query is not valid UTF-8");
    }
    return IBID_OK;
}

static ibid_code check_vector(const struct query *query, ibid_error *err)
{
    if (!query->vector)
        return IBID_OK;
    double square = 0;
    for (size_t i = 0; i < query->dimension; i++)
        square += (double)query->vector[i] * (double)query->vector[i];
    if (!isfinite(square))
        return fail(err, IBID_EINVAL, "the query's vector is not finite");
    if (square == 0)
        return fail(err, IBID_EINVAL, "the query's vector is zero: it has no direction");
    return IBID_OK;
}

static ibid_code check_share(const char *name, double value, ibid_error *err)
{
    if (!(value >= 0 && value <= 1))
        return fail(err, IBID_EINVAL, "%s is to be from 0 to 1", name);
    return IBID_OK;
}

static ibid_code check_weights(const struct ranking_weights *weights, ibid_error *err)
{
    TRY(check_share("the weight of relevance", weights->relevance, err));
    TRY(check_share("the weight of recency", weights->recency, err));
    TRY(check_share("the weight of trust", weights->trust, err));
    TRY(check_share("the weight of keyword overlap", weights->overlap, err));
    if (weights->relevance + weights->recency + weights->trust + weights->overlap == 0)
        return fail(err, IBID_EINVAL, "the weights of the ranking are all 0");
    return IBID_OK;
}

static ibid_code check_facets(const struct query *query, ibid_error *err)
{
    if (query->facet_count > QUERY_FACETS_LIMIT)
        return fail(err, IBID_ETOOBIG, "a search counts at most %d facets", QUERY_FACETS_LIMIT);
    for (size_t i = 0; i < query->facet_count; i++) {
        const struct filter_key *key = filter_key_find(query->facets[i]);
        if (!key || key->is_time)
            return fail(err, IBID_EINVAL, "'%.*s' cannot be counted as a facet",
                        STR_ARG(str_slice(query->facets[i], 0, 80)));
    }
    return IBID_OK;
}

ibid_code query_check(const struct query *query, ibid_error *err)
{
    TRY(check_texts(query, err));
    TRY(check_vector(query, err));
    TRY(check_share("score_threshold", query->score_threshold, err));
    TRY(check_share("similarity_threshold", query->similarity_threshold, err));
    TRY(check_weights(&query->weights, err));
    TRY(check_facets(query, err));
    if (query->top_k == 0)
        return fail(err, IBID_EINVAL, "top_k is at least 1");
    if (query->top_k > QUERY_TOP_K_LIMIT || query->offset > QUERY_TOP_K_LIMIT - query->top_k)
        return fail(err, IBID_ETOOBIG, "top_k and offset together are at most %d", QUERY_TOP_K_LIMIT);
    if (query->neighbours > QUERY_NEIGHBOURS_LIMIT)
        return fail(err, IBID_ETOOBIG, "neighbours is at most %d", QUERY_NEIGHBOURS_LIMIT);
    if (query->passage_bytes > QUERY_PASSAGE_LIMIT)
        return fail(err, IBID_ETOOBIG, "a passage is at most %d bytes", QUERY_PASSAGE_LIMIT);
    if (query->mode == SEARCH_KEYWORD && query->vector)
        return fail(err, IBID_EINVAL,
                    "a vector cannot be searched for by keyword: leave it out or choose another mode");
    return IBID_OK;
}
