/* Footnotes, endnotes and comments: small texts that the main text points at. */
#pragma once

#include "extract/zip_package.h"

struct docx_note {
    long id;
    char *text; /* paragraphs parted by line breaks; of a comment "Author: text" */
};

struct docx_notes {
    struct docx_note *items; /* sorted by id */
    size_t count, capacity;
};

/* `element`: "w:footnote", "w:endnote" or "w:comment". The notes that only draw separators are left
 * out. None when the part is missing (`part` may be NULL). */
void docx_notes_read(struct emitter *emitter, struct zip_package *package, const char *part,
                     const char *element, struct docx_notes *ret);
void docx_notes_release(struct docx_notes *notes);

/* NULL when there is none of that id. */
const char *docx_notes_find(const struct docx_notes *notes, long id);
