#include "instance/late_embedder.h"

#include "base/clock.h"
#include "base/thread.h"

void late_embedder_init(struct late_embedder *self)
{
    *self = (struct late_embedder){0};
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->tried, NULL);
}

void late_embedder_release(struct late_embedder *self)
{
    embedder_close(self->embedder);
    pthread_mutex_destroy(&self->lock);
    pthread_cond_destroy(&self->tried);
}

static void try_locked(struct late_embedder *self, late_embedder_open *open, void *context)
{
    struct embedder *embedder = NULL;
    ibid_error error = {0};
    self->opening = true;
    pthread_mutex_unlock(&self->lock);
    const ibid_code code = open(context, &embedder, &error);
    pthread_mutex_lock(&self->lock);
    self->opening = false;
    self->error = error;
    self->tried_us = clock_monotonic_us();
    if (code == IBID_OK)
        self->embedder = embedder;
    pthread_cond_broadcast(&self->tried);
}

ibid_code late_embedder_get(struct late_embedder *self, int64_t retry_us, late_embedder_open *open,
                            void *context, struct embedder **ret, ibid_error *err)
{
    pthread_mutex_lock(&self->lock);
    while (self->opening && self->tried_us == 0)
        pthread_cond_wait(&self->tried, &self->lock);
    const bool due = self->tried_us == 0 || clock_monotonic_us() - self->tried_us > retry_us;
    if (!self->embedder && !self->opening && due)
        try_locked(self, open, context);
    ibid_code code = IBID_OK;
    if (self->embedder)
        *ret = self->embedder;
    else
        code = fail(err, IBID_EUNAVAILABLE, "%s", self->error.message);
    pthread_mutex_unlock(&self->lock);
    return code;
}
