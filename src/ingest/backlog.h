/* Rows that were published without a vector, because there was no embedder or it did not answer. */
#pragma once

#include "ingest/pipeline.h"

/* Hands all such rows of the recipe's collection to the pipeline, once. Nothing without an embedder. */
ibid_code embed_backlog(struct pipeline *pipeline, const struct recipe *recipe, ibid_error *err) MUST_CHECK;
