/* Reading ZIP files that nobody vouches for.
 *
 * Sizes that a file claims are never believed: what comes out is counted. A file that crosses a
 * limit, overlaps itself or is encrypted ends the extraction through the emitter. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "extract/emitter.h"

enum {
    ZIP_ENTRY_LIMIT = 10000,
    ZIP_ENTRY_SIZE_LIMIT = 256 * 1024 * 1024,
    ZIP_TOTAL_SIZE_LIMIT = 1024 * 1024 * 1024,
    ZIP_RATIO_LIMIT = 100,         /* bytes out for a byte in, */
    ZIP_RATIO_FREE_SIZE = 1000000, /* beyond the first so many */
};

struct zip_package;
struct zip_part;

/* Opens a file in memory, which is borrowed. Does not return when it is damaged, encrypted or
 * crosses a limit. */
struct zip_package *zip_package_open(struct emitter *emitter, struct str bytes)
    __attribute__((returns_nonnull));
void zip_package_close(struct zip_package *package);

/* Whether there is a part of that name (letters compare without case). */
bool zip_package_has(const struct zip_package *package, const char *name);

/* NULL when there is none or its compression is not known. */
struct zip_part *zip_part_open(struct zip_package *package, const char *name);
void zip_part_close(struct zip_part *take_part);

/* Reads up to `size` bytes: 0 at the end, -1 when the part is damaged. Does not return when a limit
 * is crossed. */
int zip_part_read(struct zip_part *part, char *buffer, int size);
