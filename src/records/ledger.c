#include "records/ledger.h"

#include "base/clock.h"
#include "records/document.h"
#include "records/sql.h"

enum { PAGE_LIMIT = 10000 };

static const char *const outcomes[] = {
#define X(name, string) string,
    LEDGER_OUTCOME_MAP(X)
#undef X
};

const char *ledger_outcome_string(enum ledger_outcome outcome)
{
    ASSERT(outcome < LEDGER_OUTCOME_COUNT);
    return outcomes[outcome];
}

static bool outcome_from_string(struct str string, enum ledger_outcome *ret)
{
    for (size_t i = 0; i < LEDGER_OUTCOME_COUNT; i++)
        if (str_is(string, outcomes[i])) {
            *ret = (enum ledger_outcome)i;
            return true;
        }
    return false;
}

/* ---- reading ---------------------------------------------------------------------------------- */

#define LEDGER_COLUMNS                                                                                  \
    "source_id, external_key, document_id, outcome, stage, reason, size, modified_at, version, sha256," \
    " extractor, chunker, embedder, attempts, seen_run, updated_at, media_type"

static ibid_code read_line(struct statement *statement, struct arena *arena, struct ledger_line *ret,
                           ibid_error *err)
{
    struct ledger_line line = {
        .source_id = statement_int(statement, 0),
        .external_key = sql_str(statement, 1, arena),
        .document_id = statement_int(statement, 2),
        .stage = sql_str(statement, 4, arena),
        .reason = sql_str(statement, 5, arena),
        .size = statement_int(statement, 6),
        .modified_at = statement_int(statement, 7),
        .version = sql_str(statement, 8, arena),
        .extractor = sql_str(statement, 10, arena),
        .chunker = sql_str(statement, 11, arena),
        .embedder = sql_str(statement, 12, arena),
        .attempts = statement_int(statement, 13),
        .seen_run = statement_int(statement, 14),
        .updated_at = statement_int(statement, 15),
        .media_type = sql_str(statement, 16, arena),
    };
    if (!outcome_from_string(statement_text(statement, 3), &line.outcome))
        return fail(err, IBID_ECORRUPT, "the ledger has an unknown outcome");
    TRY(sql_sha256(statement, 9, &line.has_sha256, &line.sha256, err));
    *ret = line;
    return IBID_OK;
}

ibid_code ledger_find(struct transaction *transaction, int64_t source_id, struct str external_key,
                      struct arena *arena, struct ledger_line *ret, bool *ret_found, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT " LEDGER_COLUMNS " FROM ledger WHERE source_id = ?1 AND external_key = ?2",
                    &statement, err, source_id));
    sql_bind_str(statement, 2, external_key);
    bool row;
    TRY(statement_step(statement, &row, err));
    if (row)
        TRY(read_line(statement, arena, ret, err));
    statement_reset(statement);
    *ret_found = row;
    return IBID_OK;
}

static ibid_code read_lines(struct statement *statement, size_t limit, struct arena *arena,
                            struct ledger_line **ret, size_t *ret_count, ibid_error *err)
{
    struct ledger_line *lines = ARENA_ARRAY(arena, struct ledger_line, limit);
    size_t count = 0;
    for (bool row; count < limit;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        TRY(read_line(statement, arena, &lines[count], err));
        count++;
    }
    statement_reset(statement);
    *ret = lines;
    *ret_count = count;
    return IBID_OK;
}

static ibid_code check_limit(size_t limit, ibid_error *err)
{
    if (limit < 1 || limit > PAGE_LIMIT)
        return fail(err, IBID_EINVAL, "a page of the ledger has 1 to %d lines, not %zu", PAGE_LIMIT, limit);
    return IBID_OK;
}

ibid_code ledger_unseen(struct transaction *transaction, int64_t source_id, int64_t run_id,
                        struct str after_key, size_t limit, struct arena *arena, struct ledger_line **ret,
                        size_t *ret_count, ibid_error *err)
{
    TRY(check_limit(limit, err));
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT " LEDGER_COLUMNS " FROM ledger WHERE source_id = ?1 AND external_key > ?4"
                    " AND seen_run <> ?2 AND outcome <> 'removed' ORDER BY external_key LIMIT ?3",
                    &statement, err, source_id, run_id, (int64_t)limit));
    sql_bind_str(statement, 4, after_key);
    return read_lines(statement, limit, arena, ret, ret_count, err);
}

ibid_code ledger_list(struct transaction *transaction, int64_t source_id, enum ledger_outcome outcome,
                      struct str after_key, size_t limit, struct arena *arena, struct ledger_line **ret,
                      size_t *ret_count, ibid_error *err)
{
    TRY(check_limit(limit, err));
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT " LEDGER_COLUMNS
                    " FROM ledger WHERE source_id = ?1 AND outcome = ?3 AND external_key > ?4"
                    " ORDER BY external_key LIMIT ?2",
                    &statement, err, source_id, (int64_t)limit));
    statement_bind_text(statement, 3, str_from(ledger_outcome_string(outcome)));
    sql_bind_str(statement, 4, after_key);
    return read_lines(statement, limit, arena, ret, ret_count, err);
}

ibid_code ledger_count(struct transaction *transaction, int64_t source_id,
                       int64_t ret_counts[LEDGER_OUTCOME_COUNT], ibid_error *err)
{
    int64_t counts[LEDGER_OUTCOME_COUNT] = {0};
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT outcome, count(*) FROM ledger WHERE ?1 = 0 OR source_id = ?1 GROUP BY outcome",
                    &statement, err, source_id));
    for (bool row;;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        enum ledger_outcome outcome;
        if (outcome_from_string(statement_text(statement, 0), &outcome))
            counts[outcome] = statement_int(statement, 1);
    }
    memcpy(ret_counts, counts, sizeof counts);
    return IBID_OK;
}

double ledger_coverage(const int64_t counts[LEDGER_OUTCOME_COUNT])
{
    const int64_t indexed = counts[LEDGER_INDEXED];
    const int64_t all = indexed + counts[LEDGER_FAILED] + counts[LEDGER_SEEN];
    return all ? 100.0 * (double)indexed / (double)all : 100.0;
}

/* ---- writing ---------------------------------------------------------------------------------- */

ibid_code ledger_put(struct transaction *transaction, const struct ledger_line *line, ibid_error *err)
{
    char reason[DOCUMENT_REASON_LIMIT + 1];
    struct statement *statement;
    TRY(statement_prepare(
        transaction,
        "INSERT INTO ledger (source_id, external_key, document_id, outcome, stage, reason, size,"
        " modified_at, version, sha256, extractor, chunker, embedder, attempts, seen_run, updated_at,"
        " media_type) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,"
        " CASE WHEN ?4 = 'failed' THEN 1 ELSE 0 END, ?14, ?15, ?16)"
        " ON CONFLICT (source_id, external_key) DO UPDATE SET document_id = excluded.document_id,"
        " outcome = excluded.outcome, stage = excluded.stage, reason = excluded.reason,"
        " size = excluded.size, modified_at = excluded.modified_at, version = excluded.version,"
        " sha256 = excluded.sha256, extractor = excluded.extractor, chunker = excluded.chunker,"
        " embedder = excluded.embedder, seen_run = excluded.seen_run,"
        " updated_at = excluded.updated_at, media_type = excluded.media_type,"
        " attempts = CASE excluded.outcome WHEN 'failed' THEN ledger.attempts + 1"
        " WHEN 'seen' THEN ledger.attempts ELSE 0 END",
        &statement, err));
    statement_bind_int(statement, 1, line->source_id);
    sql_bind_str(statement, 2, line->external_key);
    sql_bind_id(statement, 3, line->document_id);
    statement_bind_text(statement, 4, str_from(ledger_outcome_string(line->outcome)));
    sql_bind_str(statement, 5, line->stage);
    statement_bind_text(statement, 6, sql_one_line(line->reason, reason, DOCUMENT_REASON_LIMIT));
    statement_bind_int(statement, 7, line->size);
    statement_bind_int(statement, 8, line->modified_at);
    sql_bind_str(statement, 9, line->version);
    sql_bind_sha256(statement, 10, line->has_sha256, &line->sha256);
    sql_bind_str(statement, 11, line->extractor);
    sql_bind_str(statement, 12, line->chunker);
    sql_bind_str(statement, 13, line->embedder);
    statement_bind_int(statement, 14, line->seen_run);
    statement_bind_int(statement, 15, clock_now_us());
    sql_bind_str(statement, 16, line->media_type);
    return statement_run(statement, err);
}

ibid_code ledger_see(struct transaction *transaction, int64_t source_id, struct str external_key,
                     int64_t run_id, bool *ret_found, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(
        transaction,
        "UPDATE ledger SET seen_run = ?2 WHERE source_id = ?1 AND external_key = ?3 RETURNING source_id",
        &statement, err, source_id, run_id));
    sql_bind_str(statement, 3, external_key);
    int64_t id;
    return sql_first_int(statement, ret_found, &id, err);
}

ibid_code ledger_forget(struct transaction *transaction, int64_t source_id, struct str external_key,
                        ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "DELETE FROM ledger WHERE source_id = ?1 AND external_key = ?2", &statement,
                    err, source_id));
    sql_bind_str(statement, 2, external_key);
    return statement_run(statement, err);
}

ibid_code ledger_move(struct transaction *transaction, int64_t source_id, struct str from, struct str to,
                      ibid_error *err)
{
    TRY(ledger_forget(transaction, source_id, to, err));
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "UPDATE ledger SET external_key = ?3 WHERE source_id = ?1 AND external_key = ?2",
                    &statement, err, source_id));
    sql_bind_str(statement, 2, from);
    sql_bind_str(statement, 3, to);
    return statement_run(statement, err);
}
