/* The block of metadata that many Markdown and AsciiDoc files begin with. */
#pragma once

#include "extract/emitter.h"

/* Emits the metadata of a "---" (YAML) or "+++" (TOML) block at the start of `text` and returns what
 * follows it: `text` itself when there is none. Sets *ret_title when it names a title. Only plain
 * values and lists of them are understood; the rest is passed over. */
struct str front_matter_read(struct emitter *emitter, struct str text, bool *ret_title);
