/* Long calls under way: another call can ask how far they are, and hanging up stops them (inside api/rest/
 * only). */
#pragma once

#include <pthread.h>

#include "api/rest/route.h"
#include "base/watch.h"

struct task_board {
    pthread_mutex_t lock; /* of the list and of all that changes in its tasks */
    struct noted_task *first;
};

/* One of them; the handler's storage. */
struct noted_task {
    struct watch watch; /* to be handed to the work */
    struct rest_call *call;
    const char *kind, *name;
    char stage[64];
    int64_t done, total; /* total 0: nobody knows */
    int64_t started;
    struct noted_task *next;
};

/* Puts a task on the board. `kind`: "verify"; `name`: the caller's own for it, may be NULL. IBID_EINVAL when
 * it is too long. */
ibid_code noted_task_begin(struct noted_task *task, struct rest_call *call, const char *kind,
                           const char *name, ibid_error *err) MUST_CHECK;
void noted_task_end(struct noted_task *task);
