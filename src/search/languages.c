#include "search/languages.h"

#include <stdlib.h>

#include "base/memory.h"

/* Languages whose stemmer is not the one that analyzer_terms takes for their script anyway. */
static const char *const stemmed[] = {"ca", "da", "de", "es", "eu", "fi", "fr", "ga", "hu", "id",
                                      "it", "lt", "ne", "nl", "no", "pt", "ro", "sr", "sv", "tr"};

struct language_count {
    const char *code;
    uint64_t rows;
};

static int compare_counts(const void *a, const void *b)
{
    const struct language_count *first = a, *second = b;
    if (first->rows != second->rows)
        return first->rows < second->rows ? 1 : -1;
    return strcmp(first->code, second->code);
}

/* `language` NULL: all rows. */
static ibid_code count_rows(struct vector_store *store, int64_t collection_id, const struct scope *scope,
                            const char *language, uint64_t *ret, ibid_error *err)
{
    const struct value value = {.type = VALUE_STRING, .string = str_from(language)};
    const struct filter filter = {
        .op = FILTER_EQ, .key = STR("language"), .values = &value, .value_count = 1};
    struct selection *selection;
    TRY(vector_store_select(store, collection_id, scope, language ? &filter : NULL, &selection, err));
    *ret = selection->count;
    selection_free(selection);
    return IBID_OK;
}

ibid_code language_list_read(struct vector_store *store, int64_t collection_id, const struct scope *scope,
                             struct language_list *ret, ibid_error *err)
{
    struct language_count counts[COUNT_OF(stemmed) + 1];
    uint64_t total, rest;
    TRY(count_rows(store, collection_id, scope, NULL, &total, err));
    rest = total;
    for (size_t i = 0; i < COUNT_OF(stemmed); i++) {
        counts[i].code = stemmed[i];
        TRY(count_rows(store, collection_id, scope, stemmed[i], &counts[i].rows, err));
        rest -= counts[i].rows < rest ? counts[i].rows : rest;
    }
    counts[COUNT_OF(stemmed)] = (struct language_count){"", rest};
    qsort(counts, COUNT_OF(counts), sizeof *counts, compare_counts);
    *ret = (struct language_list){.languages = {{STR_EMPTY, 1}}, .count = 1};
    for (size_t i = 0; i < QUERY_LANGUAGE_LIMIT && total > 0; i++) {
        double share = (double)counts[i].rows / (double)total;
        if (share <= LANGUAGE_SHARE)
            break;
        ret->languages[i] = (struct query_language){str_from(counts[i].code), share};
        ret->count = i + 1;
    }
    return IBID_OK;
}
