#include "records/run.h"

#include "base/clock.h"
#include "records/document.h"
#include "records/sql.h"

enum { PAGE_LIMIT = 1000 };

static const char *const states[] = {
#define X(name, string) string,
    RUN_STATE_MAP(X)
#undef X
};

const char *run_state_string(enum run_state state)
{
    ASSERT((size_t)state < COUNT_OF(states));
    return states[state];
}

ibid_code run_start(struct transaction *transaction, int64_t source_id, const char *kind, int64_t *ret_id,
                    ibid_error *err)
{
    struct statement *statement;
    TRY(statement_prepare(
        transaction,
        "INSERT INTO runs (source_id, kind, started_at, heartbeat_at) VALUES (?1, ?2, ?3, ?3)"
        " RETURNING id",
        &statement, err));
    sql_bind_id(statement, 1, source_id);
    statement_bind_text(statement, 2, str_from(kind));
    statement_bind_int(statement, 3, clock_now_us());
    return sql_insert(statement, ret_id, err);
}

static void bind_progress(struct statement *statement, int parameter, const struct run_progress *progress)
{
    const int64_t values[] = {progress->discovered, progress->indexed, progress->unchanged, progress->skipped,
                              progress->failed,     progress->removed, progress->chunks,    progress->bytes};
    for (size_t i = 0; i < COUNT_OF(values); i++)
        statement_bind_int(statement, parameter + (int)i, values[i]);
}

ibid_code run_beat(struct transaction *transaction, int64_t id, const struct run_progress *progress,
                   ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(
        transaction,
        "UPDATE runs SET heartbeat_at = ?2, discovered = ?3, indexed = ?4, unchanged = ?5, skipped = ?6,"
        " failed = ?7, removed = ?8, chunks = ?9, bytes = ?10 WHERE id = ?1",
        &statement, err, id, clock_now_us()));
    bind_progress(statement, 3, progress);
    return statement_run(statement, err);
}

ibid_code run_finish(struct transaction *transaction, int64_t id, enum run_state state, struct str reason,
                     const struct run_progress *progress, ibid_error *err)
{
    TRY(run_beat(transaction, id, progress, err));
    char line[DOCUMENT_REASON_LIMIT + 1];
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "UPDATE runs SET finished_at = ?2, state = ?3, reason = ?4 WHERE id = ?1",
                    &statement, err, id, clock_now_us()));
    statement_bind_text(statement, 3, str_from(run_state_string(state)));
    statement_bind_text(statement, 4, sql_one_line(reason, line, DOCUMENT_REASON_LIMIT));
    return statement_run(statement, err);
}

ibid_code run_end_interrupted(struct transaction *transaction, int64_t *ret_count, ibid_error *err)
{
    TRY(SQL_INT(transaction, "SELECT count(*) FROM runs WHERE state = 'running'", 0, ret_count, err));
    return SQL_RUN(transaction,
                   "UPDATE runs SET state = 'interrupted', finished_at = heartbeat_at,"
                   " reason = 'the process ended before the run did' WHERE state = 'running'",
                   err);
}

/* ---- reading ---------------------------------------------------------------------------------- */

#define RUN_COLUMNS                                                                                   \
    "id, source_id, kind, state, reason, started_at, heartbeat_at, finished_at, discovered, indexed," \
    " unchanged, skipped, failed, removed, chunks, bytes"

static ibid_code read_run(struct statement *statement, struct arena *arena, struct run *ret, ibid_error *err)
{
    struct run run = {
        .id = statement_int(statement, 0),
        .source_id = statement_int(statement, 1),
        .kind = sql_str(statement, 2, arena),
        .reason = sql_str(statement, 4, arena),
        .started_at = statement_int(statement, 5),
        .heartbeat_at = statement_int(statement, 6),
        .finished_at = statement_int(statement, 7),
        .progress = {statement_int(statement, 8), statement_int(statement, 9), statement_int(statement, 10),
                     statement_int(statement, 11), statement_int(statement, 12), statement_int(statement, 13),
                     statement_int(statement, 14), statement_int(statement, 15)},
    };
    for (size_t i = 0; i < COUNT_OF(states); i++)
        if (str_is(statement_text(statement, 3), states[i])) {
            run.state = (enum run_state)i;
            *ret = run;
            return IBID_OK;
        }
    return fail(err, IBID_ECORRUPT, "run %lld is in an unknown state", (long long)run.id);
}

ibid_code run_load(struct transaction *transaction, int64_t id, struct arena *arena, struct run *ret,
                   ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "SELECT " RUN_COLUMNS " FROM runs WHERE id = ?1", &statement, err, id));
    bool row;
    TRY(statement_step(statement, &row, err));
    if (!row)
        return fail(err, IBID_ENOTFOUND, "there is no run %lld", (long long)id);
    TRY(read_run(statement, arena, ret, err));
    statement_reset(statement);
    return IBID_OK;
}

ibid_code run_list(struct transaction *transaction, int64_t source_id, size_t limit, struct arena *arena,
                   struct run **ret, size_t *ret_count, ibid_error *err)
{
    if (limit < 1 || limit > PAGE_LIMIT)
        return fail(err, IBID_EINVAL, "a page has 1 to %d runs, not %zu", PAGE_LIMIT, limit);
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT " RUN_COLUMNS
                    " FROM runs WHERE ?1 = 0 OR source_id = ?1 ORDER BY id DESC LIMIT ?2",
                    &statement, err, source_id, (int64_t)limit));
    struct run *runs = ARENA_ARRAY(arena, struct run, limit);
    size_t count = 0;
    for (bool row; count < limit;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        TRY(read_run(statement, arena, &runs[count], err));
        count++;
    }
    statement_reset(statement);
    *ret = runs;
    *ret_count = count;
    return IBID_OK;
}
