/* A chunk: one retrievable piece of a document. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct chunk {
    struct str text;         /* what is shown: the range below without what is left out in it (page
                                headers, hidden text) */
    struct str embed_text;   /* what is embedded and searched: headings, table header and text */
    struct str heading_path; /* "Chapter 1 › Scope"; empty at the top */
    struct str structure;    /* Element form: "paragraph", "table", "list", "code"... (the main block) */
    uint32_t order;          /* position in the document, from 0 */
    uint32_t start, end;     /* range in the canonical text */
    uint32_t own_start;      /* where it stops repeating the chunk before it: start <= own_start < end */
    uint32_t page_first, page_last; /* 0: the format has no pages */
    uint32_t tokens;                /* of embed_text, without special tokens */
};
