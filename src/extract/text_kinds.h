/* What the text extractor is made of. */
#pragma once

#include "base/memory.h"
#include "extract/charset.h"
#include "extract/extractor.h"

/* Emits the blocks of one kind of text. */
typedef void text_reader(struct emitter *emitter, struct str text);

text_reader csv_read;
text_reader asciidoc_read;

/* Decodes the input as charset_decode() does and warns of what was replaced. */
void text_decode(struct emitter *emitter, const struct extract_input *input, struct decoded_text *ret);

extract_function extract_text;
extract_function extract_html;
extract_function extract_markdown;
