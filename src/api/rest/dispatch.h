/* From a request to its route and back (inside api/rest/ only). */
#pragma once

#include <pthread.h>

#include "api/rest/route.h"
#include "api/rest/tasks.h"
#include "records/row_feed.h"
#include "search/search.h"

struct rest {
    const struct rest_settings *settings;
    struct http_service service;
    struct arena arena; /* of the net policy */
    struct net_policy net_policy;
    struct model_job *model_job;
    struct task_board tasks;
    _Atomic int64_t uploads; /* under way */
    unsigned char link_key[32]; /* for signed links: holds as long as the process */

    pthread_mutex_t lock; /* of what follows, which is made at the first need and then stays */
    struct instance *instance;
    struct row_source *rows;
    struct searcher *searcher;
    struct embedder *embedder;         /* without a data directory */
    struct extract_pool *extract_pool; /* likewise */
};

ibid_code dispatch_begin(struct http_call *http, void *rest, ibid_error *err) MUST_CHECK;
void dispatch_handle(struct http_call *http, struct http_reply *reply, void *rest);
void dispatch_refuse(struct arena *arena, int status, const ibid_error *error, struct http_reply *reply,
                     void *rest);
extern const struct http_header dispatch_common_headers[];
