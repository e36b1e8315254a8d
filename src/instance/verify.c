/* Checks what is stored, member by member. */
#include <stdlib.h>

#include "base/memory.h"
#include "ingest/blobs.h"
#include "instance/follower.h"
#include "instance/parts.h"
#include "records/collection.h"
#include "records/verify.h"

struct findings {
    struct arena *arena;
    const struct watch *watch;
    struct instance_finding *items;
    size_t count, capacity;
};

static void add(struct findings *findings, const char *place, const char *problem, bool repaired)
{
    GROW(findings->items, findings->count, findings->capacity);
    findings->items[findings->count++] = (struct instance_finding){
        arena_strdup(findings->arena, place), arena_strdup(findings->arena, problem), repaired};
}

/* Damage that a check runs into, rather than names, is a finding as well. */
static ibid_code add_damage(struct findings *findings, const char *place, ibid_code code,
                            const ibid_error *problem, ibid_error *err)
{
    if (code == IBID_ECORRUPT)
        add(findings, place, problem->message, false);
    else if (code != IBID_OK && err)
        *err = *problem;
    return code == IBID_ECORRUPT ? IBID_OK : code;
}

/* The file first: rows of a damaged one are not worth looking at, and nothing may be written to it. */
static ibid_code verify_file(struct instance *instance, struct findings *findings, ibid_error *err)
{
    const char **problems;
    size_t count;
    TRY(metadata_store_check(instance->metadata, findings->watch, findings->arena, &problems, &count, err));
    for (size_t i = 0; i < count; i++)
        add(findings, "records", problems[i], false);
    return IBID_OK;
}

static ibid_code verify_records(struct instance *instance, bool repair, struct findings *findings,
                                ibid_error *err)
{
    struct record_finding *found;
    size_t count;
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(instance->metadata, repair ? TRANSACTION_WRITE : TRANSACTION_READ, &transaction,
                          err));
    TRY(records_verify(transaction, repair, findings->watch, findings->arena, &found, &count, err));
    TRY(transaction_commit(transaction_take(&transaction), err));
    for (size_t i = 0; i < count; i++)
        add(findings, arena_printf(findings->arena, "records, %s", found[i].place), found[i].problem,
            found[i].repaired);
    return IBID_OK;
}

static void add_blob_finding(const char *problem, bool repaired, void *context)
{
    add(context, "blobs", problem, repaired);
}

static ibid_code verify_collection(struct instance *instance, const struct collection *collection,
                                   bool repair, struct findings *findings, ibid_error *err)
{
    struct vector_store_finding *found;
    size_t count = 0;
    ibid_error problem = {0};
    const ibid_code code = vector_store_verify(instance->vectors, collection->id, repair, findings->watch,
                                               findings->arena, &found, &count, &problem);
    for (size_t i = 0; i < count; i++)
        add(findings, arena_printf(findings->arena, "index, %s", found[i].place), found[i].problem,
            found[i].repaired);
    const char *place = arena_printf(findings->arena, "index, collection %lld", (long long)collection->id);
    if (code == IBID_ENOTFOUND && collection->role == COLLECTION_SUCCESSOR)
        return IBID_OK; /* it was begun after the index had been waited for */
    return add_damage(findings, place, code, &problem, err);
}

static ibid_code verify_index(struct instance *instance, bool repair, struct findings *findings,
                              ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    struct collection *collections;
    size_t count;
    TRY(transaction_begin(instance->metadata, TRANSACTION_READ, &transaction, err));
    TRY(collection_list(transaction, findings->arena, &collections, &count, err));
    transaction_rollback(transaction_take(&transaction));
    for (size_t i = 0; i < count; i++)
        if (collections[i].role != COLLECTION_RETIRED) /* the follower does away with it */
            TRY(verify_collection(instance, &collections[i], repair, findings, err));
    return IBID_OK;
}

/* With the index standing still. */
static ibid_code verify_paused(struct instance *instance, bool repair, struct findings *findings,
                               ibid_error *err)
{
    TRY(verify_records(instance, repair, findings, err));
    return verify_index(instance, repair, findings, err);
}

/* What keeps the index from following may be the very damage to be found and repaired: so it is no reason not
 * to look, but a finding if it is still there afterwards. */
static ibid_code verify_all(struct instance *instance, bool repair, struct findings *findings,
                            ibid_error *err)
{
    ibid_error problem = {0};
    if (instance_index_await(instance, findings->watch, &problem) == IBID_ECANCELED)
        return fail(err, IBID_ECANCELED, "%s", problem.message);
    TRY(verify_file(instance, findings, err));
    if (findings->count)
        return IBID_OK;
    follower_pause(instance->follower);
    const ibid_code code = verify_paused(instance, repair, findings, err);
    follower_resume(instance->follower);
    TRY(code);
    TRY(ingest_check_blobs(instance->ingest, repair, findings->watch, add_blob_finding, findings, err));
    const ibid_code settled = instance_index_await(instance, findings->watch, &problem);
    if (settled == IBID_OK || settled == IBID_ECANCELED)
        return IBID_OK;
    if (settled != IBID_ECORRUPT && findings->count == 0) /* nothing is damaged; a full disk, say */
        return fail(err, settled, "what is stored is in order, but the index does not follow: %s",
                    problem.message);
    add(findings, "index", arena_printf(findings->arena, "does not follow: %s", problem.message), false);
    return IBID_OK;
}

ibid_code instance_verify(struct instance *instance, bool repair, const struct watch *watch,
                          struct arena *arena, struct instance_finding **ret, size_t *ret_count,
                          ibid_error *err)
{
    struct findings findings = {.arena = arena, .watch = watch};
    ibid_error problem = {0};
    ibid_code code = verify_all(instance, repair, &findings, &problem);
    code = add_damage(&findings, "records", code, &problem, err);
    if (code == IBID_OK) {
        struct instance_finding *items = ARENA_ARRAY(arena, struct instance_finding, findings.count);
        for (size_t i = 0; i < findings.count; i++)
            items[i] = findings.items[i];
        *ret = items;
        *ret_count = findings.count;
    }
    free(findings.items);
    return code;
}
