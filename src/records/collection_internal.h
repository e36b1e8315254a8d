/* Collections in the SQL of others. */
#pragma once

/* The collection whose rows serve the one that the outside knows by the id in a parameter; null for the id of
 * a successor. */
#define SERVING_ID(parameter) \
    "(SELECT coalesce(serving_id, id) FROM collections WHERE id = " parameter " AND parent_id IS NULL)"
