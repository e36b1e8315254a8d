#include "base/thread.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

void condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t deadline_us)
{
    const struct timespec until = {.tv_sec = deadline_us / SECOND_US,
                                   .tv_nsec = deadline_us % SECOND_US * 1000};
    if (deadline_us == 0)
        return pthread_cond_wait(condition, lock) == 0;
    return pthread_cond_timedwait(condition, lock, &until) == 0;
}

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed_in, changed_out; /* something came in / went out, or it was closed */
    bool closed;
    size_t first, count, capacity;
    void *items[];
};

struct queue *queue_new(size_t capacity)
{
    struct queue *queue = xcalloc(1, sizeof *queue + capacity * sizeof queue->items[0]);
    queue->capacity = capacity;
    pthread_mutex_init(&queue->lock, NULL);
    condition_init(&queue->changed_in);
    condition_init(&queue->changed_out);
    return queue;
}

void queue_free(struct queue *queue)
{
    if (!queue)
        return;
    pthread_mutex_destroy(&queue->lock);
    pthread_cond_destroy(&queue->changed_in);
    pthread_cond_destroy(&queue->changed_out);
    free(queue);
}

bool queue_put(struct queue *queue, void *item)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count == queue->capacity && !queue->closed)
        pthread_cond_wait(&queue->changed_out, &queue->lock);
    bool accepted = !queue->closed;
    if (accepted) {
        queue->items[(queue->first + queue->count++) % queue->capacity] = item;
        pthread_cond_signal(&queue->changed_in);
    }
    pthread_mutex_unlock(&queue->lock);
    return accepted;
}

static void *take_locked(struct queue *queue)
{
    if (queue->count == 0)
        return NULL;
    void *item = queue->items[queue->first];
    queue->first = (queue->first + 1) % queue->capacity;
    queue->count--;
    pthread_cond_signal(&queue->changed_out);
    return item;
}

void *queue_take(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && !queue->closed)
        pthread_cond_wait(&queue->changed_in, &queue->lock);
    void *item = take_locked(queue);
    pthread_mutex_unlock(&queue->lock);
    return item;
}

void *queue_take_until(struct queue *queue, int64_t deadline_us)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && !queue->closed)
        if (!condition_wait_until(&queue->changed_in, &queue->lock, deadline_us))
            break;
    void *item = take_locked(queue);
    pthread_mutex_unlock(&queue->lock);
    return item;
}

void queue_close(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->changed_in);
    pthread_cond_broadcast(&queue->changed_out);
    pthread_mutex_unlock(&queue->lock);
}

size_t queue_size(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    size_t count = queue->count;
    pthread_mutex_unlock(&queue->lock);
    return count;
}

struct slots {
    pthread_mutex_t lock;
    pthread_cond_t freed;
    unsigned available, urgent_waiting;
};

struct slots *slots_new(unsigned count)
{
    struct slots *slots = xcalloc(1, sizeof *slots);
    slots->available = count;
    pthread_mutex_init(&slots->lock, NULL);
    condition_init(&slots->freed);
    return slots;
}

void slots_free(struct slots *slots)
{
    if (!slots)
        return;
    pthread_mutex_destroy(&slots->lock);
    pthread_cond_destroy(&slots->freed);
    free(slots);
}

void slots_acquire(struct slots *slots, bool urgent)
{
    pthread_mutex_lock(&slots->lock);
    slots->urgent_waiting += urgent;
    while (slots->available == 0 || (!urgent && slots->urgent_waiting > 0))
        pthread_cond_wait(&slots->freed, &slots->lock);
    slots->urgent_waiting -= urgent;
    slots->available--;
    if (slots->available > 0)
        pthread_cond_broadcast(&slots->freed); /* one who let the urgent pass may go now */
    pthread_mutex_unlock(&slots->lock);
}

void slots_release(struct slots *slots)
{
    pthread_mutex_lock(&slots->lock);
    slots->available++;
    pthread_cond_broadcast(&slots->freed);
    pthread_mutex_unlock(&slots->lock);
}

void thread_start(pthread_t *ret, const char *name, void *(*run)(void *), void *argument)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(ret, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        BUG("cannot start thread %s: %s", name, strerror(failed));
    pthread_setname_np(*ret, name);
}

unsigned thread_core_count(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? (unsigned)count : 1;
}
