#include "model/scope.h"

#include "base/hash.h"

bool scope_has_workspace(const struct scope *scope, int64_t workspace_id)
{
    size_t low = 0, high = scope->workspace_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (scope->workspaces[middle] == workspace_id)
            return true;
        if (scope->workspaces[middle] < workspace_id)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

uint64_t scope_fingerprint(const struct scope *scope)
{
    uint64_t hash = checksum64(scope->workspaces, scope->workspace_count * sizeof *scope->workspaces, 1);
    return checksum64(scope->sensitive_workspaces,
                      scope->sensitive_workspace_count * sizeof *scope->sensitive_workspaces, hash);
}
