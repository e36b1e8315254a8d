#include "search/query_vectors.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { NONE = 0 }; /* entries count from 1 */

struct entry {
    struct sha256 key;
    int64_t made_us;
    float *vector;
    size_t dimension;
    uint32_t newer, older; /* by last use */
    uint32_t next;         /* in its bucket */
};

struct query_vectors {
    pthread_mutex_t lock;
    size_t capacity;
    int64_t keep_us;
    struct entry *entries; /* capacity + 1 */
    size_t count;
    uint32_t *buckets;
    size_t bucket_count; /* a power of two */
    uint32_t newest, oldest;
};

struct query_vectors *query_vectors_new(size_t capacity, int64_t keep_us)
{
    struct query_vectors *self = xcalloc(1, sizeof *self);
    pthread_mutex_init(&self->lock, NULL);
    self->capacity = capacity;
    self->keep_us = keep_us;
    self->entries = xcalloc(capacity + 1, sizeof *self->entries);
    for (self->bucket_count = 16; self->bucket_count < capacity;)
        self->bucket_count *= 2;
    self->buckets = xcalloc(self->bucket_count, sizeof *self->buckets);
    return self;
}

void query_vectors_free(struct query_vectors *self)
{
    if (!self)
        return;
    for (size_t i = 1; i <= self->count; i++)
        free(self->entries[i].vector);
    pthread_mutex_destroy(&self->lock);
    free(self->entries);
    free(self->buckets);
    free(self);
}

struct sha256 query_vectors_key(const struct embedder *embedder, struct str text)
{
    struct sha256_state *state = sha256_start();
    sha256_feed_field(state, str_from(embedder->info.fingerprint));
    sha256_feed_field(state, text);
    return sha256_finish(state);
}

static uint32_t *bucket_of(struct query_vectors *self, const struct sha256 *key)
{
    uint64_t hash;
    memcpy(&hash, key->bytes, sizeof hash);
    return &self->buckets[hash & (self->bucket_count - 1)];
}

static uint32_t find(struct query_vectors *self, const struct sha256 *key)
{
    uint32_t at = *bucket_of(self, key);
    while (at != NONE && !sha256_equal(&self->entries[at].key, key))
        at = self->entries[at].next;
    return at;
}

static void unlink_use(struct query_vectors *self, uint32_t at)
{
    const struct entry *entry = &self->entries[at];
    *(entry->newer ? &self->entries[entry->newer].older : &self->newest) = entry->older;
    *(entry->older ? &self->entries[entry->older].newer : &self->oldest) = entry->newer;
}

static void link_newest(struct query_vectors *self, uint32_t at)
{
    struct entry *entry = &self->entries[at];
    entry->newer = NONE;
    entry->older = self->newest;
    *(self->newest ? &self->entries[self->newest].newer : &self->oldest) = at;
    self->newest = at;
}

static void unlink_bucket(struct query_vectors *self, uint32_t at)
{
    uint32_t *link = bucket_of(self, &self->entries[at].key);
    while (*link != at)
        link = &self->entries[*link].next;
    *link = self->entries[at].next;
}

bool query_vectors_get(struct query_vectors *self, const struct sha256 *key, int64_t now_us, float *out,
                       size_t dimension)
{
    pthread_mutex_lock(&self->lock);
    uint32_t at = find(self, key);
    const struct entry *entry = &self->entries[at];
    bool found = at != NONE && entry->dimension == dimension && now_us - entry->made_us < self->keep_us;
    if (found) {
        memcpy(out, entry->vector, dimension * sizeof *out);
        unlink_use(self, at);
        link_newest(self, at);
    }
    pthread_mutex_unlock(&self->lock);
    return found;
}

/* An entry for the key: its own, a fresh one, or that of the least recently used. Linked as newest. */
static struct entry *take_entry(struct query_vectors *self, const struct sha256 *key)
{
    uint32_t at = find(self, key);
    if (at != NONE) {
        unlink_use(self, at);
    } else {
        if (self->count < self->capacity) {
            at = (uint32_t)++self->count;
        } else {
            at = self->oldest;
            unlink_use(self, at);
            unlink_bucket(self, at);
        }
        self->entries[at].key = *key;
        uint32_t *bucket = bucket_of(self, key);
        self->entries[at].next = *bucket;
        *bucket = at;
    }
    link_newest(self, at);
    return &self->entries[at];
}

void query_vectors_put(struct query_vectors *self, const struct sha256 *key, int64_t now_us,
                       const float *vector, size_t dimension)
{
    if (self->capacity == 0 || self->keep_us <= 0)
        return;
    pthread_mutex_lock(&self->lock);
    struct entry *entry = take_entry(self, key);
    entry->vector = xrealloc(entry->vector, dimension, sizeof *vector);
    memcpy(entry->vector, vector, dimension * sizeof *vector);
    entry->dimension = dimension;
    entry->made_us = now_us;
    pthread_mutex_unlock(&self->lock);
}

size_t query_vectors_count(struct query_vectors *self)
{
    pthread_mutex_lock(&self->lock);
    size_t count = self->count;
    pthread_mutex_unlock(&self->lock);
    return count;
}
