/* A document as the chunkers see it: the pieces of text a reader sees, in order, each with the
 * headings above it. What no search should find (page headers and footers, comments, boilerplate,
 * hidden text) is left out, and the places where it stood are marked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "model/extraction.h"

/* The run of text under one heading; 0 is what stands above all headings. */
struct section {
    struct str heading; /* its text on one line; empty for section 0 */
    struct str path;    /* "Chapter 1 › Scope" */
    uint32_t parent;    /* section that holds this one; section 0 is its own parent */
    uint8_t level;      /* of the heading; 0 for section 0 */
};

struct table {
    uint32_t start, end;
    uint32_t header_start, header_end; /* the header rows it begins with; equal when it has none */
};

enum { NO_TABLE = UINT32_MAX };

/* Text of one block that is not text of a block inside it, without blanks around. */
struct leaf {
    uint32_t start, end;
    uint32_t section;
    uint32_t table; /* or NO_TABLE */
    uint8_t kind;   /* enum block_kind */
    bool after_gap; /* something that was left out stands between it and the leaf before */
    bool leads;     /* says what follows: a heading, a table's caption, "the steps are:" */
};

struct outline {
    struct leaf *leaves;
    size_t leaf_count, leaf_capacity;
    struct section *sections;
    size_t section_count, section_capacity;
    struct table *tables;
    size_t table_count, table_capacity;
};

/* Headings and paths live in `arena`. A document with nothing but boilerplate keeps it; one with
 * nothing but hidden text is IBID_EFORMAT. */
ibid_code outline_build(const struct extraction *extraction, struct arena *arena, struct outline *outline,
                        ibid_error *err) MUST_CHECK;
void outline_release(struct outline *outline);

/* Moves both ends of a range inwards over white space and invisible characters. Code keeps the
 * indentation of its first line. */
void range_trim(struct str text, enum block_kind kind, uint32_t *start, uint32_t *end);
