#include "extract/zip_package.h"

#include <stdlib.h>
#include <zip.h>

#include "base/memory.h"

struct entry {
    char *name; /* in lower case, with forward slashes and none at its start */
    zip_uint64_t index;
};

struct zip_package {
    struct emitter *emitter;
    zip_t *archive;
    struct entry *entries; /* sorted by name */
    size_t count;
    uint64_t total; /* bytes that came out so far */
};

struct zip_part {
    struct zip_package *package;
    zip_file_t *file;
    uint64_t compressed, produced;
};

/* ---- entries that overlap ---- */

struct extent {
    uint64_t start, end;
};

static uint64_t little_endian(struct str bytes, size_t at, size_t count)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++)
        value |= (uint64_t)(unsigned char)bytes.data[at + i] << (8 * i);
    return value;
}

static int by_start(const void *a, const void *b)
{
    const struct extent *first = a, *second = b;
    return (first->start > second->start) - (first->start < second->start);
}

enum { END_SIZE = 22, DIRECTORY_ENTRY_SIZE = 46, LOCAL_HEADER_SIZE = 30 };

/* Where the central directory stands, from the record at the end of the file; false when there is none. */
static bool find_directory(struct str bytes, size_t *ret_start, size_t *ret_count)
{
    for (size_t back = END_SIZE; back <= bytes.size && back <= END_SIZE + UINT16_MAX; back++) {
        size_t at = bytes.size - back;
        if (memcmp(bytes.data + at, "PK\5\6", 4) != 0)
            continue;
        *ret_count = little_endian(bytes, at + 10, 2);
        *ret_start = little_endian(bytes, at + 16, 4);
        return *ret_start < bytes.size;
    }
    return false;
}

/* Whether two entries claim the same bytes: how a small file unfolds into a huge one. The directory is
 * read here because libzip's own check also refuses files that every office program reads. */
static bool entries_overlap(struct str bytes)
{
    size_t at, count, known = 0;
    if (!find_directory(bytes, &at, &count))
        return true;
    struct extent *extents = xcalloc(count + 1, sizeof *extents);
    bool overlap = false;
    while (known < count && bytes.size - at >= DIRECTORY_ENTRY_SIZE &&
           memcmp(bytes.data + at, "PK\1\2", 4) == 0) {
        uint64_t size = little_endian(bytes, at + 20, 4), start = little_endian(bytes, at + 42, 4);
        size_t name = little_endian(bytes, at + 28, 2), rest = little_endian(bytes, at + 30, 2);
        rest += little_endian(bytes, at + 32, 2);
        extents[known++] = (struct extent){start, start + LOCAL_HEADER_SIZE + name + size};
        if (bytes.size - at - DIRECTORY_ENTRY_SIZE < name + rest)
            break;
        at += DIRECTORY_ENTRY_SIZE + name + rest;
    }
    qsort(extents, known, sizeof *extents, by_start);
    for (size_t i = 1; i < known; i++)
        overlap |= extents[i].start < extents[i - 1].end;
    free(extents);
    return overlap;
}

/* ---- the archive ---- */

static zip_t *open_archive(struct str bytes, int flags, zip_error_t *error)
{
    zip_source_t *source = zip_source_buffer_create(bytes.data, bytes.size, 0, error);
    zip_t *archive = source ? zip_open_from_source(source, ZIP_RDONLY | flags, error) : NULL;
    if (!archive && source)
        zip_source_free(source);
    return archive;
}

static zip_t *open_checked(struct emitter *emitter, struct str bytes)
{
    zip_error_t error;
    zip_error_init(&error);
    zip_t *archive = open_archive(bytes, ZIP_CHECKCONS, &error);
    if (archive)
        return archive;
    archive = open_archive(bytes, 0, &error);
    size_t start, count;
    if (!archive && !find_directory(bytes, &start, &count))
        emit_failure(emitter, EXTRACTION_CORRUPT,
                     "the ZIP package has no list of its parts: it was cut short");
    else if (!archive)
        emit_failure(emitter, EXTRACTION_CORRUPT, "the ZIP package is damaged: %s",
                     zip_error_strerror(&error));
    if (entries_overlap(bytes))
        emit_failure(emitter, EXTRACTION_CORRUPT, "entries of the ZIP package overlap");
    return archive;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static char *plain_name(const char *name)
{
    while (*name == '/' || *name == '\\')
        name++;
    char *copy = xstrdup(name);
    for (char *at = copy; *at; at++)
        *at = *at >= 'A' && *at <= 'Z' ? (char)(*at | 0x20) : *at == '\\' ? '/' : *at;
    return copy;
}

struct zip_package *zip_package_open(struct emitter *emitter, struct str bytes)
{
    struct zip_package *self = xcalloc(1, sizeof *self);
    self->emitter = emitter;
    self->archive = open_checked(emitter, bytes);
    zip_int64_t count = zip_get_num_entries(self->archive, 0);
    if (count > ZIP_ENTRY_LIMIT)
        emit_failure(emitter, EXTRACTION_LIMIT, "more than %d entries in the ZIP package", ZIP_ENTRY_LIMIT);
    self->count = (size_t)count;
    self->entries = xcalloc(self->count + 1, sizeof *self->entries);
    for (size_t i = 0; i < self->count; i++) {
        const char *name = zip_get_name(self->archive, i, ZIP_FL_ENC_GUESS);
        self->entries[i] = (struct entry){plain_name(name ? name : ""), i};
    }
    qsort(self->entries, self->count, sizeof *self->entries, by_name);
    return self;
}

void zip_package_close(struct zip_package *self)
{
    for (size_t i = 0; i < self->count; i++)
        free(self->entries[i].name);
    free(self->entries);
    zip_discard(self->archive);
    free(self);
}

/* NULL when there is none. */
static const struct entry *find(const struct zip_package *self, const char *name)
{
    AUTO_FREE char *plain = plain_name(name);
    struct entry wanted = {.name = plain};
    return bsearch(&wanted, self->entries, self->count, sizeof *self->entries, by_name);
}

bool zip_package_has(const struct zip_package *self, const char *name)
{
    return find(self, name) != NULL;
}

/* ---- one part ---- */

struct zip_part *zip_part_open(struct zip_package *self, const char *name)
{
    const struct entry *entry = find(self, name);
    zip_stat_t status;
    if (!entry || zip_stat_index(self->archive, entry->index, 0, &status) != 0)
        return NULL;
    if (status.encryption_method != ZIP_EM_NONE)
        emit_failure(self->emitter, EXTRACTION_ENCRYPTED, "its parts are encrypted");
    if (status.comp_method != ZIP_CM_STORE && status.comp_method != ZIP_CM_DEFLATE)
        return NULL;
    zip_file_t *file = zip_fopen_index(self->archive, entry->index, 0);
    if (!file)
        return NULL;
    struct zip_part *part = xcalloc(1, sizeof *part);
    *part = (struct zip_part){.package = self, .file = file, .compressed = status.comp_size};
    return part;
}

void zip_part_close(struct zip_part *part)
{
    if (!part)
        return;
    zip_fclose(part->file);
    free(part);
}

static void check_limits(const struct zip_part *part)
{
    struct emitter *emitter = part->package->emitter;
    if (part->produced > ZIP_ENTRY_SIZE_LIMIT)
        emit_failure(emitter, EXTRACTION_LIMIT, "a part of the ZIP package is larger than %d MiB",
                     ZIP_ENTRY_SIZE_LIMIT >> 20);
    if (part->package->total > ZIP_TOTAL_SIZE_LIMIT)
        emit_failure(emitter, EXTRACTION_LIMIT, "the parts of the ZIP package are larger than %d MiB",
                     ZIP_TOTAL_SIZE_LIMIT >> 20);
    if (part->produced > ZIP_RATIO_FREE_SIZE && part->produced / ZIP_RATIO_LIMIT > part->compressed)
        emit_failure(emitter, EXTRACTION_LIMIT,
                     "a part of the ZIP package unfolds to more than %d times its size", ZIP_RATIO_LIMIT);
}

int zip_part_read(struct zip_part *part, char *buffer, int size)
{
    zip_int64_t got = zip_fread(part->file, buffer, (zip_uint64_t)size);
    if (got < 0)
        return -1;
    part->produced += (uint64_t)got;
    part->package->total += (uint64_t)got;
    check_limits(part);
    return (int)got;
}
