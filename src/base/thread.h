/* Threads that meet: waits with an end, a bounded queue between stages, permits. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A condition whose waits end by clock_monotonic_us(). */
void condition_init(pthread_cond_t *condition);
/* Waits (with `lock` held) to be signalled, at most until clock_monotonic_us() == deadline_us (0: for ever):
 * false then. It may wake for no reason. */
bool condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t deadline_us);

/* A queue of pointers with a fixed room: putting into a full one waits, so a fast stage never
 * runs ahead of a slow one. Any number of threads on both sides. */
struct queue;

struct queue *queue_new(size_t capacity) __attribute__((returns_nonnull));
/* Items still inside are not freed: drain it first. */
void queue_free(struct queue *queue);
/* Waits for room. False (and `item` stays the caller's) once the queue is closed. */
bool queue_put(struct queue *queue, void *item);
/* Waits for an item; NULL once the queue is closed and empty. */
void *queue_take(struct queue *queue);
/* As queue_take, but gives up at clock_monotonic_us() == deadline_us; NULL then, too. */
void *queue_take_until(struct queue *queue, int64_t deadline_us);
/* No more items come in: waiting takers finish what is there and end. */
void queue_close(struct queue *queue);
size_t queue_size(struct queue *queue);

/* Counting permits: `compute slots`. Those that wait with `urgent` go before those that do not. */
struct slots;
struct slots *slots_new(unsigned count) __attribute__((returns_nonnull));
void slots_free(struct slots *slots);
void slots_acquire(struct slots *slots, bool urgent);
void slots_release(struct slots *slots);

/* Starts a thread with a name shown by the system's tools (15 bytes); stops the process when
 * the system gives none. All signals are blocked in it. */
void thread_start(pthread_t *ret, const char *name, void *(*run)(void *), void *argument);

/* Cores this process may use. */
unsigned thread_core_count(void);
