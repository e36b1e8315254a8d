/* Checks that the records mean what they say: metadata_store_check looks at the file, this at its rows. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/watch.h"
#include "metadata_store/metadata_store.h"

enum { RECORD_FINDING_LIMIT = 1000 };

struct record_finding {
    const char *place;   /* "document 17", "row 4711" */
    const char *problem; /* one line */
    bool repaired;
};

/* Reads everything once: rows against chunks, chunk sets and documents; vectors against rows and collections;
 * texts against their checksums; numbers against what was counted. With `repair` (in a write transaction)
 * deletes what nothing uses, takes wrong vectors off their rows so that they are computed anew, and marks
 * damaged documents as pending, to be read from their source again by the next run. Findings live in `arena`,
 * at most RECORD_FINDING_LIMIT of them; none means sound. IBID_ECANCELED when the watch (may be NULL) says
 * so: roll back then. */
ibid_code records_verify(struct transaction *transaction, bool repair, const struct watch *watch,
                         struct arena *arena, struct record_finding **ret, size_t *ret_count,
                         ibid_error *err) MUST_CHECK;
