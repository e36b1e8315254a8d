#include <stdlib.h>

#include "base/buffer.h"
#include "ingest/engine.h"
#include "ingest/run.h"
#include "records/source.h"

enum { ABSORB_BATCH = 64 }; /* documents in one transaction: others may write in between */

/* A source, and what its connector is asked about it with. */
struct place {
    const struct source *source;
    const struct connector_ops *ops;
    const char *location;
    void *options;
};

/* False for a source that is not listed. */
static bool place_read(const struct source *source, struct arena *arena, struct place *ret)
{
    const char *type = arena_memdup0(arena, source->connector_type.data, source->connector_type.size);
    *ret = (struct place){.source = source,
                          .ops = connector_find(type),
                          .location = arena_memdup0(arena, source->location.data, source->location.size)};
    return source->enabled && ret->ops &&
           source_options_fill(ret->ops, source->options, arena, &ret->options, NULL) == IBID_OK;
}

/* Whether a run over `outer` lists all of `inner`; then *ret_prefix is what stands before its keys. */
static bool covers(const struct place *outer, const struct place *inner, struct arena *arena,
                   struct str *ret_prefix)
{
    return connector_covers(outer->ops, outer->location, outer->options, inner->location, inner->options,
                            arena, ret_prefix);
}

/* Whether `outer` may cover `inner` at all: its location begins the other's. */
static bool may_cover(const struct source *outer, const struct source *inner)
{
    return outer->connector_id == inner->connector_id && outer->location.size < inner->location.size &&
           str_equal(outer->location, str_slice(inner->location, 0, outer->location.size));
}

/* ---- finding ---- */

/* The source that the draft lies in; 0 when there is none. */
static ibid_code find_covering(struct transaction *transaction, const struct source *draft, int64_t *ret_id,
                               ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct source *sources;
    struct place inner, outer;
    struct str prefix;
    size_t count;
    TRY(source_list(transaction, &arena, &sources, &count, err));
    *ret_id = 0;
    const bool listed = place_read(draft, &arena, &inner);
    for (size_t i = 0; i < count && listed && *ret_id == 0; i++)
        if (may_cover(&sources[i], draft) && place_read(&sources[i], &arena, &outer) &&
            covers(&outer, &inner, &arena, &prefix))
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

static bool is_visited(const struct job *job, int64_t source_id)
{
    for (size_t i = 0; i < job->source_count; i++)
        if (job->source_ids[i] == source_id)
            return true;
    return false;
}

/* The sources whose location begins that of the one at hand, the shortest first. */
struct nest {
    const struct place **places;
    size_t depth;
};

/* The first of the nest, visited by the job, that the source goes into. */
static ibid_code find_absorption(struct transaction *transaction, const struct job *job,
                                 const struct nest *nest, const struct place *inner, struct arena *arena,
                                 struct absorption *ret, bool *ret_found, ibid_error *err)
{
    *ret_found = false;
    for (size_t i = 0; i < nest->depth && !*ret_found; i++) {
        const struct place *outer = nest->places[i];
        struct absorption absorption = {.from = inner->source->id, .into = outer->source->id};
        if (!is_visited(job, absorption.into) || !covers(outer, inner, arena, &absorption.prefix))
            continue;
        TRY(source_is_alike(transaction, absorption.into, absorption.from, ret_found, err));
        *ret = absorption;
    }
    return IBID_OK;
}

/* By connector and location, so that a source comes after all that may cover it. */
static int compare_places(const void *a, const void *b)
{
    const struct source *x = ((const struct place *)a)->source, *y = ((const struct place *)b)->source;
    const int order = (x->connector_id > y->connector_id) - (x->connector_id < y->connector_id);
    return order ? order : str_compare(x->location, y->location);
}

static ibid_code find_absorptions(const struct job *job, struct arena *arena, struct absorption **ret,
                                  size_t *ret_count, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct source *sources;
    size_t source_count, count = 0, found_count = 0;
    TRY(transaction_begin(job->ingest->host->metadata, TRANSACTION_READ, &transaction, err));
    TRY(source_list(transaction, arena, &sources, &source_count, err));
    struct place *places = ARENA_ARRAY(arena, struct place, source_count);
    for (size_t i = 0; i < source_count; i++)
        count += place_read(&sources[i], arena, &places[count]);
    qsort(places, count, sizeof *places, compare_places);
    struct absorption *absorptions = ARENA_ARRAY(arena, struct absorption, count);
    struct nest nest = {.places = ARENA_ARRAY(arena, const struct place *, count)};
    for (size_t i = 0; i < count; i++) {
        bool found;
        while (nest.depth && !may_cover(nest.places[nest.depth - 1]->source, places[i].source))
            nest.depth--;
        TRY(find_absorption(transaction, job, &nest, &places[i], arena, &absorptions[found_count], &found,
                            err));
        found_count += found;
        nest.places[nest.depth++] = &places[i];
    }
    *ret = absorptions;
    *ret_count = found_count;
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
    AUTO_ARENA arena = ARENA_INIT;
    struct absorption *absorptions;
    size_t count;
    TRY(find_absorptions(job, &arena, &absorptions, &count, err));
    /* The innermost first: none goes into one that is gone. */
    for (size_t i = count; i-- > 0;) {
        TRY(absorb(job->ingest->host, &absorptions[i], &job->cancel, err));
        drop_source(job, absorptions[i].from);
    }
    return IBID_OK;
}
