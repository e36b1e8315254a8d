#include "vector_store/embedded/segment.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "vector_store/embedded/bitmap.h"
#include "vector_store/embedded/rotation.h"
#include "vector_store/embedded/row_set.h"
#include "vector_store/vector_store.h"

/* ---- opening ---- */

static struct segment *segment_new(const void *data, size_t size)
{
    struct segment *segment = xcalloc(1, sizeof *segment);
    struct segment_header *header = xmalloc(sizeof *header);
    memcpy(header, data, sizeof *header);
    atomic_init(&segment->references, 1);
    segment->data = data;
    segment->size = size;
    segment->header = header;
    segment->rows = segment->header->rows;
    segment->words = bitmap_words(segment->rows);
    return segment;
}

struct segment *segment_from_memory(void *take_data, size_t size)
{
    struct segment *segment = segment_new(take_data, size);
    segment->memory = take_data;
    return segment;
}

static size_t page_count(const struct segment_header *header)
{
    const size_t end = header->sections[SECTION_CHECKSUMS].offset;
    return (end - SEGMENT_HEADER_SIZE + SEGMENT_PAGE_SIZE - 1) / SEGMENT_PAGE_SIZE;
}

/* The size a section must have, given the counts of the header; UINT64_MAX where any will do. */
static uint64_t section_size(const struct segment_header *header, enum section section)
{
    const uint64_t rows = header->rows, padded = header->padded;
    const uint64_t blocks = (rows + CODE_BLOCK_ROWS - 1) / CODE_BLOCK_ROWS;
    const bool has_vectors = header->vectors > 0;
    const bool has_codes = header->sections[SECTION_CENTROID].size > 0;
    switch (section) {
    case SECTION_ROW_IDS:
    case SECTION_SEQS:
        return rows * sizeof(int64_t);
    case SECTION_LENGTHS:
        return rows * sizeof(uint16_t);
    case SECTION_SETS:
        return header->sets * sizeof(struct set_entry);
    case SECTION_NUMBERS:
        return header->numbers * sizeof(struct number_entry);
    case SECTION_SCALES:
        return has_vectors ? rows * sizeof(float) : 0;
    case SECTION_VECTORS:
        return has_vectors ? rows * padded : 0;
    case SECTION_CENTROID:
        return has_codes ? padded * sizeof(float) : 0;
    case SECTION_CODE_OFFSETS:
    case SECTION_CODE_SCALES:
        return has_codes ? blocks * CODE_BLOCK_ROWS * sizeof(float) : 0;
    case SECTION_CODES:
        return has_codes ? blocks * CODE_BLOCK_ROWS * padded / 8 : 0;
    case SECTION_TERM_PREFIXES:
        return header->terms * sizeof(uint64_t);
    case SECTION_TERMS:
        return header->terms * sizeof(struct term_entry);
    case SECTION_CHECKSUMS:
        return page_count(header) * sizeof(uint64_t);
    default:
        return UINT64_MAX;
    }
}

static const char *header_problem(const struct segment_header *header, size_t size)
{
    if (memcmp(header->magic, SEGMENT_MAGIC, sizeof SEGMENT_MAGIC) != 0)
        return "is no segment";
    if (header->byte_order != SEGMENT_BYTE_ORDER)
        return "was written on a machine with another byte order";
    if (header->version != SEGMENT_VERSION)
        return "has another version";
    if (checksum64(header, offsetof(struct segment_header, checksum), 0) != header->checksum)
        return "has a damaged header";
    if (header->size != size)
        return "is cut off";
    if (header->rows == 0 || header->rows > SEGMENT_ROWS || header->vectors > header->rows ||
        header->first_row_id > header->last_row_id || header->padded != rotation_padded(header->dimension) ||
        header->dimension > VECTOR_DIMENSION_MAX)
        return "has a header that cannot be";
    uint64_t end = SEGMENT_HEADER_SIZE;
    for (unsigned i = 0; i < SECTION_COUNT; i++) {
        const struct section_range *range = &header->sections[i];
        if (range->offset < end || range->offset % SEGMENT_ALIGNMENT || range->offset > size ||
            range->size > size - range->offset)
            return "has sections that overlap";
        end = range->offset + range->size;
    }
    for (unsigned i = 0; i < SECTION_COUNT; i++) {
        const uint64_t expected = section_size(header, (enum section)i);
        if (expected != UINT64_MAX && header->sections[i].size != expected)
            return "has a section of a wrong size";
    }
    if (header->sections[SECTION_NUMBER_VALUES].size / sizeof(double) !=
        header->sections[SECTION_NUMBER_ROWS].size / sizeof(uint16_t))
        return "has numbers without rows";
    return NULL;
}

static ibid_code check_mapped(const struct file_map *map, const char *path, ibid_error *err)
{
    if (map->size < SEGMENT_HEADER_SIZE)
        return fail(err, IBID_ECORRUPT, "'%s' is cut off", path);
    const struct segment_header *header = map->data;
    const char *problem = header_problem(header, map->size);
    if (problem)
        return fail(err, IBID_ECORRUPT, "'%s' %s", path, problem);
    const struct section_range *checksums = &header->sections[SECTION_CHECKSUMS];
    if (checksum64((const char *)map->data + checksums->offset, checksums->size, 0) !=
        header->checksums_checksum)
        return fail(err, IBID_ECORRUPT, "'%s' has a damaged list of checksums", path);
    return IBID_OK;
}

ibid_code segment_open(const char *path, uint64_t number, struct segment **ret, ibid_error *err)
{
    struct file_map map;
    TRY(file_map_open(path, &map, err));
    const ibid_code code = check_mapped(&map, path, err);
    if (code != IBID_OK) {
        file_map_close(&map);
        return code;
    }
    struct segment *segment = segment_new(map.data, map.size);
    segment->map = map;
    segment->number = number;
    segment->pages_checked = xcalloc(page_count(segment->header), 1);
    *ret = segment;
    return IBID_OK;
}

struct segment *segment_ref(struct segment *segment)
{
    atomic_fetch_add(&segment->references, 1);
    return segment;
}

void segment_unref(struct segment *segment)
{
    if (!segment || atomic_fetch_sub(&segment->references, 1) != 1)
        return;
    file_map_close(&segment->map);
    free(segment->memory);
    free((void *)segment->header);
    free((void *)segment->pages_checked);
    free(segment);
}

/* ---- reading ---- */

static bool check_page(struct segment *segment, size_t page)
{
    if (atomic_load_explicit(&segment->pages_checked[page], memory_order_relaxed))
        return true;
    const struct section_range *checksums = &segment->header->sections[SECTION_CHECKSUMS];
    const size_t start = SEGMENT_HEADER_SIZE + page * SEGMENT_PAGE_SIZE;
    const size_t rest = checksums->offset - start;
    uint64_t expected;
    memcpy(&expected, segment->data + checksums->offset + page * sizeof expected, sizeof expected);
    if (checksum64(segment->data + start, rest < SEGMENT_PAGE_SIZE ? rest : SEGMENT_PAGE_SIZE, page) !=
        expected)
        return false;
    atomic_store_explicit(&segment->pages_checked[page], 1, memory_order_relaxed);
    return true;
}

static bool check_range(struct segment *segment, size_t start, size_t size)
{
    if (!segment->pages_checked || size == 0)
        return true;
    const size_t last = (start + size - 1 - SEGMENT_HEADER_SIZE) / SEGMENT_PAGE_SIZE;
    for (size_t page = (start - SEGMENT_HEADER_SIZE) / SEGMENT_PAGE_SIZE; page <= last; page++)
        if (!check_page(segment, page))
            return false;
    return true;
}

const void *segment_read(struct segment *segment, enum section section, size_t offset, size_t size)
{
    const struct section_range *range = &segment->header->sections[section];
    if (offset > range->size || size > range->size - offset ||
        !check_range(segment, range->offset + offset, size)) {
        if (!segment->memory)
            atomic_store(&segment->damaged, true);
        return NULL;
    }
    return segment->data + range->offset + offset;
}

const void *segment_section(struct segment *segment, enum section section)
{
    return segment_read(segment, section, 0, segment_section_size(segment, section));
}

ibid_code segment_damage(struct segment *segment, ibid_error *err)
{
    if (segment->memory)
        return fail(err, IBID_EBUG, "a segment in memory is not as it was made");
    atomic_store(&segment->damaged, true);
    return fail(err, IBID_ECORRUPT, "segment %06llu is damaged", (unsigned long long)segment->number);
}

ibid_code segment_check(struct segment *segment, ibid_error *err)
{
    if (segment->memory)
        return IBID_OK;
    const size_t pages = page_count(segment->header);
    for (size_t page = 0; page < pages; page++)
        atomic_store_explicit(&segment->pages_checked[page], 0, memory_order_relaxed);
    bool sound = memcmp(segment->data, segment->header, sizeof *segment->header) == 0;
    for (size_t page = 0; page < pages && sound; page++)
        sound = check_page(segment, page);
    return sound ? IBID_OK : segment_damage(segment, err);
}

size_t first_id_at_least(const int64_t *ids, size_t count, int64_t id)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

ibid_code segment_lower_bound(struct segment *segment, int64_t row_id, uint32_t *ret_row, ibid_error *err)
{
    const int64_t *ids = segment_section(segment, SECTION_ROW_IDS);
    if (!ids)
        return segment_damage(segment, err);
    *ret_row = (uint32_t)first_id_at_least(ids, segment->rows, row_id);
    return IBID_OK;
}

ibid_code segment_find_row(struct segment *segment, int64_t row_id, int64_t *ret_row, ibid_error *err)
{
    *ret_row = -1;
    if (row_id < segment->header->first_row_id || row_id > segment->header->last_row_id)
        return IBID_OK;
    const int64_t *ids = segment_section(segment, SECTION_ROW_IDS);
    if (!ids)
        return segment_damage(segment, err);
    const size_t row = first_id_at_least(ids, segment->rows, row_id);
    if (row < segment->rows && ids[row] == row_id)
        *ret_row = (int64_t)row;
    return IBID_OK;
}

/* ---- sets and numbers ---- */

static ibid_code set_entries(struct segment *segment, const struct set_entry **ret, ibid_error *err)
{
    *ret = segment_section(segment, SECTION_SETS);
    return *ret ? IBID_OK : segment_damage(segment, err);
}

ibid_code segment_set_value(struct segment *segment, uint32_t set, struct str *ret, ibid_error *err)
{
    const struct set_entry *entries;
    TRY(set_entries(segment, &entries, err));
    const struct set_entry *entry = &entries[set];
    *ret = (struct str){segment_read(segment, SECTION_SET_VALUES, entry->value_offset, entry->value_size),
                        entry->value_size};
    return ret->data ? IBID_OK : segment_damage(segment, err);
}

ibid_code segment_add_set_at(struct segment *segment, uint32_t set, uint64_t *bits, ibid_error *err)
{
    const struct set_entry *entries;
    TRY(set_entries(segment, &entries, err));
    const struct set_entry *entry = &entries[set];
    const void *data = segment_read(segment, SECTION_SET_ROWS, entry->rows_offset, entry->rows_size);
    if (!data || !row_set_add(data, entry->rows_size, segment->rows, bits))
        return segment_damage(segment, err);
    return IBID_OK;
}

static uint32_t first_set_of(const struct set_entry *entries, uint32_t count, uint32_t key)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (entries[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

ibid_code segment_sets_of(struct segment *segment, uint32_t key, uint32_t *ret_first, uint32_t *ret_end,
                          ibid_error *err)
{
    const struct set_entry *entries;
    TRY(set_entries(segment, &entries, err));
    *ret_first = first_set_of(entries, segment->header->sets, key);
    *ret_end = first_set_of(entries, segment->header->sets, key + 1);
    return IBID_OK;
}

ibid_code segment_add_set(struct segment *segment, uint32_t key, struct str value, uint64_t *bits,
                          ibid_error *err)
{
    uint32_t low, high, end;
    TRY(segment_sets_of(segment, key, &low, &high, err));
    end = high;
    struct str present = STR_EMPTY;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        TRY(segment_set_value(segment, middle, &present, err));
        if (str_compare(present, value) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == end)
        return IBID_OK;
    TRY(segment_set_value(segment, low, &present, err));
    return str_equal(present, value) ? segment_add_set_at(segment, low, bits, err) : IBID_OK;
}

ibid_code segment_vector_rows(struct segment *segment, uint64_t *bits, ibid_error *err)
{
    memset(bits, 0, segment->words * sizeof *bits);
    return segment_add_set(segment, SET_HAS_VECTOR, STR_EMPTY, bits, err);
}

ibid_code segment_numbers(struct segment *segment, uint32_t key, const double **ret_values,
                          const uint16_t **ret_rows, size_t *ret_count, ibid_error *err)
{
    const struct number_entry *entries = segment_section(segment, SECTION_NUMBERS);
    if (!entries)
        return segment_damage(segment, err);
    *ret_count = 0;
    for (uint32_t i = 0; i < segment->header->numbers; i++) {
        if (entries[i].key != key)
            continue;
        const uint64_t count = entries[i].count, first = entries[i].first;
        if (first > SIZE_MAX / sizeof(double) / 2)
            return segment_damage(segment, err);
        *ret_values =
            segment_read(segment, SECTION_NUMBER_VALUES, first * sizeof(double), count * sizeof(double));
        *ret_rows =
            segment_read(segment, SECTION_NUMBER_ROWS, first * sizeof(uint16_t), count * sizeof(uint16_t));
        if (!*ret_values || !*ret_rows)
            return segment_damage(segment, err);
        *ret_count = count;
    }
    return IBID_OK;
}

/* ---- terms ---- */

static ibid_code term_postings(struct segment *segment, const struct term_entry *entry, bool is_last,
                               struct segment_term *ret, ibid_error *err)
{
    const size_t end = is_last ? segment_section_size(segment, SECTION_POSTINGS) : entry[1].postings_offset;
    if (end < entry->postings_offset)
        return segment_damage(segment, err);
    const size_t size = end - entry->postings_offset;
    *ret = (struct segment_term){*entry,
                                 segment_read(segment, SECTION_POSTINGS, entry->postings_offset, size), size};
    return ret->postings ? IBID_OK : segment_damage(segment, err);
}

ibid_code segment_term_at(struct segment *segment, uint32_t term, struct str *ret_text,
                          struct segment_term *ret, ibid_error *err)
{
    const bool is_last = term + 1 == segment->header->terms;
    const size_t size = (is_last ? 1 : 2) * sizeof(struct term_entry);
    const struct term_entry *entry = segment_read(segment, SECTION_TERMS, term * sizeof *entry, size);
    if (!entry)
        return segment_damage(segment, err);
    ret_text->data = segment_read(segment, SECTION_TERM_TEXTS, entry->text_offset, entry->text_size);
    ret_text->size = entry->text_size;
    if (!ret_text->data)
        return segment_damage(segment, err);
    return term_postings(segment, entry, is_last, ret, err);
}

/* The first term whose prefix is not below. */
static uint32_t first_with_prefix(const uint64_t *prefixes, uint32_t count, uint64_t prefix)
{
    uint32_t low = 0;
    while (count > 0) {
        const uint32_t half = count / 2;
        const bool below = prefixes[low + half] < prefix;
        low = below ? low + half + 1 : low;
        count = below ? count - half - 1 : half;
    }
    return low;
}

ibid_code segment_find_term(struct segment *segment, struct str text, bool *ret_found,
                            struct segment_term *ret, ibid_error *err)
{
    const uint64_t prefix = term_prefix(text);
    const uint64_t *prefixes = segment_section(segment, SECTION_TERM_PREFIXES);
    if (!prefixes)
        return segment_damage(segment, err);
    *ret_found = false;
    const uint32_t count = segment->header->terms;
    uint32_t low = first_with_prefix(prefixes, count, prefix);
    uint32_t end = prefix == UINT64_MAX ? count : first_with_prefix(prefixes, count, prefix + 1);
    while (low < end) {
        const uint32_t middle = low + (end - low) / 2;
        struct str present;
        TRY(segment_term_at(segment, middle, &present, ret, err));
        const int order = str_compare(present, text);
        *ret_found = order == 0;
        if (order == 0)
            break;
        if (order < 0)
            low = middle + 1;
        else
            end = middle;
    }
    return IBID_OK;
}
