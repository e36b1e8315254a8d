/* What a format's extractor writes to, inside its sandboxed child.
 *
 * The other side builds the canonical text from these events: it puts the separators between
 * blocks, checks UTF-8, order and every limit of model/extraction.h, and stops reading when one is
 * crossed. So an extractor can lie only about its own document. The calls never fail: when the
 * other side has gone, the child ends.
 *
 * Usable from C++ (the PDF extractor). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "model/extraction.h"

#ifdef __cplusplus
extern "C" {
#endif

struct emitter;

/* A document property; see struct metadata_entry. Empty values are dropped. */
void emit_metadata(struct emitter *emitter, const char *key, struct str value);

/* A page begins: what follows stands on it. Numbers rise from 1. May come inside a block. */
void emit_page(struct emitter *emitter, uint32_t number, float width, float height, struct str label);
/* The present page shows something but has no text. */
void emit_page_needs_ocr(struct emitter *emitter);

/* Blocks nest; each open has its close. */
void emit_open(struct emitter *emitter, enum block_kind kind, unsigned level, unsigned flags);
void emit_close(struct emitter *emitter);

/* Text of the open block, as it is (ill-formed UTF-8 is repaired; control characters but TAB and line
 * feed are dropped). With no block open it makes a paragraph of its own. */
void emit_text(struct emitter *emitter, struct str text);
/* The same, with its place on the present page. */
void emit_word(struct emitter *emitter, struct str text, float x0, float y0, float x1, float y1);
/* Parts the cells of a table row. */
void emit_cell_end(struct emitter *emitter);

/* A block in one call. */
void emit_block(struct emitter *emitter, enum block_kind kind, unsigned level, unsigned flags, struct str text);

/* Something the reader of the result should know; equal codes are counted, the first message stays. */
void emit_warning(struct emitter *emitter, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the extraction with a status other than OK: the reason is one line. What was emitted before
 * stays for EXTRACTION_PARTIAL and is dropped for the others. Does not return. */
void emit_failure(struct emitter *emitter, enum extraction_status status, const char *reason, ...)
    __attribute__((format(printf, 3, 4), noreturn));

#ifdef __cplusplus
}
#endif
