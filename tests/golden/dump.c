#include "tests/golden/dump.h"

#include "base/str.h"

enum { WORDS_SHOWN = 8 }; /* of each page */

static void append_escaped(struct buffer *out, struct str text)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte == '\n')
            buffer_append_string(out, "\\n");
        else if (byte == '\t')
            buffer_append_string(out, " | ");
        else if (byte == '\\')
            buffer_append_string(out, "\\\\");
        else if (byte < ' ' || byte == 0x7F)
            buffer_printf(out, "\\x%02x", byte);
        else
            buffer_append_byte(out, (char)byte);
    }
}

static void append_line(struct buffer *out, const char *name, struct str text)
{
    buffer_printf(out, "%s: ", name);
    append_escaped(out, text);
    buffer_append_byte(out, '\n');
}

static void dump_pages(const struct extraction *extraction, struct buffer *out)
{
    for (size_t i = 0; i < extraction->page_count; i++) {
        const struct page *page = &extraction->pages[i];
        buffer_printf(out, "page %u at %u, %.0f x %.0f%s", page->number, page->start, (double)page->width,
                      (double)page->height, page->needs_ocr ? ", needs OCR" : "");
        if (page->label.size)
            buffer_printf(out, ", label \"%.*s\"", STR_ARG(page->label));
        buffer_append_byte(out, '\n');
    }
}

static unsigned depth_of(const struct extraction *extraction, const struct block *block)
{
    unsigned depth = 0;
    for (; block->parent != BLOCK_NO_PARENT; block = &extraction->blocks[block->parent])
        depth++;
    return depth;
}

static bool has_children(const struct extraction *extraction, size_t index)
{
    return index + 1 < extraction->block_count && extraction->blocks[index + 1].parent == index;
}

/* The text of a block that stands before its first child, or all of it. */
static struct str own_text(const struct extraction *extraction, size_t index)
{
    const struct block *block = &extraction->blocks[index];
    uint32_t end = has_children(extraction, index) ? extraction->blocks[index + 1].start : block->end;
    return str_trim(str_slice(extraction->text, block->start, end));
}

static void dump_blocks(const struct extraction *extraction, struct buffer *out)
{
    for (size_t i = 0; i < extraction->block_count; i++) {
        const struct block *block = &extraction->blocks[i];
        buffer_append_repeated(out, ' ', 2 * depth_of(extraction, block));
        buffer_append_string(out, block_kind_string((enum block_kind)block->kind));
        if (block->level)
            buffer_printf(out, " %u", block->level);
        if (block->flags & BLOCK_HEADER)
            buffer_append_string(out, " header");
        if (block->flags & BLOCK_HIDDEN)
            buffer_append_string(out, " hidden");
        if (block->flags & BLOCK_BOILERPLATE)
            buffer_append_string(out, " boilerplate");
        buffer_append_string(out, ": ");
        bool row = block->kind == BLOCK_TABLE_ROW; /* whose leading empty cells count */
        append_escaped(out,
                       row ? str_slice(extraction->text, block->start, block->end) : own_text(extraction, i));
        buffer_append_byte(out, '\n');
    }
}

static void dump_words(const struct extraction *extraction, struct buffer *out)
{
    uint32_t page = 0, shown = 0;
    for (size_t i = 0; i < extraction->word_count; i++) {
        const struct word_box *word = &extraction->words[i];
        shown = word->page == page ? shown + 1 : 1;
        page = word->page;
        if (shown > WORDS_SHOWN)
            continue;
        buffer_printf(out, "word on %u (%.0f %.0f %.0f %.0f): ", word->page, (double)word->x0,
                      (double)word->y0, (double)word->x1, (double)word->y1);
        append_escaped(out, str_slice(extraction->text, word->start, word->start + word->size));
        buffer_append_byte(out, '\n');
    }
}

void dump_extraction(const struct extraction *extraction, struct buffer *out)
{
    buffer_printf(out, "status: %s\n", extraction_status_string(extraction->status));
    if (extraction->reason.size)
        append_line(out, "reason", extraction->reason);
    append_line(out, "format", extraction->format);
    append_line(out, "type", extraction->media_type);
    for (size_t i = 0; i < extraction->metadata_count; i++) {
        buffer_printf(out, "metadata %.*s: ", STR_ARG(extraction->metadata[i].key));
        append_escaped(out, extraction->metadata[i].value);
        buffer_append_byte(out, '\n');
    }
    for (size_t i = 0; i < extraction->warning_count; i++) {
        const struct extraction_warning *warning = &extraction->warnings[i];
        buffer_printf(out, "warning %.*s x%u: ", STR_ARG(warning->code), warning->count);
        append_escaped(out, warning->message);
        buffer_append_byte(out, '\n');
    }
    dump_pages(extraction, out);
    dump_blocks(extraction, out);
    dump_words(extraction, out);
}
