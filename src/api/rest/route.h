/* Routes: what can be asked, by whom, with what (inside api/rest/ only). To add one: a handler in the file of
 * its subject, and a row in route.c. */
#pragma once

#include "access/access.h"
#include "api/rest/parameters.h"
#include "api/rest/rest.h"
#include "ingest/run.h"

struct upload;

enum route_need {
    NEED_NOTHING, /* anybody who reaches the server */
    NEED_LINK,    /* somebody known, or the holder of a signed link, which the handler checks */
    NEED_USER,    /* somebody known */
    NEED_ADMIN,   /* a System-Admin */
    NEED_OWNER,   /* the person at this machine: only they may name its files */
};

enum route_body { BODY_NONE, BODY_JSON, BODY_UPLOAD };

enum route_data {
    DATA_NONE, /* does without the data directory */
    DATA_EXISTING,
    DATA_CREATED, /* makes it when there is none */
};

/* A request being carried out. */
struct rest_call {
    struct rest *rest;
    struct http_call *http;
    struct arena *arena;
    const struct route *route;
    struct str id;         /* what stands for {id} in the path, decoded */
    void *parameters;      /* the route's parameter struct, filled in */
    json_t *body;          /* BODY_JSON: an object */
    struct upload *upload; /* BODY_UPLOAD */
    struct principal principal;
    const char *changed;       /* see call_changed; NULL: nothing */
    bool is_owner;             /* the person at this machine */
    struct instance *instance; /* with DATA_NONE only if it is open anyway */
};

struct route {
    const char *method, *path; /* "/api/v1/documents/{id}/chunks" */
    enum route_need need;
    enum route_body body;
    enum route_data data;
    const struct option *parameters; /* of the query string, or of the body with BODY_JSON */
    size_t parameters_size;
    const char *const *other_members; /* of a JSON body: the handler reads them itself; NULL-ended */
    int64_t body_limit;
    /* Fills in `reply`, or returns an error, which is answered with its code's status. */
    ibid_code (*handle)(struct rest_call *call, struct http_reply *reply, ibid_error *err);
    const char *summary;
    bool is_metrics;    /* a token for metrics only may ask it, and nothing else */
    const char *action; /* for the audit log, of routes that change something: "document.remove" */
};

extern const struct route routes[];
extern const size_t route_count;

/* The route for a path; NULL when there is none of that method. `ret_id` gets the escaped id; *ret_methods
 * (arena) those that the path has: empty when the path is unknown. */
const struct route *route_find(struct str method, struct str path, struct arena *arena, struct str *ret_id,
                               const char **ret_methods);

/* ---- for handlers ---- */

/* Answers with a JSON value, taken over. */
void reply_json(struct rest_call *call, struct http_reply *reply, int status, json_t *take_value);
/* The security headers of a document that may run nothing. */
void reply_lock_down(struct http_call *call, struct http_reply *reply);

/* The id of the path as a number; IBID_ENOTFOUND, as for one that does not exist, when it is none.
 * `what`: "document". */
ibid_code call_id(const struct rest_call *call, const char *what, int64_t *ret, ibid_error *err) MUST_CHECK;
/* A read transaction and what the caller may read in it. */
ibid_code call_read(struct rest_call *call, struct transaction **ret, struct scope *ret_scope,
                    ibid_error *err) MUST_CHECK;
/* Writes into the audit log, under the route's action, that the call changes "token 17": in the transaction
 * that changes it, so that there is neither without the other. */
ibid_code call_record(struct rest_call *call, struct transaction *transaction, const char *kind, int64_t id,
                      ibid_error *err) MUST_CHECK;
/* The same for a change that is begun below, in a transaction of its own. */
struct ingest_audit call_ingest_audit(struct rest_call *call, const char *kind, int64_t id);
/* The same for what has been changed already: one line at the end of the call, in which several things are
 * listed. A process that is killed in between leaves none. */
void call_changed(struct rest_call *call, const char *kind, int64_t id);
/* Writes into the audit log what a call that is over has changed (call_changed), or that it was denied to
 * somebody known. */
void call_audit(struct rest_call *call, ibid_code code);
const struct rest_settings *call_settings(const struct rest_call *call);
