#include "tests/fuzz/fuzz.h"

#include "api/rest/parameter_tables.h"
#include "api/rest/parameters.h"
#include "model/filter.h"

/* A search's body: what is read of it and written again reads the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct search_parameters first = {0}, second = {0};
    AUTO_JSON *body = NULL, *again = json_object(), *third = json_object();
    ibid_error error = {0};
    if (json_parse((struct str){(const char *)data, size}, &body, &error) != IBID_OK ||
        !json_is_object(body)) {
        ASSERT(body || error.message[0]);
        return 0;
    }
    const struct filter *filter;
    if (filter_from_json(json_object_get(body, "filter"), &arena, &filter, &error) != IBID_OK)
        ASSERT(error.message[0]);
    if (parameters_from_json(search_parameters, &first, body, search_other_members, &arena, &error) !=
        IBID_OK) {
        ASSERT(error.message[0]);
        return 0;
    }
    parameters_to_json(search_parameters, &first, again);
    ASSERT(parameters_from_json(search_parameters, &second, again, NULL, &arena, NULL) == IBID_OK);
    parameters_to_json(search_parameters, &second, third);
    ASSERT(json_equal(again, third));
    return 0;
}
