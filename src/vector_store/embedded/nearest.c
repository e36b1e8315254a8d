/* Searching by vector, in three passes that each look closer at fewer rows: codes of all selected rows, bytes
 * of the best of those, exact vectors of the last. Where few rows are selected, their bytes are looked at
 * directly. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "vector_store/embedded/bitmap.h"
#include "vector_store/embedded/codes.h"
#include "vector_store/embedded/image.h"
#include "vector_store/embedded/pool.h"
#include "vector_store/embedded/selection.h"
#include "vector_store/similarity.h"
#include "vector_store/top.h"

enum {
    CANDIDATES_MIN = 200, /* by code, whose bytes are compared in any case */
    CANDIDATES_PER_HIT = 20,
    CANDIDATES_MORE = 4,   /* times as many, as far as their error lets them reach the best */
    CANDIDATES_AGAIN = 32, /* times as many when even those were not all that may reach the best */
    CANDIDATES_LIMIT = 65536,
    CHUNK_BLOCKS = 64, /* blocks of codes looked at together */
    CHUNK_ROWS = CHUNK_BLOCKS * CODE_BLOCK_ROWS,
    VECTOR_BATCH = 256, /* exact vectors fetched at once */
};

/* Standard deviations of an estimate within which a row among the candidates may still belong to the best,
 * and within which rows outside them are worth a second scan. */
#define ERROR_BOUND 3.0f
#define ERROR_BOUND_AGAIN 2.0f
/* What a similarity by bytes may be off by: about 8 standard deviations. */
#define BYTE_ERROR 0.004f

struct search {
    struct embedded_selection *selection;
    const struct kernels *kernels;
    const float *vector; /* as asked */
    float *rotated;
    uint32_t padded;
    struct byte_query byte_query;
    struct code_query code_query;
    uint64_t *mask;      /* of the part at hand: selected rows with a vector */
    float *query_errors; /* a part: of its code query */
    struct pool coarse;  /* by code */
    struct pool fine;    /* by bytes */
    double errors;       /* standard deviations of the candidates that were asked for theirs: sum and count */
    size_t error_count;
};

/* ---- codes ---- */

/* One chunk of a part: rows from `first` on. Offers those that pass mask and threshold. */
struct code_view {
    const uint64_t *codes;
    const float *offsets, *scales;
};

static void scan_chunk(struct search *search, const struct code_view *view, uint32_t part, uint32_t first,
                       uint32_t end)
{
    uint32_t blocks[CHUNK_BLOCKS + 1];
    uint64_t above[CHUNK_BLOCKS / 8];
    int32_t dots[CHUNK_ROWS];
    float estimates[CHUNK_ROWS];
    const unsigned char *mask = (const unsigned char *)search->mask;
    size_t count = 0;
    for (uint32_t block = first / 8; block < (end + 7) / 8; block++) {
        blocks[count] = block;
        count += mask[block] != 0;
    }
    if (count >= CHUNK_BLOCKS / 2) /* reading on is faster than leaping */
        for (count = 0; count < (end + 7) / 8 - first / 8; count++)
            blocks[count] = first / 8 + (uint32_t)count;
    if (count == 0)
        return;
    search->kernels->dot_codes(view->codes, search->padded / 64, search->code_query.planes, blocks, count,
                               dots);
    search->kernels->estimate(dots, view->offsets, view->scales, blocks, count, &search->code_query.terms,
                              estimates);
    const size_t groups = (count + 7) / 8;
    for (size_t i = count * 8; i < groups * 64; i++)
        estimates[i] = -INFINITY;
    search->kernels->at_least(estimates, groups * 64, search->coarse.threshold, above);
    for (size_t group = 0; group < groups; group++) {
        uint64_t rest = above[group];
        for (; rest; rest &= rest - 1) {
            const size_t at = group * 64 + (size_t)__builtin_ctzll(rest);
            const uint32_t block = blocks[at / 8 < count ? at / 8 : 0];
            if (at < count * 8 && mask[block] >> (at % 8) & 1)
                pool_offer(&search->coarse, estimates[at], part, block * 8 + (uint32_t)(at % 8));
        }
    }
}

static ibid_code scan_codes(struct search *search, uint32_t index, ibid_error *err)
{
    struct segment *segment = search->selection->parts[index].segment;
    const float *centroid = segment_section(segment, SECTION_CENTROID);
    const struct code_view view = {segment_section(segment, SECTION_CODES),
                                   segment_section(segment, SECTION_CODE_OFFSETS),
                                   segment_section(segment, SECTION_CODE_SCALES)};
    if (!centroid || !view.codes || !view.offsets || !view.scales)
        return segment_damage(segment, err);
    code_query_aim(&search->code_query, search->rotated, centroid, search->padded);
    search->query_errors[index] = search->code_query.error;
    for (uint32_t first = 0; first < segment->rows; first += CHUNK_ROWS) {
        const uint32_t end = segment->rows - first < CHUNK_ROWS ? segment->rows : first + CHUNK_ROWS;
        scan_chunk(search, &view, index, first, end);
    }
    return IBID_OK;
}

/* ---- bytes ---- */

static ibid_code similarity_by_bytes(struct search *search, struct segment *segment, uint32_t row, float *ret,
                                     ibid_error *err)
{
    const int8_t *bytes =
        segment_read(segment, SECTION_VECTORS, (size_t)row * search->padded, search->padded);
    const float *scale = segment_read(segment, SECTION_SCALES, row * sizeof *scale, sizeof *scale);
    if (!bytes || !scale)
        return segment_damage(segment, err);
    *ret = (float)search->kernels->dot_bytes(bytes, search->byte_query.coordinates, search->padded) * *scale *
           search->byte_query.scale;
    return IBID_OK;
}

static void prefetch_vector(const struct search *search, const struct segment *segment, uint32_t row)
{
    const unsigned char *bytes =
        segment->data + segment->header->sections[SECTION_VECTORS].offset + (size_t)row * search->padded;
    for (uint32_t at = 0; at < search->padded; at += 64)
        __builtin_prefetch(bytes + at);
}

static ibid_code scan_bytes(struct search *search, uint32_t index, ibid_error *err)
{
    enum { AHEAD = 8 };
    struct segment *segment = search->selection->parts[index].segment;
    struct bitmap_walk walk = bitmap_walk(search->mask, segment->words), ahead = walk;
    uint32_t row, coming;
    for (int i = 0; i < AHEAD && bitmap_next(&ahead, &coming); i++)
        prefetch_vector(search, segment, coming);
    while (bitmap_next(&walk, &row)) {
        float similarity;
        if (bitmap_next(&ahead, &coming))
            prefetch_vector(search, segment, coming);
        TRY(similarity_by_bytes(search, segment, row, &similarity, err));
        pool_offer(&search->fine, similarity, index, row);
    }
    return IBID_OK;
}

static ibid_code offer_by_bytes(struct search *search, const struct place *place, ibid_error *err)
{
    float similarity;
    TRY(similarity_by_bytes(search, search->selection->parts[place->part].segment, place->row, &similarity,
                            err));
    pool_offer(&search->fine, similarity, place->part, place->row);
    return IBID_OK;
}

/* Whether the error of its estimate lets the place reach `wanted`. */
static ibid_code can_reach(struct search *search, const struct place *place, float wanted, bool *ret,
                           ibid_error *err)
{
    struct segment *segment = search->selection->parts[place->part].segment;
    const size_t at = place->row * sizeof(float);
    const float *offset = segment_read(segment, SECTION_CODE_OFFSETS, at, sizeof *offset);
    const float *scale = segment_read(segment, SECTION_CODE_SCALES, at, sizeof *scale);
    if (!offset || !scale)
        return segment_damage(segment, err);
    const float error =
        code_error((struct code_factors){*offset, *scale}, segment->header->centroid_square, search->padded) *
        search->query_errors[place->part];
    search->errors += error;
    search->error_count++;
    *ret = place->score + ERROR_BOUND * error >= wanted;
    return IBID_OK;
}

/* Bytes of the best `sure` candidates, then of those others that may be better than they look. */
static ibid_code rescore_candidates(struct search *search, size_t sure, size_t k, ibid_error *err)
{
    struct pool *coarse = &search->coarse;
    pool_shrink(coarse);
    if (coarse->count < sure)
        sure = coarse->count;
    pool_partition(coarse, sure);
    for (size_t i = 0; i < sure; i++)
        prefetch_vector(search, search->selection->parts[coarse->items[i].part].segment,
                        coarse->items[i].row);
    for (size_t i = 0; i < sure; i++)
        TRY(offer_by_bytes(search, &coarse->items[i], err));
    pool_partition(&search->fine, k);
    const float wanted = pool_least(&search->fine, k);
    for (size_t i = sure; i < coarse->count; i++) {
        bool may;
        TRY(can_reach(search, &coarse->items[i], wanted, &may, err));
        if (may)
            TRY(offer_by_bytes(search, &coarse->items[i], err));
    }
    return IBID_OK;
}

/* ---- exact vectors ---- */

struct exact_batch {
    int64_t row_ids[VECTOR_BATCH];
    float by_bytes[VECTOR_BATCH];
    size_t count;
};

static bool is_zero(const float *vector, uint32_t dimension)
{
    for (uint32_t i = 0; i < dimension; i++)
        if (vector[i] != 0)
            return false;
    return true;
}

/* A row whose vector the truth has given up meanwhile keeps its similarity by bytes. */
static ibid_code rank_batch(struct search *search, struct exact_batch *batch, float *vectors, struct top *top,
                            ibid_error *err)
{
    const struct collection *collection = search->selection->collection;
    const uint32_t dimension = collection->dimension;
    TRY(collection->source->vectors(collection->source, collection->id, batch->row_ids, batch->count, vectors,
                                    err));
    for (size_t i = 0; i < batch->count; i++) {
        const float *vector = vectors + i * dimension;
        top_offer(top, batch->row_ids[i],
                  is_zero(vector, dimension) ? batch->by_bytes[i]
                                             : similarity_f32(search->vector, vector, dimension));
    }
    batch->count = 0;
    return IBID_OK;
}

static ibid_code rank_exactly(struct search *search, size_t k, struct top *top, ibid_error *err)
{
    struct pool *fine = &search->fine;
    pool_shrink(fine);
    pool_partition(fine, k);
    const float wanted = pool_least(fine, k) - BYTE_ERROR;
    struct exact_batch batch = {.count = 0};
    AUTO_FREE float *vectors =
        xmalloc(VECTOR_BATCH * sizeof *vectors * search->selection->collection->dimension);
    for (size_t i = 0; i < fine->count; i++) {
        const struct place *place = &fine->items[i];
        if (place->score < wanted)
            continue;
        struct segment *segment = search->selection->parts[place->part].segment;
        const int64_t *row_id =
            segment_read(segment, SECTION_ROW_IDS, place->row * sizeof *row_id, sizeof *row_id);
        if (!row_id)
            return segment_damage(segment, err);
        batch.row_ids[batch.count] = *row_id;
        batch.by_bytes[batch.count++] = place->score;
        if (batch.count == VECTOR_BATCH)
            TRY(rank_batch(search, &batch, vectors, top, err));
    }
    return batch.count ? rank_batch(search, &batch, vectors, top, err) : IBID_OK;
}

/* ---- the plan ---- */

/* How many candidates by code are sure to hold the best `k`: what was measured when the segments were
 * written, the large ones counting most, and more where more rows compete, as misses grow by the power of
 * about a quarter. */
static size_t candidates_for(const struct embedded_selection *selection, size_t k)
{
    double sum = 0, rows = 0;
    for (size_t i = 0; i < selection->snapshot->count; i++) {
        const struct segment_header *header = selection->parts[i].segment->header;
        if (header->candidates) {
            const double competitors = (double)selection->base.count / header->rows;
            sum += (double)header->rows * header->candidates * (competitors > 1 ? pow(competitors, 0.26) : 1);
            rows += header->rows;
        }
    }
    size_t count = k * CANDIDATES_PER_HIT;
    const double needed = rows > 0 ? sum / rows * (double)k / 10 : 0;
    if ((double)count < needed)
        count = (size_t)needed;
    if (count < CANDIDATES_MIN)
        count = CANDIDATES_MIN;
    return count < CANDIDATES_LIMIT ? count : CANDIDATES_LIMIT;
}

/* Selected rows with a vector of one part, into `mask`; *ret_any false when there are none. */
static ibid_code mask_part(struct search *search, const struct selected_part *part, bool *ret_any,
                           ibid_error *err)
{
    struct segment *segment = part->segment;
    *ret_any = part->selected_count > 0 && segment->header->vectors > 0;
    if (!*ret_any)
        return IBID_OK;
    if (segment->header->vectors == segment->rows) {
        memcpy(search->mask, part->selected, segment->words * sizeof *search->mask);
        return IBID_OK;
    }
    TRY(segment_vector_rows(segment, search->mask, err));
    bitmap_and(search->mask, part->selected, segment->words);
    return IBID_OK;
}

static ibid_code scan_parts(struct search *search, ibid_error *err)
{
    const struct embedded_selection *selection = search->selection;
    const bool directly = (int64_t)selection->base.count <= selection->collection->options.direct_rows;
    for (uint32_t i = 0; i < selection->snapshot->count; i++) {
        const struct selected_part *part = &selection->parts[i];
        bool any;
        TRY(mask_part(search, part, &any, err));
        if (!any)
            continue;
        if (!directly && segment_section_size(part->segment, SECTION_CODES))
            TRY(scan_codes(search, i, err));
        else
            TRY(scan_bytes(search, i, err));
    }
    return IBID_OK;
}

static void start_pools(struct search *search, size_t candidates, size_t k)
{
    pool_release(&search->coarse);
    pool_release(&search->fine);
    pool_start(&search->coarse, candidates);
    pool_start(&search->fine, 2 * k + 16);
}

/* Where many rows are as near as the nearest, the candidates may not have been all that can be among the
 * best: the last of them was not so far off that the error of an estimate could be ruled out. Then what the
 * search has found so far tells how far off is far enough, and everything nearer than that is looked at. */
static ibid_code scan_again_if_crowded(struct search *search, size_t sure, size_t k, ibid_error *err)
{
    pool_partition(&search->fine, k);
    const float wanted = pool_least(&search->fine, k);
    const double error = search->error_count ? search->errors / (double)search->error_count : 0;
    const float far_enough = wanted - ERROR_BOUND_AGAIN * (float)error;
    if (search->coarse.count < search->coarse.keep || search->coarse.threshold <= far_enough)
        return IBID_OK;
    size_t candidates = sure * CANDIDATES_AGAIN;
    if (candidates > CANDIDATES_LIMIT)
        candidates = CANDIDATES_LIMIT;
    start_pools(search, candidates, k);
    search->coarse.threshold = far_enough;
    TRY(scan_parts(search, err));
    return rescore_candidates(search, candidates, k, err);
}

static ibid_code run(struct search *search, size_t k, struct candidate *out, size_t *ret_count,
                     ibid_error *err)
{
    const size_t sure = candidates_for(search->selection, k);
    start_pools(search, sure * CANDIDATES_MORE, k);
    TRY(scan_parts(search, err));
    TRY(rescore_candidates(search, sure, k, err));
    TRY(scan_again_if_crowded(search, sure, k, err));
    struct top top;
    top_start(&top, k);
    const ibid_code code = rank_exactly(search, k, &top, err);
    const size_t count = top_finish(&top);
    for (size_t i = 0; i < count && code == IBID_OK; i++)
        out[i] = (struct candidate){top.items[i].row_id, top.items[i].score, NAN};
    top_release(&top);
    if (code == IBID_OK)
        *ret_count = count;
    return code;
}

ibid_code embedded_nearest(struct embedded_selection *self, const float *vector, size_t k,
                           struct candidate *out, size_t *ret_count, ibid_error *err)
{
    *ret_count = 0;
    if (self->base.count == 0)
        return IBID_OK;
    const struct rotation *rotation = self->collection->rotation;
    struct search search = {
        .selection = self,
        .kernels = kernels_best(),
        .vector = vector,
        .padded = rotation_padded(self->collection->dimension),
        .mask = xaligned_alloc(64, SEGMENT_ROWS / 8),
        .query_errors = xcalloc(self->snapshot->count, sizeof(float)),
    };
    search.rotated = xaligned_alloc(64, search.padded * sizeof *search.rotated);
    rotation_apply(rotation, vector, search.rotated);
    byte_query_start(&search.byte_query, search.rotated, search.padded);
    code_query_start(&search.code_query, search.padded);
    const ibid_code code = run(&search, k, out, ret_count, err);
    pool_release(&search.coarse);
    pool_release(&search.fine);
    byte_query_release(&search.byte_query);
    code_query_release(&search.code_query);
    free(search.rotated);
    free(search.mask);
    free(search.query_errors);
    return code;
}
