/* The REST door: the routes under /api/v1, /metrics, and the page. It translates only: what it does is done
 * by ingest/, search/, records/ and instance/ on behalf of a principal from access/.
 *
 * One `struct rest` stands for one data directory. A server serves it over HTTP; the command line and
 * libibid call the same routes in their own process. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/option.h"
#include "instance/instance.h"
#include "net/http_server.h"
#include "net/policy.h"
#include "search/settings.h"

struct server_settings {
    const char *address;
    int64_t port;
    struct option_list hosts;
    int64_t max_requests, max_connections;
    int64_t max_upload;    /* bytes of one request */
    int64_t max_file_size; /* bytes of one uploaded file */
    int64_t max_uploads;   /* under way at a time */
    int64_t head_timeout, idle_timeout;
};

struct log_settings {
    int level;  /* enum log_level */
    int format; /* enum log_format */
};

struct audit_settings {
    int64_t keep; /* microseconds; 0: for ever */
};

/* Everything that is set, read once at start. */
struct rest_settings {
    struct instance_settings *instance;
    struct search_settings search;
    struct server_settings server;
    struct log_settings log;
    struct audit_settings audit;
    char *folder; /* the data directory */
};

/* Defaults and all sections; load and set through instance_settings_table(). */
void rest_settings_init(struct rest_settings *settings);
void rest_settings_release(struct rest_settings *settings);

struct rest;

/* `settings` is loaded, borrowed, and outlives the door. The data itself is opened by the first call that
 * needs it (see rest_instance). IBID_EINVAL: net.allow makes no sense. */
ibid_code rest_open(const struct rest_settings *settings, struct rest **ret, ibid_error *err) MUST_CHECK;
/* No call may be under way. NULL is fine. */
void rest_close(struct rest *take_rest);

/* Opens the data directory unless it is open. `create`: makes it when there is none; else that is
 * IBID_ENOTFOUND, which says how to begin. IBID_EBUSY: another process has it open. */
ibid_code rest_instance(struct rest *rest, bool create, struct instance **ret, ibid_error *err) MUST_CHECK;

/* Carries out a call as the person at this machine, as if it had come through the unix socket. `target` is a
 * path with its query. The reply's text lives in `arena`; a stream or file of it is the caller's to close.
 * Never fails: an error is a reply, too. */
void rest_call(struct rest *rest, const char *method, const char *target, struct str body,
               const _Atomic bool *cancel, struct arena *arena, struct http_reply *ret);

/* Opens the network address and the unix socket of the settings, either if wanted. The data must be open. */
ibid_code rest_serve(struct rest *rest, bool network, bool local, struct http_server **ret,
                     ibid_error *err) MUST_CHECK;
/* Where the unix socket of a data directory is; free() it. */
char *rest_socket_path(const char *folder);

/* The token of the local owner for the network: made when there is none, kept in a file of the data directory
 * that only its owner can read. *ret_new: it was made now. free() *ret_token. */
ibid_code rest_owner_token(struct rest *rest, char **ret_token, bool *ret_new, ibid_error *err) MUST_CHECK;
