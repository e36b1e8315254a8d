#include "api/rest/handlers.h"
#include "api/rest/parameter_tables.h"
#include "api/rest/render.h"
#include "api/rest/state.h"
#include "base/metric.h"
#include "model/vector.h"
#include "search/search.h"

/* ---- reading the request ---- */

static ibid_code read_weights(const json_t *object, struct ranking_weights *weights, ibid_error *err)
{
    static const char *const known[] = {"relevance", "recency", "trust", "overlap", NULL};
    if (!object || json_is_null(object))
        return IBID_OK;
    if (!json_is_object(object))
        return fail(err, IBID_EINVAL, "'weights' must be an object");
    TRY(json_check_keys(object, known, err));
    TRY(json_get_real(object, "relevance", 0, 1, &weights->relevance, err));
    TRY(json_get_real(object, "recency", 0, 1, &weights->recency, err));
    TRY(json_get_real(object, "trust", 0, 1, &weights->trust, err));
    return json_get_real(object, "overlap", 0, 1, &weights->overlap, err);
}

static ibid_code read_vector(const json_t *array, struct arena *arena, struct query *query, ibid_error *err)
{
    if (!array || json_is_null(array))
        return IBID_OK;
    const size_t size = json_array_size(array);
    if (!json_is_array(array) || size == 0 || size > VECTOR_DIMENSION_MAX)
        return fail(err, IBID_EINVAL, "'vector' must be an array of 1 to %d numbers", VECTOR_DIMENSION_MAX);
    float *vector = ARENA_ARRAY(arena, float, size);
    for (size_t i = 0; i < size; i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_number(item))
            return fail(err, IBID_EINVAL, "'vector' must be an array of 1 to %d numbers",
                        VECTOR_DIMENSION_MAX);
        vector[i] = (float)json_number_value(item);
    }
    query->vector = vector;
    query->dimension = size;
    return IBID_OK;
}

/* An object, or the short text form of the command line. */
static ibid_code read_filter(const json_t *value, struct arena *arena, const struct filter **ret,
                             ibid_error *err)
{
    if (json_is_string(value))
        return filter_from_text((struct str){json_string_value(value), json_string_length(value)}, arena, ret,
                                err);
    return filter_from_json(value, arena, ret, err);
}

static const struct str *texts_of(const struct option_list *list, struct arena *arena)
{
    struct str *texts = ARENA_ARRAY(arena, struct str, list->count);
    for (size_t i = 0; i < list->count; i++)
        texts[i] = str_from(list->items[i]);
    return texts;
}

static ibid_code read_query(struct rest_call *call, struct query *query, ibid_error *err)
{
    const struct search_parameters *parameters = call->parameters;
    *query = QUERY_DEFAULT;
    query->weights = call_settings(call)->search.weights;
    query->collection_id = parameters->collection_id;
    query->texts = texts_of(&parameters->query, call->arena);
    query->text_count = parameters->query.count;
    query->mode = (enum search_mode)parameters->mode;
    query->group_by = (enum group_by)parameters->group_by;
    query->top_k = (size_t)parameters->top_k;
    query->offset = (size_t)parameters->offset;
    query->source_diversity = (size_t)parameters->source_diversity;
    query->score_threshold = parameters->score_threshold;
    query->similarity_threshold = parameters->similarity_threshold;
    query->min_confidence = (enum confidence_band)parameters->min_confidence;
    query->neighbours = (size_t)parameters->neighbours;
    query->passage_bytes = (size_t)parameters->passage_bytes;
    query->facets = texts_of(&parameters->facets, call->arena);
    query->facet_count = parameters->facets.count;
    query->explain = parameters->explain;
    TRY(read_filter(json_object_get(call->body, "filter"), call->arena, &query->filter, err));
    TRY(read_vector(json_object_get(call->body, "vector"), call->arena, query, err));
    return read_weights(json_object_get(call->body, "weights"), &query->weights, err);
}

/* ---- answering ---- */

/* Why meaning played no part, if it should have. The instance knows better than the search why there is no
 * embedder. */
static void set_degraded(struct rest_call *call, json_t *answer, const struct search_result *result,
                         const struct meaning *meaning)
{
    if (result->degraded == DEGRADED_NO)
        return;
    const bool known = meaning->state != MEANING_READY;
    json_t *degraded = json_object();
    json_set_string(degraded, "code",
                    known ? meaning_state_string(meaning->state) : degraded_string(result->degraded));
    json_set_string(degraded, "message",
                    known ? arena_printf(call->arena, "searched by word only: %s", meaning->reason)
                          : degraded_text(result->degraded));
    json_set(answer, "degraded", degraded);
}

/* With the embedder that made the vectors. Should another one's have taken their place since it was asked
 * for, the search is made once more. */
static ibid_code search(struct rest_call *call, const struct scope *scope, const struct query *query,
                        struct meaning *meaning, struct search_result *ret, ibid_error *err)
{
    *meaning = (struct meaning){.state = MEANING_READY};
    for (bool again = true;; again = false) {
        if (query->mode != SEARCH_KEYWORD)
            TRY(instance_meaning(call->instance, query->collection_id, meaning, err));
        const ibid_code code =
            search_run(call->rest->searcher, meaning->embedder, scope, query, call->arena, ret, err);
        const bool unlike =
            code == IBID_EUNAVAILABLE || (code == IBID_OK && ret->degraded == DEGRADED_NOT_EMBEDDED);
        if (!again || !unlike || meaning->state != MEANING_READY)
            return code;
    }
}

ibid_code handle_search(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    struct query query;
    struct scope scope;
    struct meaning meaning;
    struct search_result result;
    TRY(read_query(call, &query, err));
    AUTO_TRANSACTION *transaction = NULL;
    TRY(call_read(call, &transaction, &scope, err));
    transaction_rollback(transaction_take(&transaction)); /* the search has a snapshot of its own */
    const ibid_code code = search(call, &scope, &query, &meaning, &result, err);
    if (code == IBID_EUNAVAILABLE && meaning.state != MEANING_READY)
        return fail(err, code, "cannot search by meaning: %s", meaning.reason);
    TRY(code);
    metric_count(COUNTER_SEARCHES);
    if (result.degraded != DEGRADED_NO)
        metric_count(COUNTER_SEARCHES_WITHOUT_MEANING);
    metric_observe(HISTOGRAM_SEARCH, result.timing.total);
    json_t *answer = render_search(&result);
    set_degraded(call, answer, &result, &meaning);
    json_set_string(answer, "mode", search_mode_string(query.mode));
    reply_json(call, reply, 200, answer);
    return IBID_OK;
}
