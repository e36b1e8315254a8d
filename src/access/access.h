/* Who may see and do what. One function a question; everything that a person reads goes through a scope
 * made here.
 *
 * A thing that may not be read looks like a thing that is missing: the same code, the same message. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "metadata_store/metadata_store.h"
#include "model/scope.h"
#include "records/document.h"
#include "records/workspace.h"

/* On whose behalf a call runs. A zeroed one is nobody. */
struct principal {
    int64_t user_id;
    struct str name; /* for logs and audit */
    bool system_admin;
    bool every_workspace;  /* the person at this machine: an owner in all of them */
    int64_t token_id;      /* 0: not by a token */
    bool metrics_only;     /* the token is good for the metrics only */
    int64_t token_used_at; /* when it was last noted as used; 0: never */
};

/* The person at this machine (unix socket with their uid, CLI on the data itself): the bootstrap
 * administrator, who counts as an owner of every workspace. */
ibid_code principal_local_owner(struct transaction *transaction, struct arena *arena, struct principal *ret,
                                ibid_error *err) MUST_CHECK;
/* The user behind a token as sent ("ibid_..."). IBID_EAUTH, with one message whatever is wrong, when it is
 * unknown, revoked, expired, or its user is disabled. */
ibid_code principal_from_token(struct transaction *transaction, struct str token, struct arena *arena,
                               struct principal *ret, ibid_error *err) MUST_CHECK;
/* The user behind something signed that they asked for with a token (0: without one), with no more than a
 * user's rights. IBID_EAUTH when the token no longer holds or the user is disabled. */
ibid_code principal_from_token_id(struct transaction *transaction, int64_t user_id, int64_t token_id,
                                  struct arena *arena, struct principal *ret, ibid_error *err) MUST_CHECK;

/* What the principal may read, as of the transaction; empty for nobody. Lives in `arena`. */
ibid_code scope_of(struct transaction *transaction, const struct principal *principal, struct arena *arena,
                   struct scope *ret, ibid_error *err) MUST_CHECK;
/* The part of a scope that lies in the given workspaces. */
struct scope scope_restrict(const struct scope *scope, const int64_t *workspaces, size_t count,
                            struct arena *arena);

/* May administer users, connectors, sources, mappings; start an indexing run. IBID_EDENIED if not. */
ibid_code access_check_system_admin(const struct principal *principal, ibid_error *err) MUST_CHECK;
/* Has at least `role` in the workspace. IBID_ENOTFOUND when not a member (the workspace is as good as
 * missing), IBID_EDENIED when a member with less. */
ibid_code access_check_role(struct transaction *transaction, const struct principal *principal,
                            int64_t workspace_id, enum workspace_role role, ibid_error *err) MUST_CHECK;
/* May delete or change the document: its owner with Editor or more in the home workspace, or Admin there.
 * IBID_ENOTFOUND when it may not be read, IBID_EDENIED when only that. */
ibid_code access_check_change(struct transaction *transaction, const struct principal *principal,
                              const struct document *document, ibid_error *err) MUST_CHECK;
