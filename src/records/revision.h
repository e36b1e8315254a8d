/* Revisions: what was extracted from a document's bytes: the canonical text and the page layouts. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "metadata_store/metadata_store.h"
#include "model/extraction.h"
#include "records/page_layout.h"

struct revision {
    int64_t id;
    int64_t document_id;
    bool has_sha256;
    struct sha256 sha256; /* of the bytes it was extracted from */
    struct str extractor; /* name and version */
    int64_t text_size;    /* bytes of the canonical text */
    int64_t page_count;
    int64_t created_at;
};

/* IBID_ENOTFOUND when there is none. */
ibid_code revision_load(struct transaction *transaction, int64_t id, struct arena *arena,
                        struct revision *ret, ibid_error *err) MUST_CHECK;

/* The bytes [start, end) of the canonical text, both clamped to it. The caller cuts at character
 * boundaries if it must (utf8_floor). */
ibid_code revision_text(struct transaction *transaction, int64_t id, uint32_t start, uint32_t end,
                        struct arena *arena, struct str *ret, ibid_error *err) MUST_CHECK;

/* One page with its words; IBID_ENOTFOUND when the document has no such page. */
ibid_code revision_page(struct transaction *transaction, int64_t id, uint32_t number, struct arena *arena,
                        struct page_layout *ret, ibid_error *err) MUST_CHECK;

/* A place on a page: the words of a range that stand on one line are one box. */
struct text_box {
    uint32_t page;
    float x0, y0, x1, y1;          /* points from the top left corner */
    float page_width, page_height; /* in points; 0 unknown */
};
/* The boxes of the bytes [start, end), in reading order; none for formats without places. At most
 * `limit` of them: the first ones. */
ibid_code revision_boxes(struct transaction *transaction, int64_t id, uint32_t start, uint32_t end,
                         size_t limit, struct arena *arena, struct text_box **ret, size_t *ret_count,
                         ibid_error *err) MUST_CHECK;
