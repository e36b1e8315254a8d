/* HTML to blocks. */
#pragma once

#include "extract/emitter.h"

/* Emits the blocks of `html`, well-formed UTF-8 without NUL. `document`: a whole page with head and metadata;
 * else a fragment inside another format. */
void html_read(struct emitter *emitter, struct str html, bool document);
