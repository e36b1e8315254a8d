#include "records/row_select.h"

#include "records/id_list.h"
#include "records/sql.h"

/* CROSS JOIN: metadata is looked up first, then its rows. ?1 collection, ?2 key, ?3 operand. */
#define OF_DOCUMENTS                                                     \
    "SELECT r.row_id, m.text FROM document_metadata m CROSS JOIN rows r" \
    " WHERE r.document_id = m.document_id AND r.collection_id = ?1 AND r.removed = 0 AND m.key = ?2"
#define OF_CHUNKS                                                     \
    "SELECT r.row_id, m.text FROM chunk_metadata m CROSS JOIN rows r" \
    " WHERE r.chunk_id = m.chunk_id AND r.collection_id = ?1 AND r.removed = 0 AND m.key = ?2"
#define BOTH(condition)                             \
    {                                               \
        OF_DOCUMENTS condition, OF_CHUNKS condition \
    }

typedef const char *const query_pair[2]; /* of documents, of chunks */

static const struct {
    enum filter_op op;
    query_pair by_text, by_number;
} comparisons[] = {
    {FILTER_EQ, BOTH(" AND m.text = ?3"), BOTH(" AND m.number = ?3")},
    {FILTER_LT, BOTH(" AND m.text < ?3"), BOTH(" AND m.number < ?3")},
    {FILTER_LTE, BOTH(" AND m.text <= ?3"), BOTH(" AND m.number <= ?3")},
    {FILTER_GT, BOTH(" AND m.text > ?3"), BOTH(" AND m.number > ?3")},
    {FILTER_GTE, BOTH(" AND m.text >= ?3"), BOTH(" AND m.number >= ?3")},
};
static query_pair by_boolean = BOTH(" AND m.boolean = ?3");
static query_pair any_text = BOTH(" AND m.text IS NOT NULL");

struct selector {
    struct transaction *transaction;
    int64_t collection_id;
    struct str key;
};

/* NULL when the operator is none for values of that type. */
static const char *const *queries_for(enum filter_op op, enum value_type type)
{
    if (type == VALUE_BOOL)
        return op == FILTER_EQ ? by_boolean : NULL;
    for (size_t i = 0; i < COUNT_OF(comparisons); i++)
        if (comparisons[i].op == op)
            return type == VALUE_STRING ? comparisons[i].by_text : comparisons[i].by_number;
    return NULL;
}

static ibid_code prepare(struct selector *selector, const char *sql, struct statement **ret, ibid_error *err)
{
    TRY(statement_prepare(selector->transaction, sql, ret, err));
    statement_bind_int(*ret, 1, selector->collection_id);
    sql_bind_str(*ret, 2, selector->key);
    return IBID_OK;
}

static ibid_code add_comparison(struct selector *selector, enum filter_op op, const struct value *value,
                                struct id_list *list, ibid_error *err)
{
    const char *const *queries = queries_for(op, value->type);
    for (size_t i = 0; queries && i < 2; i++) {
        struct statement *statement;
        TRY(prepare(selector, queries[i], &statement, err));
        if (value->type == VALUE_STRING)
            sql_bind_str(statement, 3, value->string);
        else if (value->type == VALUE_NUMBER)
            statement_bind_real(statement, 3, value->number);
        else
            statement_bind_int(statement, 3, value->number != 0);
        TRY(id_list_collect(list, statement, err));
    }
    return IBID_OK;
}

static bool has_part(struct str text, struct str part)
{
    return part.size == 0 || memmem(text.data, text.size, part.data, part.size) != NULL;
}

static ibid_code add_containing(struct selector *selector, struct str part, struct id_list *list,
                                ibid_error *err)
{
    for (size_t i = 0; i < 2; i++) {
        struct statement *statement;
        TRY(prepare(selector, any_text[i], &statement, err));
        for (bool row;;) {
            TRY(statement_step(statement, &row, err));
            if (!row)
                break;
            if (has_part(statement_text(statement, 1), part))
                id_list_add(list, statement_int(statement, 0));
        }
        statement_reset(statement);
    }
    return IBID_OK;
}

static ibid_code select_all(struct selector *selector, const struct filter *leaf, struct id_list *list,
                            ibid_error *err)
{
    for (size_t i = 0; i < leaf->value_count; i++) {
        AUTO_ID_LIST one = {0};
        TRY(add_comparison(selector, FILTER_EQ, &leaf->values[i], &one, err));
        id_list_sort(&one);
        if (i > 0) {
            id_list_intersect(list, &one);
            continue;
        }
        *list = one;
        one = (struct id_list){0};
    }
    return IBID_OK;
}

static ibid_code select_any(struct selector *selector, const struct filter *leaf, struct id_list *list,
                            ibid_error *err)
{
    const enum filter_op op = leaf->op == FILTER_IN ? FILTER_EQ : leaf->op;
    for (size_t i = 0; i < leaf->value_count; i++) {
        const struct value *value = &leaf->values[i];
        if (op == FILTER_CONTAINS && value->type == VALUE_STRING)
            TRY(add_containing(selector, value->string, list, err));
        else
            TRY(add_comparison(selector, op == FILTER_CONTAINS ? FILTER_EQ : op, value, list, err));
    }
    id_list_sort(list);
    return IBID_OK;
}

ibid_code row_select(struct transaction *transaction, int64_t collection_id, const struct filter *leaf,
                     struct arena *arena, int64_t **ret_ids, size_t *ret_count, ibid_error *err)
{
    if (leaf->op == FILTER_AND || leaf->op == FILTER_OR || leaf->op == FILTER_NOT)
        return fail(err, IBID_EBUG, "only a comparison is answered from metadata");
    struct selector selector = {transaction, collection_id, leaf->key};
    AUTO_ID_LIST list = {0};
    if (leaf->op == FILTER_ALL)
        TRY(select_all(&selector, leaf, &list, err));
    else
        TRY(select_any(&selector, leaf, &list, err));
    *ret_ids = ARENA_ARRAY(arena, int64_t, list.count);
    if (list.count)
        memcpy(*ret_ids, list.ids, list.count * sizeof *list.ids);
    *ret_count = list.count;
    return IBID_OK;
}
