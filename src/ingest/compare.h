/* What a run does with a thing that a source lists, judged by what the ledger knows of it. */
#pragma once

#include "connector/connector.h"
#include "ingest/origin.h"
#include "records/ledger.h"

/* Reasons in the ledger that later runs go by. */
#define REASON_REMOVED_BY_REQUEST "removed_by_request"

enum verdict {
    VERDICT_SKIP,      /* the source says why it is not to be indexed */
    VERDICT_UNCHANGED, /* indexed as it is */
    VERDICT_REFUSED,   /* failed or skipped before, and nothing has changed that could help */
    VERDICT_NEW,       /* not known: make a document */
    VERDICT_WORK,      /* known: look into it */
};

/* `line` NULL: the ledger has none. */
enum verdict compare_item(const struct connector_item *item, const struct ledger_line *line,
                          const struct recipe *recipe, bool force);

/* Whether what was indexed was read from these bytes as it would be now. `extractor`: the version that would
 * read them, NULL when none would. */
bool is_read_alike(const struct ledger_line *line, const struct sha256 *sha256, const char *extractor);
/* And is cut as it would be now: nothing else would come of them. */
bool is_up_to_date(const struct ledger_line *line, const struct sha256 *sha256, const char *extractor,
                   const struct recipe *recipe);

/* Whether these bytes have crashed or outrun the same extractor before, or none reads them. */
bool is_refused_still(const struct ledger_line *line, const struct sha256 *sha256);
