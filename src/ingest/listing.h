/* Lists a source, compares the list with the ledger, and hands what needs work to the pipeline. */
#pragma once

#include "ingest/pipeline.h"

/* On return everything was handed over, not done. *ret_complete false: parts could not be listed. */
ibid_code list_source(struct pipeline *pipeline, struct origin *origin, bool force, bool *ret_complete,
                      ibid_error *err) MUST_CHECK;

/* Hands over what has failed. */
ibid_code list_failed(struct pipeline *pipeline, struct origin *origin, ibid_error *err) MUST_CHECK;

/* After a complete list, and once the pipeline is drained: removes what the source does not have any more. */
ibid_code remove_gone(struct pipeline *pipeline, struct origin *origin, ibid_error *err) MUST_CHECK;
