#include "extract/html_parse.h"

#include <libxml/parserInternals.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "extract/emitter.h"

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
