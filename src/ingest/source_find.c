#include <string.h>

#include "base/buffer.h"
#include "ingest/engine.h"
#include "ingest/run.h"
#include "records/source.h"

enum { ABSORB_BATCH = 64 }; /* documents in one transaction: others may write in between */

/* Whether a run over `outer` lists all of `inner`; then *ret_prefix is what stands before its keys. */
static bool covers(const struct source *outer, const struct source *inner, struct arena *arena,
                   struct str *ret_prefix)
{
    if (outer->connector_id != inner->connector_id || outer->id == inner->id || !outer->enabled ||
        !inner->enabled)
        return false;
    const struct connector_ops *ops =
        connector_find(arena_memdup0(arena, outer->connector_type.data, outer->connector_type.size));
    void *outer_options, *inner_options;
    return ops && source_options_fill(ops, outer->options, arena, &outer_options, NULL) == IBID_OK &&
           source_options_fill(ops, inner->options, arena, &inner_options, NULL) == IBID_OK &&
           connector_covers(ops, arena_memdup0(arena, outer->location.data, outer->location.size),
                            outer_options, arena_memdup0(arena, inner->location.data, inner->location.size),
                            inner_options, arena, ret_prefix);
}

/* ---- finding ---- */

/* The source that the draft lies in; 0 when there is none. */
static ibid_code find_covering(struct transaction *transaction, const struct source *draft, int64_t *ret_id,
                               ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct source *sources;
    struct str prefix;
    size_t count;
    TRY(source_list(transaction, &arena, &sources, &count, err));
    *ret_id = 0;
    for (size_t i = 0; i < count && *ret_id == 0; i++)
        if (covers(&sources[i], draft, &arena, &prefix))
            *ret_id = sources[i].id;
    return IBID_OK;
}

/* What a source keeps, changed by what was given now: null takes a member away. */
static ibid_code change_options(struct str kept, const json_t *changes, struct buffer *out, ibid_error *err)
{
    AUTO_JSON *options = NULL;
    const char *name;
    json_t *value;
    TRY(json_parse(kept, &options, err));
    json_object_foreach((json_t *)(uintptr_t)changes, name, value)
    {
        if (json_is_null(value))
            json_object_del(options, name);
        else
            json_set(options, name, json_incref(value));
    }
    json_append(out, options);
    return buffer_check(out, "the options of a source", err);
}

static ibid_code find_or_create(struct transaction *transaction, const struct connector_ops *ops,
                                const char *location, const json_t *changes, int64_t *ret_id, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_BUFFER options = BUFFER(64 * 1024);
    void *values;
    struct source source = {.connector_type = str_from(ops->name),
                            .location = str_from(location),
                            .options = STR("{}"),
                            .enabled = true};
    TRY(source_connector(transaction, source.connector_type, &source.connector_id, err));
    TRY(source_find(transaction, source.connector_id, source.location, ret_id, err));
    if (*ret_id) {
        TRY(source_load(transaction, *ret_id, &arena, &source, err));
        /* Its removal may have been stopped midway. */
        TRY(source_set_enabled(transaction, *ret_id, true, err));
    }
    TRY(change_options(source.options, changes, &options, err));
    source.options = buffer_str(&options);
    TRY(source_options_fill(ops, source.options, &arena, &values, err));
    if (*ret_id)
        return source_set_options(transaction, *ret_id, source.options, err);
    TRY(find_covering(transaction, &source, ret_id, err));
    return *ret_id ? IBID_OK : source_create(transaction, &source, ret_id, err);
}

ibid_code ingest_source(struct ingest *ingest, const char *connector, const char *location,
                        const json_t *options, int64_t *ret_source_id, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    const char *resolved;
    const struct connector_ops *ops = connector_find(connector);
    if (!ops)
        return fail(err, IBID_EUNSUPPORTED, "there is no connector '%s' in this version", connector);
    TRY(connector_resolve(ops, location, &arena, &resolved, err));
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(ingest->host->metadata, TRANSACTION_WRITE, &transaction, err));
    TRY(find_or_create(transaction, ops, resolved, options, ret_source_id, err));
    return transaction_commit(transaction_take(&transaction), err);
}

/* ---- absorbing ---- */

/* One source that is to go into another. */
struct absorption {
    int64_t from, into;
    struct str prefix;
};

static ibid_code absorb(struct ingest_host *host, const struct absorption *absorption,
                        const _Atomic bool *cancel, ibid_error *err)
{
    for (bool more = true; more;) {
        if (atomic_load(cancel))
            return fail(err, IBID_ECANCELED, "canceled");
        AUTO_TRANSACTION *transaction = NULL;
        TRY(transaction_begin(host->metadata, TRANSACTION_WRITE, &transaction, err));
        TRY(source_absorb(transaction, absorption->from, absorption->into, absorption->prefix, ABSORB_BATCH,
                          &more, err));
        TRY(transaction_commit(transaction_take(&transaction), err));
        host->committed(host);
    }
    return IBID_OK;
}

/* The next pair; *ret_found false when there is none. */
static ibid_code find_absorption(struct job *job, struct arena *arena, struct absorption *ret,
                                 bool *ret_found, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct source *sources, outer;
    size_t count;
    *ret_found = false;
    TRY(transaction_begin(job->ingest->host->metadata, TRANSACTION_READ, &transaction, err));
    TRY(source_list(transaction, arena, &sources, &count, err));
    for (size_t i = 0; i < job->source_count; i++) {
        TRY(source_load(transaction, job->source_ids[i], arena, &outer, err));
        for (size_t j = 0; j < count; j++) {
            *ret = (struct absorption){.from = sources[j].id, .into = outer.id};
            if (!covers(&outer, &sources[j], arena, &ret->prefix))
                continue;
            TRY(source_is_alike(transaction, outer.id, sources[j].id, ret_found, err));
            if (*ret_found)
                return IBID_OK;
        }
    }
    return IBID_OK;
}

static void drop_source(struct job *job, int64_t id)
{
    size_t count = 0;
    for (size_t i = 0; i < job->source_count; i++)
        if (job->source_ids[i] != id)
            job->source_ids[count++] = job->source_ids[i];
    job->source_count = count;
}

ibid_code absorb_sources(struct job *job, ibid_error *err)
{
    for (;;) {
        AUTO_ARENA arena = ARENA_INIT;
        struct absorption absorption;
        bool found;
        TRY(find_absorption(job, &arena, &absorption, &found, err));
        if (!found)
            return IBID_OK;
        TRY(absorb(job->ingest->host, &absorption, &job->cancel, err));
        drop_source(job, absorption.from);
    }
}
