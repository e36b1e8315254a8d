#include "api/rest/tasks.h"

#include <stdio.h>
#include <string.h>

#include "api/rest/handlers.h"
#include "api/rest/state.h"
#include "base/clock.h"

enum { NAME_LIMIT = 64 };

static void show(void *context, const char *stage, int64_t done, int64_t total)
{
    struct noted_task *task = context;
    struct task_board *board = &task->call->rest->tasks;
    pthread_mutex_lock(&board->lock);
    snprintf(task->stage, sizeof task->stage, "%s", stage);
    task->done = done;
    task->total = total;
    pthread_mutex_unlock(&board->lock);
}

static bool stopped(void *context)
{
    const struct noted_task *task = context;
    return atomic_load(task->call->http->cancel);
}

ibid_code noted_task_begin(struct noted_task *task, struct rest_call *call, const char *kind,
                           const char *name, ibid_error *err)
{
    if (name && strlen(name) > NAME_LIMIT)
        return fail(err, IBID_EINVAL, "the name of a task has at most %d bytes", NAME_LIMIT);
    struct task_board *board = &call->rest->tasks;
    *task = (struct noted_task){
        .watch = {.show = show, .stopped = stopped, .context = task},
        .call = call,
        .kind = kind,
        .name = name,
        .started = clock_monotonic_us(),
    };
    pthread_mutex_lock(&board->lock);
    task->next = board->first;
    board->first = task;
    pthread_mutex_unlock(&board->lock);
    return IBID_OK;
}

void noted_task_end(struct noted_task *task)
{
    struct task_board *board = &task->call->rest->tasks;
    pthread_mutex_lock(&board->lock);
    struct noted_task **place = &board->first;
    while (*place != task)
        place = &(*place)->next;
    *place = task->next;
    pthread_mutex_unlock(&board->lock);
}

ibid_code handle_tasks(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    struct task_board *board = &call->rest->tasks;
    const int64_t now = clock_monotonic_us();
    json_t *answer = json_object(), *array = json_array();
    json_set(answer, "tasks", array);
    pthread_mutex_lock(&board->lock);
    for (const struct noted_task *task = board->first; task; task = task->next) {
        json_t *object = json_object();
        json_set_string(object, "kind", task->kind);
        json_set_string(object, "name", task->name);
        json_set_string(object, "stage", task->stage);
        json_set_int(object, "done", task->done);
        json_set_int(object, "total", task->total);
        json_set_real(object, "seconds", (double)(now - task->started) / (double)SECOND_US);
        json_array_append_new(array, object);
    }
    pthread_mutex_unlock(&board->lock);
    reply_json(call, reply, 200, answer);
    return IBID_OK;
}
