#include "records/audit.h"

#include "base/clock.h"
#include "records/sql.h"

enum { DETAILS_LIMIT = 16 * 1024 };

ibid_code audit_append(struct transaction *transaction, int64_t user_id, const char *action,
                       struct str object, struct str details, ibid_error *err)
{
    TRY(sql_check_json_object(details, DETAILS_LIMIT, "the details of an audit entry", err));
    struct statement *statement;
    TRY(statement_prepare(
        transaction, "INSERT INTO audit (at, user_id, action, object, details) VALUES (?1, ?2, ?3, ?4, ?5)",
        &statement, err));
    statement_bind_int(statement, 1, clock_now_us());
    sql_bind_id(statement, 2, user_id);
    statement_bind_text(statement, 3, str_from(action));
    sql_bind_str(statement, 4, object);
    sql_bind_str(statement, 5, details.size ? details : STR("{}"));
    return statement_run(statement, err);
}
