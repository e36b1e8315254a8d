/* A DOCX file while it is read. */
#pragma once

#include "extract/docx_notes.h"
#include "extract/docx_numbering.h"
#include "extract/docx_styles.h"
#include "extract/extractor.h"
#include "extract/layout_tables.h"
#include "extract/opc.h"

struct docx {
    struct emitter *emitter;
    struct zip_package *package;
    const char *main_part;
    struct opc_relationships relationships; /* of the main part */
    struct docx_styles styles;
    struct docx_numbering numbering;
    struct docx_notes footnotes, endnotes, comments;
    bool has_title;
};

/* What docx_body_read() found besides text. */
struct docx_body_result {
    bool whole; /* read to its end */
    bool any_text;
    char **margin_parts; /* ids of headers and footers, in order, each once */
    bool *margin_is_footer;
    size_t margin_count, margin_capacity;
};

/* Emits a part that has paragraphs: the main one (`story` BLOCK_PARAGRAPH), or a header or footer,
 * all of whose text is of that kind. `root` is the name of its outermost element. False when the
 * package has no such part or it has another root. Release the result. */
bool docx_body_read(struct docx *docx, const char *part, const char *root, enum block_kind story,
                    struct docx_body_result *ret);
void docx_body_result_release(struct docx_body_result *result);

extract_function extract_docx;
