/* What an extractor found in a document: one canonical text, a tree of blocks over it, and where
 * each page and word lies. Everything lives in one arena.
 *
 * Offsets are bytes into `text`, which is well-formed UTF-8 in logical order, repaired but not
 * folded. It is at most EXTRACTION_TEXT_LIMIT bytes long. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum {
    EXTRACTION_TEXT_LIMIT = 64 * 1024 * 1024,
    EXTRACTION_BLOCK_LIMIT = 1000000,
    EXTRACTION_WORD_LIMIT = 5000000,
    EXTRACTION_PAGE_LIMIT = 100000,
};

/* kind, stable string */
#define BLOCK_KIND_MAP(X)                                                                          \
    X(PARAGRAPH, "paragraph")                                                                      \
    X(HEADING, "heading")      /* level 1..9; the document's own title is metadata, not a block */ \
    X(LIST, "list")            /* holds list items */                                              \
    X(LIST_ITEM, "list_item")  /* level 1..9; its text starts with the label ("2.", "•") */        \
    X(TABLE, "table")          /* holds rows */                                                    \
    X(TABLE_ROW, "table_row")  /* cells parted by TAB; BLOCK_HEADER marks header rows */           \
    X(CODE, "code")            /* line breaks and indentation kept */                              \
    X(QUOTE, "quote")          /* may hold blocks */                                               \
    X(CAPTION, "caption")                                                                          \
    X(IMAGE, "image")          /* its text is the alternative text */                              \
    X(FOOTNOTE, "footnote")                                                                        \
    X(COMMENT, "comment")                                                                          \
    X(PAGE_HEADER, "page_header")                                                                  \
    X(PAGE_FOOTER, "page_footer")                                                                  \
    X(SECTION, "section")      /* holds blocks: a slide, a sheet, a part of an archive */

enum block_kind {
#define X(name, string) BLOCK_##name,
    BLOCK_KIND_MAP(X)
#undef X
    BLOCK_KIND_COUNT
};

enum block_flags {
    BLOCK_HEADER = 1 << 0,      /* a table's header row */
    BLOCK_HIDDEN = 1 << 1,      /* not visible to a reader: invisible ink, hidden sheet (injection!) */
    BLOCK_BOILERPLATE = 1 << 2, /* navigation, footer, cookie notice: kept, not searched */
};

/* Blocks stand in document order; a block's children follow it directly. */
struct block {
    uint8_t kind;      /* enum block_kind */
    uint8_t level;     /* of headings and list items, else 0 */
    uint16_t flags;    /* enum block_flags */
    uint32_t parent;   /* index, or BLOCK_NO_PARENT */
    uint32_t start, end; /* range in the text, children included */
};
#define BLOCK_NO_PARENT UINT32_MAX

struct page {
    uint32_t number;      /* from 1 */
    uint32_t start;       /* offset of its first byte; pages rise in number and start */
    float width, height;  /* in points after rotation; 0 when unknown */
    bool needs_ocr;       /* shows something but has no text */
    struct str label;     /* what is printed on it ("iv"), may be empty */
};

/* A word's place on its page: points from the top left corner, after rotation. */
struct word_box {
    uint32_t start;  /* offset of the word; the words rise in it */
    uint16_t size;   /* bytes */
    uint32_t page;   /* number */
    float x0, y0, x1, y1;
};

struct metadata_entry {
    struct str key;   /* "title", "author", "created", "modified", "language", "subject",
                         "keywords", "description", or the format's own name in lower case */
    struct str value; /* times as RFC 3339 */
};

struct extraction_warning {
    struct str code;    /* stable: "charset_replaced", "page_failed", "hidden_text", ... */
    struct str message; /* one line */
    uint32_t count;     /* how often */
};

/* status, stable string, whether the document is usable */
#define EXTRACTION_STATUS_MAP(X)                                                                   \
    X(OK, "ok", true)                                                                              \
    X(PARTIAL, "partial", true)          /* some of it could not be read: see the warnings */      \
    X(EMPTY, "no_text", false)           /* nothing to index in it */                              \
    X(NEEDS_OCR, "needs_ocr", false)     /* pages show something, but there is no text */          \
    X(ENCRYPTED, "encrypted", false)                                                               \
    X(UNSUPPORTED, "unsupported", false) /* no extractor for this type */                          \
    X(CORRUPT, "corrupt", false)         /* not what its type says, or damaged */                  \
    X(LIMIT, "limit_exceeded", false)    /* a ceiling on pages, text, memory, CPU... */            \
    X(TIMEOUT, "timeout", false)                                                                   \
    X(CRASHED, "crashed", false)         /* the parser died on it */

enum extraction_status {
#define X(name, string, usable) EXTRACTION_##name,
    EXTRACTION_STATUS_MAP(X)
#undef X
};

struct extraction {
    enum extraction_status status;
    struct str reason;     /* one line, <= 500 bytes; empty when status is OK */
    struct str format;     /* the extractor's name: "pdf" */
    struct str extractor;  /* name and version: "pdf/1 poppler 22.12.0" */
    struct str media_type; /* as detected: "application/pdf" */
    struct str text;
    const struct block *blocks;
    size_t block_count;
    const struct page *pages; /* empty for formats without pages */
    size_t page_count;
    const struct word_box *words; /* empty for formats without places */
    size_t word_count;
    const struct metadata_entry *metadata;
    size_t metadata_count;
    const struct extraction_warning *warnings;
    size_t warning_count;
};

const char *block_kind_string(enum block_kind kind);
const char *extraction_status_string(enum extraction_status status);
bool extraction_is_usable(enum extraction_status status);

/* The value of the first entry with that key, or an empty slice. */
struct str extraction_metadata(const struct extraction *extraction, const char *key);

/* The number of the page that holds `offset`; 0 when there are no pages. */
uint32_t extraction_page_at(const struct extraction *extraction, uint32_t offset);
