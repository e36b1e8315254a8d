/* Walks a part of a DOCX file and shows only what a reader of the document sees: tracked changes as
 * if accepted, one of several alternatives, results of fields instead of their codes. */
#pragma once

#include "extract/xml_reader.h"

struct docx_walk {
    struct xml_reader *reader;
    /* Where the walk is. */
    bool in_paragraph_properties, in_run_properties, in_row_properties;
    unsigned text_depth; /* inside elements whose text is the document's */
    bool alternative_taken[XML_DEPTH_LIMIT + 2];
    size_t alternative_depth;
    bool placeholder; /* the next content of a control is its prompt */
};

/* False when the package has no such part. */
bool docx_walk_open(struct docx_walk *walk, struct emitter *emitter, struct zip_package *package,
                    const char *part);
void docx_walk_close(struct docx_walk *walk);

/* As xml_reader_next(). A "w:del" or "w:moveFrom" that is shown marks a paragraph's end (inside
 * paragraph properties) or a row (inside row properties) as deleted. */
enum xml_event docx_walk_next(struct docx_walk *walk);

/* Whether the present text belongs to the document. */
bool docx_walk_in_text(const struct docx_walk *walk);
