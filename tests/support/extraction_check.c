#include "tests/support/extraction_check.h"

#include <math.h>

#include "base/utf8.h"

static bool is_cut(struct str text, uint32_t offset)
{
    return offset <= text.size && utf8_floor(text, offset) == offset;
}

static const char *fault_of_blocks(const struct extraction *self)
{
    for (size_t i = 0; i < self->block_count; i++) {
        const struct block *block = &self->blocks[i];
        if (block->kind >= BLOCK_KIND_COUNT)
            return "a block of no kind";
        if (block->start >= block->end || block->end > self->text.size)
            return "a block without text";
        if (!is_cut(self->text, block->start) || !is_cut(self->text, block->end))
            return "a block that cuts a character";
        if (block->level > 9)
            return "a level above 9";
        if (i > 0 && block->start < self->blocks[i - 1].start)
            return "blocks out of order";
        if (block->parent == BLOCK_NO_PARENT)
            continue;
        const struct block *parent = &self->blocks[block->parent];
        if (block->parent >= i || block->start < parent->start || block->end > parent->end)
            return "a block outside its parent";
    }
    return NULL;
}

static const char *fault_of_pages(const struct extraction *self)
{
    for (size_t i = 0; i < self->page_count; i++) {
        const struct page *page = &self->pages[i];
        if (page->start > self->text.size || page->number == 0 || !(page->width >= 0) || !(page->height >= 0))
            return "a page out of range";
        if (i > 0 && (page->number <= page[-1].number || page->start < page[-1].start))
            return "pages out of order";
        if (!utf8_is_valid(page->label))
            return "an ill-formed page label";
    }
    return NULL;
}

static const char *fault_of_words(const struct extraction *self)
{
    for (size_t i = 0; i < self->word_count; i++) {
        const struct word_box *word = &self->words[i];
        if (word->size == 0 || word->start + word->size > self->text.size)
            return "a word out of range";
        if (i > 0 && word->start < word[-1].start + word[-1].size)
            return "words out of order";
        if (!isfinite(word->x0) || !isfinite(word->y1) || word->x1 < word->x0 || word->y1 < word->y0)
            return "a word nowhere";
        if (extraction_page_at(self, word->start) != word->page)
            return "a word on another page than its text";
    }
    return NULL;
}

static const char *fault_of_descriptions(const struct extraction *self)
{
    for (size_t i = 0; i < self->metadata_count; i++)
        if (!utf8_is_valid(self->metadata[i].key) || !utf8_is_valid(self->metadata[i].value) ||
            self->metadata[i].value.size == 0)
            return "ill-formed metadata";
    for (size_t i = 0; i < self->warning_count; i++)
        if (!utf8_is_valid(self->warnings[i].code) || !utf8_is_valid(self->warnings[i].message) ||
            self->warnings[i].count == 0)
            return "an ill-formed warning";
    return utf8_is_valid(self->reason) && self->reason.size <= 500 ? NULL : "an ill-formed reason";
}

static const char *fault_of_text(const struct extraction *self)
{
    if (!utf8_is_valid(self->text))
        return "ill-formed text";
    for (size_t i = 0; i < self->text.size; i++) {
        unsigned char byte = (unsigned char)self->text.data[i];
        if ((byte < ' ' && byte != '\n' && byte != '\t') || byte == 0x7F)
            return "a control character in the text";
    }
    if (extraction_is_usable(self->status) != (self->text.size > 0))
        return "text and status that do not agree";
    if ((self->status == EXTRACTION_OK) != (self->reason.size == 0))
        return "reason and status that do not agree";
    return NULL;
}

const char *extraction_find_fault(const struct extraction *self)
{
    const char *(*const checks[])(const struct extraction *) = {
        fault_of_text, fault_of_blocks, fault_of_pages, fault_of_words, fault_of_descriptions};
    const char *fault = NULL;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0] && !fault; i++)
        fault = checks[i](self);
    return fault;
}
