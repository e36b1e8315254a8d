/* A filter as the caller may ask it: workspaces that they may not know of are as good as missing.
 *
 * A document that the caller may read can be found in other workspaces, too. A condition on `workspace_id`
 * that saw those would tell of them, one guess at a time. */
#pragma once

#include "base/arena.h"
#include "model/filter.h"
#include "model/scope.h"

enum { WORKSPACE_NONE = -1 }; /* the id of no workspace */

bool filter_is_about_workspaces(struct str key);
/* The same filter, in which each condition on workspaces only holds for those of the scope. In `arena`, with
 * parts of `filter`. NULL stays NULL. */
const struct filter *filter_within_scope(const struct filter *filter, const struct scope *scope,
                                         struct arena *arena);
