#include "chunker/outline.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/utf8.h"

enum { HEADING_SIZE_LIMIT = 300, PATH_SIZE_LIMIT = 1000 };

/* What to leave out. */
enum exclusion { EXCLUDE_UNSEARCHED, EXCLUDE_HIDDEN };

struct frame {
    uint32_t block;
    uint32_t table;
    uint32_t section; /* the present one when the block was opened */
    bool excluded;
};

struct walker {
    const struct extraction *extraction;
    struct outline *outline;
    struct arena *arena;
    enum exclusion exclusion;
    struct frame *stack;
    size_t depth, capacity;
    uint32_t cursor;  /* text before it has been dealt with */
    uint32_t section; /* the present one */
    bool gap;         /* something was left out since the last leaf */
};

static bool is_blank(uint32_t code_point)
{
    return code_point <= 0x20 || (code_point >= 0x7F && code_point <= 0xA0) || code_point == 0xAD ||
           (code_point >= 0x2000 && code_point <= 0x200F) || (code_point >= 0x2028 && code_point <= 0x202F) ||
           (code_point >= 0x205F && code_point <= 0x206F) || code_point == 0x3000 || code_point == 0xFEFF;
}

void range_trim(struct str text, enum block_kind kind, uint32_t *start, uint32_t *end)
{
    size_t first = *start, last = *end;
    while (first < last) {
        size_t next = first;
        if (!is_blank(utf8_next(text, &next)))
            break;
        first = next;
    }
    while (last > first) {
        const size_t before = utf8_floor(text, last - 1);
        size_t next = before;
        if (!is_blank(utf8_next(text, &next)))
            break;
        last = before;
    }
    if (kind == BLOCK_CODE)
        while (first > *start && first < last && text.data[first - 1] != '\n')
            first--;
    *start = (uint32_t)first;
    *end = (uint32_t)last;
}

static bool is_excluded(const struct walker *walker, const struct block *block)
{
    if (block->flags & BLOCK_HIDDEN)
        return true;
    if (walker->exclusion == EXCLUDE_HIDDEN)
        return false;
    return block->flags & BLOCK_BOILERPLATE || block->kind == BLOCK_PAGE_HEADER ||
           block->kind == BLOCK_PAGE_FOOTER || block->kind == BLOCK_COMMENT;
}

/* The text on one line, not longer than a path can bear. */
static struct str one_line(struct str text, struct arena *arena)
{
    AUTO_BUFFER line = BUFFER(HEADING_SIZE_LIMIT + 8);
    bool blank = false;
    for (size_t at = 0; at < text.size;) {
        size_t next = at;
        if (is_blank(utf8_next(text, &next))) {
            blank = line.size > 0;
        } else {
            if (line.size >= HEADING_SIZE_LIMIT) {
                buffer_append_string(&line, "…");
                break;
            }
            if (blank)
                buffer_append_byte(&line, ' ');
            buffer_append(&line, text.data + at, next - at);
            blank = false;
        }
        at = next;
    }
    return arena_str(arena, buffer_str(&line));
}

static uint32_t add_section(struct walker *walker, struct section section)
{
    struct outline *outline = walker->outline;
    GROW(outline->sections, outline->section_count, outline->section_capacity);
    outline->sections[outline->section_count] = section;
    return (uint32_t)outline->section_count++;
}

/* Text goes on under the same headings, but apart from what came before: another slide or sheet. */
static void part_section(struct walker *walker)
{
    walker->section = add_section(walker, walker->outline->sections[walker->section]);
}

static void open_heading(struct walker *walker, const struct block *block, const struct leaf *leaf)
{
    const struct section *sections = walker->outline->sections;
    const uint8_t level = block->level ? block->level : 1;
    uint32_t parent = walker->section;
    while (sections[parent].level >= level)
        parent = sections[parent].parent;
    const struct str heading =
        one_line(str_slice(walker->extraction->text, leaf->start, leaf->end), walker->arena);
    const struct str above = sections[parent].path;
    struct str path = heading;
    if (above.size && above.size + heading.size + 5 <= PATH_SIZE_LIMIT)
        path = str_from(arena_printf(walker->arena, "%.*s › %.*s", STR_ARG(above), STR_ARG(heading)));
    walker->section = add_section(
        walker, (struct section){.heading = heading, .path = path, .parent = parent, .level = level});
}

static void note_table_row(struct walker *walker, const struct block *block, const struct leaf *leaf)
{
    struct table *table = &walker->outline->tables[leaf->table];
    if (table->end == 0)
        table->start = table->header_start = table->header_end = leaf->start;
    if (block->flags & BLOCK_HEADER && !walker->gap && table->end <= table->header_end)
        table->header_end = leaf->end;
    table->end = leaf->end;
}

static enum block_kind leaf_kind(const struct block *block)
{
    if (!block || block->kind == BLOCK_LIST || block->kind == BLOCK_TABLE || block->kind == BLOCK_SECTION)
        return BLOCK_PARAGRAPH;
    return block->kind;
}

/* What stands between the cursor and `until` is text of the block open last. */
static void take_text(struct walker *walker, uint32_t until)
{
    if (until <= walker->cursor)
        return;
    const struct frame *frame = walker->depth ? &walker->stack[walker->depth - 1] : NULL;
    const struct block *block = frame ? &walker->extraction->blocks[frame->block] : NULL;
    struct leaf leaf = {.start = walker->cursor,
                        .end = until,
                        .table = frame ? frame->table : NO_TABLE,
                        .kind = leaf_kind(block)};
    walker->cursor = until;
    range_trim(walker->extraction->text, leaf.kind, &leaf.start, &leaf.end);
    if (leaf.start == leaf.end)
        return;
    if (frame && frame->excluded) {
        walker->gap = true;
        return;
    }
    if (leaf.kind == BLOCK_HEADING)
        open_heading(walker, block, &leaf);
    if (leaf.table != NO_TABLE)
        note_table_row(walker, block, &leaf);
    leaf.section = walker->section;
    leaf.after_gap = walker->gap;
    walker->gap = false;
    struct outline *outline = walker->outline;
    GROW(outline->leaves, outline->leaf_count, outline->leaf_capacity);
    outline->leaves[outline->leaf_count++] = leaf;
}

static uint32_t clamp(const struct walker *walker, uint32_t offset)
{
    const size_t size = walker->extraction->text.size;
    return offset < size ? offset : (uint32_t)size;
}

static void close_block(struct walker *walker)
{
    const struct frame frame = walker->stack[walker->depth - 1];
    const struct block *block = &walker->extraction->blocks[frame.block];
    take_text(walker, clamp(walker, block->end));
    walker->depth--;
    if (block->kind == BLOCK_SECTION) {
        walker->section = frame.section;
        part_section(walker);
    }
}

static void open_block(struct walker *walker, uint32_t index)
{
    const struct block *block = &walker->extraction->blocks[index];
    take_text(walker, clamp(walker, block->start));
    struct frame frame = {.block = index,
                          .table = NO_TABLE,
                          .section = walker->section,
                          .excluded = is_excluded(walker, block)};
    if (walker->depth) {
        frame.excluded |= walker->stack[walker->depth - 1].excluded;
        frame.table = walker->stack[walker->depth - 1].table;
    }
    struct outline *outline = walker->outline;
    if (block->kind == BLOCK_TABLE && frame.table == NO_TABLE && !frame.excluded) {
        GROW(outline->tables, outline->table_count, outline->table_capacity);
        outline->tables[outline->table_count] = (struct table){0};
        frame.table = (uint32_t)outline->table_count++;
    }
    if (block->kind == BLOCK_SECTION)
        part_section(walker);
    GROW(walker->stack, walker->depth, walker->capacity);
    walker->stack[walker->depth++] = frame;
}

/* A caption before its table and a sentence that announces a list belong to what follows. */
static void mark_leading(struct outline *outline, struct str text)
{
    for (size_t i = 0; i < outline->leaf_count; i++) {
        struct leaf *leaf = &outline->leaves[i];
        const struct leaf *next = i + 1 < outline->leaf_count ? leaf + 1 : NULL;
        const struct str own = str_slice(text, leaf->start, leaf->end);
        leaf->leads = leaf->kind == BLOCK_HEADING ||
                      (next && leaf->kind == BLOCK_CAPTION && next->table != NO_TABLE) ||
                      (next && leaf->kind == BLOCK_PARAGRAPH && next->kind == BLOCK_LIST_ITEM &&
                       (str_ends_with(own, ":") || str_ends_with(own, "：")));
    }
}

static void walk(const struct extraction *extraction, enum exclusion exclusion, struct arena *arena,
                 struct outline *outline)
{
    struct walker walker = {
        .extraction = extraction, .outline = outline, .arena = arena, .exclusion = exclusion};
    *outline = (struct outline){0};
    add_section(&walker, (struct section){.heading = STR_EMPTY, .path = STR_EMPTY});
    for (uint32_t i = 0; i < extraction->block_count; i++) {
        while (walker.depth && walker.stack[walker.depth - 1].block != extraction->blocks[i].parent)
            close_block(&walker);
        open_block(&walker, i);
    }
    while (walker.depth)
        close_block(&walker);
    take_text(&walker, (uint32_t)extraction->text.size);
    free(walker.stack);
    mark_leading(outline, extraction->text);
}

ibid_code outline_build(const struct extraction *extraction, struct arena *arena, struct outline *outline,
                        ibid_error *err)
{
    walk(extraction, EXCLUDE_UNSEARCHED, arena, outline);
    if (outline->leaf_count == 0) {
        outline_release(outline);
        walk(extraction, EXCLUDE_HIDDEN, arena, outline);
    }
    if (outline->leaf_count > 0)
        return IBID_OK;
    outline_release(outline);
    return fail(err, IBID_EFORMAT, "the document has no visible text");
}

void outline_release(struct outline *outline)
{
    free(outline->leaves);
    free(outline->sections);
    free(outline->tables);
    *outline = (struct outline){0};
}
