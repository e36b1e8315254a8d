/* The parts that the embedded vector store is made of, each against a plain way of doing the same. */
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "tests/folder.h"
#include "vector_store/embedded/bitmap.h"
#include "vector_store/embedded/builder.h"
#include "vector_store/embedded/codes.h"
#include "vector_store/embedded/format.h"
#include "vector_store/embedded/kernels.h"
#include "vector_store/embedded/manifest.h"
#include "vector_store/embedded/plan.h"
#include "vector_store/embedded/pool.h"
#include "vector_store/embedded/postings.h"
#include "vector_store/embedded/rotation.h"
#include "vector_store/embedded/row_set.h"
#include "vector_store/embedded/segment.h"

static uint64_t random_state = 0x1234567;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % limit);
}

static float random_normal(void)
{
    float sum = 0;
    for (int i = 0; i < 12; i++)
        sum += (float)random_below(1000001) / 1000000;
    return sum - 6;
}

static void random_unit(float *out, size_t dimension)
{
    double sum = 0;
    for (size_t i = 0; i < dimension; i++) {
        out[i] = random_normal();
        sum += (double)out[i] * out[i];
    }
    for (size_t i = 0; i < dimension; i++)
        out[i] /= (float)sqrt(sum);
}

static double dot(const float *a, const float *b, size_t dimension)
{
    double sum = 0;
    for (size_t i = 0; i < dimension; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

/* ---- kernels ---- */

static void kernels_give_the_same_bits(void **state)
{
    enum { BLOCKS = 40, MOST = 4096 };
    const struct kernels *const *all = kernels_available();
    assert_non_null(all[0]);
    for (uint32_t dimension = 64; dimension <= MOST; dimension += dimension < 1024 ? 64 : 1024) {
        const size_t words = dimension / 64;
        uint64_t *codes = xcalloc(BLOCKS * words * 8, sizeof *codes);
        uint64_t *planes = xcalloc(words * QUERY_PLANES, sizeof *planes);
        for (size_t i = 0; i < BLOCKS * words * 8; i++)
            codes[i] = (uint64_t)random_below(UINT32_MAX) << 32 | random_below(UINT32_MAX);
        for (size_t i = 0; i < words * QUERY_PLANES; i++)
            planes[i] = (uint64_t)random_below(UINT32_MAX) << 32 | random_below(UINT32_MAX);
        uint32_t blocks[BLOCKS];
        float offsets[BLOCKS * 8], scales[BLOCKS * 8];
        size_t count = 0;
        for (uint32_t i = 0; i < BLOCKS; i++)
            if (random_below(3))
                blocks[count++] = i;
        for (size_t i = 0; i < BLOCKS * 8; i++) {
            offsets[i] = random_normal();
            scales[i] = random_normal();
        }
        const struct estimate_terms terms = {0.25f, 0.0125f, 3.5f};
        int8_t row[MOST];
        int16_t query[MOST];
        for (uint32_t i = 0; i < dimension; i++) {
            row[i] = (int8_t)((int)random_below(255) - 127);
            query[i] = (int16_t)((int)random_below(4095) - 2047);
        }
        int32_t expected[BLOCKS * 8] = {0}, got[BLOCKS * 8] = {0};
        float expected_estimates[BLOCKS * 8] = {0}, estimates[BLOCKS * 8] = {0};
        kernels_portable.dot_codes(codes, words, planes, blocks, count, expected);
        kernels_portable.estimate(expected, offsets, scales, blocks, count, &terms, expected_estimates);
        for (size_t i = 0; all[i]; i++) {
            all[i]->dot_codes(codes, words, planes, blocks, count, got);
            assert_memory_equal(got, expected, count * 8 * sizeof *got);
            all[i]->estimate(got, offsets, scales, blocks, count, &terms, estimates);
            assert_memory_equal(estimates, expected_estimates, count * 8 * sizeof *estimates);
            assert_int_equal(all[i]->dot_bytes(row, query, dimension),
                             kernels_portable.dot_bytes(row, query, dimension));
        }
        free(codes);
        free(planes);
    }
    /* The largest sums there can be. */
    int8_t row[4096];
    int16_t query[4096];
    for (size_t i = 0; i < 4096; i++) {
        row[i] = -127;
        query[i] = 2047;
    }
    for (size_t i = 0; all[i]; i++)
        assert_int_equal(all[i]->dot_bytes(row, query, 4096), -127 * 2047 * 4096);
}

static void kernels_add_up_and_compare_alike(void **state)
{
    enum { ROWS = 5000, COUNT = 1003 };
    const struct kernels *const *all = kernels_available();
    uint16_t rows[COUNT], lengths[ROWS];
    uint8_t tfs[COUNT];
    float expected[ROWS + 56], got[ROWS + 56]; /* a multiple of 64 */
    uint64_t expected_bits[(ROWS + 56) / 64], bits[(ROWS + 56) / 64];
    for (size_t i = 0; i < ROWS; i++)
        lengths[i] = (uint16_t)random_below(65536);
    for (size_t i = 0; i < COUNT; i++) {
        rows[i] = (uint16_t)(i * 4 + random_below(4));
        tfs[i] = (uint8_t)(1 + random_below(255));
    }
    memset(expected, 0, sizeof expected);
    kernels_portable.add_up(rows, tfs, COUNT, lengths, 2.5f, 0.54f, 0.003f, expected);
    for (size_t i = 0; i < COUNT; i++) {
        const float share = 2.5f * tfs[i] / (tfs[i] + 0.54f + 0.003f * lengths[rows[i]]);
        assert_true(fabsf(expected[rows[i]] - share) < 1e-5f);
    }
    kernels_portable.at_least(expected, COUNT_OF(expected), 1.25f, expected_bits);
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        assert_true((expected_bits[i / 64] >> (i % 64) & 1) == (expected[i] >= 1.25f));
    for (size_t i = 0; all[i]; i++) {
        memset(got, 0, sizeof got);
        all[i]->add_up(rows, tfs, COUNT, lengths, 2.5f, 0.54f, 0.003f, got);
        assert_memory_equal(got, expected, sizeof got);
        all[i]->at_least(got, COUNT_OF(got), 1.25f, bits);
        assert_memory_equal(bits, expected_bits, sizeof bits);
    }
}

static void codes_are_what_the_formula_says(void **state)
{
    /* Dot products by planes equal those with the coordinates themselves. */
    enum { DIMENSION = 192 };
    float rotated[DIMENSION], centroid[DIMENSION] = {0}, vector[DIMENSION];
    random_unit(rotated, DIMENSION);
    random_unit(vector, DIMENSION);
    struct code_query query;
    code_query_start(&query, DIMENSION);
    code_query_aim(&query, rotated, centroid, DIMENSION);
    uint64_t block[DIMENSION / 64 * 8] = {0};
    code_encode(vector, centroid, DIMENSION, block + 3, 8);
    int32_t dots[8], expected = 0;
    const uint32_t number = 0;
    kernels_portable.dot_codes(block, DIMENSION / 64, query.planes, &number, 1, dots);
    for (size_t i = 0; i < DIMENSION; i++) {
        int level = 0;
        for (int plane = 0; plane < QUERY_PLANES; plane++)
            level |= (int)(query.planes[i / 64 * QUERY_PLANES + (size_t)plane] >> (i % 64) & 1) << plane;
        level = level >= 8 ? level - 16 : level;
        assert_true(fabs(level * query.terms.slope / 2 - rotated[i]) <= query.terms.slope / 2 * 0.5001);
        expected += vector[i] >= 0 ? level : 0;
    }
    assert_int_equal(dots[3], expected);
    assert_int_equal(dots[0], 0);
    code_query_release(&query);
}

static void estimates_are_near_and_without_bias(void **state)
{
    enum { DIMENSION = 384, ROWS = 400 };
    float centroid[DIMENSION], query_vector[DIMENSION], vectors[ROWS][DIMENSION];
    random_unit(centroid, DIMENSION);
    for (size_t i = 0; i < DIMENSION; i++)
        centroid[i] *= 0.5f;
    double square = dot(centroid, centroid, DIMENSION);
    for (size_t row = 0; row <= ROWS; row++) {
        float *vector = row < ROWS ? vectors[row] : query_vector;
        random_unit(vector, DIMENSION);
        double length = 0;
        for (size_t i = 0; i < DIMENSION; i++) {
            vector[i] = vector[i] * 0.8f + centroid[i];
            length += (double)vector[i] * vector[i];
        }
        for (size_t i = 0; i < DIMENSION; i++)
            vector[i] /= (float)sqrt(length);
    }
    struct code_query query;
    code_query_start(&query, DIMENSION);
    code_query_aim(&query, query_vector, centroid, DIMENSION);
    double bias = 0, worst = 0, over = 0;
    for (size_t row = 0; row < ROWS; row++) {
        uint64_t block[DIMENSION / 64 * 8] = {0};
        const struct code_factors factors = code_encode(vectors[row], centroid, DIMENSION, block, 8);
        const float offsets[8] = {factors.offset}, scales[8] = {factors.scale};
        int32_t dots[8];
        float estimate[8];
        const uint32_t number = 0;
        kernels_portable.dot_codes(block, DIMENSION / 64, query.planes, &number, 1, dots);
        kernels_portable.estimate(dots, offsets, scales, &number, 1, &query.terms, estimate);
        const double error = estimate[0] - dot(vectors[row], query_vector, DIMENSION);
        const double deviation = code_error(factors, (float)square, DIMENSION) * query.error;
        bias += error / ROWS;
        worst = fabs(error) > worst ? fabs(error) : worst;
        over += fabs(error) > 1.9 * deviation;
        assert_true(deviation > 0.001 && deviation < 0.1);
    }
    code_query_release(&query);
    assert_true(fabs(bias) < 0.005);
    assert_true(worst < 0.15);
    assert_true(over / ROWS < 0.10); /* 6 % of a normal distribution lie beyond 1.9 deviations */
}

static void bytes_keep_the_vector(void **state)
{
    enum { DIMENSION = 448 };
    float a[DIMENSION], b[DIMENSION], back[DIMENSION];
    int8_t bytes[DIMENSION];
    for (int round = 0; round < 50; round++) {
        random_unit(a, DIMENSION);
        random_unit(b, DIMENSION);
        const float scale = bytes_encode(a, DIMENSION, bytes);
        bytes_decode(bytes, scale, DIMENSION, back);
        assert_true(fabs(dot(a, back, DIMENSION) - 1) < 0.002);
        struct byte_query query;
        byte_query_start(&query, b, DIMENSION);
        const double got =
            (double)kernels_portable.dot_bytes(bytes, query.coordinates, DIMENSION) * scale * query.scale;
        assert_true(fabs(got - dot(a, b, DIMENSION)) < 0.002);
        byte_query_release(&query);
    }
    memset(a, 0, sizeof a);
    assert_true(bytes_encode(a, DIMENSION, bytes) > 0);
    assert_int_equal(bytes[0], 0);
}

static void rotation_keeps_lengths_and_angles(void **state)
{
    static const uint32_t dimensions[] = {64, 65, 100, 128, 192, 384, 768, 1000, 1024, 1536, 4096};
    for (size_t i = 0; i < COUNT_OF(dimensions); i++) {
        const uint32_t dimension = dimensions[i], padded = rotation_padded(dimension);
        struct rotation *rotation = rotation_new(dimension);
        float *a = xcalloc(padded, sizeof *a), *b = xcalloc(padded, sizeof *b);
        float *rotated_a = xcalloc(padded, sizeof *a), *rotated_b = xcalloc(padded, sizeof *b);
        random_unit(a, dimension);
        random_unit(b, dimension);
        rotation_apply(rotation, a, rotated_a);
        rotation_apply(rotation, b, rotated_b);
        assert_true(fabs(dot(rotated_a, rotated_a, padded) - 1) < 1e-4);
        assert_true(fabs(dot(rotated_a, rotated_b, padded) - dot(a, b, dimension)) < 1e-4);
        /* A vector along one axis is spread over all of them. */
        memset(a, 0, padded * sizeof *a);
        a[dimension / 3] = 1;
        rotation_apply(rotation, a, rotated_a);
        float most = 0;
        for (uint32_t j = 0; j < padded; j++)
            most = fabsf(rotated_a[j]) > most ? fabsf(rotated_a[j]) : most;
        assert_true(most < 6 / sqrtf((float)padded));
        rotation_free(rotation);
        free(a);
        free(b);
        free(rotated_a);
        free(rotated_b);
    }
}

/* ---- sets and postings ---- */

static uint32_t random_members(uint32_t rows, unsigned one_in, unsigned run, uint16_t *out)
{
    uint32_t count = 0;
    for (uint32_t row = 0; row < rows; row++)
        if (random_below(one_in) == 0)
            for (uint32_t end = row + 1 + random_below(run); row < end && row < rows; row++)
                out[count++] = (uint16_t)row;
    return count;
}

static void sets_come_back_as_they_were(void **state)
{
    uint16_t *members = xcalloc(SEGMENT_ROWS, sizeof *members);
    static const uint32_t sizes[] = {1, 7, 8, 63, 64, 65, 1000, 65535, 65536};
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (unsigned form = 0; form < 8; form++) {
            static const unsigned one_in[] = {1, 2, 50, 3000}, run[] = {1, 40};
            const uint32_t rows = sizes[i];
            const uint32_t count = random_members(rows, one_in[form % 4], run[form / 4], members);
            AUTO_BUFFER bytes = BUFFER(1 << 20);
            row_set_append(&bytes, members, count, rows);
            assert_true(bytes.size <= 2 + (rows + 7) / 8);
            uint64_t *bits = xcalloc(bitmap_words(rows), sizeof *bits);
            assert_true(row_set_add(bytes.data, bytes.size, rows, bits));
            assert_int_equal(bitmap_count(bits, bitmap_words(rows)), count);
            for (uint32_t j = 0; j < count; j++)
                assert_true(bitmap_get(bits, members[j]));
            if (rows > 1 && count)
                for (size_t cut = 0; cut < bytes.size && cut < 40;
                     cut++) /* whatever it says, no row is out of range */
                    row_set_add(bytes.data, cut, rows, bits);
            free(bits);
        }
    free(members);
}

static void postings_come_back_as_they_were(void **state)
{
    uint16_t *rows = xcalloc(SEGMENT_ROWS, sizeof *rows), *lengths = xcalloc(SEGMENT_ROWS, sizeof *lengths);
    uint8_t *tfs = xcalloc(SEGMENT_ROWS, 1);
    struct postings *postings = xcalloc(1, sizeof *postings);
    for (unsigned round = 0; round < 200; round++) {
        static const unsigned one_in[] = {1, 2, 9, 100, 5000, 30000}, most[] = {1, 2, 255};
        const uint32_t limit = 1 + random_below(SEGMENT_ROWS);
        const uint32_t count = random_members(limit, one_in[round % 6], 1 + random_below(3), rows);
        for (uint32_t i = 0; i < limit; i++)
            lengths[i] = (uint16_t)random_below(65536);
        for (uint32_t i = 0; i < count; i++)
            tfs[i] = (uint8_t)(1 + random_below(most[round % 3]));
        AUTO_BUFFER bytes = BUFFER(1 << 24);
        postings_append(&bytes, rows, tfs, count, lengths);
        uint32_t at = 0;
        struct block_header header;
        postings_open(postings, bytes.data ? bytes.data : "", bytes.size, count, limit);
        bool whole = postings_peek(postings, &header);
        while (postings_next(postings)) {
            for (uint32_t i = 0; i < postings->count; i++, at++) {
                assert_int_equal(postings->rows[i], rows[at]);
                assert_int_equal(postings->tfs[i], tfs[at]);
                assert_true(!whole || (tfs[at] <= header.max_tf && lengths[rows[at]] >= header.min_length));
            }
            assert_true(!whole || header.last_row == rows[at - 1]);
            whole = postings_peek(postings, &header);
        }
        assert_false(postings->damaged);
        assert_int_equal(at, count);

        /* Leaping to rows finds the same. */
        postings_open(postings, bytes.data ? bytes.data : "", bytes.size, count, limit);
        at = 0;
        for (uint32_t target = 0; target < limit && count; target += 1 + random_below(limit / 8 + 1)) {
            while (at < count && rows[at] < target)
                at++;
            if (at == count)
                break;
            while (postings->count == 0 || postings->rows[postings->count - 1] < target)
                assert_true(postings_next_reaching(postings, target));
            uint32_t i = 0;
            while (postings->rows[i] < target)
                i++;
            assert_int_equal(postings->rows[i], rows[at]);
        }

        /* Damaged bytes end the walk or give other rows, but none out of range. */
        for (unsigned damage = 0; damage < 20 && bytes.size; damage++) {
            char *copy = xmemdup0(bytes.data, bytes.size);
            copy[random_below((uint32_t)bytes.size)] ^= (char)(1 << random_below(8));
            const size_t size = random_below(4) ? bytes.size : random_below((uint32_t)bytes.size);
            postings_open(postings, copy, size, count, limit);
            while (postings_next(postings))
                for (uint32_t i = 0; i < postings->count; i++)
                    assert_true(postings->rows[i] < limit);
            postings_open(postings, copy, size, count, limit);
            while (postings_next_reaching(postings, random_below(limit)))
                assert_true(postings->count <= POSTINGS_BLOCK);
            free(copy);
        }
    }
    free(rows);
    free(lengths);
    free(tfs);
    free(postings);
}

/* ---- choosing ---- */

static int descending(const void *a, const void *b)
{
    const float first = *(const float *)a, second = *(const float *)b;
    return (first < second) - (first > second);
}

static void pools_keep_the_best(void **state)
{
    for (unsigned round = 0; round < 300; round++) {
        const size_t keep = 1 + random_below(50), total = random_below(2000);
        const unsigned kinds = 1 + random_below(round % 2 ? 5 : 100000);
        float *scores = xcalloc(total + 1, sizeof *scores);
        struct pool pool;
        pool_start(&pool, keep);
        for (size_t i = 0; i < total; i++) {
            scores[i] = (float)random_below(kinds);
            pool_offer(&pool, scores[i], 0, (uint32_t)i);
        }
        pool_shrink(&pool);
        qsort(scores, total, sizeof *scores, descending);
        assert_int_equal(pool.count, total < keep ? total : keep);
        float kept[50];
        for (size_t i = 0; i < pool.count; i++)
            kept[i] = pool.items[i].score;
        qsort(kept, pool.count, sizeof *kept, descending);
        assert_memory_equal(kept, scores, pool.count * sizeof *kept);
        const size_t first = pool.count ? random_below((uint32_t)pool.count) : 0;
        pool_partition(&pool, first);
        for (size_t i = 0; i < first; i++)
            for (size_t j = first; j < pool.count; j++)
                assert_true(pool.items[i].score >= pool.items[j].score);
        pool_release(&pool);
        free(scores);
    }
}

static void merging_keeps_segments_few_and_writing_cheap(void **state)
{
    enum { MOST = 4096 };
    struct plan_part *parts = xcalloc(MOST, sizeof *parts);
    static const uint32_t batches[] = {1, 30, 1000, 8192};
    for (size_t i = 0; i < COUNT_OF(batches); i++) {
        size_t count = 0, most_parts = 0;
        uint64_t total = 0, written = 0;
        while (total < 1000000 && total < batches[i] * UINT64_C(20000)) {
            parts[count++] = (struct plan_part){batches[i], batches[i], true};
            total += batches[i];
            written += batches[i];
            struct plan plan;
            while (plan_merge(parts, count, &plan)) {
                uint32_t living = 0;
                for (size_t j = plan.first; j < plan.first + plan.count; j++)
                    living += parts[j].living;
                assert_true(living <= SEGMENT_ROWS && plan.count >= 2);
                parts[plan.first] = (struct plan_part){living, living, true};
                memmove(parts + plan.first + 1, parts + plan.first + plan.count,
                        (count - plan.first - plan.count) * sizeof *parts);
                count -= plan.count - 1;
                written += living;
            }
            most_parts = count > most_parts ? count : most_parts;
            assert_true(count < MOST);
        }
        assert_true(most_parts <= total / SEGMENT_ROWS * 2 + 40);
        assert_true(written <= total * 8);
    }
    /* A segment with a quarter dead is written anew; memory and files are not mixed. */
    struct plan plan;
    parts[0] = (struct plan_part){100, 75, true};
    assert_true(plan_merge(parts, 1, &plan) && plan.first == 0 && plan.count == 1);
    parts[0].living = 76;
    assert_false(plan_merge(parts, 1, &plan));
    for (size_t i = 0; i < 10; i++)
        parts[i] = (struct plan_part){10, 10, i < 5};
    assert_false(plan_merge(parts, 10, &plan));
    free(parts);
}

static void manifests_come_back_as_they_were(void **state)
{
    struct manifest_segment segments[] = {
        {1, 0, 10, 500, 70, STR("dead rows")},
        {7, 10, 90, 65536, 0, STR_EMPTY},
        {8, 90, 91, 1, 3, STR("x")},
    };
    const struct manifest manifest = {-5, 384, STR("model | analysis"), 91, 9, 3, segments};
    AUTO_BUFFER bytes = BUFFER(1 << 16);
    AUTO_ARENA arena = ARENA_INIT;
    struct manifest got;
    manifest_append(&manifest, &bytes);
    assert_ok(manifest_parse(buffer_str(&bytes), &arena, &got, err));
    assert_int_equal(got.collection_id, -5);
    assert_int_equal(got.dimension, 384);
    assert_true(str_is(got.fingerprint, "model | analysis"));
    assert_int_equal(got.durable, 91);
    assert_int_equal(got.next_number, 9);
    assert_int_equal(got.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(got.segments[i].number, segments[i].number);
        assert_int_equal(got.segments[i].seq_high, segments[i].seq_high);
        assert_int_equal(got.segments[i].rows, segments[i].rows);
        assert_int_equal(got.segments[i].dead_words, segments[i].dead_words);
        assert_true(str_equal(got.segments[i].dead, segments[i].dead));
    }
    for (size_t size = 0; size < bytes.size; size++)
        assert_int_equal(manifest_parse(str_slice(buffer_str(&bytes), 0, size), &arena, &got, NULL),
                         IBID_ECORRUPT);
    for (size_t at = 0; at < bytes.size; at++) {
        bytes.data[at] ^= 0x10;
        assert_int_equal(manifest_parse(buffer_str(&bytes), &arena, &got, NULL), IBID_ECORRUPT);
        bytes.data[at] ^= 0x10;
    }
}

static void a_full_disk_is_named(void **state)
{
    char *folder = test_folder_new();
    struct builder *builder = builder_new(0, NULL);
    const struct image_target target = {folder, 12};
    const int64_t workspace = 1;
    struct segment *segment = NULL;
    ibid_error full = {0};
    builder_add(builder, &(struct row){.row_id = 1,
                                       .seq = 1,
                                       .document_id = 1,
                                       .chunk_id = 1,
                                       .workspaces = &workspace,
                                       .workspace_count = 1,
                                       .text = STR("Water boils."),
                                       .language = STR("en")});
    test_files_limit(1000);
    const ibid_code code = builder_finish(builder, &target, 0, 1, &segment, &full);
    test_files_limit(RLIM_INFINITY);
    assert_int_not_equal(code, IBID_OK);
    assert_non_null(strstr(full.message, folder));
    assert_non_null(strstr(full.message, "000012"));
    assert_ok(builder_finish(builder, &target, 0, 1, &segment, err)); /* it has kept its rows */
    assert_int_equal(segment->header->rows, 1);
    segment_unref(segment);
    builder_free(builder);
    test_folder_free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_give_the_same_bits),
        cmocka_unit_test(kernels_add_up_and_compare_alike),
        cmocka_unit_test(codes_are_what_the_formula_says),
        cmocka_unit_test(estimates_are_near_and_without_bias),
        cmocka_unit_test(bytes_keep_the_vector),
        cmocka_unit_test(rotation_keeps_lengths_and_angles),
        cmocka_unit_test(sets_come_back_as_they_were),
        cmocka_unit_test(postings_come_back_as_they_were),
        cmocka_unit_test(pools_keep_the_best),
        cmocka_unit_test(merging_keeps_segments_few_and_writing_cheap),
        cmocka_unit_test(manifests_come_back_as_they_were),
        cmocka_unit_test(a_full_disk_is_named),
    };
    return cmocka_run_group_tests_name("index_parts", tests, NULL, NULL);
}
