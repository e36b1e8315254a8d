/* The running text of one paragraph, collected from the pieces that markup cuts it into. */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "base/str.h"

struct inline_text {
    struct buffer text;
    bool preformatted; /* white space is kept; else runs of it become one space */
    bool space;        /* a space is due before the next text */
    bool has_words;    /* something other than the alternative text of images */
    bool has_image;
};

#define INLINE_TEXT(ceiling) ((struct inline_text){.text = BUFFER(ceiling)})

void inline_release(struct inline_text *self);
void inline_clear(struct inline_text *self);

/* Appends text; soft hyphens, zero width spaces and NUL are dropped. */
void inline_append(struct inline_text *self, struct str text);
/* The alternative text of an image, set off by spaces. */
void inline_append_image(struct inline_text *self, struct str alternative);
/* A line break that the author put there. */
void inline_break(struct inline_text *self);
/* A space, unless there is one. */
void inline_space(struct inline_text *self);

bool inline_is_blank(const struct inline_text *self);
/* Whether there is nothing but images. */
bool inline_is_image(const struct inline_text *self);
/* What was collected; borrowed until the next change. */
struct str inline_str(const struct inline_text *self);
