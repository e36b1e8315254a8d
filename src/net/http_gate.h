/* The gate before the HTTP library (inside net/ only; callers use http_server.h).
 *
 * Debian's libmicrohttpd takes requests that two programs read differently, so nothing reaches it
 * unseen. One thread accepts connections and *peeks* at what comes (MSG_PEEK leaves the bytes in
 * the socket) until the head is there whole and http_head_parse() has found it sound; only then is the
 * socket handed over, and the library reads the very bytes that were checked. It is handed over for one
 * request: every reply says `Connection: close`, so no byte behind the first request, pipelined or late,
 * is ever read as a request. A slow client costs no thread until its head is whole.
 *
 * When the request is over the gate sees the connection off: it reads and drops what still comes for
 * a moment, since closing a socket with unread bytes would reset it and could take the reply along. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "net/http_head.h"
#include "net/http_server.h"

/* A connection with its one request. */
struct visitor {
    int fd;      /* the gate's alone; handed over by admit() */
    int rest_fd; /* a second descriptor of the socket, to see it off with */
    struct http_peer peer;
    struct arena arena; /* of the request; goes with the visitor */
    struct http_head head;
    void *owner_data; /* of whom it was handed to */

    /* the gate's own */
    unsigned phase;
    int64_t deadline;
    bool has_spoken;
    struct visitor *next, *previous;
};

struct gate_ops {
    /* A sound head has come. IBID_OK: go on; else `*ret_status` is answered. */
    ibid_code (*inspect)(struct visitor *visitor, void *context, int *ret_status, ibid_error *err);
    /* Takes visitor->fd over. False: no room at the moment; gate_wake() asks for another try. */
    bool (*admit)(struct visitor *visitor, void *context);
    /* Appends a whole reply that refuses the request. */
    void (*refuse)(int status, const ibid_error *error, struct buffer *out, void *context);
};

struct gate;

struct gate_settings {
    size_t visitor_limit; /* connections in all */
    int64_t head_timeout; /* microseconds from accept to a whole head, and from there to a free place */
};

struct gate *gate_open(const struct gate_settings *settings, const struct gate_ops *ops, void *context)
    __attribute__((returns_nonnull));
/* `fd` listens and is taken over. All before gate_start. */
void gate_add_listener(struct gate *gate, int fd);
void gate_start(struct gate *gate);
/* The request of a visitor that was admitted is over. From any thread. */
void gate_return(struct gate *gate, struct visitor *take_visitor);
/* A place has become free. From any thread. */
void gate_wake(struct gate *gate);
/* Accepts no more and drops visitors that were not admitted. gate_return() may still come. */
void gate_shut(struct gate *gate);
/* All admitted visitors have returned. */
void gate_close(struct gate *take_gate);
