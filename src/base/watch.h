/* How somebody watches a long task, and may stop it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Both functions are called on the thread of the task, often, and must be quick. */
struct watch {
    /* So much of a stage is done; `total` 0: nobody knows. NULL: nobody looks. */
    void (*show)(void *context, const char *stage, int64_t done, int64_t total);
    /* Whether to stop: asked for, or out of time. NULL: never. */
    bool (*stopped)(void *context);
    void *context;
};

/* A NULL watch never stops. */
static inline bool watch_stopped(const struct watch *watch)
{
    return watch && watch->stopped && watch->stopped(watch->context);
}

/* Shows how far a stage is; IBID_ECANCELED when the task is to stop. `watch` may be NULL. */
MUST_CHECK static inline ibid_code watch_step(const struct watch *watch, const char *stage, int64_t done,
                                              int64_t total, ibid_error *err)
{
    if (watch_stopped(watch))
        return fail(err, IBID_ECANCELED, "stopped (%s)", stage);
    if (watch && watch->show)
        watch->show(watch->context, stage, done, total);
    return IBID_OK;
}
