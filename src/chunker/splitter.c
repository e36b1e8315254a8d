#include "chunker/splitter.h"

#include <string.h>

#include "base/utf8.h"

enum {
    WORD_SIZE = 32, /* a word of a script without spaces ends after so many bytes */
    /* Words are looked for in so much text at a time: ICU's dictionaries work through a whole run of
     * ideographs before they give the first word. */
    WORD_WINDOW = 32 * 1024,
};

void splitter_release(struct splitter *splitter)
{
    for (size_t i = 0; i <= SEGMENT_SENTENCE; i++)
        segmenter_free(splitter->segmenters[i]);
}

static struct segmenter *start_segmenter(struct splitter *splitter, enum segment_unit unit, struct str text)
{
    if (!splitter->segmenters[unit])
        splitter->segmenters[unit] = segmenter_new(unit, splitter->language);
    segmenter_start(splitter->segmenters[unit], text);
    return splitter->segmenters[unit];
}

/* One way to walk over a piece: the end of the part that begins at `at`, both within `text`. */
struct cutter {
    struct str text;
    struct segmenter *segmenter;
    uint32_t column; /* of the part last returned */
    size_t part_size;
};
typedef size_t next_part(struct cutter *cutter, size_t at);

static size_t next_segment(struct cutter *cutter, size_t at)
{
    size_t end;
    return segmenter_next(cutter->segmenter, &end) ? end : cutter->text.size;
}

static bool is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Up to the next white space, or some words on where none comes. */
static size_t next_word(struct cutter *cutter, size_t at)
{
    size_t end;
    while (segmenter_next(cutter->segmenter, &end))
        if (end == cutter->text.size || is_space(cutter->text.data[end - 1]) ||
            is_space(cutter->text.data[end]) || end - at >= WORD_SIZE)
            return end;
    return cutter->text.size;
}

static size_t next_line(struct cutter *cutter, size_t at)
{
    const char *newline = memchr(cutter->text.data + at, '\n', cutter->text.size - at);
    return newline ? (size_t)(newline - cutter->text.data) + 1 : cutter->text.size;
}

static size_t next_stanza(struct cutter *cutter, size_t at)
{
    size_t end = at;
    bool blank = false, content = false;
    while (end < cutter->text.size) {
        const size_t line = next_line(cutter, end);
        const bool empty = str_trim(str_slice(cutter->text, end, line)).size == 0;
        if (blank && content && !empty)
            return end;
        content |= !empty;
        blank = empty;
        end = line;
    }
    return end;
}

static size_t next_cell(struct cutter *cutter, size_t at)
{
    cutter->column += at > 0;
    const char *tab = memchr(cutter->text.data + at, '\t', cutter->text.size - at);
    return tab ? (size_t)(tab - cutter->text.data) + 1 : cutter->text.size;
}

/* A boundary between user-perceived characters near `target`, or between code points. */
static size_t part_boundary(struct cutter *cutter, size_t at, size_t target)
{
    size_t end = segmenter_floor(cutter->segmenter, target);
    if (end <= at)
        end = utf8_floor(cutter->text, target);
    if (end <= at)
        end = at + utf8_sequence_length(cutter->text.data + at, cutter->text.size - at);
    return end;
}

static size_t next_piece_of_word(struct cutter *cutter, size_t at)
{
    const size_t left = cutter->text.size - at;
    if (left <= cutter->part_size && at > 0)
        return cutter->text.size;
    return part_boundary(cutter, at, at + (left > cutter->part_size ? cutter->part_size : (left + 1) / 2));
}

/* A part of a piece without the blanks around it; false when it is blank. */
static bool make_part(const struct splitter *splitter, const struct piece *whole, uint32_t start,
                      uint32_t end, enum piece_level level, struct piece *ret)
{
    *ret = *whole;
    ret->start = start;
    ret->end = end;
    ret->tokens = 0;
    ret->level = (uint8_t)level;
    range_trim(splitter->text, splitter->outline->leaves[whole->leaf].kind, &ret->start, &ret->end);
    return ret->start < ret->end;
}

/* Fills `out` with the parts of `piece`. Blank parts vanish: what is left after SPLIT_LIMIT - 1 parts, or
 * behind the cutter's text, becomes one more, at the level of the whole. */
static size_t cut_piece(const struct splitter *splitter, const struct piece *piece, struct cutter *cutter,
                        next_part *next, enum piece_level level, struct piece out[SPLIT_LIMIT])
{
    size_t count = 0, at = 0;
    while (at < cutter->text.size && count < SPLIT_LIMIT - 1) {
        const size_t end = next(cutter, at);
        struct piece *part = &out[count];
        if (make_part(splitter, piece, piece->start + (uint32_t)at, piece->start + (uint32_t)end, level,
                      part)) {
            part->first = piece->first && count == 0;
            part->column = (uint16_t)(cutter->column < UINT16_MAX ? cutter->column : UINT16_MAX);
            part->cut = false;
            count++;
        }
        at = end;
    }
    struct piece *rest = &out[count];
    if (make_part(splitter, piece, piece->start + (uint32_t)at, piece->end, (enum piece_level)piece->level,
                  rest)) {
        rest->first = piece->first && count == 0;
        rest->column = (uint16_t)(cutter->column + (level == PIECE_CELL) < UINT16_MAX
                                      ? cutter->column + (level == PIECE_CELL)
                                      : UINT16_MAX);
        rest->cut = level > PIECE_SENTENCE;
        count++;
    }
    return count;
}

static enum piece_level next_level(const struct piece *piece, enum block_kind kind)
{
    switch ((enum piece_level)piece->level) {
    case PIECE_BLOCK:
        return kind == BLOCK_CODE ? PIECE_STANZA : kind == BLOCK_TABLE_ROW ? PIECE_CELL : PIECE_SENTENCE;
    case PIECE_STANZA:
        return PIECE_LINE;
    case PIECE_CELL:
        return PIECE_SENTENCE;
    case PIECE_LINE:
    case PIECE_SENTENCE:
        return PIECE_WORD;
    case PIECE_WORD:
    case PIECE_PART:
        break;
    }
    return PIECE_PART;
}

static size_t cut_at_level(struct splitter *splitter, const struct piece *piece, enum piece_level level,
                           size_t part_size, struct piece out[SPLIT_LIMIT])
{
    struct cutter cutter = {.text = str_slice(splitter->text, piece->start, piece->end),
                            .column = piece->column,
                            .part_size = part_size};
    switch (level) {
    case PIECE_STANZA:
        return cut_piece(splitter, piece, &cutter, next_stanza, level, out);
    case PIECE_CELL:
        return cut_piece(splitter, piece, &cutter, next_cell, level, out);
    case PIECE_LINE:
        return cut_piece(splitter, piece, &cutter, next_line, level, out);
    case PIECE_SENTENCE:
        cutter.segmenter = start_segmenter(splitter, SEGMENT_SENTENCE, cutter.text);
        return cut_piece(splitter, piece, &cutter, next_segment, level, out);
    case PIECE_WORD:
        cutter.text = str_slice(cutter.text, 0, utf8_floor(cutter.text, WORD_WINDOW));
        cutter.segmenter = start_segmenter(splitter, SEGMENT_WORD, cutter.text);
        return cut_piece(splitter, piece, &cutter, next_word, level, out);
    default:
        cutter.segmenter = start_segmenter(splitter, SEGMENT_CHARACTER, cutter.text);
        return cut_piece(splitter, piece, &cutter, next_piece_of_word, level, out);
    }
}

size_t splitter_split(struct splitter *splitter, const struct piece *piece, uint32_t part_size,
                      struct piece out[SPLIT_LIMIT])
{
    const enum block_kind kind = splitter->outline->leaves[piece->leaf].kind;
    struct piece whole = *piece;
    for (;;) {
        const enum piece_level level = next_level(&whole, kind);
        const size_t count = cut_at_level(splitter, &whole, level, part_size, out);
        if (count > 1)
            return count;
        if (whole.level == PIECE_PART)
            return 0;
        whole = out[0];
        whole.level = (uint8_t)level;
    }
}
