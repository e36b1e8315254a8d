#include "extract/docx_styles.h"

#include <stdlib.h>

#include "base/memory.h"
#include "extract/xml_reader.h"

enum { CHAIN_LIMIT = 20, STYLE_LIMIT = 50000 };

static const struct docx_style no_style = {
    .outline = DOCX_UNSET, .number_id = DOCX_UNSET, .number_level = DOCX_UNSET, .hidden = DOCX_UNSET};

/* The names are the same in every language; the ids are not. */
static void take_name(struct docx_style *style, const char *name)
{
    static const struct {
        const char *name;
        enum docx_role role;
    } rows[] = {
        {"title", DOCX_TITLE},
        {"caption", DOCX_CAPTION},
        {"quote", DOCX_QUOTE},
        {"intense quote", DOCX_QUOTE},
        {"block text", DOCX_QUOTE},
        {"source code", DOCX_CODE},
        {"html preformatted", DOCX_CODE},
        {"macro text", DOCX_CODE},
        {"table of figures", DOCX_CONTENTS},
        {"toc heading", DOCX_CONTENTS},
    };
    struct str text = str_from(name);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_equal_nocase(text, str_from(rows[i].name)))
            style->role = rows[i].role;
    if (text.size == 9 && str_equal_nocase(str_slice(text, 0, 8), STR("heading ")) && name[8] >= '1' &&
        name[8] <= '9') {
        style->role = DOCX_HEADING;
        if (style->outline == DOCX_UNSET)
            style->outline = name[8] - '1';
    }
    if (text.size == 5 && str_equal_nocase(str_slice(text, 0, 4), STR("toc ")))
        style->role = DOCX_CONTENTS;
}

static void take_property(struct docx_style *style, struct xml_reader *reader)
{
    const char *value = xml_reader_attribute(reader, "w:val");
    if (xml_reader_is(reader, "w:name") && value)
        take_name(style, value);
    else if (xml_reader_is(reader, "w:basedOn") && value && !style->based_on)
        style->based_on = xstrdup(value);
    else if (xml_reader_is(reader, "w:outlineLvl"))
        style->outline = xml_reader_attribute_number(reader, "w:val", DOCX_OUTLINE_BODY);
    else if (xml_reader_is(reader, "w:numId"))
        style->number_id = xml_reader_attribute_number(reader, "w:val", 0);
    else if (xml_reader_is(reader, "w:ilvl"))
        style->number_level = xml_reader_attribute_number(reader, "w:val", 0);
    else if (xml_reader_is(reader, "w:vanish"))
        style->hidden = xml_reader_attribute_flag(reader, "w:val");
}

/* A conditional format of a table style: only that there is one for the first row counts. */
static bool take_condition(struct docx_style *style, struct xml_reader *reader)
{
    const char *type = xml_reader_attribute(reader, "w:type");
    style->first_row |= type && strcmp(type, "firstRow") == 0;
    return xml_reader_skip(reader);
}

static bool read_style(struct docx_styles *self, struct xml_reader *reader)
{
    const char *id = xml_reader_attribute(reader, "w:styleId");
    struct docx_style style = no_style;
    style.id = xstrdup(id ? id : "");
    bool whole = true;
    for (size_t depth = 1; depth > 0 && whole;) {
        enum xml_event event = xml_reader_next(reader);
        whole = event != XML_BROKEN && event != XML_DONE;
        if (event == XML_START && xml_reader_is(reader, "w:tblStylePr")) {
            whole = take_condition(&style, reader);
        } else if (event == XML_START) {
            depth++;
            take_property(&style, reader);
        }
        depth -= event == XML_END && depth > 0;
    }
    GROW(self->items, self->count, self->capacity);
    self->items[self->count++] = style;
    return whole;
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct docx_style *)a)->id, ((const struct docx_style *)b)->id);
}

const struct docx_style *docx_styles_find(const struct docx_styles *self, const char *id)
{
    struct docx_style wanted = {.id = (char *)id};
    const struct docx_style *found =
        self->count ? bsearch(&wanted, self->items, self->count, sizeof *self->items, by_id) : NULL;
    return found ? found : &no_style;
}

/* Fills in what `style` leaves open. */
static void inherit(const struct docx_styles *self, struct docx_style *style, const struct docx_style own[])
{
    const char *next = style->based_on;
    for (int i = 0; i < CHAIN_LIMIT && next; i++) {
        const struct docx_style *found = docx_styles_find(self, next);
        if (found == &no_style)
            return;
        const struct docx_style *base = &own[found - self->items];
        if (style->role == DOCX_BODY && base->role != DOCX_TITLE)
            style->role = base->role;
        if (style->outline == DOCX_UNSET)
            style->outline = base->outline;
        if (style->number_id == DOCX_UNSET)
            style->number_id = base->number_id;
        if (style->number_level == DOCX_UNSET)
            style->number_level = base->number_level;
        if (style->hidden == DOCX_UNSET)
            style->hidden = base->hidden;
        style->first_row |= base->first_row;
        next = base->based_on;
    }
}

void docx_styles_read(struct emitter *emitter, struct zip_package *package, const char *part,
                      struct docx_styles *ret)
{
    *ret = (struct docx_styles){0};
    struct xml_reader *reader = part ? xml_reader_open(emitter, package, part) : NULL;
    if (!reader)
        return;
    enum xml_event event;
    while ((event = xml_reader_next(reader)) != XML_DONE && event != XML_BROKEN)
        if (event == XML_START && xml_reader_is(reader, "w:style") && ret->count < STYLE_LIMIT)
            if (!read_style(ret, reader))
                event = XML_BROKEN;
    if (event == XML_BROKEN)
        emit_warning(emitter, "part_damaged", "the styles are damaged: headings and lists may be missed");
    xml_reader_close(reader);
    if (ret->count)
        qsort(ret->items, ret->count, sizeof *ret->items, by_id);
    /* Inheriting reads what each style says itself, not what it has inherited meanwhile. */
    struct docx_style *own = xcalloc(ret->count + 1, sizeof *own);
    if (ret->count)
        memcpy(own, ret->items, ret->count * sizeof *own);
    for (size_t i = 0; i < ret->count; i++)
        inherit(ret, &ret->items[i], own);
    free(own);
}

void docx_styles_release(struct docx_styles *self)
{
    for (size_t i = 0; i < self->count; i++) {
        free(self->items[i].id);
        free(self->items[i].based_on);
    }
    free(self->items);
}

unsigned docx_style_heading_level(const struct docx_style *style)
{
    bool outlined = style->outline >= 0 && style->outline < DOCX_OUTLINE_BODY;
    return outlined && style->role != DOCX_CONTENTS ? (unsigned)style->outline + 1 : 0;
}
