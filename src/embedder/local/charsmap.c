#include "embedder/local/charsmap.h"

#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>

#include "base/base64.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "base/utf8.h"

enum { WHOLE_CLUSTER_MAX = 5 }; /* bytes of a cluster that is looked up as a whole */

struct charsmap {
    uint32_t *units;
    size_t unit_count;
    struct str replacements; /* owned */
    bool ascii_kept[128];    /* stands for itself, alone or before another ASCII character */
};

/* ---- the trie ---- */

static uint32_t unit_label(uint32_t unit)
{
    return unit & (UINT32_C(1) << 31 | 0xFF);
}

static uint32_t unit_offset(uint32_t unit)
{
    return unit >> 10 << (unit >> 6 & 8);
}

/* What stands for the shortest entry that `text` begins with; false when there is none. */
static bool find_shortest(const struct charsmap *self, struct str text, struct str *ret)
{
    size_t node = unit_offset(self->units[0]);
    for (size_t i = 0; i < text.size && text.data[i]; i++) {
        const unsigned char byte = (unsigned char)text.data[i];
        node ^= byte;
        if (node >= self->unit_count || unit_label(self->units[node]) != byte)
            return false;
        const uint32_t unit = self->units[node];
        node ^= unit_offset(unit);
        if (!(unit >> 8 & 1))
            continue;
        if (node >= self->unit_count)
            return false;
        const size_t place = self->units[node] & ~(UINT32_C(1) << 31);
        const struct str rest = str_slice(self->replacements, place, self->replacements.size);
        *ret = str_slice(rest, 0, str_find(rest, '\0'));
        return true;
    }
    return false;
}

/* ---- grapheme clusters ---- */

/* UAX #29, extended grapheme clusters, but for GB9c: the clusters that it joins are longer than any that
 * is looked up as a whole. */
struct cluster {
    int last;            /* U_GCB_* of the code point before */
    bool pictograph;     /* ends with Extended_Pictographic Extend* [ZWJ] */
    bool odd_indicators; /* ends with an odd number of regional indicators */
};

static int break_class(uint32_t code_point)
{
    return u_getIntPropertyValue((UChar32)code_point, UCHAR_GRAPHEME_CLUSTER_BREAK);
}

static bool is_pictograph(uint32_t code_point)
{
    return code_point >= 0x80 && u_hasBinaryProperty((UChar32)code_point, UCHAR_EXTENDED_PICTOGRAPHIC);
}

static struct cluster cluster_begin(uint32_t code_point)
{
    const int class = break_class(code_point);
    return (struct cluster){class, is_pictograph(code_point), class == U_GCB_REGIONAL_INDICATOR};
}

static bool is_control(int class)
{
    return class == U_GCB_CONTROL || class == U_GCB_CR || class == U_GCB_LF;
}

static bool joins_hangul(int last, int class)
{
    switch (last) {
    case U_GCB_L:
        return class == U_GCB_L || class == U_GCB_V || class == U_GCB_LV || class == U_GCB_LVT;
    case U_GCB_LV:
    case U_GCB_V:
        return class == U_GCB_V || class == U_GCB_T;
    case U_GCB_LVT:
    case U_GCB_T:
        return class == U_GCB_T;
    default:
        return false;
    }
}

/* Whether the code point belongs to the cluster, which then ends with it. */
static bool cluster_take(struct cluster *cluster, uint32_t code_point)
{
    const int class = break_class(code_point), last = cluster->last;
    const bool extends = class == U_GCB_EXTEND || class == U_GCB_ZWJ;
    bool joined;
    if (is_control(last) || is_control(class))
        joined = last == U_GCB_CR && class == U_GCB_LF;
    else
        joined = extends || class == U_GCB_SPACING_MARK || last == U_GCB_PREPEND ||
                 joins_hangul(last, class) ||
                 (last == U_GCB_ZWJ && cluster->pictograph && is_pictograph(code_point)) ||
                 (class == U_GCB_REGIONAL_INDICATOR && cluster->odd_indicators);
    if (!joined)
        return false;
    cluster->pictograph = is_pictograph(code_point) || (extends && cluster->pictograph && last != U_GCB_ZWJ);
    cluster->odd_indicators = class == U_GCB_REGIONAL_INDICATOR && !cluster->odd_indicators;
    cluster->last = class;
    return true;
}

/* ---- normalising ---- */

static void put_all(struct str text, void (*put)(void *context, uint32_t code_point), void *context)
{
    for (size_t position = 0; position < text.size;)
        put(context, utf8_next(text, &position));
}

/* The code points of `cluster` one by one. */
static void put_apart(const struct charsmap *self, struct str cluster,
                      void (*put)(void *context, uint32_t code_point), void *context)
{
    for (size_t position = 0; position < cluster.size;) {
        char bytes[4];
        const uint32_t code_point = utf8_next(cluster, &position);
        struct str replacement;
        if (find_shortest(self, (struct str){bytes, utf8_encode(code_point, bytes)}, &replacement))
            put_all(replacement, put, context);
        else
            put(context, code_point);
    }
}

void charsmap_next(const struct charsmap *self, struct str text, size_t *position,
                   void (*put)(void *context, uint32_t code_point), void *context)
{
    const size_t start = *position;
    const unsigned char byte = (unsigned char)text.data[start];
    const bool next_is_ascii = start + 1 == text.size || !(text.data[start + 1] & 0x80);
    const uint32_t first = utf8_next(text, position);
    if (!self || (byte < 0x80 && next_is_ascii && self->ascii_kept[byte])) {
        put(context, first);
        return;
    }
    char whole[WHOLE_CLUSTER_MAX + 4];
    size_t size = utf8_encode(first, whole);
    struct cluster cluster = cluster_begin(first);
    while (*position < text.size) {
        size_t next = *position;
        const uint32_t code_point = utf8_next(text, &next);
        if (!cluster_take(&cluster, code_point))
            break;
        if (size <= WHOLE_CLUSTER_MAX)
            size += utf8_encode(code_point, whole + size);
        *position = next;
    }
    struct str replacement;
    if (size <= WHOLE_CLUSTER_MAX && find_shortest(self, (struct str){whole, size}, &replacement))
        put_all(replacement, put, context);
    else
        put_apart(self, str_slice(text, start, *position), put, context);
}

/* ---- reading ---- */

static ibid_code read_parts(struct charsmap *self, struct str bytes, ibid_error *err)
{
    const unsigned char *data = (const unsigned char *)bytes.data;
    const size_t size = bytes.size < 4 ? 0
                                       : (size_t)data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16 |
                                             (size_t)data[3] << 24;
    if (size == 0 || size % 4 != 0 || size > bytes.size - 4)
        return fail(err, IBID_EFORMAT, "the tokenizer's precompiled_charsmap has no whole trie");
    const struct str replacements = str_slice(bytes, 4 + size, bytes.size);
    if (!utf8_is_valid(replacements))
        return fail(err, IBID_EFORMAT, "the tokenizer's precompiled_charsmap holds text that is no UTF-8");
    self->unit_count = size / 4;
    self->units = xcalloc(self->unit_count, sizeof *self->units);
    for (size_t i = 0; i < self->unit_count; i++, data += 4)
        self->units[i] =
            (uint32_t)data[4] | (uint32_t)data[5] << 8 | (uint32_t)data[6] << 16 | (uint32_t)data[7] << 24;
    self->replacements = (struct str){xmemdup0(replacements.data, replacements.size), replacements.size};
    for (int i = 0; i < 128; i++) {
        const char byte = (char)i;
        struct str replacement;
        self->ascii_kept[i] = byte != '\r' && !find_shortest(self, (struct str){&byte, 1}, &replacement);
    }
    return IBID_OK;
}

ibid_code charsmap_parse(struct str base64, struct charsmap **ret, ibid_error *err)
{
    AUTO_BUFFER bytes = BUFFER(CHARSMAP_SIZE_MAX);
    if (!base64_decode(base64, &bytes))
        return fail(err, IBID_EFORMAT, "the tokenizer's precompiled_charsmap is not base64");
    TRY(buffer_check(&bytes, "the tokenizer's precompiled_charsmap", err));
    struct charsmap *self = xcalloc(1, sizeof *self);
    const ibid_code code = read_parts(self, buffer_str(&bytes), err);
    if (code != IBID_OK) {
        charsmap_free(self);
        return code;
    }
    *ret = self;
    return IBID_OK;
}

void charsmap_free(struct charsmap *self)
{
    if (!self)
        return;
    free(self->units);
    free((char *)self->replacements.data);
    free(self);
}
