#include "net/http_gate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"

enum {
    EVENT_BATCH = 64,
    LISTENER_LIMIT = 8,
    LINGER_US = 5000000,
    TICK_MS = 250, /* how late a deadline may be noticed */
};

/* Where a visitor stands. While admitted it is the server's. */
enum phase { PHASE_HEAD, PHASE_WAITING, PHASE_ADMITTED, PHASE_LEAVING, PHASE_COUNT };

struct visitor_list {
    struct visitor *first, *last; /* oldest first */
    size_t count;
};

struct gate {
    struct gate_settings settings;
    const struct gate_ops *ops;
    void *context;
    int epoll_fd, wake_fd;
    int listeners[LISTENER_LIMIT];
    size_t listener_count;
    bool is_full;      /* listeners are not looked at */
    int64_t resume_at; /* and will not be before this time */
    pthread_t thread;
    bool started;

    struct visitor_list lists[PHASE_COUNT]; /* of the gate's thread alone */
    struct visitor *closed;                 /* to be freed at the end of the round */

    pthread_mutex_t lock;
    struct visitor *returned; /* under lock; linked by owner_data */
    atomic_bool shut, ended;
};

/* ---- visitors ---- */

static void list_remove(struct gate *gate, struct visitor *visitor)
{
    struct visitor_list *list = &gate->lists[visitor->phase];
    *(visitor->previous ? &visitor->previous->next : &list->first) = visitor->next;
    *(visitor->next ? &visitor->next->previous : &list->last) = visitor->previous;
    list->count--;
}

static void list_add(struct gate *gate, struct visitor *visitor, enum phase phase, int64_t time_left)
{
    struct visitor_list *list = &gate->lists[phase];
    visitor->phase = phase;
    visitor->deadline = clock_monotonic_us() + time_left;
    visitor->next = NULL;
    visitor->previous = list->last;
    *(list->last ? &list->last->next : &list->first) = visitor;
    list->last = visitor;
    list->count++;
}

static void move_to(struct gate *gate, struct visitor *visitor, enum phase phase, int64_t time_left)
{
    list_remove(gate, visitor);
    list_add(gate, visitor, phase, time_left);
}

static bool watch(struct gate *gate, int fd, uint32_t events, void *data)
{
    struct epoll_event event = {.events = events, .data.ptr = data};
    return epoll_ctl(gate->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* By name, not by closing: another descriptor of the same socket would keep the watch alive. */
static void unwatch(struct gate *gate, int fd)
{
    if (fd >= 0)
        epoll_ctl(gate->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

/* Freed at the end of the round: events of this round may still name it. */
static void drop(struct gate *gate, struct visitor *visitor)
{
    list_remove(gate, visitor);
    unwatch(gate, visitor->fd);
    unwatch(gate, visitor->rest_fd);
    visitor->phase = PHASE_COUNT;
    visitor->next = gate->closed;
    gate->closed = visitor;
}

static void release_visitor(struct visitor *visitor)
{
    if (visitor->fd >= 0)
        close(visitor->fd);
    if (visitor->rest_fd >= 0)
        close(visitor->rest_fd);
    arena_release(&visitor->arena);
    free(visitor);
}

static size_t visitor_count(const struct gate *gate)
{
    size_t count = 0;
    for (unsigned i = 0; i < PHASE_COUNT; i++)
        count += gate->lists[i].count;
    return count;
}

/* ---- leaving ---- */

/* Reads and drops what comes; true when the other side has gone. */
static bool drain(struct visitor *visitor)
{
    char bytes[16384];
    for (unsigned i = 0; i < 64; i++) {
        const ssize_t count = recv(visitor->rest_fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (count == 0)
            return true;
        if (count < 0)
            return errno != EAGAIN && errno != EINTR;
    }
    return false;
}

static void see_off(struct gate *gate, struct visitor *visitor)
{
    shutdown(visitor->rest_fd, SHUT_WR);
    move_to(gate, visitor, PHASE_LEAVING, LINGER_US);
    /* Level-triggered: whatever is unread now counts, too. */
    if (!watch(gate, visitor->rest_fd, EPOLLIN | EPOLLRDHUP, visitor))
        drop(gate, visitor);
}

static void refuse(struct gate *gate, struct visitor *visitor, int status, const ibid_error *error)
{
    AUTO_BUFFER out = BUFFER(64 * 1024);
    gate->ops->refuse(status, error, &out, gate->context);
    unwatch(gate, visitor->fd);
    if (visitor->rest_fd < 0) {
        visitor->rest_fd = visitor->fd;
        visitor->fd = -1;
    }
    /* A fresh connection has room for a short reply; a client without any is not waited for. */
    if (send(visitor->rest_fd, out.data, out.size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        drop(gate, visitor);
    else
        see_off(gate, visitor);
}

/* ---- arriving ---- */

/* Only the gate's thread moves visitors between lists, so one that is over already has just queued to return.
 */
static bool try_admit(struct gate *gate, struct visitor *visitor)
{
    if (!gate->ops->admit(visitor, gate->context))
        return false;
    visitor->fd = -1;
    move_to(gate, visitor, PHASE_ADMITTED, 0);
    return true;
}

static void head_is_whole(struct gate *gate, struct visitor *visitor)
{
    ibid_error error = {0};
    int status = 0;
    if (gate->ops->inspect(visitor, gate->context, &status, &error) != IBID_OK) {
        refuse(gate, visitor, status, &error);
        return;
    }
    unwatch(gate, visitor->fd);
    visitor->rest_fd = fcntl(visitor->fd, F_DUPFD_CLOEXEC, 0);
    if (visitor->rest_fd < 0)
        drop(gate, visitor);
    else if (gate->lists[PHASE_WAITING].count > 0 || !try_admit(gate, visitor))
        move_to(gate, visitor, PHASE_WAITING, gate->settings.head_timeout);
}

/* Looks at what has come without taking it. */
static void peek(struct gate *gate, struct visitor *visitor, bool is_last)
{
    char bytes[HTTP_HEAD_LIMIT];
    ibid_error error = {0};
    int status = 0;
    const ssize_t count = recv(visitor->fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR) && !is_last)
        return;
    if (count <= 0) {
        drop(gate, visitor);
        return;
    }
    visitor->has_spoken = true;
    switch (http_head_parse((struct str){bytes, (size_t)count}, &visitor->arena, &visitor->head, &status,
                            &error)) {
    case HEAD_COMPLETE:
        head_is_whole(gate, visitor);
        break;
    case HEAD_REFUSED:
        refuse(gate, visitor, status, &error);
        break;
    case HEAD_INCOMPLETE:
        if (is_last)
            drop(gate, visitor);
        break;
    }
}

static void identify(struct visitor *visitor, const struct sockaddr_storage *address)
{
    struct ip_address ip;
    if (ip_from_socket_address((const struct sockaddr *)address, &ip)) {
        ip_format(&ip, visitor->peer.address);
        return;
    }
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    if (getsockopt(visitor->fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) {
        visitor->peer.is_local = true;
        visitor->peer.uid = credentials.uid;
    }
}

static void set_accepting(struct gate *gate, bool accepting)
{
    for (size_t i = 0; i < gate->listener_count; i++) {
        struct epoll_event event = {.events = accepting ? EPOLLIN : 0, .data.ptr = &gate->listeners[i]};
        epoll_ctl(gate->epoll_fd, EPOLL_CTL_MOD, gate->listeners[i], &event);
    }
    gate->is_full = !accepting;
}

static void accept_visitors(struct gate *gate, int listener)
{
    while (visitor_count(gate) < gate->settings.visitor_limit) {
        struct sockaddr_storage address = {0};
        socklen_t size = sizeof address;
        const int fd = accept4(listener, (struct sockaddr *)&address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE) { /* a while, or the thread would spin */
                set_accepting(gate, false);
                gate->resume_at = clock_monotonic_us() + 1000 * TICK_MS;
            }
            return;
        }
        struct visitor *visitor = xcalloc(1, sizeof *visitor);
        visitor->fd = fd;
        visitor->rest_fd = -1;
        identify(visitor, &address);
        list_add(gate, visitor, PHASE_HEAD, gate->settings.head_timeout);
        /* Edge-triggered: bytes that stay in the socket must not wake the thread again. */
        if (!watch(gate, fd, EPOLLIN | EPOLLRDHUP | EPOLLET, visitor))
            drop(gate, visitor);
    }
    set_accepting(gate, false);
}

/* ---- the thread ---- */

static void take_returned(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    struct visitor *visitor = gate->returned;
    gate->returned = NULL;
    pthread_mutex_unlock(&gate->lock);
    while (visitor) {
        struct visitor *following = visitor->owner_data;
        see_off(gate, visitor);
        visitor = following;
    }
}

static void expire(struct gate *gate)
{
    const int64_t now = clock_monotonic_us();
    static const enum phase phases[] = {PHASE_HEAD, PHASE_WAITING, PHASE_LEAVING};
    for (size_t i = 0; i < COUNT_OF(phases); i++)
        for (struct visitor *visitor = gate->lists[phases[i]].first, *next; visitor; visitor = next) {
            next = visitor->next;
            if (visitor->deadline > now)
                continue;
            ibid_error error = {0};
            if (phases[i] == PHASE_LEAVING || (phases[i] == PHASE_HEAD && !visitor->has_spoken)) {
                drop(gate, visitor);
            } else if (phases[i] == PHASE_HEAD) {
                fail(&error, IBID_ETIMEOUT, "the request's head did not come in time");
                refuse(gate, visitor, 408, &error);
            } else {
                fail(&error, IBID_EUNAVAILABLE, "all places are taken: try again later");
                error.retry_after_s = 1;
                refuse(gate, visitor, 503, &error);
            }
        }
}

static void handle_event(struct gate *gate, const struct epoll_event *event)
{
    int *listener = event->data.ptr;
    if (!event->data.ptr) {
        uint64_t count;
        if (read(gate->wake_fd, &count, sizeof count) < 0)
            return;
        take_returned(gate);
        return;
    }
    if (listener >= gate->listeners && listener < gate->listeners + LISTENER_LIMIT) {
        accept_visitors(gate, *listener);
        return;
    }
    struct visitor *visitor = event->data.ptr;
    if (visitor->phase == PHASE_HEAD)
        peek(gate, visitor, event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR));
    else if (visitor->phase == PHASE_LEAVING && drain(visitor))
        drop(gate, visitor);
}

static void free_closed(struct gate *gate)
{
    while (gate->closed) {
        struct visitor *visitor = gate->closed;
        gate->closed = visitor->next;
        release_visitor(visitor);
    }
    if (gate->is_full && visitor_count(gate) < gate->settings.visitor_limit &&
        clock_monotonic_us() >= gate->resume_at)
        set_accepting(gate, true);
}

static void stop_accepting(struct gate *gate)
{
    for (size_t i = 0; i < gate->listener_count; i++)
        close(gate->listeners[i]);
    gate->listener_count = 0;
    static const enum phase phases[] = {PHASE_HEAD, PHASE_WAITING};
    for (size_t i = 0; i < COUNT_OF(phases); i++)
        while (gate->lists[phases[i]].first)
            drop(gate, gate->lists[phases[i]].first);
}

static void *run(void *argument)
{
    struct gate *gate = argument;
    struct epoll_event events[EVENT_BATCH];
    while (!atomic_load(&gate->ended)) {
        const int count = epoll_wait(gate->epoll_fd, events, EVENT_BATCH, TICK_MS);
        if (atomic_load(&gate->shut) && gate->listener_count > 0)
            stop_accepting(gate);
        for (int i = 0; i < count; i++)
            handle_event(gate, &events[i]);
        while (gate->lists[PHASE_WAITING].first && try_admit(gate, gate->lists[PHASE_WAITING].first))
            ;
        expire(gate);
        free_closed(gate);
    }
    return NULL;
}

/* ---- from outside ---- */

struct gate *gate_open(const struct gate_settings *settings, const struct gate_ops *ops, void *context)
{
    struct gate *gate = xcalloc(1, sizeof *gate);
    gate->settings = *settings;
    gate->ops = ops;
    gate->context = context;
    gate->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    gate->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (gate->epoll_fd < 0 || gate->wake_fd < 0)
        BUG("the system gives no descriptor: %s", strerror(errno));
    pthread_mutex_init(&gate->lock, NULL);
    if (!watch(gate, gate->wake_fd, EPOLLIN, NULL))
        BUG("epoll_ctl: %s", strerror(errno));
    return gate;
}

void gate_add_listener(struct gate *gate, int fd)
{
    ASSERT(!gate->started && gate->listener_count < LISTENER_LIMIT);
    int *slot = &gate->listeners[gate->listener_count++];
    *slot = fd;
    if (!watch(gate, fd, EPOLLIN, slot))
        BUG("epoll_ctl: %s", strerror(errno));
}

void gate_start(struct gate *gate)
{
    gate->started = true;
    thread_start(&gate->thread, "gate", run, gate);
}

void gate_wake(struct gate *gate)
{
    const uint64_t one = 1;
    if (write(gate->wake_fd, &one, sizeof one) < 0)
        return; /* the counter is full: it is awake */
}

void gate_return(struct gate *gate, struct visitor *visitor)
{
    pthread_mutex_lock(&gate->lock);
    visitor->owner_data = gate->returned;
    gate->returned = visitor;
    pthread_mutex_unlock(&gate->lock);
    gate_wake(gate);
}

void gate_shut(struct gate *gate)
{
    atomic_store(&gate->shut, true);
    gate_wake(gate);
}

void gate_close(struct gate *gate)
{
    atomic_store(&gate->shut, true);
    atomic_store(&gate->ended, true);
    gate_wake(gate);
    if (gate->started)
        pthread_join(gate->thread, NULL);
    take_returned(gate);
    stop_accepting(gate);
    while (gate->lists[PHASE_LEAVING].first)
        drop(gate, gate->lists[PHASE_LEAVING].first);
    ASSERT(gate->lists[PHASE_ADMITTED].count == 0);
    free_closed(gate);
    close(gate->epoll_fd);
    close(gate->wake_fd);
    pthread_mutex_destroy(&gate->lock);
    free(gate);
}
