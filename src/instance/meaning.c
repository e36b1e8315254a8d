#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "instance/parts.h"
#include "instance/settings.h"
#include "records/collection.h"

enum { FORMER_RETRY_S = 60 };

const char *meaning_state_string(enum meaning_state state)
{
    static const char *const strings[] = {
#define X(name, string) [MEANING_##name] = string,
        MEANING_STATE_MAP(X)
#undef X
    };
    return strings[state];
}

/* ---- embedders of before ---------------------------------------------------------------------- */

struct former {
    struct former *next;
    char *fingerprint;
    struct late_embedder embedder;
};

static struct former *find_former(struct instance *instance, struct str fingerprint)
{
    pthread_mutex_lock(&instance->lock);
    struct former *former = instance->formers;
    while (former && !str_is(fingerprint, former->fingerprint))
        former = former->next;
    if (!former) {
        former = xcalloc(1, sizeof *former);
        former->fingerprint = xmemdup0(fingerprint.data, fingerprint.size);
        late_embedder_init(&former->embedder);
        former->next = instance->formers;
        instance->formers = former;
    }
    pthread_mutex_unlock(&instance->lock);
    return former;
}

struct wanted {
    struct instance *instance;
    const struct collection *collection;
};

static ibid_code open_former(void *context, struct embedder **ret, ibid_error *err)
{
    const struct wanted *wanted = context;
    const struct collection *collection = wanted->collection;
    const struct instance_settings *settings = wanted->instance->settings;
    struct embedder *embedder;
    TRY(embedder_reopen(collection->embedder, collection->embedder_options,
                        &(struct embedder_context){.net = &settings->net},
                        (const void *const *)settings->embedders, &embedder, err));
    if (!str_is(collection->embedder_fingerprint, embedder->info.fingerprint)) {
        embedder_close(embedder);
        return fail(err, IBID_EUNAVAILABLE, "it is another one now");
    }
    *ret = embedder;
    return IBID_OK;
}

/* The one that made the collection's vectors. */
static ibid_code former_embedder(struct instance *instance, const struct collection *collection,
                                 struct embedder **ret, ibid_error *err)
{
    struct former *former = find_former(instance, collection->embedder_fingerprint);
    return late_embedder_get(&former->embedder, FORMER_RETRY_S * SECOND_US, open_former,
                             &(struct wanted){instance, collection}, ret, err);
}

void formers_close(struct former *former)
{
    while (former) {
        struct former *next = former->next;
        late_embedder_release(&former->embedder);
        free(former->fingerprint);
        free(former);
        former = next;
    }
}

/* ---- meaning ----------------------------------------------------------------------------------- */

static void set_meaning(struct meaning *meaning, enum meaning_state state, struct embedder *embedder,
                        const char *format, ...) PRINTF_LIKE(4, 5);
static void set_meaning(struct meaning *meaning, enum meaning_state state, struct embedder *embedder,
                        const char *format, ...)
{
    va_list arguments;
    *meaning = (struct meaning){.state = state, .embedder = embedder};
    va_start(arguments, format);
    vsnprintf(meaning->reason, sizeof meaning->reason, format, arguments);
    va_end(arguments);
}

/* The vectors are not those of the embedder that the settings name: `embedder`, or NULL where that cannot be
 * had, for the reason in `missing`. */
static void judge_change(struct instance *instance, const struct collection *collection,
                         const struct embedder *embedder, const ibid_error *missing, struct meaning *ret)
{
    struct embedder *former;
    ibid_error gone = {0};
    const bool there = former_embedder(instance, collection, &former, &gone) == IBID_OK;
    if (there && embedder)
        set_meaning(ret, MEANING_READY, former,
                    "by the vectors of %.*s until an indexing run has made those of %s",
                    STR_ARG(collection->embedder), embedder->info.id);
    else if (there)
        set_meaning(ret, MEANING_READY, former,
                    "by the vectors of %.*s; the settings name another embedder: %s",
                    STR_ARG(collection->embedder), missing->message);
    else if (embedder)
        set_meaning(ret, MEANING_EMBEDDER_CHANGED, NULL,
                    "the vectors were made by %.*s, which cannot be had any more (%s); the settings name %s:"
                    " indexing makes new ones",
                    STR_ARG(collection->embedder), gone.message, embedder->info.id);
    else
        set_meaning(ret, MEANING_EMBEDDER_MISSING, NULL, "%s", missing->message);
}

ibid_code instance_meaning(struct instance *instance, int64_t collection_id, struct meaning *ret,
                           ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = NULL;
    struct collection collection;
    TRY(transaction_begin(instance->metadata, TRANSACTION_READ, &transaction, err));
    TRY(collection_load_serving(transaction, collection_id, &arena, &collection, err));
    transaction_rollback(transaction_take(&transaction));
    struct embedder *embedder = NULL;
    ibid_error missing = {0};
    const bool there = instance_embedder(instance, &embedder, &missing) == IBID_OK;
    if (there && str_is(collection.embedder_fingerprint, embedder->info.fingerprint))
        *ret = (struct meaning){.state = MEANING_READY, .embedder = embedder};
    else if (collection.embedder_fingerprint.size)
        judge_change(instance, &collection, there ? embedder : NULL, &missing, ret);
    else if (there)
        set_meaning(ret, MEANING_NOTHING_EMBEDDED, NULL, "nothing has been embedded yet: index something");
    else
        set_meaning(ret, MEANING_EMBEDDER_MISSING, NULL, "%s", missing.message);
    return IBID_OK;
}
