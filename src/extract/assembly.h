/* Host side: builds a struct extraction from a child's events.
 *
 * Nothing in the stream is believed. Whatever arrives, the result keeps the promises of
 * model/extraction.h: well-formed text, nested and ordered ranges, every limit. */
#pragma once

#include "base/arena.h"
#include "extract/protocol.h"
#include "model/extraction.h"

struct assembly_limits {
    size_t max_text; /* bytes */
    uint32_t max_pages;
    bool words; /* keep word boxes */
};

struct assembly;

struct assembly *assembly_new(const struct assembly_limits *limits) __attribute__((returns_nonnull));
void assembly_free(struct assembly *take_assembly);

/* Takes the next bytes of the stream, cut anywhere. False once more is of no use: the stream has
 * ended, broke a rule, or crossed a limit. */
bool assembly_feed(struct assembly *assembly, const void *data, size_t size);

/* The result, in `arena`. `report` tells how the child ended, with the limits it ran under (for
 * the reason). Sets all of *ret; format,
 * extractor and media_type become empty and are the caller's to fill. */
void assembly_finish(struct assembly *assembly, const struct child_report *report,
                     const struct request *request, struct arena *arena, struct extraction *ret);
