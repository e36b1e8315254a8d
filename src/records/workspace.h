/* Users, their tokens, workspaces and who is in them. Who may do what is decided in access/. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "metadata_store/metadata_store.h"

/* Rising rights: each may do what those before it may. */
enum workspace_role { ROLE_VIEWER, ROLE_EDITOR, ROLE_ADMIN, ROLE_OWNER };
const char *workspace_role_string(enum workspace_role role);
bool workspace_role_from_string(struct str string, enum workspace_role *ret);

struct user {
    int64_t id;
    struct str name, display_name;
    bool system_admin;
    bool disabled;
    int64_t created_at;
};
/* IBID_ENOTFOUND when there is none. */
ibid_code user_load(struct transaction *transaction, int64_t id, struct arena *arena, struct user *ret,
                    ibid_error *err) MUST_CHECK;
/* `draft`: name, display_name, system_admin. IBID_ECONFLICT when the name is taken. */
ibid_code user_create(struct transaction *transaction, const struct user *draft, int64_t *ret_id,
                      ibid_error *err) MUST_CHECK;
ibid_code user_set_disabled(struct transaction *transaction, int64_t id, bool disabled,
                            ibid_error *err) MUST_CHECK;

struct workspace {
    int64_t id;
    struct str name;
    bool personal;
    int64_t created_at;
};
ibid_code workspace_load(struct transaction *transaction, int64_t id, struct arena *arena,
                         struct workspace *ret, ibid_error *err) MUST_CHECK;
ibid_code workspace_load_by_name(struct transaction *transaction, struct str name, struct arena *arena,
                                 struct workspace *ret, ibid_error *err) MUST_CHECK;
ibid_code workspace_list(struct transaction *transaction, struct arena *arena, struct workspace **ret,
                         size_t *ret_count, ibid_error *err) MUST_CHECK;
/* Makes a workspace with its one owner. */
ibid_code workspace_create(struct transaction *transaction, struct str name, bool personal, int64_t owner_id,
                           int64_t *ret_id, ibid_error *err) MUST_CHECK;

struct membership {
    int64_t workspace_id;
    enum workspace_role role;
};
/* A user's memberships by workspace id. */
ibid_code membership_list(struct transaction *transaction, int64_t user_id, struct arena *arena,
                          struct membership **ret, size_t *ret_count, ibid_error *err) MUST_CHECK;
/* Adds a member or changes the role. IBID_EINVAL for a personal workspace. */
ibid_code membership_set(struct transaction *transaction, int64_t workspace_id, int64_t user_id,
                         enum workspace_role role, ibid_error *err) MUST_CHECK;
ibid_code membership_remove(struct transaction *transaction, int64_t workspace_id, int64_t user_id,
                            ibid_error *err) MUST_CHECK;

enum { TOKEN_HASH_SIZE = 32 };
struct token_record {
    int64_t id, user_id;
    struct str name, hint;
    int64_t created_at, expires_at, last_used_at, revoked_at; /* 0: never */
    bool metrics_only; /* for a monitoring program: good for nothing else */
};
/* Stores a token's hash; access/token.h makes tokens. */
ibid_code token_record_create(struct transaction *transaction, const struct token_record *draft,
                              const unsigned char hash[TOKEN_HASH_SIZE], int64_t *ret_id,
                              ibid_error *err) MUST_CHECK;
/* IBID_ENOTFOUND when no token has that hash; revoked and expired ones are found. */
ibid_code token_record_find(struct transaction *transaction, const unsigned char hash[TOKEN_HASH_SIZE],
                            struct arena *arena, struct token_record *ret, ibid_error *err) MUST_CHECK;
ibid_code token_record_load(struct transaction *transaction, int64_t id, struct arena *arena,
                            struct token_record *ret, ibid_error *err) MUST_CHECK;
/* `user_id` 0: of everybody. By id. */
ibid_code token_record_list(struct transaction *transaction, int64_t user_id, struct arena *arena,
                            struct token_record **ret, size_t *ret_count, ibid_error *err) MUST_CHECK;
ibid_code token_record_used(struct transaction *transaction, int64_t id, int64_t now,
                            ibid_error *err) MUST_CHECK;
/* From here on the token is good for the metrics only. */
ibid_code token_record_keep_to_metrics(struct transaction *transaction, int64_t id,
                                       ibid_error *err) MUST_CHECK;
/* IBID_ENOTFOUND. One that is revoked already keeps its time. */
ibid_code token_record_revoke(struct transaction *transaction, int64_t id, ibid_error *err) MUST_CHECK;
