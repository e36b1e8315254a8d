#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "cli/command.h"

enum { LOOK_INTERVAL_US = 200000, GUESS_AFTER_US = 2000000 };

/* The call on its thread, while the command's own thread shows how far it is. */
struct long_call {
    struct invocation *invocation;
    const char *method, *target;
    const json_t *body;

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t ended;
    bool over;
    ibid_code code;
    ibid_error error;
    json_t *answer;
};

static void *carry_out(void *argument)
{
    struct long_call *call = argument;
    json_t *answer = NULL;
    ibid_error error = {0};
    const ibid_code code =
        door_call(call->invocation->door, call->method, call->target, call->body, &answer, &error);
    pthread_mutex_lock(&call->lock);
    call->code = code;
    call->error = error;
    call->answer = answer;
    call->over = true;
    pthread_cond_signal(&call->ended);
    pthread_mutex_unlock(&call->lock);
    return NULL;
}

/* Waits until the call is over, at most for the interval. */
static bool is_over(struct long_call *call)
{
    const int64_t next = clock_monotonic_us() + LOOK_INTERVAL_US;
    pthread_mutex_lock(&call->lock);
    while (!call->over && clock_monotonic_us() < next)
        condition_wait_until(&call->ended, &call->lock, next);
    const bool over = call->over;
    pthread_mutex_unlock(&call->lock);
    return over;
}

struct stage {
    char name[64];
    int64_t since;
};

static void show(struct progress *progress, struct stage *stage, const json_t *task)
{
    const char *name = member_string(task, "stage");
    const double done = member_real(task, "done"), total = member_real(task, "total");
    if (!str_is(str_from(stage->name), name)) {
        snprintf(stage->name, sizeof stage->name, "%s", name);
        stage->since = clock_monotonic_us();
    }
    const double spent = (double)(clock_monotonic_us() - stage->since);
    const bool can_guess = total > 0 && done > 0 && spent > GUESS_AFTER_US;
    const struct progress_state state = {
        .stage = name,
        .what = "",
        .done = done,
        .total = total,
        .per_second = (double)NAN,
        .seconds_left = can_guess ? spent / done * (total - done) / (double)SECOND_US : (double)NAN,
    };
    if (*name)
        progress_show(progress, &state);
}

/* That nothing is known is no failure: the call itself will say what is wrong. */
static void look(struct invocation *invocation, const char *name, struct progress *progress,
                 struct stage *stage)
{
    AUTO_JSON *answer = NULL;
    size_t index;
    json_t *task;
    if (door_call(invocation->door, "GET", "/api/v1/tasks", NULL, &answer, NULL) != IBID_OK)
        return;
    json_array_foreach(json_object_get(answer, "tasks"), index, task)
    {
        if (str_is(member_text(task, "name"), name))
            show(progress, stage, task);
    }
}

static void follow(struct long_call *call, const char *name)
{
    struct progress progress = {.terminal = &call->invocation->terminal};
    struct stage stage = {0};
    while (!is_over(call))
        if (!atomic_load(call->invocation->cancel))
            look(call->invocation, name, &progress, &stage);
    progress_clear(&progress);
}

ibid_code call_with_progress(struct invocation *invocation, const char *method, const char *target,
                             json_t *body, json_t **ret, ibid_error *err)
{
    if (invocation->global.quiet || invocation->global.json)
        return door_call(invocation->door, method, target, body, ret, err);
    AUTO_FREE char *name = xasprintf("ibid-%d-%lld", (int)getpid(), (long long)clock_monotonic_us());
    if (body)
        json_set_string(body, "task", name);
    else
        target = arena_printf(&invocation->arena, "%s?task=%s", target, name);
    struct long_call call = {.invocation = invocation, .method = method, .target = target, .body = body};
    pthread_t thread;
    pthread_mutex_init(&call.lock, NULL);
    condition_init(&call.ended);
    thread_start(&thread, "long call", carry_out, &call);
    follow(&call, name);
    pthread_join(thread, NULL);
    pthread_cond_destroy(&call.ended);
    pthread_mutex_destroy(&call.lock);
    *ret = call.answer;
    if (call.code != IBID_OK && err)
        *err = call.error;
    return call.code;
}
