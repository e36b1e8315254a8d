#include "extract/html_elements.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/extraction.h"

/* Sorted by name. */
static const struct html_element elements[] = {
    {"address", ROLE_BLOCK, 0, 0},
    {"annotation", ROLE_NO_TEXT, 0, 0},
    {"annotation-xml", ROLE_NO_TEXT, 0, 0},
    {"applet", ROLE_NO_TEXT, 0, 0},
    {"area", ROLE_IMAGE, 0, 0},
    {"article", ROLE_BLOCK, 0, 0},
    {"aside", ROLE_BLOCK, 0, BLOCK_BOILERPLATE},
    {"audio", ROLE_NO_TEXT, 0, 0},
    {"base", ROLE_NO_TEXT, 0, 0},
    {"blockquote", ROLE_QUOTE, 0, 0},
    {"body", ROLE_BLOCK, 0, 0},
    {"br", ROLE_BREAK, 0, 0},
    {"canvas", ROLE_NO_TEXT, 0, 0},
    {"caption", ROLE_CAPTION, 0, 0},
    {"center", ROLE_BLOCK, 0, 0},
    {"datalist", ROLE_NO_TEXT, 0, 0},
    {"dd", ROLE_DESCRIPTION, 0, 0},
    {"details", ROLE_BLOCK, 0, 0},
    {"dialog", ROLE_BLOCK, 0, 0},
    {"dir", ROLE_LIST, 0, 0},
    {"div", ROLE_BLOCK, 0, 0},
    {"dl", ROLE_LIST, 2, 0},
    {"dt", ROLE_TERM, 0, 0},
    {"embed", ROLE_NO_TEXT, 0, 0},
    {"fieldset", ROLE_BLOCK, 0, 0},
    {"figcaption", ROLE_CAPTION, 0, 0},
    {"figure", ROLE_BLOCK, 0, 0},
    {"footer", ROLE_BLOCK, 0, BLOCK_BOILERPLATE},
    {"form", ROLE_BLOCK, 0, 0},
    {"frame", ROLE_NO_TEXT, 0, 0},
    {"frameset", ROLE_BLOCK, 0, 0},
    {"h1", ROLE_HEADING, 1, 0},
    {"h2", ROLE_HEADING, 2, 0},
    {"h3", ROLE_HEADING, 3, 0},
    {"h4", ROLE_HEADING, 4, 0},
    {"h5", ROLE_HEADING, 5, 0},
    {"h6", ROLE_HEADING, 6, 0},
    {"head", ROLE_BLOCK, 0, 0},
    {"header", ROLE_BLOCK, 0, 0},
    {"hgroup", ROLE_BLOCK, 0, 0},
    {"hr", ROLE_BLOCK, 0, 0},
    {"html", ROLE_BLOCK, 0, 0},
    {"iframe", ROLE_NO_TEXT, 0, 0},
    {"img", ROLE_IMAGE, 0, 0},
    {"legend", ROLE_BLOCK, 0, 0},
    {"li", ROLE_ITEM, 0, 0},
    {"listing", ROLE_PREFORMATTED, 0, 0},
    {"main", ROLE_BLOCK, 0, 0},
    {"menu", ROLE_LIST, 0, 0},
    {"nav", ROLE_BLOCK, 0, BLOCK_BOILERPLATE},
    {"noframes", ROLE_BLOCK, 0, 0},
    {"noscript", ROLE_NO_TEXT, 0, 0},
    {"object", ROLE_NO_TEXT, 0, 0},
    {"ol", ROLE_LIST, 1, 0},
    {"optgroup", ROLE_BLOCK, 0, 0},
    {"option", ROLE_BLOCK, 0, 0},
    {"p", ROLE_BLOCK, 0, 0},
    {"plaintext", ROLE_PREFORMATTED, 0, 0},
    {"pre", ROLE_PREFORMATTED, 0, 0},
    {"rp", ROLE_NO_TEXT, 0, 0},
    {"rt", ROLE_NO_TEXT, 0, 0},
    {"script", ROLE_NO_TEXT, 0, 0},
    {"search", ROLE_BLOCK, 0, 0},
    {"section", ROLE_BLOCK, 0, 0},
    {"select", ROLE_NO_TEXT, 0, 0},
    {"style", ROLE_NO_TEXT, 0, 0},
    {"summary", ROLE_BLOCK, 0, 0},
    {"svg", ROLE_NO_TEXT, 0, 0},
    {"table", ROLE_TABLE, 0, 0},
    {"tbody", ROLE_BLOCK, 0, 0},
    {"td", ROLE_CELL, 0, 0},
    {"template", ROLE_NO_TEXT, 0, 0},
    {"textarea", ROLE_NO_TEXT, 0, 0},
    {"tfoot", ROLE_BLOCK, 0, 0},
    {"th", ROLE_CELL, 1, 0},
    {"thead", ROLE_TABLE_HEAD, 0, 0},
    {"title", ROLE_NO_TEXT, 0, 0},
    {"tr", ROLE_ROW, 0, 0},
    {"ul", ROLE_LIST, 0, 0},
    {"video", ROLE_NO_TEXT, 0, 0},
    {"xmp", ROLE_PREFORMATTED, 0, 0},
};

static const struct html_element inline_element = {"", ROLE_INLINE, 0, 0};

static int by_name(const void *name, const void *element)
{
    return strcmp(name, ((const struct html_element *)element)->name);
}

const struct html_element *html_element_find(const char *name)
{
    const struct html_element *found =
        bsearch(name, elements, COUNT_OF(elements), sizeof elements[0], by_name);
    return found ? found : &inline_element;
}
