#include "ingest/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"

const char *ingest_stage_string(enum ingest_stage stage)
{
    static const char *const strings[STAGE_COUNT] = {
        [STAGE_DISCOVER] = "discover", [STAGE_FETCH] = "fetch", [STAGE_EXTRACT] = "extract",
        [STAGE_CHUNK] = "chunk",       [STAGE_EMBED] = "embed", [STAGE_PUBLISH] = "publish"};
    return strings[stage];
}

void progress_init(struct progress *progress)
{
    *progress = (struct progress){.started_us = clock_monotonic_us()};
    pthread_mutex_init(&progress->lock, NULL);
    progress->status.started_at = clock_now_us();
    progress->status.state = RUN_RUNNING;
    progress->status.listing = true;
}

void progress_release(struct progress *progress)
{
    pthread_mutex_destroy(&progress->lock);
}

/* The status, locked until given back with unlock(). */
static struct ingest_status *lock(struct progress *progress)
{
    pthread_mutex_lock(&progress->lock);
    return &progress->status;
}

static void unlock(struct progress *progress)
{
    pthread_mutex_unlock(&progress->lock);
}

void progress_listed(struct progress *progress, int64_t discovered, int64_t unchanged, int64_t total,
                     int64_t total_bytes)
{
    struct ingest_status *status = lock(progress);
    status->progress.discovered += discovered;
    status->progress.unchanged += unchanged;
    status->total += total;
    status->total_bytes += total_bytes;
    unlock(progress);
}

void progress_listing_over(struct progress *progress)
{
    lock(progress)->listing = false;
    unlock(progress);
}

static void sample(struct progress *progress)
{
    const int64_t now = clock_monotonic_us();
    struct rate_sample *samples = progress->samples;
    if (progress->sample_count && now - samples[progress->sample_count - 1].at_us < SECOND_US / 2)
        return;
    if (progress->sample_count == RATE_SAMPLES) {
        memmove(samples, samples + 1, (RATE_SAMPLES - 1) * sizeof *samples);
        progress->sample_count--;
    }
    samples[progress->sample_count++] = (struct rate_sample){
        .at_us = now, .done = progress->status.done, .bytes = progress->status.done_bytes};
}

void progress_worked(struct progress *progress, int64_t bytes)
{
    lock(progress)->done_bytes += bytes;
    sample(progress);
    unlock(progress);
}

void progress_done(struct progress *progress, int64_t bytes)
{
    struct ingest_status *status = lock(progress);
    status->done++;
    status->done_bytes += bytes > 0 ? bytes : 0;
    sample(progress);
    unlock(progress);
}

void progress_indexed(struct progress *progress, int64_t chunks, int64_t bytes, int64_t tokens)
{
    struct ingest_status *status = lock(progress);
    status->progress.indexed++;
    status->progress.chunks += chunks;
    status->progress.bytes += bytes > 0 ? bytes : 0;
    status->tokens += tokens;
    unlock(progress);
}

void progress_unchanged(struct progress *progress, bool moved)
{
    struct ingest_status *status = lock(progress);
    status->progress.unchanged++;
    status->moved += moved;
    unlock(progress);
}

void progress_removed(struct progress *progress, int64_t count)
{
    lock(progress)->progress.removed += count;
    unlock(progress);
}

static void count_reason(struct ingest_status *status, enum ledger_outcome outcome, const char *stage,
                         struct str reason)
{
    reason = str_slice(reason, 0, str_find(reason, ':'));
    reason = str_slice(reason, 0, utf8_floor(reason, INGEST_REASON_SIZE - 1));
    for (size_t i = 0; i < status->reason_count; i++) {
        struct ingest_reason *known = &status->reasons[i];
        if (known->outcome == outcome && known->stage == stage && str_is(reason, known->reason)) {
            known->count++;
            return;
        }
    }
    if (status->reason_count == INGEST_REASON_LIMIT) {
        status->reasons[INGEST_REASON_LIMIT - 1].count++;
        return;
    }
    struct ingest_reason *added = &status->reasons[status->reason_count++];
    *added = (struct ingest_reason){.outcome = outcome, .stage = stage, .count = 1};
    if (status->reason_count == INGEST_REASON_LIMIT)
        reason = STR("other");
    memcpy(added->reason, reason.data, reason.size);
}

void progress_refused(struct progress *progress, enum ledger_outcome outcome, enum ingest_stage stage,
                      struct str reason)
{
    struct ingest_status *status = lock(progress);
    if (outcome == LEDGER_SKIPPED)
        status->progress.skipped++;
    else
        status->progress.failed++;
    count_reason(status, outcome, ingest_stage_string(stage), reason);
    unlock(progress);
}

void progress_embedded(struct progress *progress, int64_t embedded, int64_t reused)
{
    struct ingest_status *status = lock(progress);
    status->embedded += embedded;
    status->reused += reused;
    unlock(progress);
}

void progress_pending(struct progress *progress, int64_t pending)
{
    lock(progress)->pending += pending;
    unlock(progress);
}

void progress_backlog(struct progress *progress, int64_t chunks)
{
    lock(progress)->backlog += chunks;
    if (chunks > 0 && progress->backlog_us == 0)
        progress->backlog_us = clock_monotonic_us();
    unlock(progress);
}

void progress_backlog_done(struct progress *progress, int64_t chunks)
{
    lock(progress)->backlog_done += chunks;
    unlock(progress);
}

void progress_reading(struct progress *progress, struct reading *reading, const char *name)
{
    *reading = (struct reading){.name = name, .since_us = clock_monotonic_us()};
    lock(progress);
    struct reading **place = &progress->oldest;
    while (*place)
        place = &(*place)->next;
    *place = reading;
    unlock(progress);
}

static void note_current(struct ingest_status *status, const char *name)
{
    const struct str shown = str_from(name);
    const struct str front = str_slice(shown, 0, utf8_floor(shown, sizeof status->current - 1));
    memcpy(status->current, front.data, front.size);
    status->current[front.size] = '\0';
}

/* It stays the one that is shown while no other is read. */
void progress_reading_over(struct progress *progress, struct reading *reading)
{
    struct ingest_status *status = lock(progress);
    struct reading **place = &progress->oldest;
    while (*place != reading)
        place = &(*place)->next;
    *place = reading->next;
    note_current(status, reading->name);
    unlock(progress);
}

void progress_spent(struct progress *progress, enum ingest_stage stage, int64_t since_us)
{
    const int64_t spent = clock_monotonic_us() - since_us;
    lock(progress)->stage_us[stage] += spent;
    unlock(progress);
}

void progress_end(struct progress *progress, enum run_state state, const char *message)
{
    struct ingest_status *status = lock(progress);
    status->state = state;
    status->listing = false;
    status->finished_at = clock_now_us();
    status->current[0] = '\0';
    const struct str text = str_from(message);
    const size_t size = utf8_floor(text, sizeof status->message - 1);
    memcpy(status->message, text.data, size);
    status->message[size] = '\0';
    progress->ended_us = clock_monotonic_us();
    unlock(progress);
}

/* By the rate since it was begun with: chunks are alike. */
static double backlog_time_left(const struct progress *progress, int64_t now)
{
    const struct ingest_status *status = &progress->status;
    const double span = (double)(now - progress->backlog_us) / SECOND_US;
    return span > 0.5 && status->backlog_done > 0
               ? span / (double)status->backlog_done * (double)(status->backlog - status->backlog_done)
               : NAN;
}

/* By the rate of the last seconds: in bytes, for documents differ in size, or in documents where the source
 * tells no sizes. */
static double time_left(const struct progress *progress, int64_t now)
{
    const struct ingest_status *status = &progress->status;
    if (progress->ended_us || progress->sample_count == 0)
        return NAN;
    if (status->done == status->total && progress->backlog_us)
        return backlog_time_left(progress, now);
    const struct rate_sample *first = &progress->samples[0];
    const double span = (double)(now - first->at_us) / SECOND_US;
    const double bytes = (double)(status->done_bytes - first->bytes),
                 left = (double)(status->total - status->done);
    if (span < 0.5)
        return NAN;
    if (status->total_bytes > 0)
        return bytes > 0 ? (double)(status->total_bytes - status->done_bytes) / bytes * span : NAN;
    const double documents = (double)(status->done - first->done);
    return documents > 0 ? left / documents * span : NAN;
}

static int more_frequent(const void *a, const void *b)
{
    const struct ingest_reason *left = a, *right = b;
    return (left->count < right->count) - (left->count > right->count);
}

void progress_read(struct progress *progress, struct ingest_status *ret)
{
    pthread_mutex_lock(&progress->lock);
    *ret = progress->status;
    const int64_t now = progress->ended_us ? progress->ended_us : clock_monotonic_us();
    ret->seconds = (double)(now - progress->started_us) / SECOND_US;
    ret->seconds_left = time_left(progress, now);
    if (progress->oldest && !progress->ended_us) {
        note_current(ret, progress->oldest->name);
        ret->current_seconds = (double)(now - progress->oldest->since_us) / SECOND_US;
    }
    const struct rate_sample start = {.at_us = progress->started_us};
    const struct rate_sample *from =
        progress->ended_us || progress->sample_count == 0 ? &start : &progress->samples[0];
    const double span = (double)(now - from->at_us) / SECOND_US;
    ret->documents_per_second = span > 0 ? (double)(ret->done - from->done) / span : 0;
    pthread_mutex_unlock(&progress->lock);
    qsort(ret->reasons, ret->reason_count, sizeof ret->reasons[0], more_frequent);
}

struct run_progress progress_counts(struct progress *progress)
{
    const struct run_progress counts = lock(progress)->progress;
    unlock(progress);
    return counts;
}
