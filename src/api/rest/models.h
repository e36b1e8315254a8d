/* Fetching a model in the background (inside api/rest/ only). */
#pragma once

#include "base/error.h"
#include "net/policy.h"

struct model_job;

/* `policy` is borrowed for the job's life. */
struct model_job *model_job_new(const struct net_policy *policy) __attribute__((returns_nonnull));
/* Cancels what is under way. */
void model_job_free(struct model_job *take_job);
