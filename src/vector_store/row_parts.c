#include "vector_store/row_parts.h"

#include <math.h>
#include <stdlib.h>

#include "vector_store/bm25.h"

static int compare_terms(const void *a, const void *b)
{
    return str_compare(((const struct counted_term *)a)->text, ((const struct counted_term *)b)->text);
}

struct row_terms row_terms(struct analyzer *analyzer, const struct row *row, struct arena *arena)
{
    struct term *terms;
    size_t count;
    analyzer_terms(analyzer, row->text, row->language, arena, &terms, &count);
    struct row_terms result = {.terms = ARENA_ARRAY(arena, struct counted_term, count)};
    for (size_t i = 0; i < count; i++)
        result.terms[i] = (struct counted_term){terms[i].text, 1};
    if (count) {
        const uint32_t words = terms[count - 1].position + 1;
        result.length = words < BM25_LENGTH_LIMIT ? words : BM25_LENGTH_LIMIT;
        qsort(result.terms, count, sizeof *result.terms, compare_terms);
    }
    for (size_t i = 0; i < count; i++) {
        struct counted_term *last = result.count ? &result.terms[result.count - 1] : NULL;
        if (!last || !str_equal(last->text, result.terms[i].text))
            result.terms[result.count++] = result.terms[i];
        else if (last->tf < BM25_TF_LIMIT)
            last->tf++;
    }
    return result;
}

/* Keys that follow from the row's own fields; a row's attributes need not repeat them. */
struct own_keys {
    const struct filter_key *document, *state, *workspace;
};

static struct own_keys own_keys(void)
{
    return (struct own_keys){filter_key_find(STR("document_id")), filter_key_find(STR("state")),
                             filter_key_find(STR("workspace_id"))};
}

static bool attribute_is_sound(const struct attribute *attribute, const struct filter_key *key)
{
    return attribute->value.type == key->type &&
           (attribute->value.type == VALUE_STRING || isfinite(attribute->value.number));
}

static struct attribute number_attribute(const struct filter_key *key, double number)
{
    return (struct attribute){(uint32_t)(key - filter_keys), {.type = VALUE_NUMBER, .number = number}};
}

size_t row_attributes(const struct row *row, struct arena *arena, struct attribute **ret)
{
    const struct own_keys own = own_keys();
    struct attribute *out =
        ARENA_ARRAY(arena, struct attribute, row->attribute_count + row->workspace_count + 2);
    size_t count = 0;
    for (size_t i = 0; i < row->attribute_count; i++) {
        const struct filter_key *key = &filter_keys[row->attributes[i].key];
        if (key != own.document && key != own.state && key != own.workspace &&
            attribute_is_sound(&row->attributes[i], key))
            out[count++] = row->attributes[i];
    }
    out[count++] = number_attribute(own.document, (double)row->document_id);
    for (size_t i = 0; i < row->workspace_count; i++)
        out[count++] = number_attribute(own.workspace, (double)row->workspaces[i]);
    out[count++] =
        (struct attribute){(uint32_t)(own.state - filter_keys),
                           {.type = VALUE_STRING, .string = str_from(document_state_string(row->state))}};
    *ret = out;
    return count;
}

static bool contains(const int64_t *ids, size_t count, int64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

bool scope_reads(const struct scope *scope, enum document_state state, const int64_t *workspaces,
                 size_t count)
{
    if (state == DOCUMENT_EXPIRED)
        return false;
    for (size_t i = 0; i < count; i++)
        if (scope_has_workspace(scope, workspaces[i]) &&
            (state != DOCUMENT_SENSITIVE ||
             contains(scope->sensitive_workspaces, scope->sensitive_workspace_count, workspaces[i])))
            return true;
    return false;
}
