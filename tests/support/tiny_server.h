/* A server for tests of clients: it answers each request with whatever bytes a handler writes. */
#pragma once

#include "base/buffer.h"
#include "base/str.h"

struct tiny_server;

/* `head` is the request line with its headers, `body` what Content-Length announced. The handler appends the
 * reply to `out`; return false to close the connection after it. */
typedef bool tiny_handler(struct str head, struct str body, struct buffer *out, void *context);

/* Listens on 127.0.0.1, or on the unix socket `path` unless NULL. */
struct tiny_server *tiny_server_start(const char *path, tiny_handler *handler, void *context);
unsigned tiny_server_port(const struct tiny_server *server);
/* Requests handled so far. */
unsigned tiny_server_requests(const struct tiny_server *server);
/* Connections accepted so far. */
unsigned tiny_server_connections(const struct tiny_server *server);
void tiny_server_stop(struct tiny_server *take_server);
