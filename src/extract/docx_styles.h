/* What the styles of a DOCX file make of a paragraph. */
#pragma once

#include "extract/zip_package.h"

enum docx_role {
    DOCX_BODY,
    DOCX_HEADING,
    DOCX_TITLE,
    DOCX_CAPTION,
    DOCX_QUOTE,
    DOCX_CODE,
    DOCX_CONTENTS, /* an entry of a table of contents */
};

enum { DOCX_OUTLINE_BODY = 9, DOCX_UNSET = -1 };

struct docx_style {
    char *id, *based_on;
    /* With what is inherited. */
    enum docx_role role;
    long outline;   /* level from 0, DOCX_OUTLINE_BODY, or DOCX_UNSET */
    long number_id; /* of a list, 0 for none, or DOCX_UNSET */
    long number_level;
    int hidden;     /* 0, 1 or DOCX_UNSET */
    bool first_row; /* a table style that sets its first row off */
};

struct docx_styles {
    struct docx_style *items; /* sorted by id */
    size_t count, capacity;
};

/* None when the part is missing (`part` may be NULL) or damaged from its beginning. */
void docx_styles_read(struct emitter *emitter, struct zip_package *package, const char *part,
                      struct docx_styles *ret);
void docx_styles_release(struct docx_styles *styles);

/* A style without any properties when there is none of that id. */
const struct docx_style *docx_styles_find(const struct docx_styles *styles, const char *id)
    __attribute__((returns_nonnull));

/* The level from 1 that the style gives a heading, 0 when it makes none. */
unsigned docx_style_heading_level(const struct docx_style *style);
