#include "tests/support/tiny_server.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/thread.h"

enum { REQUEST_LIMIT = 1 << 20, CONNECTION_LIMIT = 256 };

struct tiny_server {
    int fd;
    unsigned port;
    tiny_handler *handler;
    void *context;
    pthread_t acceptor;
    pthread_t workers[CONNECTION_LIMIT];
    atomic_uint connections, requests;
    atomic_bool stopping;
};

struct connection {
    struct tiny_server *server;
    int fd;
};

static bool wait_readable(struct tiny_server *server, int fd)
{
    while (!atomic_load(&server->stopping)) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (poll(&wait, 1, 20) > 0)
            return true;
    }
    return false;
}

static size_t content_length(struct str head)
{
    const char *found = strcasestr(head.data, "\ncontent-length:");
    return found && found < head.data + head.size ? strtoul(found + 16, NULL, 10) : 0;
}

static void write_all(int fd, const struct buffer *out)
{
    for (size_t sent = 0; sent < out->size;) {
        ssize_t count = send(fd, out->data + sent, out->size - sent, MSG_NOSIGNAL);
        if (count <= 0)
            return;
        sent += (size_t)count;
    }
}

static bool answer_one(struct tiny_server *server, int fd, struct buffer *in)
{
    char *end = NULL;
    while (!(in->data && (end = strstr(in->data, "\r\n\r\n")) &&
             in->size >= (size_t)(end + 4 - in->data) +
                             content_length((struct str){in->data, (size_t)(end - in->data)}))) {
        char bytes[4096];
        if (!wait_readable(server, fd))
            return false;
        ssize_t count = recv(fd, bytes, sizeof bytes, 0);
        if (count <= 0)
            return false;
        buffer_append(in, bytes, (size_t)count);
    }
    const struct str head = {in->data, (size_t)(end + 2 - in->data)};
    const struct str body = {end + 4, content_length(head)};
    AUTO_BUFFER out = BUFFER(64 << 20);
    atomic_fetch_add(&server->requests, 1);
    const bool keep = server->handler(head, body, &out, server->context);
    write_all(fd, &out);
    const size_t used = head.size + 2 + body.size;
    AUTO_BUFFER rest = BUFFER(REQUEST_LIMIT);
    buffer_append(&rest, in->data + used, in->size - used);
    buffer_clear(in);
    buffer_append_str(in, buffer_str(&rest));
    return keep;
}

static void *serve_connection(void *argument)
{
    struct connection *connection = argument;
    AUTO_BUFFER in = BUFFER(REQUEST_LIMIT);
    while (answer_one(connection->server, connection->fd, &in))
        ;
    close(connection->fd);
    free(connection);
    return NULL;
}

static void *accept_connections(void *argument)
{
    struct tiny_server *server = argument;
    while (wait_readable(server, server->fd) && server->connections < CONNECTION_LIMIT) {
        struct connection *connection = xcalloc(1, sizeof *connection);
        *connection = (struct connection){server, accept(server->fd, NULL, NULL)};
        thread_start(&server->workers[server->connections++], "tiny", serve_connection, connection);
    }
    return NULL;
}

struct tiny_server *tiny_server_start(const char *path, tiny_handler *handler, void *context)
{
    struct tiny_server *server = xcalloc(1, sizeof *server);
    server->handler = handler;
    server->context = context;
    struct sockaddr_in internet = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    socklen_t size = sizeof internet;
    int failed;
    server->fd = socket(path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (path) {
        snprintf(local.sun_path, sizeof local.sun_path, "%s", path);
        failed = bind(server->fd, (struct sockaddr *)&local, sizeof local);
    } else {
        failed = bind(server->fd, (struct sockaddr *)&internet, sizeof internet);
        getsockname(server->fd, (struct sockaddr *)&internet, &size);
        server->port = ntohs(internet.sin_port);
    }
    if (failed || listen(server->fd, 64) != 0)
        BUG("the test server cannot listen");
    thread_start(&server->acceptor, "tiny", accept_connections, server);
    return server;
}

unsigned tiny_server_port(const struct tiny_server *server)
{
    return server->port;
}

unsigned tiny_server_requests(const struct tiny_server *server)
{
    return atomic_load(&server->requests);
}

unsigned tiny_server_connections(const struct tiny_server *server)
{
    return atomic_load(&server->connections);
}

void tiny_server_stop(struct tiny_server *server)
{
    atomic_store(&server->stopping, true);
    pthread_join(server->acceptor, NULL);
    for (unsigned i = 0; i < server->connections; i++)
        pthread_join(server->workers[i], NULL);
    close(server->fd);
    free(server);
}
