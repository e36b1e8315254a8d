#include "access/access.h"

#include "access/token.h"
#include "base/clock.h"
#include "records/bootstrap.h"

/* ---- who -------------------------------------------------------------------------------------- */

ibid_code principal_local_owner(struct transaction *transaction, struct arena *arena, struct principal *ret,
                                ibid_error *err)
{
    struct user user;
    TRY(user_load(transaction, OWNER_USER_ID, arena, &user, err));
    *ret = (struct principal){
        .user_id = user.id, .name = user.name, .system_admin = true, .every_workspace = true};
    return IBID_OK;
}

static ibid_code unknown_token(ibid_error *err)
{
    return fail(err, IBID_EAUTH, "the access token is not valid");
}

static bool token_is_current(const struct token_record *token)
{
    return token->revoked_at == 0 && (token->expires_at == 0 || token->expires_at > clock_now_us());
}

ibid_code principal_from_token(struct transaction *transaction, struct str token, struct arena *arena,
                               struct principal *ret, ibid_error *err)
{
    unsigned char hash[TOKEN_HASH_SIZE];
    if (!token_hash(token, hash))
        return unknown_token(err);
    struct token_record record;
    ibid_code code = token_record_find(transaction, hash, arena, &record, err);
    if (code == IBID_ENOTFOUND || (code == IBID_OK && !token_is_current(&record)))
        return unknown_token(err);
    TRY(code);
    struct user user;
    TRY(user_load(transaction, record.user_id, arena, &user, err));
    if (user.disabled)
        return unknown_token(err);
    *ret = (struct principal){.user_id = user.id,
                              .name = user.name,
                              .system_admin = user.system_admin,
                              .token_id = record.id,
                              .metrics_only = record.metrics_only,
                              .token_used_at = record.last_used_at};
    return IBID_OK;
}

ibid_code principal_from_token_id(struct transaction *transaction, int64_t user_id, int64_t token_id,
                                  struct arena *arena, struct principal *ret, ibid_error *err)
{
    struct user user;
    struct token_record record = {0};
    if (token_id != 0) {
        const ibid_code code = token_record_load(transaction, token_id, arena, &record, err);
        if (code == IBID_ENOTFOUND || (code == IBID_OK && !token_is_current(&record)))
            return unknown_token(err);
        TRY(code);
    }
    TRY(user_load(transaction, user_id, arena, &user, err));
    if (user.disabled)
        return unknown_token(err);
    *ret = (struct principal){.user_id = user.id, .name = user.name, .token_id = token_id};
    return IBID_OK;
}

/* ---- what they may read ----------------------------------------------------------------------- */

static ibid_code scope_of_everything(struct transaction *transaction, struct arena *arena, struct scope *ret,
                                     ibid_error *err)
{
    struct workspace *workspaces;
    size_t count;
    TRY(workspace_list(transaction, arena, &workspaces, &count, err));
    int64_t *ids = ARENA_ARRAY(arena, int64_t, count);
    for (size_t i = 0; i < count; i++)
        ids[i] = workspaces[i].id;
    *ret = (struct scope){ids, count, ids, count};
    return IBID_OK;
}

ibid_code scope_of(struct transaction *transaction, const struct principal *principal, struct arena *arena,
                   struct scope *ret, ibid_error *err)
{
    if (principal->every_workspace)
        return scope_of_everything(transaction, arena, ret, err);
    struct membership *memberships;
    size_t count;
    TRY(membership_list(transaction, principal->user_id, arena, &memberships, &count, err));
    int64_t *readable = ARENA_ARRAY(arena, int64_t, count), *sensitive = ARENA_ARRAY(arena, int64_t, count);
    size_t sensitive_count = 0;
    for (size_t i = 0; i < count; i++) {
        readable[i] = memberships[i].workspace_id;
        if (memberships[i].role >= ROLE_ADMIN)
            sensitive[sensitive_count++] = memberships[i].workspace_id;
    }
    *ret = (struct scope){readable, count, sensitive, sensitive_count};
    return IBID_OK;
}

static size_t keep_listed(const int64_t *ids, size_t id_count, const int64_t *listed, size_t listed_count,
                          int64_t *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < id_count; i++)
        for (size_t j = 0; j < listed_count; j++)
            if (ids[i] == listed[j]) {
                out[kept++] = ids[i];
                break;
            }
    return kept;
}

struct scope scope_restrict(const struct scope *scope, const int64_t *workspaces, size_t count,
                            struct arena *arena)
{
    int64_t *readable = ARENA_ARRAY(arena, int64_t, scope->workspace_count);
    int64_t *sensitive = ARENA_ARRAY(arena, int64_t, scope->sensitive_workspace_count);
    return (struct scope){
        .workspaces = readable,
        .workspace_count =
            keep_listed(scope->workspaces, scope->workspace_count, workspaces, count, readable),
        .sensitive_workspaces = sensitive,
        .sensitive_workspace_count = keep_listed(
            scope->sensitive_workspaces, scope->sensitive_workspace_count, workspaces, count, sensitive),
    };
}

/* ---- what they may do ------------------------------------------------------------------------- */

ibid_code access_check_system_admin(const struct principal *principal, ibid_error *err)
{
    if (!principal->system_admin)
        return fail(err, IBID_EDENIED, "only a System-Admin may do this");
    return IBID_OK;
}

static ibid_code find_role(struct transaction *transaction, const struct principal *principal,
                           int64_t workspace_id, bool *ret_member, enum workspace_role *ret_role,
                           ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    if (principal->every_workspace) {
        struct workspace workspace;
        const ibid_code code = workspace_load(transaction, workspace_id, &arena, &workspace, err);
        if (code != IBID_OK && code != IBID_ENOTFOUND)
            return code;
        *ret_member = code == IBID_OK;
        *ret_role = ROLE_OWNER;
        return IBID_OK;
    }
    struct membership *memberships;
    size_t count;
    TRY(membership_list(transaction, principal->user_id, &arena, &memberships, &count, err));
    *ret_member = false;
    for (size_t i = 0; i < count; i++)
        if (memberships[i].workspace_id == workspace_id) {
            *ret_member = true;
            *ret_role = memberships[i].role;
        }
    return IBID_OK;
}

ibid_code access_check_role(struct transaction *transaction, const struct principal *principal,
                            int64_t workspace_id, enum workspace_role role, ibid_error *err)
{
    bool member;
    enum workspace_role has = ROLE_VIEWER;
    TRY(find_role(transaction, principal, workspace_id, &member, &has, err));
    if (!member)
        return fail(err, IBID_ENOTFOUND, "there is no workspace %lld", (long long)workspace_id);
    if (has < role)
        return fail(err, IBID_EDENIED, "this needs the role of %s in the workspace",
                    workspace_role_string(role));
    return IBID_OK;
}

ibid_code access_check_change(struct transaction *transaction, const struct principal *principal,
                              const struct document *document, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct scope scope;
    bool readable, member;
    enum workspace_role role = ROLE_VIEWER;
    TRY(scope_of(transaction, principal, &arena, &scope, err));
    TRY(document_is_readable(transaction, &scope, document->id, &readable, err));
    if (!readable)
        return fail(err, IBID_ENOTFOUND, "there is no document %lld", (long long)document->id);
    TRY(find_role(transaction, principal, document->home_workspace_id, &member, &role, err));
    const bool own = document->owner_id != 0 && document->owner_id == principal->user_id;
    if (!member || role < (own ? ROLE_EDITOR : ROLE_ADMIN))
        return fail(err, IBID_EDENIED,
                    "only an Admin of its home workspace, or an Editor who brought it, may change "
                    "this document");
    return IBID_OK;
}
