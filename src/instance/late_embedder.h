/* An embedder that is opened when it is first asked for, and tried again now and then as long as it cannot be
 * had. Reading a model takes seconds, and one on another machine may not answer: nobody is kept waiting for
 * more than the first try. */
#pragma once

#include <pthread.h>

#include "embedder/embedder.h"

struct late_embedder {
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t tried;
    struct embedder *embedder; /* NULL: not opened, or it cannot be */
    bool opening;              /* a thread does, without the lock */
    int64_t tried_us;          /* 0: never */
    ibid_error error;          /* of the last try */
};

typedef ibid_code late_embedder_open(void *context, struct embedder **ret, ibid_error *err);

void late_embedder_init(struct late_embedder *self);
/* Closes the embedder, if there is one. */
void late_embedder_release(struct late_embedder *self);
/* The embedder, which `self` keeps. `open` is tried if it was never, or failed longer than `retry_us` ago;
 * while a later try than the first is under way in another thread, the failure before it is the answer.
 * IBID_EUNAVAILABLE with why it cannot be had. */
ibid_code late_embedder_get(struct late_embedder *self, int64_t retry_us, late_embedder_open *open,
                            void *context, struct embedder **ret, ibid_error *err) MUST_CHECK;
