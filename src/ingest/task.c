#include "ingest/task.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct work *work_new(struct origin *origin, struct str external_key, int64_t document_id)
{
    struct work *work = xcalloc(1, sizeof *work + external_key.size + 1);
    work->origin = origin;
    work->document_id = document_id;
    work->size = -1;
    memcpy(work->external_key, external_key.data, external_key.size);
    return work;
}

struct task *task_new(struct work *work)
{
    struct task *task = xcalloc(1, sizeof *task);
    task->work = work;
    task->size = -1;
    task->reason = task->title = task->author = task->language = task->metadata = task->version = STR_EMPTY;
    return task;
}

void task_free(struct task *task)
{
    if (!task)
        return;
    arena_release(&task->arena);
    free(task->work);
    free(task);
}

void task_end(struct task *task, enum task_fate fate, enum ingest_stage stage, const char *format, ...)
{
    char text[DOCUMENT_REASON_LIMIT + 1];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    task->fate = fate;
    task->stage = stage;
    task->reason = arena_str(&task->arena, str_from(text));
}
