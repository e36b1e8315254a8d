#include "extract/docx_numbering.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "extract/xml_reader.h"

enum { LIST_LIMIT = 100000, LINK_LIMIT = 5, REPEAT_LIMIT = 20 };

/* ---- reading ---- */

static void take_level_property(struct docx_level *level, struct xml_reader *reader)
{
    const char *value = xml_reader_attribute(reader, "w:val");
    if (xml_reader_is(reader, "w:start"))
        level->start = xml_reader_attribute_number(reader, "w:val", 1);
    else if (xml_reader_is(reader, "w:lvlRestart"))
        level->restart = xml_reader_attribute_number(reader, "w:val", DOCX_UNSET);
    else if (xml_reader_is(reader, "w:numFmt") && value && !level->format)
        level->format = xstrdup(value);
    else if (xml_reader_is(reader, "w:lvlText") && value && !level->text)
        level->text = xstrdup(value);
    else if (xml_reader_is(reader, "w:pStyle") && value && !level->style)
        level->style = xstrdup(value);
    else if (xml_reader_is(reader, "w:isLgl"))
        level->legal = xml_reader_attribute_flag(reader, "w:val");
}

/* Reads to the end of the present element; `take` is told of each start in it. */
static bool read_inside(struct xml_reader *reader, void (*take)(void *context, struct xml_reader *reader),
                        void *context)
{
    for (size_t depth = 1; depth > 0;) {
        enum xml_event event = xml_reader_next(reader);
        if (event == XML_BROKEN || event == XML_DONE)
            return false;
        if (event == XML_START) {
            depth++;
            take(context, reader);
        }
        depth -= event == XML_END;
    }
    return true;
}

struct abstract_reading {
    struct docx_abstract_list *list;
    struct docx_level *level; /* whose properties come now */
};

static struct docx_level *level_at(struct docx_level levels[DOCX_LEVELS], long index)
{
    return index >= 0 && index < DOCX_LEVELS ? &levels[index] : NULL;
}

static void take_abstract(void *context, struct xml_reader *reader)
{
    struct abstract_reading *reading = context;
    if (xml_reader_is(reader, "w:lvl")) {
        reading->level = level_at(reading->list->levels, xml_reader_attribute_number(reader, "w:ilvl", 0));
    } else if (xml_reader_is(reader, "w:numStyleLink")) {
        const char *value = xml_reader_attribute(reader, "w:val");
        if (value && !reading->list->style_link)
            reading->list->style_link = xstrdup(value);
    } else if (reading->level) {
        take_level_property(reading->level, reader);
    }
}

static bool read_abstract(struct docx_numbering *self, struct xml_reader *reader)
{
    struct docx_abstract_list list = {.id = xml_reader_attribute_number(reader, "w:abstractNumId", 0)};
    for (size_t i = 0; i < DOCX_LEVELS; i++)
        list.levels[i] = (struct docx_level){.start = 1, .restart = DOCX_UNSET};
    struct abstract_reading reading = {.list = &list};
    bool whole = read_inside(reader, take_abstract, &reading);
    GROW(self->abstracts, self->abstract_count, self->abstract_capacity);
    self->abstracts[self->abstract_count++] = list;
    return whole;
}

struct list_reading {
    struct docx_list *list;
    long override; /* level that is changed now, or -1 */
    struct docx_level *level;
};

static void take_list(void *context, struct xml_reader *reader)
{
    struct list_reading *reading = context;
    if (xml_reader_is(reader, "w:abstractNumId")) {
        reading->list->abstract_id = xml_reader_attribute_number(reader, "w:val", 0);
    } else if (xml_reader_is(reader, "w:lvlOverride")) {
        long index = xml_reader_attribute_number(reader, "w:ilvl", 0);
        reading->override = index >= 0 && index < DOCX_LEVELS ? index : -1;
        reading->level = NULL;
    } else if (xml_reader_is(reader, "w:startOverride") && reading->override >= 0) {
        reading->list->overrides[reading->override].has_start = true;
        reading->list->overrides[reading->override].start = xml_reader_attribute_number(reader, "w:val", 1);
    } else if (xml_reader_is(reader, "w:lvl") && reading->override >= 0) {
        reading->list->overrides[reading->override].has_level = true;
        reading->level = &reading->list->overrides[reading->override].level;
        if (!reading->level->format && !reading->level->text)
            *reading->level = (struct docx_level){.start = 1, .restart = DOCX_UNSET};
    } else if (reading->level) {
        take_level_property(reading->level, reader);
    }
}

static bool read_list(struct docx_numbering *self, struct xml_reader *reader)
{
    struct docx_list list = {.id = xml_reader_attribute_number(reader, "w:numId", 0),
                             .abstract_id = DOCX_UNSET};
    struct list_reading reading = {.list = &list, .override = -1};
    bool whole = read_inside(reader, take_list, &reading);
    GROW(self->lists, self->list_count, self->list_capacity);
    self->lists[self->list_count++] = list;
    return whole;
}

static int compare(long a, long b)
{
    return (a > b) - (a < b);
}

static int by_abstract_id(const void *a, const void *b)
{
    return compare(((const struct docx_abstract_list *)a)->id, ((const struct docx_abstract_list *)b)->id);
}

static int by_list_id(const void *a, const void *b)
{
    return compare(((const struct docx_list *)a)->id, ((const struct docx_list *)b)->id);
}

void docx_numbering_read(struct emitter *emitter, struct zip_package *package, const char *part,
                         struct docx_numbering *ret)
{
    *ret = (struct docx_numbering){0};
    struct xml_reader *reader = part ? xml_reader_open(emitter, package, part) : NULL;
    if (!reader)
        return;
    enum xml_event event;
    while ((event = xml_reader_next(reader)) != XML_DONE && event != XML_BROKEN) {
        bool whole = true;
        if (event == XML_START && xml_reader_is(reader, "w:abstractNum") && ret->abstract_count < LIST_LIMIT)
            whole = read_abstract(ret, reader);
        else if (event == XML_START && xml_reader_is(reader, "w:num") && ret->list_count < LIST_LIMIT)
            whole = read_list(ret, reader);
        if (!whole)
            break;
    }
    if (event != XML_DONE)
        emit_warning(emitter, "part_damaged", "the numbering is damaged: labels of lists may be wrong");
    xml_reader_close(reader);
    if (ret->abstract_count)
        qsort(ret->abstracts, ret->abstract_count, sizeof *ret->abstracts, by_abstract_id);
    if (ret->list_count)
        qsort(ret->lists, ret->list_count, sizeof *ret->lists, by_list_id);
}

static void release_level(struct docx_level *level)
{
    free(level->format);
    free(level->text);
    free(level->style);
}

void docx_numbering_release(struct docx_numbering *self)
{
    for (size_t i = 0; i < self->abstract_count; i++) {
        free(self->abstracts[i].style_link);
        for (size_t j = 0; j < DOCX_LEVELS; j++)
            release_level(&self->abstracts[i].levels[j]);
    }
    for (size_t i = 0; i < self->list_count; i++)
        for (size_t j = 0; j < DOCX_LEVELS; j++)
            release_level(&self->lists[i].overrides[j].level);
    free(self->abstracts);
    free(self->lists);
}

/* ---- finding ---- */

static struct docx_list *find_list(const struct docx_numbering *self, long id)
{
    struct docx_list wanted = {.id = id};
    return self->list_count ? bsearch(&wanted, self->lists, self->list_count, sizeof wanted, by_list_id)
                            : NULL;
}

static struct docx_abstract_list *find_abstract(const struct docx_numbering *self, long id)
{
    struct docx_abstract_list wanted = {.id = id};
    return self->abstract_count
               ? bsearch(&wanted, self->abstracts, self->abstract_count, sizeof wanted, by_abstract_id)
               : NULL;
}

/* The rules of a list, also where they are named by a style only. */
static struct docx_abstract_list *rules_of(const struct docx_numbering *self,
                                           const struct docx_styles *styles, const struct docx_list *list)
{
    struct docx_abstract_list *rules = find_abstract(self, list->abstract_id);
    for (int i = 0; i < LINK_LIMIT && rules && rules->style_link; i++) {
        const struct docx_style *style = docx_styles_find(styles, rules->style_link);
        const struct docx_list *linked = find_list(self, style->number_id);
        struct docx_abstract_list *next = linked ? find_abstract(self, linked->abstract_id) : NULL;
        if (!next || next == rules)
            break;
        rules = next;
    }
    return rules;
}

static const struct docx_level *level_of(const struct docx_list *list, const struct docx_abstract_list *rules,
                                         size_t index)
{
    return list->overrides[index].has_level ? &list->overrides[index].level : &rules->levels[index];
}

long docx_numbering_level_of(const struct docx_numbering *self, long list_id, const char *style)
{
    const struct docx_list *list = find_list(self, list_id);
    const struct docx_abstract_list *rules = list ? find_abstract(self, list->abstract_id) : NULL;
    for (size_t i = 0; rules && i < DOCX_LEVELS; i++)
        if (rules->levels[i].style && strcmp(rules->levels[i].style, style) == 0)
            return (long)i;
    return 0;
}

/* ---- counting ---- */

static void count(struct docx_list *list, struct docx_abstract_list *rules, size_t level)
{
    const struct docx_level *definition = level_of(list, rules, level);
    if (list->overrides[level].has_start && !list->overrides[level].applied) {
        list->overrides[level].applied = true;
        rules->counters[level] = list->overrides[level].start;
    } else if (!rules->started[level]) {
        rules->counters[level] = definition->start;
    } else if (rules->counters[level] < INT32_MAX) {
        rules->counters[level]++;
    }
    rules->started[level] = true;
    for (size_t below = level + 1; below < DOCX_LEVELS; below++) {
        long restart = level_of(list, rules, below)->restart;
        if (restart == DOCX_UNSET || (long)level < restart)
            rules->started[below] = false;
    }
}

static long counter_of(const struct docx_list *list, const struct docx_abstract_list *rules, size_t level)
{
    return rules->started[level] ? rules->counters[level] : level_of(list, rules, level)->start;
}

/* ---- writing ---- */

static void append_roman(struct buffer *out, long value, bool upper)
{
    static const struct {
        long value;
        const char *lower, *upper;
    } rows[] = {
        {1000, "m", "M"}, {900, "cm", "CM"}, {500, "d", "D"},  {400, "cd", "CD"}, {100, "c", "C"},
        {90, "xc", "XC"}, {50, "l", "L"},    {40, "xl", "XL"}, {10, "x", "X"},    {9, "ix", "IX"},
        {5, "v", "V"},    {4, "iv", "IV"},   {1, "i", "I"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (; value >= rows[i].value; value -= rows[i].value)
            buffer_append_string(out, upper ? rows[i].upper : rows[i].lower);
}

/* a, b, ... z, aa, bb: so Word counts on. */
static void append_letters(struct buffer *out, long value, char first)
{
    buffer_append_repeated(out, (char)(first + (value - 1) % 26), (size_t)(value - 1) / 26 + 1);
}

static void append_ordinal(struct buffer *out, long value)
{
    static const char *const suffixes[] = {"th", "st", "nd", "rd"};
    bool teen = value / 10 % 10 == 1, low = value > 0 && value % 10 <= 3;
    buffer_printf(out, "%ld%s", value, suffixes[low && !teen ? value % 10 : 0]);
}

/* Formats that are not known are written in decimal digits. */
static void append_number(struct buffer *out, long value, const char *format)
{
    bool roman = value > 0 && value < 4000;
    bool letters = value > 0 && value <= 26 * REPEAT_LIMIT;
    if (strcmp(format, "lowerLetter") == 0 && letters)
        append_letters(out, value, 'a');
    else if (strcmp(format, "upperLetter") == 0 && letters)
        append_letters(out, value, 'A');
    else if (strcmp(format, "lowerRoman") == 0 && roman)
        append_roman(out, value, false);
    else if (strcmp(format, "upperRoman") == 0 && roman)
        append_roman(out, value, true);
    else if (strcmp(format, "decimalZero") == 0)
        buffer_printf(out, "%02ld", value);
    else if (strcmp(format, "ordinal") == 0)
        append_ordinal(out, value);
    else if (strcmp(format, "none") != 0)
        buffer_printf(out, "%ld", value);
}

static void append_label(struct buffer *out, const struct docx_list *list,
                         const struct docx_abstract_list *rules, const struct docx_level *definition)
{
    for (const char *at = definition->text ? definition->text : ""; *at; at++) {
        if (at[0] != '%' || at[1] < '1' || at[1] > '9') {
            buffer_append_byte(out, *at);
            continue;
        }
        size_t level = (size_t)(*++at - '1');
        const char *format = level_of(list, rules, level)->format;
        append_number(out, counter_of(list, rules, level), definition->legal || !format ? "decimal" : format);
    }
}

bool docx_numbering_label(struct docx_numbering *self, const struct docx_styles *styles, long list_id,
                          long level, char out[DOCX_LABEL_SIZE])
{
    struct docx_list *list = find_list(self, list_id);
    struct docx_abstract_list *rules = list ? rules_of(self, styles, list) : NULL;
    if (!rules)
        return false;
    size_t index = level < 0 ? 0 : level >= DOCX_LEVELS ? DOCX_LEVELS - 1 : (size_t)level;
    const struct docx_level *definition = level_of(list, rules, index);
    count(list, rules, index);
    AUTO_BUFFER label = BUFFER(DOCX_LABEL_SIZE - 1);
    if (definition->format && strcmp(definition->format, "bullet") == 0)
        buffer_append_string(&label, "•"); /* the font's own sign means nothing outside it */
    else
        append_label(&label, list, rules, definition);
    struct str text = str_trim(buffer_str(&label));
    memcpy(out, text.data, text.size);
    out[text.size] = '\0';
    return true;
}
