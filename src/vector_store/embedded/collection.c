#include "vector_store/embedded/collection.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "model/terms.h"
#include "vector_store/embedded/bitmap.h"
#include "vector_store/embedded/image.h"
#include "vector_store/embedded/manifest.h"
#include "vector_store/embedded/row_set.h"

/* ---- opening ---- */

/* Everything that decides what a segment holds: another one means that all of it is built anew. */
static char *full_fingerprint(const struct vector_space *space)
{
    AUTO_BUFFER keys = BUFFER(65536);
    for (const struct filter_key *key = filter_keys; key->name; key++)
        buffer_printf(&keys, "%s:%d:%d;", key->name, (int)key->type, key->multiple);
    return xasprintf("%s | %s | format %d | rotation %llx | keys %llx", space->fingerprint,
                     analyzer_fingerprint(), SEGMENT_VERSION, (unsigned long long)ROTATION_SEED,
                     (unsigned long long)checksum64(keys.data, keys.size, 0));
}

static struct collection *collection_new(const char *folder, const struct vector_space *space,
                                         const struct row_source *source)
{
    struct collection *collection = xcalloc(1, sizeof *collection);
    atomic_init(&collection->references, 1);
    collection->id = space->collection_id;
    collection->dimension = space->dimension;
    collection->fingerprint = full_fingerprint(space);
    collection->folder = xstrdup(folder);
    collection->source = source;
    collection->rotation = space->dimension ? rotation_new(space->dimension) : NULL;
    collection->next_number = 1;
    collection->snapshot = snapshot_new(0, 0);
    pthread_mutex_init(&collection->writer, NULL);
    pthread_mutex_init(&collection->lock, NULL);
    return collection;
}

struct collection *collection_ref(struct collection *collection)
{
    atomic_fetch_add(&collection->references, 1);
    return collection;
}

void collection_unref(struct collection *collection)
{
    if (!collection || atomic_fetch_sub(&collection->references, 1) != 1)
        return;
    snapshot_unref(collection->snapshot);
    rotation_free(collection->rotation);
    pthread_mutex_destroy(&collection->writer);
    pthread_mutex_destroy(&collection->lock);
    free(collection->holes);
    free(collection->fingerprint);
    free(collection->folder);
    free(collection);
}

bool collection_is_for(const struct collection *collection, const struct vector_space *space)
{
    AUTO_FREE char *fingerprint = full_fingerprint(space);
    return collection->dimension == space->dimension && strcmp(collection->fingerprint, fingerprint) == 0;
}

static void add_hole(struct collection *collection, const struct manifest_segment *named)
{
    collection->holes = xrealloc(collection->holes, collection->hole_count + 1, sizeof *collection->holes);
    collection->holes[collection->hole_count++] =
        (struct hole){named->number, named->seq_low, named->seq_high};
    atomic_store(&collection->open_holes, collection->hole_count);
}

static struct dead *read_dead(const struct segment *segment, const struct manifest_segment *named)
{
    struct dead *dead = dead_new(segment);
    if (!row_set_add(named->dead.data, named->dead.size, segment->rows, dead->bits)) {
        dead_unref(dead);
        return NULL;
    }
    dead->count = bitmap_count(dead->bits, segment->words);
    dead->words = named->dead_words;
    return dead;
}

/* A segment that cannot be read or is not the one that was meant becomes a hole. */
static void open_named(struct collection *collection, const struct manifest_segment *named)
{
    AUTO_FREE char *path = segment_path(collection->folder, named->number);
    struct segment *segment;
    if (segment_open(path, named->number, &segment, NULL) != IBID_OK) {
        add_hole(collection, named);
        return;
    }
    struct dead *dead = named->dead.size ? read_dead(segment, named) : NULL;
    if ((named->dead.size && !dead) || segment->rows != named->rows ||
        segment->header->seq_low != named->seq_low || segment->header->seq_high != named->seq_high ||
        segment->header->dimension != collection->dimension) {
        segment_unref(segment);
        dead_unref(dead);
        add_hole(collection, named);
        return;
    }
    snapshot_add(collection->snapshot, segment, dead);
}

/* False when there is nothing usable: no manifest, a damaged one, or one of another space. */
static ibid_code open_manifest(struct collection *collection, bool *ret_opened, ibid_error *err)
{
    AUTO_FREE char *path = path_join(collection->folder, MANIFEST_NAME);
    AUTO_BUFFER bytes = BUFFER(MANIFEST_LIMIT);
    AUTO_ARENA arena = ARENA_INIT;
    struct manifest manifest;
    *ret_opened = false;
    if (!file_exists(path))
        return IBID_OK;
    TRY(file_read(path, &bytes, err));
    if (manifest_parse(buffer_str(&bytes), &arena, &manifest, NULL) != IBID_OK ||
        manifest.collection_id != collection->id || manifest.dimension != collection->dimension ||
        !str_is(manifest.fingerprint, collection->fingerprint))
        return IBID_OK;
    snapshot_unref(collection->snapshot);
    collection->snapshot = snapshot_new(manifest.count, manifest.durable);
    collection->next_number = manifest.next_number;
    atomic_store(&collection->durable, manifest.durable);
    for (uint32_t i = 0; i < manifest.count; i++)
        open_named(collection, &manifest.segments[i]);
    *ret_opened = true;
    return IBID_OK;
}

/* Removes the files of the folder that the snapshot does not name; failing to is not worth an error. */
static void sweep(struct collection *collection, const struct snapshot *snapshot)
{
    DIR *directory = opendir(collection->folder);
    if (!directory)
        return;
    struct dirent *entry;
    while ((entry = readdir(directory))) {
        const struct str name = str_from(entry->d_name);
        bool named = !str_ends_with(name, ".seg") && !str_ends_with(name, ".partial");
        for (size_t i = 0; i < snapshot->count && !named; i++) {
            AUTO_FREE char *path = segment_path(collection->folder, snapshot->parts[i].segment->number);
            named = snapshot->parts[i].segment->number && str_equal(path_base_name(str_from(path)), name);
        }
        if (!named)
            unlinkat(dirfd(directory), entry->d_name, 0);
    }
    closedir(directory);
}

ibid_code collection_open(const char *folder, const struct vector_space *space,
                          const struct row_source *source, const struct embedded_options *options,
                          struct collection **ret, ibid_error *err)
{
    struct collection *collection = collection_new(folder, space, source);
    collection->options = *options;
    bool opened = false;
    ibid_code code = open_manifest(collection, &opened, err);
    if (code == IBID_OK && !opened) {
        code = folder_remove(folder, err);
        if (code == IBID_OK)
            code = folder_make(folder, err);
    }
    if (code != IBID_OK) {
        collection_unref(collection);
        return code;
    }
    if (collection->hole_count == 0)
        sweep(collection, collection->snapshot);
    *ret = collection;
    return IBID_OK;
}

/* ---- changing ---- */

ibid_code collection_begin_change(struct collection *collection, ibid_error *err)
{
    pthread_mutex_lock(&collection->writer);
    if (!collection->retired)
        return IBID_OK;
    pthread_mutex_unlock(&collection->writer);
    return fail(err, IBID_ENOTFOUND, "collection %lld was dropped or built anew meanwhile: search again",
                (long long)collection->id);
}

void collection_end_change(struct collection *collection)
{
    pthread_mutex_unlock(&collection->writer);
}

void collection_retire(struct collection *collection)
{
    pthread_mutex_lock(&collection->writer);
    collection->retired = true;
    pthread_mutex_unlock(&collection->writer);
}

/* ---- states ---- */

struct snapshot *collection_snapshot(struct collection *collection)
{
    pthread_mutex_lock(&collection->lock);
    struct snapshot *snapshot = snapshot_ref(collection->snapshot);
    pthread_mutex_unlock(&collection->lock);
    return snapshot;
}

void collection_publish(struct collection *collection, struct snapshot *take_snapshot)
{
    pthread_mutex_lock(&collection->lock);
    struct snapshot *old = collection->snapshot;
    collection->snapshot = take_snapshot;
    pthread_mutex_unlock(&collection->lock);
    snapshot_unref(old);
}

struct image_target collection_next_file(struct collection *collection)
{
    return (struct image_target){collection->folder, collection->next_number++};
}

static struct str dead_bytes(const struct part *part, struct arena *arena)
{
    if (!part->dead || part->dead->count == 0)
        return STR_EMPTY;
    uint16_t *members = ARENA_ARRAY(arena, uint16_t, part->dead->count);
    struct bitmap_walk walk = bitmap_walk(part->dead->bits, part->segment->words);
    uint32_t count = 0, row;
    while (bitmap_next(&walk, &row))
        members[count++] = (uint16_t)row;
    AUTO_BUFFER bytes = BUFFER(SEGMENT_ROWS);
    row_set_append(&bytes, members, count, part->segment->rows);
    return arena_str(arena, buffer_str(&bytes));
}

static ibid_code write_manifest(struct collection *collection, const struct snapshot *snapshot,
                                int64_t durable, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct manifest manifest = {
        .collection_id = collection->id,
        .dimension = collection->dimension,
        .fingerprint = str_from(collection->fingerprint),
        .durable = durable,
        .next_number = collection->next_number,
        .segments = ARENA_ARRAY(&arena, struct manifest_segment, snapshot->count),
    };
    for (size_t i = 0; i < snapshot->count; i++) {
        const struct part *part = &snapshot->parts[i];
        const struct segment_header *header = part->segment->header;
        if (part->segment->number)
            manifest.segments[manifest.count++] = (struct manifest_segment){
                .number = part->segment->number,
                .seq_low = header->seq_low,
                .seq_high = header->seq_high,
                .rows = header->rows,
                .dead_words = part->dead ? part->dead->words : 0,
                .dead = dead_bytes(part, &arena),
            };
    }
    AUTO_BUFFER bytes = BUFFER(MANIFEST_LIMIT);
    manifest_append(&manifest, &bytes);
    TRY(buffer_check(&bytes, "the index manifest", err));
    AUTO_FREE char *path = path_join(collection->folder, MANIFEST_NAME);
    return file_write_atomically(path, bytes.data, bytes.size, 0600, err);
}

ibid_code collection_commit(struct collection *collection, struct snapshot *take_snapshot, int64_t durable,
                            ibid_error *err)
{
    const ibid_code code = write_manifest(collection, take_snapshot, durable, err);
    if (code != IBID_OK) {
        snapshot_unref(take_snapshot);
        return code;
    }
    atomic_store(&collection->durable, durable);
    sweep(collection, take_snapshot);
    collection_publish(collection, take_snapshot);
    return IBID_OK;
}

bool collection_is_damaged(struct collection *collection)
{
    if (atomic_load(&collection->open_holes))
        return true;
    struct snapshot *snapshot = collection_snapshot(collection);
    bool damaged = false;
    for (size_t i = 0; i < snapshot->count; i++)
        damaged |= atomic_load(&snapshot->parts[i].segment->damaged);
    snapshot_unref(snapshot);
    return damaged;
}
