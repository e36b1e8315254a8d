#include "ingest/origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/option_json.h"
#include "records/bootstrap.h"
#include "records/collection.h"
#include "records/succession.h"

/* ---- options ---- */

static void *filled_options(const struct option *table, size_t size, struct arena *arena)
{
    void *values = arena_alloc(arena, size ? size : 1);
    if (table)
        option_set_defaults(table, values, arena);
    return values;
}

ibid_code source_options_fill(const struct connector_ops *ops, struct str json, struct arena *arena,
                              void **ret, ibid_error *err)
{
    *ret = filled_options(ops->source_options, ops->source_options_size, arena);
    return options_from_json(ops->source_options, *ret, json, arena, err);
}

ibid_code source_connect(const struct source *source, struct arena *arena, void **ret_options,
                         struct connector **ret, ibid_error *err)
{
    const char *type = arena_memdup0(arena, source->connector_type.data, source->connector_type.size);
    const struct connector_ops *ops = connector_find(type);
    if (!ops)
        return fail(err, IBID_EUNSUPPORTED, "there is no connector '%s' in this version", type);
    void *options = filled_options(ops->options, ops->options_size, arena);
    TRY(options_from_json(ops->options, options, source->connector_options, arena, err));
    TRY(source_options_fill(ops, source->options, arena, ret_options, err));
    return connector_open(ops, options, ret, err);
}

/* ---- recipe ---- */

const char *counter_fingerprint(const struct token_counter *counter, struct arena *arena)
{
    static const char *const probes[] = {
        "The boiling point of water depends on the pressure.",
        "Internationalization of pneumonoultramicroscopic hyperparameters, e.g. 3.14159!",
        "Größere Übungsaufgaben mit Straßenverkehrsordnung",
        "данные и знания, naïve café, Ελληνικά, العربية, עברית",
        "漢字かな交じり文と한국어 문장",
        "int main(void) { return snake_case + camelCase; }",
    };
    size_t counts[COUNT_OF(probes) + 2] = {counter->special_tokens, counter->max_tokens};
    for (size_t i = 0; i < COUNT_OF(probes); i++)
        counts[i + 2] = counter->count(counter, str_from(probes[i]));
    return arena_printf(arena, "%016llx", (unsigned long long)checksum64(counts, sizeof counts, 0));
}

/* What the collection says of its chunking goes over the settings. */
static ibid_code read_chunking(const struct collection *collection, const struct ingest_settings *settings,
                               struct arena *arena, struct recipe *recipe, ibid_error *err)
{
    static const char *const keys[] = {"size", "overlap_percent", "heading_tokens", NULL};
    AUTO_JSON *object = NULL;
    TRY(json_parse(collection->chunking.size ? collection->chunking : STR("{}"), &object, err));
    int64_t size = settings->chunk_size, overlap = settings->chunk_overlap,
            heading = settings->heading_tokens;
    TRY(json_check_keys(object, keys, err));
    TRY(json_get_int(object, "size", 16, 8192, &size, err));
    TRY(json_get_int(object, "overlap_percent", 0, 50, &overlap, err));
    TRY(json_get_int(object, "heading_tokens", 0, 1024, &heading, err));
    recipe->chunking = (struct chunking){.size = (uint32_t)size,
                                         .overlap_percent = (uint32_t)overlap,
                                         .heading_tokens = (uint32_t)heading,
                                         .language = ""};
    const char *name = collection->chunker.size
                           ? arena_memdup0(arena, collection->chunker.data, collection->chunker.size)
                           : settings->chunker;
    recipe->chunker = chunker_find(name);
    if (!recipe->chunker)
        return fail(err, IBID_EINVAL, "there is no chunker '%s'", name);
    return IBID_OK;
}

static ibid_code make_recipe(struct ingest_host *host, int64_t collection_id, struct arena *arena,
                             struct recipe *recipe, ibid_error *err)
{
    /* Opening the embedder may read a model or ask another machine: not while others wait to write. */
    struct embedder *embedder = host->embedder(host);
    const struct token_counter *counter = host->counter(host);
    const char *counting = counter_fingerprint(counter, arena);
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(host->metadata, TRANSACTION_WRITE, &transaction, err));
    struct collection collection;
    TRY(collection_load_serving(transaction, collection_id, arena, &collection, err));
    *recipe = (struct recipe){.collection_id = collection_id,
                              .counter = counter,
                              .embedder = embedder,
                              .embedder_fingerprint = embedder ? embedder->info.fingerprint : ""};
    if (!embedder && collection.embedder_fingerprint.size)
        recipe->missing_embedder = arena_memdup0(arena, collection.embedder.data, collection.embedder.size);
    recipe->collection_language = arena_memdup0(arena, collection.language.data, collection.language.size);
    ibid_code code = read_chunking(&collection, host->settings, arena, recipe, err);
    if (code != IBID_OK) {
        error_context(err, "chunking of collection '%.*s'", STR_ARG(collection.name));
        return code;
    }
    recipe->chunking_fingerprint = chunker_fingerprint(recipe->chunker, &recipe->chunking, counting, arena);
    if (embedder)
        TRY(collection_set_embedder(
            transaction, collection_id,
            &(struct collection_embedder){.id = str_from(embedder->info.id),
                                          .fingerprint = str_from(embedder->info.fingerprint),
                                          .options =
                                              embedder->options ? str_from(embedder->options) : STR("{}"),
                                          .dimension = (uint32_t)embedder->info.dimension},
            err));
    return transaction_commit(transaction_take(&transaction), err);
}

/* ---- origin ---- */

static ibid_code load_origin(struct ingest_host *host, int64_t source_id, struct origin *origin,
                             ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(host->metadata, TRANSACTION_READ, &transaction, err));
    TRY(source_load(transaction, source_id, &origin->arena, &origin->source, err));
    transaction_rollback(transaction_take(&transaction));
    origin->location =
        arena_memdup0(&origin->arena, origin->source.location.data, origin->source.location.size);
    TRY(make_recipe(host, origin->source.collection_id, &origin->arena, &origin->recipe, err));
    if (origin->source.connector_id == UPLOAD_CONNECTOR_ID)
        return IBID_OK;
    const ibid_code code =
        source_connect(&origin->source, &origin->arena, &origin->source_options, &origin->connector, err);
    if (code != IBID_OK)
        error_context(err, "source '%.*s'", STR_ARG(origin->source.location));
    return code;
}

ibid_code origin_open(struct ingest_host *host, int64_t source_id, struct origin **ret, ibid_error *err)
{
    struct origin *origin = xcalloc(1, sizeof *origin);
    ibid_code code = load_origin(host, source_id, origin, err);
    if (code != IBID_OK) {
        origin_close(origin);
        return code;
    }
    *ret = origin;
    return IBID_OK;
}

void origin_close(struct origin *origin)
{
    if (!origin)
        return;
    connector_close(origin->connector);
    arena_release(&origin->arena);
    free(origin);
}

ibid_code origin_fetch(struct ingest_host *host, struct origin *origin, struct str external_key,
                       struct arena *arena, struct connector_item *ret_item, int *ret_fd, ibid_error *err)
{
    return connector_fetch(origin->connector, origin->location, origin->source_options, external_key,
                           host->max_file_size, arena, ret_item, ret_fd, err);
}
