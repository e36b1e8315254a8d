#include "chunker/draft.h"

#include "base/buffer.h"
#include "base/utf8.h"

enum {
    LABEL_SIZE_LIMIT = 64,
    LABELLED_HEADER_LIMIT =
        4096, /* a longer header row labels nothing: looking a cell up would cost too much */
    COMPOSED_LIMIT = 2 * EXTRACTION_TEXT_LIMIT,
};

uint32_t draft_start(const struct draft *draft)
{
    return draft->overlap_tokens ? draft->overlap_start : draft->own[0].start;
}

struct str piece_label(const struct outline *outline, struct str text, const struct piece *piece)
{
    const struct leaf *leaf = &outline->leaves[piece->leaf];
    if (piece->unlabelled || piece->level == PIECE_BLOCK || leaf->kind != BLOCK_TABLE_ROW ||
        leaf->table == NO_TABLE)
        return STR_EMPTY;
    const struct table *table = &outline->tables[leaf->table];
    const uint32_t size = table->header_end - table->header_start;
    if (size == 0 || size > LABELLED_HEADER_LIMIT || piece->start < table->header_end)
        return STR_EMPTY;
    struct str header = str_slice(text, table->header_start, table->header_end), row, cell;
    if (!str_split(&header, '\n', &row))
        return STR_EMPTY;
    for (uint32_t column = 0; str_split(&row, '\t', &cell); column++)
        if (column == piece->column) {
            cell = str_trim(cell);
            return str_slice(cell, 0, utf8_floor(cell, LABEL_SIZE_LIMIT));
        }
    return STR_EMPTY;
}

bool piece_follows_gap(const struct outline *outline, const struct piece *piece)
{
    return piece->first && outline->leaves[piece->leaf].after_gap;
}

/* The text from start to end without what was left out in between. */
static struct str shown_text(const struct draft *draft, struct str text, const struct outline *outline,
                             struct arena *arena)
{
    AUTO_BUFFER joined = BUFFER(COMPOSED_LIMIT);
    uint32_t start = draft_start(draft);
    for (size_t i = 1; i < draft->count; i++) {
        if (!piece_follows_gap(outline, &draft->own[i]))
            continue;
        buffer_append_str(&joined, str_slice(text, start, draft->own[i - 1].end));
        buffer_append_string(&joined, "\n\n");
        start = draft->own[i].start;
    }
    const struct str last = str_slice(text, start, draft->own[draft->count - 1].end);
    if (joined.size == 0)
        return last;
    buffer_append_str(&joined, last);
    return arena_str(arena, buffer_str(&joined));
}

/* Cells without their row are embedded as "Price: 12 EUR". False when there is none. */
static bool append_labelled(const struct draft *draft, struct str text, const struct outline *outline,
                            struct buffer *out)
{
    bool any = false;
    for (size_t i = 0; i < draft->count; i++)
        any |= piece_label(outline, text, &draft->own[i]).size > 0;
    if (!any)
        return false;
    for (size_t i = 0; i < draft->count; i++) {
        const struct str label = piece_label(outline, text, &draft->own[i]);
        if (i > 0)
            buffer_append_byte(out, '\n');
        if (label.size) {
            buffer_append_str(out, label);
            buffer_append_string(out, ": ");
        }
        buffer_append_str(out, str_slice(text, draft->own[i].start, draft->own[i].end));
    }
    return true;
}

static struct str embedded_text(const struct draft *draft, struct str shown, struct str text,
                                const struct outline *outline, struct arena *arena)
{
    AUTO_BUFFER out = BUFFER(COMPOSED_LIMIT);
    const struct str before[] = {draft->prefix, draft->header};
    for (size_t i = 0; i < COUNT_OF(before); i++) {
        buffer_append_str(&out, before[i]);
        if (before[i].size)
            buffer_append_byte(&out, '\n');
    }
    if (!append_labelled(draft, text, outline, &out)) {
        if (out.size == 0)
            return shown;
        buffer_append_str(&out, shown);
    }
    return arena_str(arena, buffer_str(&out));
}

/* What most of the chunk is. */
static const char *main_structure(const struct draft *draft, const struct outline *outline)
{
    static const char *const names[BLOCK_KIND_COUNT] = {
        [BLOCK_LIST_ITEM] = "list", [BLOCK_TABLE_ROW] = "table"};
    uint32_t sizes[BLOCK_KIND_COUNT] = {0};
    enum block_kind most = BLOCK_PARAGRAPH;
    for (size_t i = 0; i < draft->count; i++) {
        const struct leaf *leaf = &outline->leaves[draft->own[i].leaf];
        sizes[leaf->kind] += draft->own[i].end - draft->own[i].start;
        if (sizes[leaf->kind] > sizes[most])
            most = leaf->kind;
    }
    return names[most] ? names[most] : block_kind_string(most);
}

static struct str path_of(const struct draft *draft, const struct outline *outline)
{
    size_t i = 0;
    while (i < draft->count && outline->leaves[draft->own[i].leaf].kind == BLOCK_HEADING)
        i++;
    const struct piece *piece = &draft->own[i < draft->count ? i : 0];
    return outline->sections[outline->leaves[piece->leaf].section].path;
}

void draft_compose(const struct draft *draft, const struct extraction *extraction,
                   const struct outline *outline, struct arena *arena, struct chunk *ret)
{
    const struct str text = extraction->text;
    const struct str shown = shown_text(draft, text, outline, arena);
    const uint32_t start = draft_start(draft), end = draft->own[draft->count - 1].end;
    *ret = (struct chunk){
        .text = shown,
        .embed_text = embedded_text(draft, shown, text, outline, arena),
        .heading_path = path_of(draft, outline),
        .structure = str_from(main_structure(draft, outline)),
        .start = start,
        .own_start = draft->own[0].start,
        .end = end,
        .page_first = extraction_page_at(extraction, start),
        .page_last = extraction_page_at(extraction, end - 1),
    };
}
