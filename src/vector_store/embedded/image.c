#include "vector_store/embedded/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "vector_store/embedded/codes.h"
#include "vector_store/embedded/postings.h"
#include "vector_store/embedded/recall.h"
#include "vector_store/embedded/rotation.h"
#include "vector_store/embedded/row_set.h"
#include "vector_store/embedded/sink.h"

/* Parts that stand before others in a segment wait in buffers; no part of a segment is larger than this. */
#define PART_LIMIT UINT32_MAX

struct image {
    struct image_target target;
    struct image_rows rows;
    char *path, *partial_path; /* NULL: memory */
    struct segment_header header;
    struct sink sink;
    struct buffer sets, set_values, set_rows;
    struct buffer numbers, number_values, number_rows;
    struct buffer prefixes, terms, texts;
    struct buffer scratch;
};

#define PARTS(image)                                                                             \
    {                                                                                            \
        &(image)->sets, &(image)->set_values, &(image)->set_rows, &(image)->numbers,             \
            &(image)->number_values, &(image)->number_rows, &(image)->prefixes, &(image)->terms, \
            &(image)->texts, &(image)->scratch                                                   \
    }

char *segment_path(const char *folder, uint64_t number)
{
    return xasprintf("%s/%06llu.seg", folder, (unsigned long long)number);
}

static void begin_section(struct image *image, enum section section)
{
    sink_align(&image->sink);
    image->header.sections[section].offset = image->sink.position;
}

static void end_section(struct image *image, enum section section)
{
    struct section_range *range = &image->header.sections[section];
    range->size = image->sink.position - range->offset;
}

static void add_section(struct image *image, enum section section, const void *data, size_t size)
{
    begin_section(image, section);
    sink_append(&image->sink, data, size);
    end_section(image, section);
}

/* A part that waited; it must have kept within its limit. */
static void add_part(struct image *image, enum section section, struct buffer *part)
{
    if (image->sink.code == IBID_OK)
        image->sink.code = buffer_check(part, "a part of an index segment", &image->sink.error);
    add_section(image, section, part->data, part->size);
    buffer_release(part);
}

static void describe(struct image *image)
{
    const struct image_rows *rows = &image->rows;
    struct segment_header *header = &image->header;
    memcpy(header->magic, SEGMENT_MAGIC, sizeof SEGMENT_MAGIC);
    header->version = SEGMENT_VERSION;
    header->byte_order = SEGMENT_BYTE_ORDER;
    header->rotation_seed = ROTATION_SEED;
    header->seq_low = rows->seq_low;
    header->seq_high = rows->seq_high;
    header->first_row_id = rows->row_ids[0];
    header->last_row_id = rows->row_ids[rows->count - 1];
    header->rows = rows->count;
    header->dimension = rows->dimension;
    header->padded = rotation_padded(rows->dimension);
    for (uint32_t i = 0; i < rows->count; i++) {
        header->words += rows->lengths[i];
        header->vectors += rows->vectors && rows->vectors[i];
    }
}

struct image *image_new(const struct image_target *target, const struct image_rows *rows)
{
    struct image *image = xcalloc(1, sizeof *image);
    image->target = *target;
    image->rows = *rows;
    struct buffer *parts[] = PARTS(image);
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        *parts[i] = BUFFER(PART_LIMIT);
    int fd = -1;
    ibid_error error = {0};
    if (target->folder) {
        image->path = segment_path(target->folder, target->number);
        image->partial_path = xasprintf("%s.partial", image->path);
        fd = open(image->partial_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0)
            fail_errno(&error, errno, "cannot write");
    }
    sink_start(&image->sink, fd);
    if (error.code != IBID_OK) {
        image->sink.code = error.code;
        image->sink.error = error;
    }
    describe(image);
    add_section(image, SECTION_ROW_IDS, rows->row_ids, rows->count * sizeof *rows->row_ids);
    add_section(image, SECTION_SEQS, rows->seqs, rows->count * sizeof *rows->seqs);
    add_section(image, SECTION_LENGTHS, rows->lengths, rows->count * sizeof *rows->lengths);
    return image;
}

void image_add_set(struct image *image, uint32_t key, struct str value, const uint16_t *members,
                   uint32_t count)
{
    struct set_entry entry = {.key = key,
                              .value_offset = (uint32_t)image->set_values.size,
                              .value_size = (uint32_t)value.size,
                              .rows_offset = (uint32_t)image->set_rows.size,
                              .count = count};
    buffer_append_str(&image->set_values, value);
    row_set_append(&image->set_rows, members, count, image->rows.count);
    entry.rows_size = (uint32_t)image->set_rows.size - entry.rows_offset;
    buffer_append(&image->sets, &entry, sizeof entry);
    image->header.sets++;
}

void image_add_numbers(struct image *image, uint32_t key, const double *values, const uint16_t *members,
                       uint32_t count)
{
    const struct number_entry entry = {key, count, image->number_rows.size / sizeof *members};
    buffer_append(&image->numbers, &entry, sizeof entry);
    buffer_append(&image->number_values, values, count * sizeof *values);
    buffer_append(&image->number_rows, members, count * sizeof *members);
    image->header.numbers++;
}

/* ---- vectors ---- */

static void add_bytes(struct image *image)
{
    static const char zeros[4096];
    const struct image_rows *rows = &image->rows;
    begin_section(image, SECTION_SCALES);
    for (uint32_t i = 0; i < rows->count && image->header.vectors; i++) {
        const float scale = rows->vectors[i] ? rows->scales[i] : 0;
        sink_append(&image->sink, &scale, sizeof scale);
    }
    end_section(image, SECTION_SCALES);
    begin_section(image, SECTION_VECTORS);
    for (uint32_t i = 0; i < rows->count && image->header.vectors; i++)
        sink_append(&image->sink, rows->vectors[i] ? (const void *)rows->vectors[i] : zeros,
                    image->header.padded);
    end_section(image, SECTION_VECTORS);
}

/* The mean of the vectors, as their bytes give them. */
static void find_centroid(const struct image *image, float *centroid)
{
    const struct image_rows *rows = &image->rows;
    const uint32_t padded = image->header.padded;
    float *vector = xmalloc(padded * sizeof *vector);
    memset(centroid, 0, padded * sizeof *centroid);
    for (uint32_t i = 0; i < rows->count; i++) {
        if (!rows->vectors[i])
            continue;
        bytes_decode(rows->vectors[i], rows->scales[i], padded, vector);
        for (uint32_t j = 0; j < padded; j++)
            centroid[j] += vector[j];
    }
    for (uint32_t j = 0; j < padded; j++)
        centroid[j] /= (float)image->header.vectors;
    free(vector);
}

struct coded {
    float *offsets, *scales; /* a row, filled up to whole blocks */
    uint64_t *codes;
};

static struct coded encode_rows(const struct image *image, const float *centroid, size_t blocks)
{
    const struct image_rows *rows = &image->rows;
    const uint32_t padded = image->header.padded;
    const size_t words = padded / 64;
    struct coded coded = {.offsets = xcalloc(blocks * CODE_BLOCK_ROWS, sizeof(float)),
                          .scales = xcalloc(blocks * CODE_BLOCK_ROWS, sizeof(float)),
                          .codes = xcalloc(blocks * CODE_BLOCK_ROWS * words, sizeof(uint64_t))};
    float *vector = xmalloc(padded * sizeof *vector);
    for (uint32_t i = 0; i < rows->count; i++) {
        if (!rows->vectors[i])
            continue;
        uint64_t *code = coded.codes + i / CODE_BLOCK_ROWS * words * CODE_BLOCK_ROWS + i % CODE_BLOCK_ROWS;
        bytes_decode(rows->vectors[i], rows->scales[i], padded, vector);
        const struct code_factors factors = code_encode(vector, centroid, padded, code, CODE_BLOCK_ROWS);
        coded.offsets[i] = factors.offset;
        coded.scales[i] = factors.scale;
    }
    free(vector);
    return coded;
}

static void add_codes(struct image *image)
{
    const uint32_t padded = image->header.padded;
    const size_t blocks = (image->rows.count + CODE_BLOCK_ROWS - 1) / CODE_BLOCK_ROWS;
    float *centroid = xmalloc(padded * sizeof *centroid);
    find_centroid(image, centroid);
    const struct coded coded = encode_rows(image, centroid, blocks);
    for (uint32_t i = 0; i < padded; i++)
        image->header.centroid_square += centroid[i] * centroid[i];
    image->header.candidates =
        recall_candidates(&image->rows, padded, centroid, coded.offsets, coded.scales, coded.codes);
    add_section(image, SECTION_CENTROID, centroid, padded * sizeof *centroid);
    add_section(image, SECTION_CODE_OFFSETS, coded.offsets, blocks * CODE_BLOCK_ROWS * sizeof(float));
    add_section(image, SECTION_CODE_SCALES, coded.scales, blocks * CODE_BLOCK_ROWS * sizeof(float));
    add_section(image, SECTION_CODES, coded.codes, blocks * CODE_BLOCK_ROWS * padded / 8);
    free(centroid);
    free(coded.offsets);
    free(coded.scales);
    free(coded.codes);
}

void image_add_vectors(struct image *image)
{
    add_part(image, SECTION_SETS, &image->sets);
    add_part(image, SECTION_SET_VALUES, &image->set_values);
    add_part(image, SECTION_SET_ROWS, &image->set_rows);
    add_part(image, SECTION_NUMBERS, &image->numbers);
    add_part(image, SECTION_NUMBER_VALUES, &image->number_values);
    add_part(image, SECTION_NUMBER_ROWS, &image->number_rows);
    add_bytes(image);
    if (image->header.vectors >= CODES_MIN)
        add_codes(image);
    else
        for (enum section section = SECTION_CENTROID; section <= SECTION_CODES; section++)
            add_section(image, section, NULL, 0);
    begin_section(image, SECTION_POSTINGS);
}

/* ---- terms ---- */

void image_add_term(struct image *image, struct str text, const uint16_t *members, const uint8_t *tfs,
                    uint32_t count)
{
    const uint64_t prefix = term_prefix(text);
    struct term_entry entry = {
        .text_offset = (uint32_t)image->texts.size,
        .postings_offset = (uint32_t)(image->sink.position - image->header.sections[SECTION_POSTINGS].offset),
        .count_less_one = (uint16_t)(count - 1),
        .min_length = UINT16_MAX,
        .text_size = (uint8_t)text.size,
    };
    for (uint32_t i = 0; i < count; i++) {
        const uint16_t length = image->rows.lengths[members[i]];
        entry.min_length = length < entry.min_length ? length : entry.min_length;
        entry.max_tf = tfs[i] > entry.max_tf ? tfs[i] : entry.max_tf;
    }
    buffer_clear(&image->scratch);
    postings_append(&image->scratch, members, tfs, count, image->rows.lengths);
    sink_append(&image->sink, image->scratch.data, image->scratch.size);
    buffer_append_str(&image->texts, text);
    buffer_append(&image->prefixes, &prefix, sizeof prefix);
    buffer_append(&image->terms, &entry, sizeof entry);
    image->header.terms++;
}

/* ---- the end ---- */

static void add_checksums(struct image *image)
{
    sink_align(&image->sink);
    const struct str checksums = sink_end_pages(&image->sink);
    struct section_range *range = &image->header.sections[SECTION_CHECKSUMS];
    *range = (struct section_range){image->sink.position, checksums.size};
    image->header.checksums_checksum = checksum64(checksums.data, checksums.size, 0);
    AUTO_BUFFER copy = BUFFER(PART_LIMIT);
    buffer_append_str(&copy, checksums);
    sink_append(&image->sink, copy.data, copy.size);
}

static ibid_code settle(struct image *image, struct segment **ret, ibid_error *err)
{
    image->header.size = image->sink.position;
    image->header.checksum = checksum64(&image->header, offsetof(struct segment_header, checksum), 0);
    const ibid_code code = sink_finish(&image->sink, &image->header, sizeof image->header, err);
    if (code != IBID_OK) {
        if (image->partial_path)
            error_context(err, "'%s'", image->partial_path);
        return code;
    }
    if (!image->path) {
        const size_t size = image->sink.bytes.size;
        *ret = segment_from_memory(buffer_take(&image->sink.bytes), size);
        return IBID_OK;
    }
    TRY(file_rename_durably(image->partial_path, image->path, err));
    return segment_open(image->path, image->target.number, ret, err);
}

ibid_code image_finish(struct image *image, struct segment **ret, ibid_error *err)
{
    end_section(image, SECTION_POSTINGS);
    add_part(image, SECTION_TERM_PREFIXES, &image->prefixes);
    add_part(image, SECTION_TERMS, &image->terms);
    add_part(image, SECTION_TERM_TEXTS, &image->texts);
    add_checksums(image);
    const ibid_code code = settle(image, ret, err);
    if (code != IBID_OK && image->path)
        unlink(image->path);
    image_discard(image);
    return code;
}

void image_discard(struct image *image)
{
    struct buffer *parts[] = PARTS(image);
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        buffer_release(parts[i]);
    sink_release(&image->sink);
    if (image->path)
        unlink(image->partial_path); /* not there any more when all went well */
    free(image->path);
    free(image->partial_path);
    free(image);
}
