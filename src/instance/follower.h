/* The thread that brings committed rows to the vector store, tells the records how far it is, and sweeps
 * what no index needs any more. */
#pragma once

#include "metadata_store/metadata_store.h"
#include "vector_store/vector_store.h"

struct follower;

/* Attaches every collection, then starts. All arguments are borrowed. */
ibid_code follower_open(struct metadata_store *metadata, struct vector_store *vectors, struct follower **ret,
                        ibid_error *err) MUST_CHECK;
/* Waits for the thread. NULL is fine. */
void follower_close(struct follower *take_follower);

/* Something was committed. */
void follower_wake(struct follower *follower);
/* Waits until everything committed before the call is applied (and, with `compact`, durable and swept).
 * IBID_ETIMEOUT at clock_monotonic_us() == deadline_us (0: for ever); else what kept it from following. */
ibid_code follower_settle(struct follower *follower, bool compact, int64_t deadline_us,
                          ibid_error *err) MUST_CHECK;

/* Keeps the thread from touching the store, and lets it again: for verify. */
void follower_pause(struct follower *follower);
void follower_resume(struct follower *follower);
