#include "records/workspace.h"

#include "base/clock.h"
#include "records/sql.h"

enum { NAME_LIMIT = 256 };

static const char *const roles[] = {
    [ROLE_VIEWER] = "viewer",
    [ROLE_EDITOR] = "editor",
    [ROLE_ADMIN] = "admin",
    [ROLE_OWNER] = "owner",
};

const char *workspace_role_string(enum workspace_role role)
{
    ASSERT((size_t)role < COUNT_OF(roles));
    return roles[role];
}

bool workspace_role_from_string(struct str string, enum workspace_role *ret)
{
    for (size_t i = 0; i < COUNT_OF(roles); i++)
        if (str_is(string, roles[i])) {
            *ret = (enum workspace_role)i;
            return true;
        }
    return false;
}

static ibid_code check_name(struct str name, const char *what, ibid_error *err)
{
    if (name.size == 0 || name.size > NAME_LIMIT)
        return fail(err, IBID_EINVAL, "the name of a %s has 1 to %d bytes", what, NAME_LIMIT);
    return IBID_OK;
}

/* ---- users ------------------------------------------------------------------------------------ */

#define USER_COLUMNS "id, name, display_name, role, disabled, created_at"

static struct user read_user(struct statement *statement, struct arena *arena)
{
    return (struct user){
        .id = statement_int(statement, 0),
        .name = sql_str(statement, 1, arena),
        .display_name = sql_str(statement, 2, arena),
        .system_admin = str_is(statement_text(statement, 3), "system_admin"),
        .disabled = statement_int(statement, 4),
        .created_at = statement_int(statement, 5),
    };
}

ibid_code user_load(struct transaction *transaction, int64_t id, struct arena *arena, struct user *ret,
                    ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "SELECT " USER_COLUMNS " FROM users WHERE id = ?1", &statement, err, id));
    bool row;
    TRY(statement_step(statement, &row, err));
    if (!row)
        return fail(err, IBID_ENOTFOUND, "there is no user %lld", (long long)id);
    *ret = read_user(statement, arena);
    statement_reset(statement);
    return IBID_OK;
}

ibid_code user_create(struct transaction *transaction, const struct user *draft, int64_t *ret_id,
                      ibid_error *err)
{
    TRY(check_name(draft->name, "user", err));
    struct statement *statement;
    TRY(statement_prepare(transaction,
                          "INSERT INTO users (name, display_name, role, created_at) VALUES (?1, ?2, ?3, ?4)"
                          " ON CONFLICT (name) DO NOTHING RETURNING id",
                          &statement, err));
    sql_bind_str(statement, 1, draft->name);
    sql_bind_str(statement, 2, draft->display_name);
    statement_bind_text(statement, 3, draft->system_admin ? STR("system_admin") : STR("user"));
    statement_bind_int(statement, 4, clock_now_us());
    bool row;
    TRY(sql_first_int(statement, &row, ret_id, err));
    return row ? IBID_OK : fail(err, IBID_ECONFLICT, "there is a user '%.*s' already", STR_ARG(draft->name));
}

ibid_code user_set_disabled(struct transaction *transaction, int64_t id, bool disabled, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "UPDATE users SET disabled = ?2 WHERE id = ?1 RETURNING id", &statement, err,
                    id, disabled));
    bool row;
    int64_t found;
    TRY(sql_first_int(statement, &row, &found, err));
    return row ? IBID_OK : fail(err, IBID_ENOTFOUND, "there is no user %lld", (long long)id);
}

/* ---- workspaces ------------------------------------------------------------------------------- */

#define WORKSPACE_COLUMNS "id, name, kind, created_at"

static struct workspace read_workspace(struct statement *statement, struct arena *arena)
{
    return (struct workspace){
        .id = statement_int(statement, 0),
        .name = sql_str(statement, 1, arena),
        .personal = str_is(statement_text(statement, 2), "personal"),
        .created_at = statement_int(statement, 3),
    };
}

ibid_code workspace_load(struct transaction *transaction, int64_t id, struct arena *arena,
                         struct workspace *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "SELECT " WORKSPACE_COLUMNS " FROM workspaces WHERE id = ?1", &statement,
                    err, id));
    bool row;
    TRY(statement_step(statement, &row, err));
    if (!row)
        return fail(err, IBID_ENOTFOUND, "there is no workspace %lld", (long long)id);
    *ret = read_workspace(statement, arena);
    statement_reset(statement);
    return IBID_OK;
}

ibid_code workspace_load_by_name(struct transaction *transaction, struct str name, struct arena *arena,
                                 struct workspace *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(statement_prepare(transaction, "SELECT " WORKSPACE_COLUMNS " FROM workspaces WHERE name = ?1",
                          &statement, err));
    sql_bind_str(statement, 1, name);
    bool row;
    TRY(statement_step(statement, &row, err));
    if (!row)
        return fail(err, IBID_ENOTFOUND, "there is no workspace '%.*s'",
                    STR_ARG(str_slice(name, 0, NAME_LIMIT)));
    *ret = read_workspace(statement, arena);
    statement_reset(statement);
    return IBID_OK;
}

ibid_code workspace_list(struct transaction *transaction, struct arena *arena, struct workspace **ret,
                         size_t *ret_count, ibid_error *err)
{
    int64_t total;
    TRY(SQL_INT(transaction, "SELECT count(*) FROM workspaces", 0, &total, err));
    struct statement *statement;
    TRY(statement_prepare(transaction, "SELECT " WORKSPACE_COLUMNS " FROM workspaces ORDER BY id", &statement,
                          err));
    struct workspace *list = ARENA_ARRAY(arena, struct workspace, (size_t)total);
    size_t count = 0;
    for (bool row; count < (size_t)total;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        list[count++] = read_workspace(statement, arena);
    }
    statement_reset(statement);
    *ret = list;
    *ret_count = count;
    return IBID_OK;
}

static ibid_code put_membership(struct transaction *transaction, int64_t workspace_id, int64_t user_id,
                                enum workspace_role role, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(
        transaction,
        "INSERT INTO memberships (workspace_id, user_id, role, created_at) VALUES (?1, ?2, ?4, ?3)"
        " ON CONFLICT (workspace_id, user_id) DO UPDATE SET role = excluded.role",
        &statement, err, workspace_id, user_id, clock_now_us()));
    statement_bind_text(statement, 4, str_from(workspace_role_string(role)));
    return statement_run(statement, err);
}

ibid_code workspace_create(struct transaction *transaction, struct str name, bool personal, int64_t owner_id,
                           int64_t *ret_id, ibid_error *err)
{
    TRY(check_name(name, "workspace", err));
    struct statement *statement;
    TRY(statement_prepare(transaction,
                          "INSERT INTO workspaces (name, kind, created_at) VALUES (?1, ?2, ?3)"
                          " ON CONFLICT (name) DO NOTHING RETURNING id",
                          &statement, err));
    sql_bind_str(statement, 1, name);
    statement_bind_text(statement, 2, personal ? STR("personal") : STR("team"));
    statement_bind_int(statement, 3, clock_now_us());
    bool row;
    int64_t id = 0;
    TRY(sql_first_int(statement, &row, &id, err));
    if (!row)
        return fail(err, IBID_ECONFLICT, "there is a workspace '%.*s' already", STR_ARG(name));
    TRY(put_membership(transaction, id, owner_id, ROLE_OWNER, err));
    *ret_id = id;
    return IBID_OK;
}

/* ---- memberships ------------------------------------------------------------------------------ */

ibid_code membership_list(struct transaction *transaction, int64_t user_id, struct arena *arena,
                          struct membership **ret, size_t *ret_count, ibid_error *err)
{
    int64_t total;
    TRY(SQL_INT(transaction, "SELECT count(*) FROM memberships WHERE user_id = ?1", 0, &total, err, user_id));
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT workspace_id, role FROM memberships WHERE user_id = ?1 ORDER BY workspace_id",
                    &statement, err, user_id));
    struct membership *list = ARENA_ARRAY(arena, struct membership, (size_t)total);
    size_t count = 0;
    for (bool row; count < (size_t)total;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        list[count].workspace_id = statement_int(statement, 0);
        if (!workspace_role_from_string(statement_text(statement, 1), &list[count].role))
            return fail(err, IBID_ECORRUPT, "a member of workspace %lld has an unknown role",
                        (long long)list[count].workspace_id);
        count++;
    }
    statement_reset(statement);
    *ret = list;
    *ret_count = count;
    return IBID_OK;
}

static ibid_code find_role(struct transaction *transaction, int64_t workspace_id, int64_t user_id,
                           bool *ret_member, enum workspace_role *ret_role, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction, "SELECT role FROM memberships WHERE workspace_id = ?1 AND user_id = ?2",
                    &statement, err, workspace_id, user_id));
    TRY(statement_step(statement, ret_member, err));
    if (*ret_member && !workspace_role_from_string(statement_text(statement, 0), ret_role))
        return fail(err, IBID_ECORRUPT, "a member of workspace %lld has an unknown role",
                    (long long)workspace_id);
    statement_reset(statement);
    return IBID_OK;
}

static ibid_code check_team(struct transaction *transaction, int64_t workspace_id, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct workspace workspace;
    TRY(workspace_load(transaction, workspace_id, &arena, &workspace, err));
    if (workspace.personal)
        return fail(err, IBID_EINVAL, "nobody joins or leaves a personal workspace");
    return IBID_OK;
}

/* A workspace has one owner: making another member the owner leaves the old one an admin. */
ibid_code membership_set(struct transaction *transaction, int64_t workspace_id, int64_t user_id,
                         enum workspace_role role, ibid_error *err)
{
    TRY(check_team(transaction, workspace_id, err));
    bool member;
    enum workspace_role old;
    TRY(find_role(transaction, workspace_id, user_id, &member, &old, err));
    if (member && old == ROLE_OWNER && role != ROLE_OWNER)
        return fail(err, IBID_ECONFLICT, "a workspace keeps its owner: make another member the owner first");
    if (role == ROLE_OWNER)
        TRY(SQL_RUN(transaction,
                    "UPDATE memberships SET role = 'admin' WHERE workspace_id = ?1 AND role = 'owner'", err,
                    workspace_id));
    return put_membership(transaction, workspace_id, user_id, role, err);
}

ibid_code membership_remove(struct transaction *transaction, int64_t workspace_id, int64_t user_id,
                            ibid_error *err)
{
    TRY(check_team(transaction, workspace_id, err));
    bool member;
    enum workspace_role role;
    TRY(find_role(transaction, workspace_id, user_id, &member, &role, err));
    if (!member)
        return fail(err, IBID_ENOTFOUND, "user %lld is no member of workspace %lld", (long long)user_id,
                    (long long)workspace_id);
    if (role == ROLE_OWNER)
        return fail(err, IBID_ECONFLICT, "a workspace keeps its owner: make another member the owner first");
    return SQL_RUN(transaction, "DELETE FROM memberships WHERE workspace_id = ?1 AND user_id = ?2", err,
                   workspace_id, user_id);
}
