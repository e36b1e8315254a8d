#include "net/http_hangup.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"

enum { LOOK_INTERVAL_US = 100000 };

struct hangup_watch {
    pthread_t thread;
    pthread_mutex_t lock; /* of all below; it also keeps the descriptors open while they are looked at */
    pthread_cond_t changed;
    struct watched_client *first;
    size_t count;
    struct pollfd *polled;
    size_t polled_capacity;
    bool raised, closing;
};

static void look(struct hangup_watch *watch)
{
    size_t count = 0;
    if (watch->polled_capacity < watch->count) {
        watch->polled_capacity = 2 * watch->count;
        watch->polled = xrealloc(watch->polled, watch->polled_capacity, sizeof *watch->polled);
    }
    for (const struct watched_client *client = watch->first; client; client = client->next)
        watch->polled[count++] = (struct pollfd){.fd = client->fd, .events = POLLRDHUP};
    if (poll(watch->polled, count, 0) <= 0)
        return;
    size_t i = 0;
    for (struct watched_client *client = watch->first; client; client = client->next)
        if (watch->polled[i++].revents & (POLLRDHUP | POLLHUP | POLLERR))
            atomic_store(&client->gone, true);
}

/* Short requests are over before they are looked at. */
static void *keep_looking(void *argument)
{
    struct hangup_watch *watch = argument;
    pthread_mutex_lock(&watch->lock);
    while (!watch->closing) {
        if (!watch->first) {
            pthread_cond_wait(&watch->changed, &watch->lock);
            continue;
        }
        const int64_t next = clock_monotonic_us() + LOOK_INTERVAL_US;
        while (!watch->closing && clock_monotonic_us() < next)
            condition_wait_until(&watch->changed, &watch->lock, next);
        look(watch);
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

struct hangup_watch *hangup_watch_new(void)
{
    struct hangup_watch *watch = xcalloc(1, sizeof *watch);
    pthread_mutex_init(&watch->lock, NULL);
    condition_init(&watch->changed);
    thread_start(&watch->thread, "hang-ups", keep_looking, watch);
    return watch;
}

void hangup_watch_free(struct hangup_watch *watch)
{
    if (!watch)
        return;
    pthread_mutex_lock(&watch->lock);
    watch->closing = true;
    pthread_cond_signal(&watch->changed);
    pthread_mutex_unlock(&watch->lock);
    pthread_join(watch->thread, NULL);
    pthread_cond_destroy(&watch->changed);
    pthread_mutex_destroy(&watch->lock);
    free(watch->polled);
    free(watch);
}

void hangup_watch_add(struct hangup_watch *watch, struct watched_client *client)
{
    pthread_mutex_lock(&watch->lock);
    if (watch->raised)
        atomic_store(&client->gone, true);
    client->previous = NULL;
    client->next = watch->first;
    if (watch->first)
        watch->first->previous = client;
    else
        pthread_cond_signal(&watch->changed);
    watch->first = client;
    watch->count++;
    pthread_mutex_unlock(&watch->lock);
}

void hangup_watch_remove(struct hangup_watch *watch, struct watched_client *client)
{
    pthread_mutex_lock(&watch->lock);
    if (client->previous)
        client->previous->next = client->next;
    else
        watch->first = client->next;
    if (client->next)
        client->next->previous = client->previous;
    watch->count--;
    pthread_mutex_unlock(&watch->lock);
}

void hangup_watch_raise(struct hangup_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    watch->raised = true;
    for (struct watched_client *client = watch->first; client; client = client->next)
        atomic_store(&client->gone, true);
    pthread_mutex_unlock(&watch->lock);
}
