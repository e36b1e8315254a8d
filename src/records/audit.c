#include "records/audit.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/json.h"
#include "records/sql.h"

enum { PAGE_LIMIT = 1000 };

/* With each entry at most so many old ones go: the log shrinks faster than it grows, and no request waits
 * for a large clean-up. */
#define FORGET_SOME                                                            \
    "DELETE FROM audit WHERE id IN (SELECT id FROM (SELECT id, at FROM audit " \
    "ORDER BY id LIMIT 10) AS oldest WHERE at < ?1)"

ibid_code audit_append(struct transaction *transaction, const struct audit_entry *entry, int64_t keep_after,
                       ibid_error *err)
{
    char object[AUDIT_OBJECT_LIMIT + 1];
    struct statement *statement;
    AUTO_JSON *details = json_object();
    AUTO_BUFFER text = BUFFER(4096);
    json_set_str(details, "door", entry->door);
    json_set_int(details, "token", entry->token_id);
    json_append(&text, details);
    TRY(buffer_check(&text, "the details of an entry", err));
    TRY(statement_prepare(transaction,
                          "INSERT INTO audit (at, user_id, action, object, details)"
                          " VALUES (?1, ?2, ?3, ?4, ?5)",
                          &statement, err));
    statement_bind_int(statement, 1, clock_now_us());
    sql_bind_id(statement, 2, entry->user_id);
    sql_bind_str(statement, 3, entry->action);
    sql_bind_str(statement, 4, sql_one_line(entry->object, object, AUDIT_OBJECT_LIMIT));
    sql_bind_str(statement, 5, buffer_str(&text));
    TRY(statement_run(statement, err));
    return SQL_RUN(transaction, FORGET_SOME, err, keep_after);
}

static ibid_code read_entry(struct statement *statement, struct arena *arena, struct audit_entry *ret,
                            ibid_error *err)
{
    AUTO_JSON *details = NULL;
    TRY(json_parse(statement_text(statement, 5), &details, err));
    const char *door = json_string_value(json_object_get(details, "door"));
    *ret = (struct audit_entry){
        .id = statement_int(statement, 0),
        .at = statement_int(statement, 1),
        .user_id = statement_int(statement, 2),
        .action = sql_str(statement, 3, arena),
        .object = sql_str(statement, 4, arena),
        .token_id = json_integer_value(json_object_get(details, "token")),
        .door = arena_str(arena, str_from(door ? door : "")),
        .user = sql_str(statement, 6, arena),
    };
    return IBID_OK;
}

ibid_code audit_list(struct transaction *transaction, const struct audit_query *query, struct arena *arena,
                     struct audit_entry **ret, size_t *ret_count, bool *ret_more, ibid_error *err)
{
    struct statement *statement;
    if (query->limit < 1 || query->limit > PAGE_LIMIT)
        return fail(err, IBID_EINVAL, "a page has 1 to %d entries, not %zu", PAGE_LIMIT, query->limit);
    TRY(statement_prepare(transaction,
                          "SELECT a.id, a.at, coalesce(a.user_id, 0), a.action, a.object, a.details, u.name"
                          " FROM audit a LEFT JOIN users u ON u.id = a.user_id"
                          " WHERE a.id < ?1 AND (?2 = '' OR a.action = ?2) ORDER BY a.id DESC LIMIT ?3",
                          &statement, err));
    statement_bind_int(statement, 1, query->before_id ? query->before_id : INT64_MAX);
    sql_bind_str(statement, 2, query->action);
    statement_bind_int(statement, 3, (int64_t)query->limit + 1);
    struct audit_entry *entries = ARENA_ARRAY(arena, struct audit_entry, query->limit + 1);
    size_t count = 0;
    for (bool row; count <= query->limit;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        TRY(read_entry(statement, arena, &entries[count++], err));
    }
    statement_reset(statement);
    *ret_more = count > query->limit;
    *ret_count = *ret_more ? query->limit : count;
    *ret = entries;
    return IBID_OK;
}
