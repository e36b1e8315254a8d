/* Makes extractions for tests, block by block, the way the extract seam gives them. */
#pragma once

#include <stdlib.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "model/extraction.h"

struct document {
    struct buffer text;
    struct block *blocks;
    size_t count, capacity;
    struct page *pages;
    size_t page_count, page_capacity;
    uint32_t open[16]; /* indices of the open blocks */
    size_t depth;
};

#define DOCUMENT_INIT                         \
    {                                         \
        .text = BUFFER(EXTRACTION_TEXT_LIMIT) \
    }

static inline void document_release(struct document *document)
{
    buffer_release(&document->text);
    free(document->blocks);
    free(document->pages);
}

static inline void document_open(struct document *document, enum block_kind kind, unsigned level,
                                 unsigned flags)
{
    GROW(document->blocks, document->count, document->capacity);
    document->blocks[document->count] =
        (struct block){.kind = (uint8_t)kind,
                       .level = (uint8_t)level,
                       .flags = (uint16_t)flags,
                       .parent = document->depth ? document->open[document->depth - 1] : BLOCK_NO_PARENT,
                       .start = (uint32_t)document->text.size};
    document->open[document->depth++] = (uint32_t)document->count++;
}

static inline void document_close(struct document *document)
{
    document->blocks[document->open[--document->depth]].end = (uint32_t)document->text.size;
    buffer_append_string(&document->text, document->depth ? "\n" : "\n\n");
}

static inline void document_block(struct document *document, enum block_kind kind, unsigned level,
                                  unsigned flags, const char *text)
{
    document_open(document, kind, level, flags);
    buffer_append_string(&document->text, text);
    document_close(document);
}

static inline void document_page(struct document *document)
{
    GROW(document->pages, document->page_count, document->page_capacity);
    document->pages[document->page_count] =
        (struct page){.number = (uint32_t)document->page_count + 1, .start = (uint32_t)document->text.size};
    document->page_count++;
}

/* Borrowed from the document until its next change. */
static inline struct extraction document_extraction(const struct document *document)
{
    return (struct extraction){.status = EXTRACTION_OK,
                               .reason = STR_EMPTY,
                               .format = STR("test"),
                               .extractor = STR("test/1"),
                               .media_type = STR("text/plain"),
                               .text = buffer_str(&document->text),
                               .blocks = document->blocks,
                               .block_count = document->count,
                               .pages = document->pages,
                               .page_count = document->page_count};
}
