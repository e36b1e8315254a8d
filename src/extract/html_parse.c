#include "extract/html_parse.h"

#include <libxml/parserInternals.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "extract/emitter.h"
#include "extract/html_elements.h"

void html_parse(struct str html, const xmlSAXHandler *handlers, void *context)
{
    if (html.size == 0 || html.size > INT_MAX)
        return;
    htmlParserCtxtPtr parser = htmlCreateMemoryParserCtxt(html.data, (int)html.size);
    if (!parser)
        memory_exhausted(html.size);
    xmlSAXHandler *own = parser->sax, given = *handlers;
    parser->sax = &given;
    parser->userData = context;
    htmlCtxtUseOptions(parser, HTML_PARSE_NONET | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
                                   HTML_PARSE_NOIMPLIED | HTML_PARSE_IGNORE_ENC | HTML_PARSE_NODEFDTD);
    xmlSwitchEncoding(parser, XML_CHAR_ENCODING_UTF8);
    htmlParseDocument(parser);
    bool exhausted = parser->errNo == XML_ERR_NO_MEMORY;
    parser->sax = own;
    htmlFreeParserCtxt(parser);
    if (exhausted)
        memory_exhausted(html.size);
}

const char *html_attribute(const xmlChar **attributes, const char *name, const char *fallback)
{
    for (size_t i = 0; attributes && attributes[i]; i += 2)
        if (strcmp((const char *)attributes[i], name) == 0)
            return attributes[i + 1] ? (const char *)attributes[i + 1] : fallback;
    return fallback;
}

long html_attribute_number(const xmlChar **attributes, const char *name, long fallback)
{
    const char *text = html_attribute(attributes, name, NULL);
    char *end;
    long value = text ? strtol(text, &end, 10) : fallback;
    if (text && end == text)
        return fallback;
    return value > INT_MAX ? INT_MAX : value < INT_MIN ? INT_MIN : value;
}

/* Whether a style sheet in an attribute says so, whatever its white space. */
static bool style_has(const char *style, const char *declaration)
{
    char compact[256];
    size_t size = 0;
    for (; *style && size < sizeof compact - 1; style++)
        if ((unsigned char)*style > ' ')
            compact[size++] = *style >= 'A' && *style <= 'Z' ? (char)(*style | 0x20) : *style;
    compact[size] = '\0';
    return strstr(compact, declaration) != NULL;
}

unsigned html_attribute_flags(const xmlChar **attributes)
{
    unsigned flags = 0;
    const char *style = html_attribute(attributes, "style", ""),
               *role = html_attribute(attributes, "role", "");
    for (size_t i = 0; attributes && attributes[i]; i += 2)
        if (strcmp((const char *)attributes[i], "hidden") == 0)
            flags |= BLOCK_HIDDEN;
    if (style_has(style, "display:none") || style_has(style, "visibility:hidden"))
        flags |= BLOCK_HIDDEN;
    if (strcmp(role, "navigation") == 0 || strcmp(role, "contentinfo") == 0 ||
        strcmp(role, "complementary") == 0)
        flags |= BLOCK_BOILERPLATE;
    return flags;
}

static size_t decode_number(struct str digits, int base, char out[8])
{
    uint32_t code_point = 0;
    for (size_t i = 0; i < digits.size; i++) {
        const char *set = "0123456789abcdef", *digit = strchr(set, digits.data[i] | 0x20);
        if (digits.data[i] >= '0' && digits.data[i] <= '9')
            digit = set + (digits.data[i] - '0');
        if (!digit || digit - set >= base || code_point > 0x10FFFF)
            return 0;
        code_point = code_point * (uint32_t)base + (uint32_t)(digit - set);
    }
    bool scalar = code_point > 0 && code_point <= 0x10FFFF && (code_point < 0xD800 || code_point > 0xDFFF);
    return digits.size ? utf8_encode(scalar ? code_point : UTF8_REPLACEMENT, out) : 0;
}

size_t html_decode_reference(struct str reference, char out[8])
{
    if (reference.size < 3 || reference.data[0] != '&' || reference.data[reference.size - 1] != ';')
        return 0;
    struct str inside = str_slice(reference, 1, reference.size - 1);
    if (inside.data[0] == '#') {
        bool hex = inside.size > 1 && (inside.data[1] | 0x20) == 'x';
        return decode_number(str_slice(inside, hex ? 2 : 1, inside.size), hex ? 16 : 10, out);
    }
    char name[40];
    if (inside.size >= sizeof name)
        return 0;
    memcpy(name, inside.data, inside.size);
    name[inside.size] = '\0';
    const htmlEntityDesc *entity = htmlEntityLookup((const xmlChar *)name);
    return entity ? utf8_encode(entity->value, out) : 0;
}

/* ---- layout tables ---- */

enum {
    TABLE_COUNT_LIMIT = 200000, /* further ones are taken for data */
    NESTING_LIMIT = 100,
    ARTICLE_SIZE = 4000, /* bytes of text that no cell of a data table has */
};

struct open_table {
    size_t index;
    size_t cells, cell_bytes;
};

struct html_layout {
    bool *layout;
    size_t count, capacity;
    struct open_table open[NESTING_LIMIT];
    size_t depth, beyond;
};

static void mark_open_tables(struct html_layout *self)
{
    for (size_t i = 0; i < self->depth; i++)
        self->layout[self->open[i].index] = true;
}

static void begin_table(struct html_layout *self, const xmlChar **attributes)
{
    mark_open_tables(self);
    if (self->beyond || self->depth == NESTING_LIMIT || self->count == TABLE_COUNT_LIMIT) {
        self->beyond++;
        self->count += self->count < TABLE_COUNT_LIMIT;
        return;
    }
    const char *role = html_attribute(attributes, "role", "");
    self->layout[self->count] = strcmp(role, "presentation") == 0 || strcmp(role, "none") == 0;
    self->open[self->depth++] = (struct open_table){.index = self->count++};
}

static void on_start(void *context, const xmlChar *name, const xmlChar **attributes)
{
    struct html_layout *self = context;
    struct open_table *table = self->depth ? &self->open[self->depth - 1] : NULL;
    switch (html_element_find((const char *)name)->role) {
    case ROLE_TABLE:
        if (self->count < TABLE_COUNT_LIMIT && self->count == self->capacity) {
            size_t before = self->capacity;
            GROW(self->layout, self->count, self->capacity);
            memset(self->layout + before, 0, (self->capacity - before) * sizeof *self->layout);
        }
        begin_table(self, attributes);
        break;
    case ROLE_HEADING:
    case ROLE_PREFORMATTED:
        mark_open_tables(self);
        break;
    case ROLE_CELL:
        if (table) {
            table->cells++;
            table->cell_bytes = 0;
        }
        break;
    default:
        break;
    }
}

static void on_end(void *context, const xmlChar *name)
{
    struct html_layout *self = context;
    if (html_element_find((const char *)name)->role != ROLE_TABLE)
        return;
    if (self->beyond) {
        self->beyond--;
    } else if (self->depth) {
        struct open_table *table = &self->open[--self->depth];
        if (table->cells <= 1)
            self->layout[table->index] = true;
    }
}

static void on_characters(void *context, const xmlChar *characters, int size)
{
    struct html_layout *self = context;
    if (self->depth == 0)
        return;
    struct open_table *table = &self->open[self->depth - 1];
    table->cell_bytes += (size_t)size;
    if (table->cell_bytes > ARTICLE_SIZE)
        self->layout[table->index] = true;
}

struct html_layout *html_layout_new(struct str html)
{
    struct html_layout *self = xcalloc(1, sizeof *self);
    static const xmlSAXHandler handlers = {
        .startElement = on_start, .endElement = on_end, .characters = on_characters};
    if (memmem(html.data, html.size, "<t", 2) || memmem(html.data, html.size, "<T", 2))
        html_parse(html, &handlers, self);
    return self;
}

void html_layout_free(struct html_layout *self)
{
    if (!self)
        return;
    free(self->layout);
    free(self);
}

bool html_layout_has(const struct html_layout *self, size_t index)
{
    return index < self->count && self->layout[index];
}
