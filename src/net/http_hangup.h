/* Notices clients that hang up while their request is carried out, so that the work for them can stop.
 * One thread looks at all of them some times a second. A client that only ends its sending side counts as
 * gone, too: over TCP the two look alike, and ours never do so before the reply. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

struct hangup_watch;

/* A client whose request is carried out; the caller's storage. */
struct watched_client {
    int fd;
    _Atomic bool gone; /* raised by the watch; for http_call.cancel */
    struct watched_client *previous, *next;
};

struct hangup_watch *hangup_watch_new(void) __attribute__((returns_nonnull));
/* Nobody may be watched any more. NULL is fine. */
void hangup_watch_free(struct hangup_watch *take_watch);
/* `client->fd` stays open until hangup_watch_remove(). */
void hangup_watch_add(struct hangup_watch *watch, struct watched_client *client);
void hangup_watch_remove(struct hangup_watch *watch, struct watched_client *client);
/* All count as gone, also those that come later: the server stops. */
void hangup_watch_raise(struct hangup_watch *watch);
