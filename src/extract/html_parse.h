/* libxml2's HTML parser, set up so that it loads, trusts and remembers nothing. */
#pragma once

#include <libxml/HTMLparser.h>

#include "base/str.h"

/* Calls `handlers` for `html`, which is well-formed UTF-8 without NUL. */
void html_parse(struct str html, const xmlSAXHandler *handlers, void *context);

/* Value of an attribute, or `fallback` (also when it has no value). */
const char *html_attribute(const xmlChar **attributes, const char *name, const char *fallback);
long html_attribute_number(const xmlChar **attributes, const char *name, long fallback);
/* BLOCK_HIDDEN and BLOCK_BOILERPLATE as attributes ask for them (hidden, style, role). */
unsigned html_attribute_flags(const xmlChar **attributes);

/* Writes what a character reference ("&amp;", "&#8364;", "&#x20AC;") stands for to `out` as UTF-8;
 * returns its size, 0 when it is none that HTML 4 knows. */
size_t html_decode_reference(struct str reference, char out[8]);
