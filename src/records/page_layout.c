#include "records/page_layout.h"

#include <math.h>

enum { LAYOUT_VERSION = 1, UNITS_PER_POINT = 20, COORDINATE_LIMIT = 100000 * UNITS_PER_POINT };

enum { PAGE_NEEDS_OCR = 1 << 0 };

/* ---- writing ---------------------------------------------------------------------------------- */

static void append_unsigned(struct buffer *out, uint64_t value)
{
    while (value >= 0x80) {
        buffer_append_u8(out, (unsigned)(value & 0x7F) | 0x80);
        value >>= 7;
    }
    buffer_append_u8(out, (unsigned)value);
}

static void append_signed(struct buffer *out, int64_t value)
{
    append_unsigned(out, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

static int64_t units(float points)
{
    if (!isfinite(points))
        return 0;
    const double scaled = round((double)points * UNITS_PER_POINT);
    return scaled > COORDINATE_LIMIT    ? COORDINATE_LIMIT
           : scaled < -COORDINATE_LIMIT ? -COORDINATE_LIMIT
                                        : (int64_t)scaled;
}

/* What the next word is measured from: it usually starts a space after the end of the last one, and
 * has its top and height. */
struct cursor {
    int64_t offset, x, y, height;
};

void page_layout_append(struct buffer *out, const struct page_layout *layout)
{
    const struct page *page = &layout->page;
    buffer_append_u8(out, LAYOUT_VERSION);
    buffer_append_u8(out, page->needs_ocr ? PAGE_NEEDS_OCR : 0);
    append_signed(out, units(page->width));
    append_signed(out, units(page->height));
    append_unsigned(out, page->label.size);
    buffer_append_str(out, page->label);
    append_unsigned(out, layout->word_count);
    struct cursor cursor = {.offset = page->start};
    for (size_t i = 0; i < layout->word_count; i++) {
        const struct word_box *word = &layout->words[i];
        const int64_t x0 = units(word->x0), y0 = units(word->y0), x1 = units(word->x1), y1 = units(word->y1);
        append_signed(out, (int64_t)word->start - cursor.offset);
        append_unsigned(out, word->size);
        append_signed(out, x0 - cursor.x);
        append_signed(out, y0 - cursor.y);
        append_signed(out, x1 - x0);
        append_signed(out, (y1 - y0) - cursor.height);
        cursor = (struct cursor){(int64_t)word->start + word->size, x1, y0, y1 - y0};
    }
}

/* ---- reading ---------------------------------------------------------------------------------- */

struct reader {
    const unsigned char *at, *end;
    bool bad;
};

static uint64_t read_unsigned(struct reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (reader->at == reader->end)
            break;
        const unsigned char byte = *reader->at++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80))
            return value;
    }
    reader->bad = true;
    return 0;
}

/* A signed number within +-2^40: sums of a few cannot overflow. */
static int64_t read_signed(struct reader *reader)
{
    const uint64_t value = read_unsigned(reader);
    if (value >> 41) {
        reader->bad = true;
        return 0;
    }
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static float points(int64_t value)
{
    return (float)((double)value / UNITS_PER_POINT);
}

static struct word_box read_word(struct reader *reader, uint32_t number, struct cursor *cursor)
{
    const int64_t start = cursor->offset + read_signed(reader);
    const uint64_t size = read_unsigned(reader);
    const int64_t x0 = cursor->x + read_signed(reader);
    const int64_t y0 = cursor->y + read_signed(reader);
    const int64_t x1 = x0 + read_signed(reader);
    const int64_t height = cursor->height + read_signed(reader);
    if (start < 0 || start > UINT32_MAX || size > UINT16_MAX || x0 < -COORDINATE_LIMIT ||
        x0 > COORDINATE_LIMIT || y0 < -COORDINATE_LIMIT || y0 > COORDINATE_LIMIT || x1 < -COORDINATE_LIMIT ||
        x1 > COORDINATE_LIMIT || height < -2 * COORDINATE_LIMIT || height > 2 * COORDINATE_LIMIT) {
        reader->bad = true;
        return (struct word_box){0};
    }
    *cursor = (struct cursor){start + (int64_t)size, x1, y0, height};
    return (struct word_box){(uint32_t)start, (uint16_t)size,     number, points(x0), points(y0),
                             points(x1),      points(y0 + height)};
}

ibid_code page_layout_read(struct str blob, uint32_t number, uint32_t start, struct arena *arena,
                           struct page_layout *ret, ibid_error *err)
{
    enum { SMALLEST_WORD = 6 };
    struct reader reader = {(const unsigned char *)blob.data, (const unsigned char *)blob.data + blob.size,
                            false};
    const uint64_t version = read_unsigned(&reader);
    if (version != LAYOUT_VERSION)
        return fail(err, IBID_ECORRUPT, "the layout of page %u is of no known version", number);
    struct page_layout layout = {.page = {.number = number, .start = start}};
    layout.page.needs_ocr = read_unsigned(&reader) & PAGE_NEEDS_OCR;
    layout.page.width = points(read_signed(&reader));
    layout.page.height = points(read_signed(&reader));
    const uint64_t label_size = read_unsigned(&reader);
    if (reader.bad || label_size > (size_t)(reader.end - reader.at))
        return fail(err, IBID_ECORRUPT, "the layout of page %u is damaged", number);
    layout.page.label = arena_str(arena, (struct str){(const char *)reader.at, label_size});
    reader.at += label_size;
    const uint64_t count = read_unsigned(&reader);
    if (reader.bad || count > (size_t)(reader.end - reader.at) / SMALLEST_WORD)
        return fail(err, IBID_ECORRUPT, "the layout of page %u is damaged", number);
    struct word_box *words = ARENA_ARRAY(arena, struct word_box, count);
    struct cursor cursor = {.offset = start};
    for (uint64_t i = 0; i < count && !reader.bad; i++)
        words[i] = read_word(&reader, number, &cursor);
    if (reader.bad || reader.at != reader.end)
        return fail(err, IBID_ECORRUPT, "the layout of page %u is damaged", number);
    layout.words = words;
    layout.word_count = count;
    *ret = layout;
    return IBID_OK;
}
