/* What stands behind an open door (inside api/rest/ only). */
#pragma once

#include <pthread.h>

#include "api/rest/rest.h"
#include "api/rest/route.h"
#include "api/rest/tasks.h"
#include "search/search.h"

struct row_source;
struct model_job;

struct rest {
    const struct rest_settings *settings;
    struct http_service service;
    struct arena arena; /* of the net policy */
    struct net_policy net_policy;
    struct model_job *model_job;
    struct task_board tasks;
    _Atomic int64_t uploads;    /* under way */
    unsigned char link_key[32]; /* for signed links: holds as long as the process */

    pthread_mutex_t lock; /* of what follows, which is made at the first need and then stays */
    struct instance *instance;
    struct row_source *rows;
    struct searcher *searcher;         /* there where the instance is */
    struct embedder *embedder;         /* without a data directory */
    struct extract_pool *extract_pool; /* likewise */
};

/* The instance if it is open, else NULL. */
struct instance *rest_open_instance(struct rest *rest);
/* The embedder and the extract pool, also where there is no data directory. */
ibid_code rest_embedder(struct rest_call *call, struct embedder **ret, ibid_error *err) MUST_CHECK;
ibid_code rest_extract_pool(struct rest_call *call, struct extract_pool **ret, ibid_error *err) MUST_CHECK;
