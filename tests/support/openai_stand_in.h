/* A strict stand-in for an OpenAI-compatible embeddings service: refuses what the real ones refuse, and
 * can be told to fail. Its vectors are those of the hash embedder, so that shared words count. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/arena.h"
#include "embedder/embedder.h"

enum { STAND_IN_DIMENSION = 64 };
#define STAND_IN_KEY "sk-secret-of-the-test"

struct stand_in {
    struct tiny_server *server;
    _Atomic unsigned requests;
    _Atomic unsigned largest_batch;
    _Atomic unsigned under_way, most_under_way;
    _Atomic bool saw_base64, saw_plain;
    /* The last request's last text and input_type ("" when there was none). Requests that come together take
     * turns by the lock; a test reads these when its own have been answered. */
    pthread_mutex_t lock;
    char last_input[512], last_input_type[32];

    /* What it is told to do. */
    bool refuses_base64;
    bool shuffles; /* gives the vectors in another order, with their indexes */
    unsigned delay_ms;
    _Atomic unsigned failures; /* so many replies are `failure` */
    const char *failure;       /* status line, perhaps with headers */
    const char *reply;         /* NULL, or the body of every reply */
};

struct stand_in *stand_in_start(void);
void stand_in_stop(struct stand_in *take_stand_in);

/* Allows requests to this machine. */
extern const struct embedder_context stand_in_context;

/* Settings of the openai embedder for it, in the arena: key, model and address, then `settings` (pairs of
 * option and text, ended by NULL). */
void *stand_in_options(const struct stand_in *stand_in, struct arena *arena, const char *const settings[][2]);
