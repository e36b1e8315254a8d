/* Vectors that are missing: of rows that were published without one, because there was no embedder or it did
 * not answer; and after a change of embedder of everything that a collection shows (records/succession.h). */
#pragma once

#include "ingest/pipeline.h"

/* Embeds, once, what lacks a vector in the recipe's collection; fills the successor that is under way for the
 * recipe's embedder, notes when that is complete and waits until it serves. Returns when all of it is
 * committed, or earlier when the pipeline stops or is to yield: the next call goes on. Nothing without an
 * embedder. */
ibid_code embed_backlog(struct pipeline *pipeline, const struct recipe *recipe, ibid_error *err) MUST_CHECK;

/* Whether there is something to do for it. */
ibid_code has_backlog(struct transaction *transaction, int64_t collection_id, bool *ret,
                      ibid_error *err) MUST_CHECK;
