/* What the caller may read. Only access/ makes one; every search call takes one of its own, beside
 * the user's filter. A zeroed scope reads nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scope {
    const int64_t *workspaces; /* ids, ascending */
    size_t workspace_count;
    /* Those of them where the caller may also read documents in state `sensitive`. */
    const int64_t *sensitive_workspaces;
    size_t sensitive_workspace_count;
};

static inline bool scope_is_empty(const struct scope *scope)
{
    return scope->workspace_count == 0;
}

bool scope_has_workspace(const struct scope *scope, int64_t workspace_id);

/* Equal for scopes that read the same: part of cache keys. */
uint64_t scope_fingerprint(const struct scope *scope);
