#include "extract/xml_reader.h"

#include <libxml/xmlreader.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

enum { NAME_SIZE = 80 };

struct xml_reader {
    struct emitter *emitter;
    struct zip_part *part;
    xmlTextReaderPtr reader;
    char name[NAME_SIZE];
    bool end_due; /* the present start is of an empty element */
    bool broken;
    char *attribute;
};

static const struct {
    const char *uri, *prefix;
} namespaces[] = {
    {"http://schemas.openxmlformats.org/wordprocessingml/2006/main", "w"},
    {"http://purl.oclc.org/ooxml/wordprocessingml/main", "w"},
    {"http://schemas.openxmlformats.org/officeDocument/2006/math", "m"},
    {"http://purl.oclc.org/ooxml/officeDocument/math", "m"},
    {"http://schemas.openxmlformats.org/drawingml/2006/main", "a"},
    {"http://purl.oclc.org/ooxml/drawingml/main", "a"},
    {"http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing", "wp"},
    {"http://purl.oclc.org/ooxml/drawingml/wordprocessingDrawing", "wp"},
    {"http://schemas.openxmlformats.org/officeDocument/2006/relationships", "r"},
    {"http://purl.oclc.org/ooxml/officeDocument/relationships", "r"},
    {"http://schemas.openxmlformats.org/markup-compatibility/2006", "mc"},
    {"http://schemas.openxmlformats.org/package/2006/relationships", "rel"},
    {"http://schemas.openxmlformats.org/package/2006/metadata/core-properties", "cp"},
    {"http://purl.org/dc/elements/1.1/", "dc"},
    {"http://purl.org/dc/terms/", "dcterms"},
    {"http://www.w3.org/XML/1998/namespace", "xml"},
};

static int read_part(void *context, char *buffer, int size)
{
    struct xml_reader *self = context;
    return zip_part_read(self->part, buffer, size);
}

static void ignore_error(void *context, const char *message, xmlParserSeverities severity,
                         xmlTextReaderLocatorPtr locator)
{
}

static xmlParserInputPtr refuse_entity(const char *url, const char *id, xmlParserCtxtPtr context)
{
    return NULL;
}

struct xml_reader *xml_reader_open(struct emitter *emitter, struct zip_package *package, const char *name)
{
    struct zip_part *part = zip_part_open(package, name);
    if (!part)
        return NULL;
    xmlSetExternalEntityLoader(refuse_entity);
    struct xml_reader *self = xcalloc(1, sizeof *self);
    self->emitter = emitter;
    self->part = part;
    /* Never NOENT (libxml2 2.9 then reads local files, NONET or not), HUGE (entities grow without end) or
     * any option that loads a DTD. */
    self->reader = xmlReaderForIO(read_part, NULL, self, NULL, NULL, XML_PARSE_NONET);
    if (!self->reader)
        memory_exhausted(0);
    xmlTextReaderSetErrorHandler(self->reader, ignore_error, NULL);
    return self;
}

void xml_reader_close(struct xml_reader *self)
{
    if (!self)
        return;
    xmlFreeTextReader(self->reader);
    zip_part_close(self->part);
    xmlFree(self->attribute);
    free(self);
}

static const char *prefix_of(const char *uri)
{
    for (size_t i = 0; uri && i < COUNT_OF(namespaces); i++)
        if (strcmp(uri, namespaces[i].uri) == 0)
            return namespaces[i].prefix;
    return "?";
}

static void take_name(struct xml_reader *self)
{
    const char *uri = (const char *)xmlTextReaderConstNamespaceUri(self->reader);
    const char *local = (const char *)xmlTextReaderConstLocalName(self->reader);
    snprintf(self->name, sizeof self->name, "%s:%s", prefix_of(uri), local ? local : "");
}

static enum xml_event start_event(struct xml_reader *self)
{
    if (xmlTextReaderDepth(self->reader) > XML_DEPTH_LIMIT)
        emit_failure(self->emitter, EXTRACTION_LIMIT, "elements are nested deeper than %d", XML_DEPTH_LIMIT);
    take_name(self);
    self->end_due = xmlTextReaderIsEmptyElement(self->reader) == 1;
    return XML_START;
}

enum xml_event xml_reader_next(struct xml_reader *self)
{
    if (self->end_due) {
        self->end_due = false;
        return XML_END;
    }
    while (!self->broken) {
        int result = xmlTextReaderRead(self->reader);
        if (result == 0)
            return XML_DONE;
        int type = result < 0 ? XML_READER_TYPE_NONE : xmlTextReaderNodeType(self->reader);
        switch (type) {
        case XML_READER_TYPE_NONE:
        case XML_READER_TYPE_DOCUMENT_TYPE:
            self->broken = true;
            break;
        case XML_READER_TYPE_ELEMENT:
            return start_event(self);
        case XML_READER_TYPE_END_ELEMENT:
            take_name(self);
            return XML_END;
        case XML_READER_TYPE_TEXT:
        case XML_READER_TYPE_CDATA:
        case XML_READER_TYPE_WHITESPACE:
        case XML_READER_TYPE_SIGNIFICANT_WHITESPACE:
            return XML_TEXT;
        default:
            break;
        }
    }
    return XML_BROKEN;
}

const char *xml_reader_name(const struct xml_reader *self)
{
    return self->name;
}

bool xml_reader_is(const struct xml_reader *self, const char *name)
{
    return strcmp(self->name, name) == 0;
}

struct str xml_reader_text(struct xml_reader *self)
{
    return str_from((const char *)xmlTextReaderConstValue(self->reader));
}

const char *xml_reader_attribute(struct xml_reader *self, const char *name)
{
    xmlFree(self->attribute);
    self->attribute = NULL;
    const char *colon = strchr(name, ':');
    if (!colon) {
        self->attribute = (char *)xmlTextReaderGetAttribute(self->reader, (const xmlChar *)name);
        return self->attribute;
    }
    struct str prefix = {name, (size_t)(colon - name)};
    for (size_t i = 0; i < COUNT_OF(namespaces) && !self->attribute; i++)
        if (str_is(prefix, namespaces[i].prefix))
            self->attribute = (char *)xmlTextReaderGetAttributeNs(self->reader, (const xmlChar *)colon + 1,
                                                                  (const xmlChar *)namespaces[i].uri);
    return self->attribute;
}

long xml_reader_attribute_number(struct xml_reader *self, const char *name, long fallback)
{
    const char *text = xml_reader_attribute(self, name);
    char *end;
    long value = text ? strtol(text, &end, 10) : fallback;
    if (text && end == text)
        return fallback;
    return value > INT_MAX ? INT_MAX : value < INT_MIN ? INT_MIN : value;
}

bool xml_reader_attribute_flag(struct xml_reader *self, const char *name)
{
    static const char *const no[] = {"0", "false", "off", "none"};
    const char *text = xml_reader_attribute(self, name);
    for (size_t i = 0; text && i < COUNT_OF(no); i++)
        if (strcmp(text, no[i]) == 0)
            return false;
    return true;
}

bool xml_reader_skip(struct xml_reader *self)
{
    for (size_t depth = 1; depth > 0;) {
        enum xml_event event = xml_reader_next(self);
        if (event == XML_BROKEN || event == XML_DONE)
            return false;
        depth += event == XML_START;
        depth -= event == XML_END;
    }
    return true;
}
