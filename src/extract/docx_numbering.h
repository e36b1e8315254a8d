/* The lists of a DOCX file: which label stands before a paragraph. Word stores no labels, only rules
 * and the order of the paragraphs, so they are counted here. */
#pragma once

#include "extract/docx_styles.h"

enum { DOCX_LEVELS = 9, DOCX_LABEL_SIZE = 128 };

struct docx_level {
    long start;
    long restart; /* how many levels above make it start again; DOCX_UNSET: all */
    char *format; /* "decimal", "bullet", "lowerRoman"...; NULL: decimal */
    char *text;   /* "%1.%2)" */
    char *style;  /* the paragraph style tied to this level, or NULL */
    bool legal;   /* all numbers in it are decimal */
};

/* The rules of a list, and how far its counting has come. */
struct docx_abstract_list {
    long id;
    char *style_link; /* its rules are those of the list of this style */
    struct docx_level levels[DOCX_LEVELS];
    long counters[DOCX_LEVELS];
    bool started[DOCX_LEVELS];
};

/* A use of such rules, with changes. */
struct docx_list {
    long id, abstract_id;
    struct {
        bool has_start, applied, has_level;
        long start;
        struct docx_level level;
    } overrides[DOCX_LEVELS];
};

struct docx_numbering {
    struct docx_abstract_list *abstracts; /* sorted by id */
    size_t abstract_count, abstract_capacity;
    struct docx_list *lists; /* sorted by id */
    size_t list_count, list_capacity;
};

/* None when the part is missing (`part` may be NULL) or damaged from its beginning. */
void docx_numbering_read(struct emitter *emitter, struct zip_package *package, const char *part,
                         struct docx_numbering *ret);
void docx_numbering_release(struct docx_numbering *numbering);

/* Counts a paragraph of that list and level and writes its label ("2.1", "•", or "" when the level
 * has none). False when there is no such list. */
bool docx_numbering_label(struct docx_numbering *numbering, const struct docx_styles *styles, long list_id,
                          long level, char out[DOCX_LABEL_SIZE]);

/* The level that a paragraph style is tied to in a list; 0 when it is to none. */
long docx_numbering_level_of(const struct docx_numbering *numbering, long list_id, const char *style);
