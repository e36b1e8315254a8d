/* The thread that brings committed rows to the vector store, tells the records how far it is, and sweeps
 * what no index needs any more. */
#pragma once

#include "metadata_store/metadata_store.h"
#include "vector_store/vector_store.h"

struct follower;

/* Attaches every collection, then starts. All arguments are borrowed. Each collection is followed on its own:
 * one that fails is tried again after 5 seconds, then after 10, 20 and so on up to 5 minutes, and at once by
 * follower_settle. */
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
/* The same in two steps: who waits in parts, to look at something else in between, asks only once. A ticket
 * that is asked for anew each time is never served when a round takes longer than the part. */
struct follower_ticket {
    uint64_t asked, compact_asked;
};
struct follower_ticket follower_ask(struct follower *follower, bool compact);
ibid_code follower_wait(struct follower *follower, struct follower_ticket ticket, int64_t deadline_us,
                        ibid_error *err) MUST_CHECK;

/* What kept the store from following a collection the last time: IBID_OK when nothing did. */
ibid_code follower_check(struct follower *follower, int64_t collection_id, ibid_error *err) MUST_CHECK;

/* Keeps the thread from touching the store, and lets it again: for verify. */
void follower_pause(struct follower *follower);
void follower_resume(struct follower *follower);
