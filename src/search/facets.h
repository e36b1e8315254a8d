/* Counts of values beside the hits: over everything that scope and filter pass, whatever is asked. As the
 * index stands: a change that it has not followed yet is not counted yet. */
#pragma once

#include "search/search.h"

/* Workspaces outside the scope are not counted, although documents of the scope are in them. */
ibid_code facets_count(struct selection *selection, const struct scope *scope, const struct query *query,
                       struct arena *arena, const struct facet **ret, size_t *ret_count,
                       ibid_error *err) MUST_CHECK;
