/* A segment file with anything in it, searched, merged and verified.
 *
 * Input: a first byte, then
 *   0: the bytes of a file;
 *   1: changes of a sound segment with codes: 4 bytes offset (modulo its size), 1 byte to put there, and so
 * on; 2, 3: the same as 0 and 1, with checksums that fit afterwards, so that what stands behind them is
 * reached. */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "vector_store/embedded/builder.h"
#include "vector_store/embedded/collection.h"
#include "vector_store/embedded/merge.h"
#include "vector_store/embedded/selection.h"

enum { DIMENSION = 64, ROWS = 1100 };

/* ---- a truth without rows: what is damaged is rebuilt as nothing ---- */

static ibid_code latest_seq(const struct row_source *self, int64_t collection_id, int64_t *ret,
                            ibid_error *err)
{
    *ret = 0;
    return IBID_OK;
}

static ibid_code changes(const struct row_source *self, int64_t collection_id, int64_t after_seq,
                         size_t limit, struct arena *arena, struct row **ret, size_t *ret_count,
                         ibid_error *err)
{
    *ret = NULL;
    *ret_count = 0;
    return IBID_OK;
}

static ibid_code vectors(const struct row_source *self, int64_t collection_id, const int64_t *row_ids,
                         size_t count, float *out, ibid_error *err)
{
    memset(out, 0, count * DIMENSION * sizeof *out);
    return IBID_OK;
}

static ibid_code select_rows(const struct row_source *self, int64_t collection_id,
                             const struct filter *filter, struct arena *arena, int64_t **ret_ids,
                             size_t *ret_count, ibid_error *err)
{
    int64_t *ids = ARENA_ARRAY(arena, int64_t, 3);
    memcpy(ids, (const int64_t[]){-5, 7, 900}, 3 * sizeof *ids);
    *ret_ids = ids;
    *ret_count = 3;
    return IBID_OK;
}

static const struct row_source nothing = {latest_seq, changes, vectors, select_rows};

/* ---- the sound segment ---- */

static void add_row(struct builder *builder, int64_t row_id)
{
    char text[64], label[16];
    float vector[DIMENSION];
    double sum = 0;
    for (size_t i = 0; i < DIMENSION; i++) {
        vector[i] = (float)(((size_t)row_id * 37 + i * i * 11) % 101) - 50;
        sum += (double)vector[i] * vector[i];
    }
    for (size_t i = 0; i < DIMENSION; i++)
        vector[i] /= (float)sqrt(sum);
    snprintf(text, sizeof text, "water boils word%d water%d", (int)(row_id % 90), (int)(row_id % 7));
    snprintf(label, sizeof label, "label %d", (int)(row_id % 5));
    const int64_t workspaces[] = {1, 2 + row_id % 3};
    const struct attribute attributes[] = {
        {(uint32_t)(filter_key_find(STR("label")) - filter_keys),
         {.type = VALUE_STRING, .string = str_from(label)}},
        {(uint32_t)(filter_key_find(STR("page")) - filter_keys),
         {.type = VALUE_NUMBER, .number = (double)(row_id % 30)}},
    };
    builder_add(builder, &(struct row){.row_id = row_id,
                                       .seq = row_id,
                                       .document_id = row_id / 4,
                                       .state = row_id % 50 ? DOCUMENT_ACTIVE : DOCUMENT_SENSITIVE,
                                       .workspaces = workspaces,
                                       .workspace_count = 2,
                                       .vector = row_id % 11 ? vector : NULL,
                                       .text = str_from(text),
                                       .language = STR("en"),
                                       .attributes = attributes,
                                       .attribute_count = 2});
}

static struct str make_sound_segment(const char *folder)
{
    struct rotation *rotation = rotation_new(DIMENSION);
    struct builder *builder = builder_new(DIMENSION, rotation);
    for (int64_t row_id = 1; row_id <= ROWS + ROWS / 10; row_id++)
        add_row(builder, row_id);
    struct segment *segment = NULL;
    const struct image_target target = {folder, 1};
    ASSERT(builder_finish(builder, &target, 0, 5000, &segment, NULL) == IBID_OK && segment);
    const struct str copy = {xmemdup0(segment->data, segment->size), segment->size};
    segment_unref(segment);
    builder_free(builder);
    rotation_free(rotation);
    return copy;
}

/* ---- inputs ---- */

static void fix_checksums(char *bytes, size_t size)
{
    struct segment_header *header = (struct segment_header *)bytes;
    if (size < SEGMENT_HEADER_SIZE)
        return;
    const struct section_range *range = &header->sections[SECTION_CHECKSUMS];
    header->size = size;
    if (range->offset >= SEGMENT_HEADER_SIZE && range->offset <= size &&
        range->size <= size - range->offset && range->offset % 8 == 0) {
        uint64_t *sums = (uint64_t *)(bytes + range->offset);
        size_t start = SEGMENT_HEADER_SIZE;
        for (size_t page = 0; start < range->offset && page < range->size / 8;
             page++, start += SEGMENT_PAGE_SIZE) {
            const size_t rest = range->offset - start;
            sums[page] = checksum64(bytes + start, rest < SEGMENT_PAGE_SIZE ? rest : SEGMENT_PAGE_SIZE, page);
        }
        header->checksums_checksum = checksum64(sums, range->size, 0);
    }
    header->checksum = checksum64(header, offsetof(struct segment_header, checksum), 0);
}

static struct str make_input(struct str sound, const uint8_t *data, size_t size)
{
    const unsigned kind = data[0] % 4;
    struct str made = {NULL, kind % 2 ? sound.size : size - 1};
    char *bytes = xmemdup0(kind % 2 ? (const void *)sound.data : (const void *)(data + 1), made.size);
    for (size_t at = 1; kind % 2 && at + 5 <= size; at += 5) {
        uint32_t offset;
        memcpy(&offset, data + at, sizeof offset);
        bytes[offset % made.size] = (char)data[at + 4];
    }
    if (kind >= 2)
        fix_checksums(bytes, made.size);
    made.data = bytes;
    return made;
}

/* ---- use ---- */

static void search(struct collection *collection, const char *filter_text)
{
    static const int64_t workspaces[] = {1, 2, 4};
    static const struct scope scope = {workspaces, 3, workspaces, 2};
    AUTO_ARENA arena = ARENA_INIT;
    const struct filter *filter = NULL;
    struct selection *selection;
    struct candidate found[30];
    int64_t listed[30];
    size_t count;
    ibid_error error;
    float vector[DIMENSION] = {1};
    const struct str terms[] = {STR("water"), STR("word3"), STR("boil")};
    const struct term_query query = {.terms = terms, .count = 3, .k1 = 0.9f, .b = 0.4f};
    if (filter_text)
        ASSERT(filter_from_text(str_from(filter_text), &arena, &filter, &error) == IBID_OK);
    if (embedded_select(collection, &scope, filter, &selection, &error) != IBID_OK)
        return;
    struct embedded_selection *self = embedded_selection(selection);
    if (embedded_nearest(self, vector, 10, found, &count, &error) == IBID_OK)
        ASSERT(count <= 10);
    if (embedded_match(self, &query, 30, found, &count, &error) == IBID_OK)
        ASSERT(count <= 30);
    if (embedded_list(self, 3, 30, listed, &count, &error) == IBID_OK)
        ASSERT(count <= 30);
    for (size_t i = 0; i < 30; i++)
        found[i].row_id = (int64_t)i * 40;
    if (embedded_score(self, vector, &query, found, 30, &error) != IBID_OK)
        ASSERT(error.message[0]);
    selection_free(selection);
}

static void use(const char *folder, struct segment *segment)
{
    static const struct vector_space space = {1, DIMENSION, "fuzz"};
    static const struct embedded_options options = {.direct_rows = 0, .seal_rows = 1024};
    struct collection *collection;
    ibid_error error;
    ASSERT(collection_open(folder, &space, &nothing, &options, &collection, &error) == IBID_OK);
    struct snapshot *snapshot = snapshot_new(1, 10000);
    snapshot_add(snapshot, segment_ref(segment), NULL);
    collection_publish(collection, snapshot);
    search(collection, NULL);
    search(collection, "label=\"label 2\" and page>5");
    search(collection, "label~abel and shelf=3");
    const struct merge_source source = {segment, NULL};
    struct segment *merged = NULL;
    if (merge_segments(&source, 1, &(struct image_target){NULL, 0}, &merged, &error) == IBID_OK)
        segment_unref(merged);
    collection_unref(collection);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct str sound; /* lives as long as the process */
    char folder[] = "/tmp/ibid-fuzz-XXXXXX";
    if (size == 0)
        return 0;
    ASSERT(mkdtemp(folder));
    if (!sound.data)
        sound = make_sound_segment(folder);
    const struct str input = make_input(sound, data, size);
    AUTO_FREE char *path = xasprintf("%s/file", folder);
    AUTO_FREE char *inner = xasprintf("%s/1", folder);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ibid_error error;
    ASSERT(fd >= 0 && file_write_fd(fd, input.data, input.size, &error) == IBID_OK);
    close(fd);
    struct segment *segment;
    if (segment_open(path, 1, &segment, &error) == IBID_OK) {
        if (segment->header->dimension == DIMENSION)
            use(inner, segment);
        segment_unref(segment);
    }
    ASSERT(folder_remove(folder, &error) == IBID_OK);
    free((void *)input.data);
    return 0;
}
