#include "extract/docx_walk.h"

#include <string.h>

#include "base/memory.h"

/* Not for readers, with all that is inside. */
static const char *const unseen[] = {
    "w:instrText",   "w:delText",         "w:delInstrText", "w:pPrChange",     "w:rPrChange",
    "w:tblPrChange", "w:tcPrChange",      "w:trPrChange",   "w:sectPrChange",  "w:tblGrid",
    "w:tabs",        "w:numberingChange", "w:fldData",      "w:tblPrExChange",
};

/* What holds text: everything else between tags is white space of the file. */
static const char *const texts[] = {"w:t", "m:t", "a:t"};

static bool is_any(const struct xml_reader *reader, const char *const names[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (xml_reader_is(reader, names[i]))
            return true;
    return false;
}

bool docx_walk_open(struct docx_walk *self, struct emitter *emitter, struct zip_package *package,
                    const char *part)
{
    *self = (struct docx_walk){.reader = xml_reader_open(emitter, package, part)};
    return self->reader != NULL;
}

void docx_walk_close(struct docx_walk *self)
{
    xml_reader_close(self->reader);
}

/* Whether a start begins something deleted; as a mark in properties it is shown to the caller. */
static bool is_deletion(const struct docx_walk *self)
{
    bool deleted = xml_reader_is(self->reader, "w:del") || xml_reader_is(self->reader, "w:moveFrom");
    return deleted && !self->in_run_properties && !self->in_row_properties;
}

/* Of mc:AlternateContent the first choice counts, else the fallback. */
static bool is_other_alternative(struct docx_walk *self)
{
    bool alternative = xml_reader_is(self->reader, "mc:Choice") || xml_reader_is(self->reader, "mc:Fallback");
    if (!alternative || self->alternative_depth == 0)
        return false;
    bool *taken = &self->alternative_taken[self->alternative_depth - 1];
    bool other = *taken;
    *taken = true;
    return other;
}

/* A content control that shows a prompt ("Click here") has no content yet. */
static bool is_placeholder(struct docx_walk *self)
{
    if (!xml_reader_is(self->reader, "w:sdtContent"))
        return false;
    bool placeholder = self->placeholder;
    self->placeholder = false;
    return placeholder;
}

static bool is_unseen(struct docx_walk *self)
{
    return is_any(self->reader, unseen, COUNT_OF(unseen)) || is_deletion(self) ||
           is_other_alternative(self) || is_placeholder(self);
}

static void note_place(struct docx_walk *self, bool start)
{
    const struct xml_reader *reader = self->reader;
    if (xml_reader_is(reader, "w:pPr"))
        self->in_paragraph_properties = start;
    else if (xml_reader_is(reader, "w:rPr"))
        self->in_run_properties = start;
    else if (xml_reader_is(reader, "w:trPr"))
        self->in_row_properties = start;
    else if (is_any(reader, texts, COUNT_OF(texts)))
        self->text_depth += start ? 1U : -1U;
    else if (start && xml_reader_is(reader, "w:sdt"))
        self->placeholder = false;
    else if (start && xml_reader_is(reader, "w:showingPlcHdr"))
        self->placeholder = true;
    else if (start && xml_reader_is(reader, "mc:AlternateContent"))
        self->alternative_taken[self->alternative_depth++] = false;
    else if (!start && xml_reader_is(reader, "mc:AlternateContent"))
        self->alternative_depth--;
}

enum xml_event docx_walk_next(struct docx_walk *self)
{
    for (;;) {
        enum xml_event event = xml_reader_next(self->reader);
        if (event == XML_START && is_unseen(self)) {
            if (!xml_reader_skip(self->reader))
                return XML_BROKEN;
            continue;
        }
        if (event == XML_START || event == XML_END)
            note_place(self, event == XML_START);
        return event;
    }
}

bool docx_walk_in_text(const struct docx_walk *self)
{
    return self->text_depth > 0;
}
