/* Incoming HTTP/1.1: libmicrohttpd behind an interface of our own, and behind the gate that checks each
 * head first (see http_gate.h, which also says why a connection serves one request).
 *
 * One thread for each request under way, up to a limit; others wait at the gate. A handler may block. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/str.h"
#include "net/address.h"
#include "net/http.h"

/* Who is at the other end. */
struct http_peer {
    bool is_local;              /* came through the unix socket */
    uid_t uid;                  /* of the local peer's process */
    char address[IP_TEXT_SIZE]; /* of a peer on the network, else "" */
};

/* Receives a body as it comes. After an error no more calls but `close` are made. */
struct http_body_sink {
    ibid_code (*write)(struct http_body_sink *self, struct str bytes, ibid_error *err);
    /* All has come. */
    ibid_code (*finish)(struct http_body_sink *self, ibid_error *err);
    /* Always called once, when the call is over. */
    void (*close)(struct http_body_sink *take_self);
};

/* A request: what a service is called with. Lives until its reply is sent. */
struct http_call {
    struct arena *arena;            /* goes with the call */
    struct str method, path, query; /* path and query as sent, still escaped */
    struct http_headers headers;
    struct http_peer peer;
    int64_t content_length; /* -1: unknown (chunked) or no body */
    bool has_body;
    const _Atomic bool *cancel; /* raised when the client hangs up or the server stops */

    /* set by service->begin */
    int64_t body_limit;          /* bytes; 0: no body is taken */
    struct http_body_sink *sink; /* gets the body; NULL: it is kept in `body` */
    struct str body;             /* whole, when there is no sink */
    void *data;                  /* the service's own */
};

/* What a service answers: exactly one of text, fd and stream. */
struct http_reply {
    int status;
    struct http_header *headers; /* in the call's arena; see http_reply_header */
    size_t header_count;
    struct str text; /* in the call's arena or static */
    int fd;          /* > 0: a file, taken over; ranges are served from it */
    int64_t fd_size;
    /* Not NULL: called until it writes nothing more. Puts at most `size` bytes into `out`; returns how many,
     * 0 at the end, -1 to break the connection off. May block. */
    ssize_t (*stream)(void *stream_data, char *out, size_t size);
    void *stream_data;
    void (*stream_close)(void *take_stream_data);
};

/* Adds a header; name and value must live as long as the call. */
void http_reply_header(struct http_call *call, struct http_reply *reply, const char *name, struct str value);

struct http_service {
    void *context;
    /* The head has come: find out what is asked, who asks, and what body may come. An error is
     * answered at once, the body is then not read. */
    ibid_code (*begin)(struct http_call *call, void *context, ibid_error *err);
    /* The body has come, too. `reply` is zeroed but for status 200. */
    void (*handle)(struct http_call *call, struct http_reply *reply, void *context);
    /* Says an error in the service's own form: for begin, for a body that breaks a limit, and (call NULL) for
     * a head that was refused, with an arena for the text. Sets text and content type, not the status. */
    void (*refuse)(struct arena *arena, int status, const ibid_error *error, struct http_reply *reply,
                   void *context);
    /* Headers that every reply gets, ended by an empty name. */
    const struct http_header *common_headers;
};

struct http_server_settings {
    const char *address;      /* "127.0.0.1", "::1", "0.0.0.0"; NULL: no network */
    unsigned port;            /* 0: any free one */
    const char *unix_socket;  /* path, made with mode 0600; an old one is replaced; NULL: none */
    const char *const *hosts; /* names that a Host header may have beside localhost and addresses */
    size_t host_count;
    unsigned max_requests;    /* under way at a time: threads */
    unsigned max_connections; /* in all, with those that wait at the gate */
    int64_t head_timeout;     /* microseconds for a head to come, and then for a free thread */
    int64_t idle_timeout;     /* without a byte of body or reply moving */
};

struct http_server;

/* Listens and serves. A request whose Host header names none of the settings' hosts is answered 421: a page
 * in a browser could otherwise reach this server under a name of its own (DNS rebinding).
 * IBID_ECONFLICT: the address is in use. `settings` is borrowed for the call, `service` for the server's
 * life. */
ibid_code http_server_open(const struct http_server_settings *settings, const struct http_service *service,
                           struct http_server **ret, ibid_error *err) MUST_CHECK;
/* The port listened on; 0 without network. */
unsigned http_server_port(const struct http_server *server);
/* Accepts no more, raises the calls' cancel flag after `grace` microseconds, waits for them, and ends. */
void http_server_close(struct http_server *take_server, int64_t grace);
