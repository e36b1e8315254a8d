/* What a page says of itself: title, description, author, dates, language, address. */
#pragma once

#include <libxml/xmlstring.h>
#include <stdbool.h>

#include "extract/emitter.h"
#include "extract/inline_text.h"

struct html_meta {
    struct emitter *emitter; /* NULL: a fragment, which has none */
    struct inline_text title;
    bool in_title, has_title;
    unsigned seen; /* which keys were emitted */
};

void html_meta_init(struct html_meta *self, struct emitter *emitter);
void html_meta_release(struct html_meta *self);

/* To be told of each element outside those without text, and of each end. */
void html_meta_start(struct html_meta *self, const char *name, const xmlChar **attributes);
void html_meta_end(struct html_meta *self);
/* True when it took the text: it stands in the title. */
bool html_meta_text(struct html_meta *self, struct str text);
