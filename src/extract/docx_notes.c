#include "extract/docx_notes.h"

#include <stdlib.h>

#include "base/memory.h"
#include "extract/docx_walk.h"
#include "extract/inline_text.h"

enum { NOTE_LIMIT = 100000, NOTE_SIZE_LIMIT = 1024 * 1024 };

/* Reads one note, whose start is the present event, to its end. */
static bool read_text(struct docx_walk *walk, struct inline_text *text)
{
    for (size_t depth = 1; depth > 0;) {
        enum xml_event event = docx_walk_next(walk);
        if (event == XML_BROKEN || event == XML_DONE)
            return false;
        if (event == XML_TEXT && docx_walk_in_text(walk))
            inline_append(text, xml_reader_text(walk->reader));
        if (event == XML_END && xml_reader_is(walk->reader, "w:p"))
            inline_break(text);
        if (event == XML_START &&
            (xml_reader_is(walk->reader, "w:tab") || xml_reader_is(walk->reader, "w:br")))
            inline_space(text);
        depth += event == XML_START;
        depth -= event == XML_END;
    }
    return true;
}

static bool read_note(struct docx_walk *walk, struct docx_notes *notes)
{
    struct xml_reader *reader = walk->reader;
    long id = xml_reader_attribute_number(reader, "w:id", 0);
    const char *type = xml_reader_attribute(reader, "w:type");
    bool separator = type && strcmp(type, "normal") != 0;
    struct inline_text text = INLINE_TEXT(NOTE_SIZE_LIMIT);
    const char *author = xml_reader_attribute(reader, "w:author");
    if (author && *author) {
        inline_append(&text, str_from(author));
        inline_append(&text, STR(": "));
    }
    bool whole = read_text(walk, &text);
    struct str trimmed = str_trim(inline_str(&text));
    if (!separator && trimmed.size) {
        GROW(notes->items, notes->count, notes->capacity);
        notes->items[notes->count++] = (struct docx_note){id, xmemdup0(trimmed.data, trimmed.size)};
    }
    inline_release(&text);
    return whole;
}

static int by_id(const void *a, const void *b)
{
    long first = ((const struct docx_note *)a)->id, second = ((const struct docx_note *)b)->id;
    return (first > second) - (first < second);
}

void docx_notes_read(struct emitter *emitter, struct zip_package *package, const char *part,
                     const char *element, struct docx_notes *ret)
{
    *ret = (struct docx_notes){0};
    struct docx_walk walk;
    if (!part || !docx_walk_open(&walk, emitter, package, part))
        return;
    enum xml_event event;
    while ((event = docx_walk_next(&walk)) != XML_DONE && event != XML_BROKEN)
        if (event == XML_START && xml_reader_is(walk.reader, element) && ret->count < NOTE_LIMIT)
            if (!read_note(&walk, ret))
                break;
    if (event != XML_DONE)
        emit_warning(emitter, "part_damaged", "%s is damaged: notes are missing", part);
    docx_walk_close(&walk);
    if (ret->count)
        qsort(ret->items, ret->count, sizeof *ret->items, by_id);
}

void docx_notes_release(struct docx_notes *self)
{
    for (size_t i = 0; i < self->count; i++)
        free(self->items[i].text);
    free(self->items);
}

const char *docx_notes_find(const struct docx_notes *self, long id)
{
    struct docx_note wanted = {.id = id};
    const struct docx_note *found =
        self->count ? bsearch(&wanted, self->items, self->count, sizeof wanted, by_id) : NULL;
    return found ? found->text : NULL;
}
